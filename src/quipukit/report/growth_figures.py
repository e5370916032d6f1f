"""Risk against the number of variants seen, for papers: one panel per mechanism, a few settings in each."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from quipukit.measures.strongest import STRONGEST
from quipukit.report.drawing import DASHES, INK, axis_of_counts, panels, safe, styled
from quipukit.report.growth import grown_mechanisms, growth_curves, growth_frame
from quipukit.report.palette import Look
from quipukit.report.views import View
from quipukit.specs import format_value

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def over_seen(view: View, measure: str, looks: Mapping[str, Look]) -> "Figure":
    """Return the risk against the variants seen: the strongest attacker in color, the first one in black."""
    frame = growth_frame(view)
    shown = frame[frame["measure"] == measure]

    def draw(axes: "Axes", name: str) -> None:
        axis_of_counts(axes, sorted(set(shown.loc[shown["mechanism"] == name, "seen"])))
        _lines(axes, view, growth_curves(view, frame, name, measure), looks[name])

    with styled():
        *first, last = view.attackers
        names = f"color: {_who(last)} with its 95 % interval" + "".join(f"; black: {safe(name)}" for name in first)
        return panels(grown_mechanisms(view, shown), draw, f"variants seen\n{names}", f"risk ({measure})")


def _who(attacker: str) -> str:
    return "the strongest attacker" if attacker == STRONGEST else safe(attacker)


def _lines(axes: "Axes", view: View, curves: "list[dict[str, pd.DataFrame]]", look: Look) -> None:
    *first, last = view.attackers
    for curve, dash in zip(curves, DASHES, strict=False):
        own = curve[last]
        value = format_value(float(own["value"].iloc[0]))
        axes.fill_between(own["seen"], own["low"], own["high"], color=look.light, alpha=0.1, linewidth=0)
        for name in first:
            axes.plot(curve[name]["seen"], curve[name]["risk"], color=INK, linestyle=dash, linewidth=0.8)
        axes.plot(own["seen"], own["risk"], color=look.light, linestyle=dash, label=value)
    if view.parameter_of(str(own["mechanism"].iloc[0])):
        title = safe(view.parameter_of(str(own["mechanism"].iloc[0])))
        # On white: curves may run anywhere.
        axes.legend(title=title, fontsize=6, title_fontsize=6, frameon=True, framealpha=0.85, edgecolor="none")
