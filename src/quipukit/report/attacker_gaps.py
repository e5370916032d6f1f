"""Where the first attacker and the strongest part, in words."""

from collections.abc import Sequence

from quipukit.measures.risk import level_everywhere
from quipukit.measures.strongest import Gap, gaps
from quipukit.report.table_model import number
from quipukit.report.views import View
from quipukit.report.wording import join
from quipukit.specs import format_value


def main_measure(view: View) -> str:
    """Return R@10, or the first measure of risk where it was not measured."""
    measures = list(dict.fromkeys(view.result.risks()["measure"]))
    return "R@10" if "R@10" in measures else str(measures[0])


def warning(view: View) -> str:
    """Return in words where the first attacker and the strongest part; empty where they agree."""
    measure = main_measure(view)
    found = [gap for gap in gaps(view.result.risks(), measure) if gap.mechanism in view.mechanisms]
    return in_words(found, int(view.settings["mechanism"].isin(view.mechanisms).sum()))


def blind_attackers(view: View) -> "set[tuple[str, str, float, str]]":
    """Return at which settings which attackers had nothing to go by: all queries of the log were alike to them."""
    size = int((view.result.manifest.get("log") or {}).get("size") or 0)
    return level_everywhere(view.result.ranks, size) if size > 1 else set()


def blind_note(view: View) -> str:
    """Return in words who had nothing to go by for which mechanisms; empty where all had."""
    blind = blind_attackers(view)
    parts = []
    for name in view.result.attackers:
        if own := [one for one in view.mechanisms if any((one, name) == (row[0], row[3]) for row in blind)]:
            parts.append(f"{name} at {join(own)}")
    if not parts:
        return ""
    return (
        f"all queries are alike to {'; to '.join(parts)}, as to an attacker that knows no law of the mechanism: the "
        "risk there is that of chance, and the table of attackers has a dash."
    )


def in_words(found: Sequence[Gap], count: int) -> str:
    """Return in words at which of so many settings attackers part; empty where they do not."""
    if not found:
        return ""
    widest = max(found, key=lambda gap: gap.risk - gap.first_risk)
    who = join(list(dict.fromkeys(gap.attacker for gap in found)))
    return (
        f"{found[0].first} alone misleads here: at {len(found)} of {count} settings a stronger attacker ({who}) finds "
        f"at least a tenth of the queries more. {_example(widest)}"
    )


def _example(gap: Gap) -> str:
    setting = f"{gap.mechanism} at {gap.parameter} {format_value(gap.value)}" if gap.parameter else gap.mechanism
    return (
        f"The widest gap is at {setting}: {gap.measure} is {number(gap.first_risk)} against {gap.first} and at least "
        f"{number(gap.risk)} against {gap.attacker}."
    )
