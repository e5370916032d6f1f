"""The page of a card: verdict, figure and table in one HTML file that needs nothing but itself."""

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from quipukit.measures.strongest import STRONGEST
from quipukit.report.drawing import FAINT, axes_at, marker_of, new_figure, safe, styled
from quipukit.report.page import page_environment
from quipukit.report.palette import looks_of
from quipukit.specs import format_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def card_page(facts: Mapping[str, Any]) -> str:
    """Return the card as HTML; everything in it is escaped, and it loads nothing."""
    from markupsafe import Markup

    active = f"R@{facts['k']}"
    return (
        page_environment()
        .get_template("card.html")
        .render(
            facts=facts,
            first=facts["attackers"][0],
            several=len(facts["attackers"]) > 1,
            who=_strongest_name(facts),
            active=active,
            main=facts["measures"][0] if facts["measures"] else "",
            verdict=verdict(facts),
            figure=Markup(_svg(card_figure(facts))),
            number=format_value,
        )
    )


def card_figure(facts: Mapping[str, Any]) -> "Figure":
    """Return the figure of a card: risk and utility of every setting, or risk by the parameter without utility."""
    names = list(dict.fromkeys((str(facts["attackers"][0]), _strongest_name(facts))))
    with styled():
        figure = new_figure(7.2, 3.6)
        for place, name in enumerate(names):
            axes = axes_at(figure, 0.6 + 3.4 * place, 0.35, 2.8, 2.6)
            _draw(axes, facts, name)
            if place:
                axes.set_ylabel("")
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower center", ncols=min(5, len(labels)))
        return figure


def _draw(axes: "Axes", facts: Mapping[str, Any], attacker: str) -> None:
    """Draw all settings against one attacker."""
    active, main = f"R@{facts['k']}", facts["measures"][0] if facts["measures"] else ""
    named = "the strongest attacker" if attacker == STRONGEST else safe(attacker)
    axes.set_title(f"against {named}", loc="left")
    axes.set_ylim(-0.04, 1.04)
    axes.grid(True)
    for mechanism, look in looks_of([one["mechanism"] for one in facts["settings"]]).items():
        own = [one for one in facts["settings"] if one["mechanism"] == mechanism]
        risks = [one["risks"][attacker][active]["risk"] for one in own]
        x = risks if main else [one["value"] for one in own]
        y = [one["utility"][main] for one in own] if main else risks
        style: dict[str, Any] = {"color": look.light, "linestyle": look.plain_dash, **marker_of(look)}
        axes.plot(x, y, label=safe(mechanism), clip_on=False, **style)
        for one, *point in zip(own, x, y, strict=True) if main else ():
            text = format_value(one["value"]) if one["parameter"] else ""
            axes.annotate(text, (point[0], point[1]), (3, 3), textcoords="offset points", fontsize=5.5)
    if main:
        axes.set_xlim(-0.04, 1.04)
        axes.plot([0, 1], [0, 1], color=FAINT, linewidth=0.8, dashes=(5, 3), zorder=1)
    axes.set_xlabel(f"risk ({active})" if main else "parameter of the mechanism")
    axes.set_ylabel(f"utility ({safe(main)})" if main else f"risk ({active})")


def _svg(figure: "Figure") -> str:
    content = io.StringIO()
    with styled():
        figure.savefig(content, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = content.getvalue()
    return text[text.index("<svg") :]


def _strongest_name(facts: Mapping[str, Any]) -> str:
    return STRONGEST if len(facts["attackers"]) > 1 else str(facts["attackers"][0])


def verdict(facts: Mapping[str, Any]) -> list[str]:
    """Return in a few sentences what the numbers say: ranges over the settings, not a judgment of the mechanism."""
    who, active = _strongest_name(facts), f"R@{facts['k']}"
    risks = [one["risks"][who][active]["risk"] for one in facts["settings"]]
    subject = "The strongest of the attackers" if who == STRONGEST else str(who)
    lines = [
        f"{subject} finds a share of {_range(risks)} of the {facts['queries']} originals with {facts['k']} guesses, "
        f"among {facts['log']['log_size']:,} queries."
    ]
    if facts["measures"]:
        name = facts["measures"][0]
        found = [one["utility"][name] for one in facts["settings"]]
        lines.append(f"{name} is {_range(found)}, and {facts['original'][name]:.3f} with the originals themselves.")
        both = [one for one in facts["settings"] if one["risks"][who][active]["risk"] <= 0.1]
        useful = [one for one in both if one["utility"][name] >= 0.5 * facts["original"][name]]
        lines.append(
            f"Of {len(risks)} settings, {len(both)} keep that risk at or below 0.1, and {len(useful)} of these find at "
            "least half of what the originals find."
        )
    return lines


def _range(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:.3f}" if low == high else f"{low:.3f} to {high:.3f}"
