"""Effect of N: risk and utility against the number of variants per query."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from quipukit.report.names import slug
from quipukit.report.palette import Look
from quipukit.report.sections.base import Drawing, ReportData, Section
from quipukit.report.sweep import chosen_curves, log_places, sweep_frame
from quipukit.report.sweep_figures import over_n
from quipukit.report.table_model import Cell, ReportTable, interval, number
from quipukit.report.tables.rows import Rows, grouped, named_frame, setting_text
from quipukit.report.views import View
from quipukit.report.wording import risk_name

_WIDTH, _HEIGHT = 100.0, 60.0  # of a chart, in the units of its SVG


class Sweep(Section):
    """Present where the experiment swept over several N."""

    id = "sweep"
    title = "Effect of N"
    order = 45

    def applies_to(self, view: View) -> bool:
        """Whether there are several N."""
        return view.sweep is not None

    def view_tables(self, view: View) -> Sequence[ReportTable]:
        """Return risk and utility of every setting at every N."""
        return (_table(view),) if view.sweep is not None else ()

    def drawings(self, view: View, looks: Mapping[str, Look]) -> Iterator[Drawing]:
        """Return the panels over N, against each persona."""
        for label in view.labels if view.sweep is not None and view.mechanisms else ():
            yield Drawing(f"sweep-{slug(label)}", partial(over_n, view, label, looks))

    def values(self, report: ReportData) -> Mapping[str, Any]:
        """Return the charts of every view, by persona."""
        return {
            "charts": [_charts(view, report.looks) if view.sweep is not None else [] for view in report.views],
            "width": _WIDTH,
            "height": _HEIGHT,
        }


def _table(view: View) -> ReportTable:
    frame = sweep_frame(view)
    rows: Rows = {}
    for (name, parameter, value, n), own in frame.groupby(["mechanism", "parameter", "value", "n"], sort=False):
        by_label = {row["label"]: row for row in own.to_dict("records")}
        first = next(iter(by_label.values()))
        cells = [Cell(name), Cell(setting_text(parameter, value)), Cell(str(n))]
        cells += [_mean(first, "utility"), Cell(number(first["pooled"], 0))] if view.judged else []
        cells += [_mean(by_label[label], "risk") for label in view.labels]
        rows[view.result.strategies[name], f"{name}@{value} {n}"] = tuple(cells)
    return ReportTable(
        name="sweep",
        title="Utility and risk by N" if view.judged else "Risk by N",
        headings=("Mechanism", "Setting", "N", *((view.measure, "Pooled") if view.judged else ()), *view.labels),
        row_groups=grouped(rows),
        frame=named_frame(view, frame),
        caption="N: variants per query. "
        + ("Mean utility, documents pooled per query, and mean risk" if view.judged else "Mean risk")
        + " against each persona, with 95 % intervals over queries, for one setting and one N at a time. The composed "
        "budget grows with N: see the formal guarantees.",
        stubs=3,
    )


def _mean(row: Mapping[str, Any], name: str) -> Cell:
    return Cell(number(row[name]), small=(interval(row[f"{name}_low"], row[f"{name}_high"]),))


def _charts(view: View, looks: Mapping[str, Look]) -> list[dict[str, Any]]:
    """Return for every persona a chart per mechanism: lines over N of a few settings."""
    frame = sweep_frame(view)
    places = [_WIDTH * place for place in log_places(view.whole.ns)]
    ticks = [{"x": f"{x:.2f}", "n": n} for x, n in zip(places, view.whole.ns, strict=True)]

    sides = ("utility", "risk") if view.judged else ("risk",)

    def marks(name: str, dash: int, curve: pd.DataFrame) -> list[dict[str, Any]]:
        setting = _setting(curve)
        titles = {"utility": view.measure, "risk": "risk"}
        return [
            {
                "side": side,
                "dash": dash % 4,
                "title": f"{name} {setting}: {titles[side]}",
                "points": " ".join(
                    f"{x:.2f},{_HEIGHT * (1 - y):.2f}" for x, y in zip(places, curve[side], strict=True)
                ),
            }
            for side in sides
        ]

    def chart(name: str, label: str) -> dict[str, Any]:
        curves = chosen_curves(view, frame, name, label)
        return {
            "name": name,
            "color": looks[name].number % 10,
            "about": f"{name}: {' and '.join(sides)} against N",
            "ticks": ticks,
            "marks": [mark for dash, curve in enumerate(curves) for mark in marks(name, dash, curve)],
            "legend": [{"dash": dash % 4, "text": _setting(curve)} for dash, curve in enumerate(curves)],
        }

    return [
        {
            "persona": label,
            "risk": risk_name(label),
            "mechanisms": [chart(name, label) for name in view.mechanisms],
        }
        for label in view.labels
    ]


def _setting(curve: pd.DataFrame) -> str:
    return setting_text(str(curve["parameter"].iloc[0]), float(curve["value"].iloc[0]))
