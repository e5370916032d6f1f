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
    active, first, who = f"R@{facts['k']}", facts["attackers"][0], _strongest_name(facts)
    main = facts["measures"][0] if facts["measures"] else ""
    looks = looks_of([one["mechanism"] for one in facts["settings"]])
    with styled():
        figure = new_figure(7.2, 3.6)
        for place, name in enumerate(dict.fromkeys((first, who))):
            axes = axes_at(figure, 0.6 + 3.4 * place, 0.35, 2.8, 2.6)
            axes.set_title(
                f"against {safe(name)}" if name != STRONGEST else "against the strongest attacker", loc="left"
            )
            axes.set_ylim(-0.04, 1.04)
            axes.grid(True)
            for mechanism, look in looks.items():
                own = [one for one in facts["settings"] if one["mechanism"] == mechanism]
                risks = [one["risks"][name][active]["risk"] for one in own]
                x = risks if main else [one["value"] for one in own]
                y = [one["utility"].get(main, 0.0) for one in own] if main else risks
                axes.plot(x, y, color=look.light, linestyle=look.plain_dash, label=safe(mechanism), **marker_of(look))
                for one, left, high in zip(own, x, y, strict=True):
                    if main and one["parameter"]:
                        axes.annotate(
                            format_value(one["value"]), (left, high), (3, 3), textcoords="offset points", fontsize=5.5
                        )
            if main:
                axes.set_xlim(-0.04, 1.04)
                axes.plot([0, 1], [0, 1], color=FAINT, linewidth=0.8, dashes=(5, 3), zorder=1)
            axes.set_xlabel(f"risk ({active})" if main else "parameter of the mechanism")
            if not place:
                axes.set_ylabel(f"utility ({safe(main)})" if main else f"risk ({active})")
        figure.legend(loc="lower center", ncols=min(5, len(looks)))
        return figure


def _svg(figure: "Figure") -> str:
    content = io.StringIO()
    with styled():
        figure.savefig(content, format="svg", metadata={"Date": None, "Creator": None})
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
        f"{subject} finds {_range(risks)} of the {facts['queries']} originals with {facts['k']} guesses, out of "
        f"{facts['log']['log_size']:,} queries."
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
