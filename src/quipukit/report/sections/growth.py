"""Variants seen: how risk grows with how many of the variants the attackers have seen."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from quipukit.frames import SETTING
from quipukit.report.attacker_gaps import main_measure
from quipukit.report.growth import grown_mechanisms, growth_curves, growth_frame, growth_sentence
from quipukit.report.growth_figures import over_seen
from quipukit.report.names import slug
from quipukit.report.palette import Look
from quipukit.report.sections.base import Drawing, ReportData, Section
from quipukit.report.sweep import log_places
from quipukit.report.table_model import Cell, ReportTable, interval, number
from quipukit.report.tables.rows import MISSING, Rows, grouped, named_frame, setting_text
from quipukit.report.views import View
from quipukit.settings import shares_budget

_WIDTH, _HEIGHT = 100.0, 60.0  # of a chart, in the units of its SVG


class Growth(Section):
    """Present where an experiment attacked random subsets of the variants."""

    id = "growth"
    title = "Risk and the variants seen"
    label = "Variants seen"
    order = 42

    def applies_to(self, view: View) -> bool:
        """Whether fewer variants were attacked."""
        return not view.result.growth.empty

    def view_tables(self, view: View) -> Sequence[ReportTable]:
        """Return the main risk of every setting after each number of variants."""
        return (_table(view),) if self.applies_to(view) else ()

    def drawings(self, view: View, looks: Mapping[str, Look]) -> Iterator[Drawing]:
        """Return the panels over the variants seen, for each persona."""
        for persona, measure in _personas(view).items() if self.applies_to(view) else ():
            yield Drawing(f"growth-{slug(persona)}", partial(over_seen, view, measure, looks))

    def values(self, report: ReportData) -> Mapping[str, Any]:
        """Return the charts of every view, by persona, and what they show in a sentence."""
        frames = [growth_frame(view) if self.applies_to(view) else None for view in report.views]
        pairs = list(zip(report.views, frames, strict=True))
        return {
            "charts": [[] if frame is None else _charts(view, frame, report.looks) for view, frame in pairs],
            "sentences": ["" if frame is None else growth_sentence(view, frame) for view, frame in pairs],
            "width": _WIDTH,
            "height": _HEIGHT,
        }


def _personas(view: View) -> dict[str, str]:
    """Return the measure of each persona's risk."""
    measures = dict.fromkeys(view.result.risks()["measure"])
    return dict(zip(view.result.personas, measures, strict=True))


def _table(view: View) -> ReportTable:
    frame, measure = growth_frame(view), main_measure(view)
    shown = frame[(frame["measure"] == measure) & frame["attacker"].isin(view.attackers)]
    counts = sorted(set(shown["seen"]))
    rows: Rows = {}
    for (name, parameter, value, attacker), own in shown.groupby([*SETTING, "attacker"], sort=False):
        points = {row["seen"]: row for row in own.to_dict("records")}
        cells = [Cell(name), Cell(setting_text(parameter, value)), Cell(attacker)]
        cells += [_point(points[count]) if count in points else MISSING for count in counts]
        rows[view.result.strategies[name], f"{name}@{value} {attacker}"] = tuple(cells)
    return ReportTable(
        name="growth",
        title=f"{measure} by the number of variants seen",
        headings=("Mechanism", "Setting", "Attacker", *map(str, counts)),
        column_groups=(("", 3), ("Variants seen", len(counts))),
        row_groups=grouped(rows),
        frame=named_frame(view, frame),
        caption="Mean risk when the attackers see a random subset of the variants that were sent, with 95 % intervals "
        "over queries, noise and subsets; those of the strongest hold for all attackers at once. After all variants it "
        "is the risk of the other tables, under the first seed. The CSV file has all attackers and measures."
        + _left_out(view),
        stubs=3,
    )


def _left_out(view: View) -> str:
    if not any(map(shares_budget, view.settings["mechanism"])):
        return ""
    return (
        " Settings with budget='total' have no curve: of fewer variants each would have had more of the budget, so "
        "that a part of those sent is not what is sent at a smaller N."
    )


def _point(row: Mapping[str, Any]) -> Cell:
    return Cell(number(row["risk"]), small=(interval(row["low"], row["high"]),))


def _charts(view: View, frame: pd.DataFrame, looks: Mapping[str, Look]) -> list[dict[str, Any]]:
    """Return for every persona a chart per mechanism."""
    return [
        {
            "persona": persona,
            "measure": measure,
            "open": measure == main_measure(view),
            "mechanisms": [
                _chart(view, frame, name, measure, looks[name].number % 10) for name in grown_mechanisms(view, frame)
            ],
        }
        for persona, measure in _personas(view).items()
    ]


def _chart(view: View, frame: pd.DataFrame, name: str, measure: str, color: int) -> dict[str, Any]:
    counts = sorted(set(frame.loc[frame["mechanism"] == name, "seen"]))
    places = dict(zip(counts, (_WIDTH * place for place in log_places(counts)), strict=True))
    marks: list[dict[str, Any]] = []
    legend = []
    *first, last = view.attackers
    for dash, curves in enumerate(growth_curves(view, frame, name, measure)):
        own = curves[last]
        setting = setting_text(str(own["parameter"].iloc[0]), float(own["value"].iloc[0]))
        band = f"{_line(places, own, 'high')} {' '.join(reversed(_line(places, own, 'low').split()))}"
        marks.append({"band": band})
        legend.append({"dash": dash % 4, "text": setting})
        for attacker in (*first, last):
            line = {
                "points": _line(places, curves[attacker], "risk"),
                "side": "utility" if attacker == last else "risk",
            }
            marks.append({**line, "dash": dash % 4, "title": f"{name} {setting}: {measure}, {attacker}"})
    return {
        "name": name,
        "color": color,
        "about": f"{name}: {measure} against the number of variants seen",
        "ticks": [{"x": f"{x:.2f}", "n": n} for n, x in places.items()],
        "marks": marks,
        "legend": legend,
    }


def _line(places: Mapping[int, float], curve: pd.DataFrame, column: str) -> str:
    points = zip(curve["seen"], curve[column], strict=True)
    return " ".join(f"{places[seen]:.2f},{_HEIGHT * (1 - y):.2f}" for seen, y in points)
