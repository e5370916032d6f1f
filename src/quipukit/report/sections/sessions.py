"""Sessions: how risk grows with the queries that one user asks in a row."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from quipukit.frames import SETTING
from quipukit.measures.sessions import session_risk
from quipukit.report.attacker_gaps import main_measure
from quipukit.report.drawing import DASHES, axis_of_counts, panels, safe, styled
from quipukit.report.palette import Look
from quipukit.report.sections.base import Drawing, ReportData, Section
from quipukit.report.sweep import log_places
from quipukit.report.table_model import Cell, ReportTable, interval, number, percent
from quipukit.report.tables.rows import MISSING, Rows, grouped, named_frame, setting_text
from quipukit.report.views import View
from quipukit.settings import setting_name
from quipukit.specs import format_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT = 100.0, 60.0  # of a chart, in the units of its SVG


class Sessions(Section):
    """Present where an experiment attacked sessions."""

    id = "sessions"
    title = "Risk and the length of a session"
    label = "Sessions"
    order = 43

    def applies_to(self, view: View) -> bool:
        """Whether sessions were attacked."""
        return not view.result.sessions.empty

    def view_tables(self, view: View) -> Sequence[ReportTable]:
        """Return the main risk of every setting after each number of queries."""
        return (_table(view),) if self.applies_to(view) else ()

    def drawings(self, view: View, looks: Mapping[str, Look]) -> Iterator[Drawing]:
        """Return the panels over the queries seen."""
        if self.applies_to(view):
            yield Drawing("sessions", partial(over_length, view, looks))

    def values(self, report: ReportData) -> Mapping[str, Any]:
        """Return the charts of every view, and what they show in a sentence."""
        shown = [self.applies_to(view) for view in report.views]
        pairs = list(zip(report.views, shown, strict=True))
        return {
            "charts": [_charts(view, report.looks) if there else [] for view, there in pairs],
            "sentences": [_sentence(view) if there else "" for view, there in pairs],
            "measures": [main_measure(view) if there else "" for view, there in pairs],
            "width": _WIDTH,
            "height": _HEIGHT,
        }


def _frame(view: View) -> pd.DataFrame:
    return session_risk(view.result.sessions, int(view.result.manifest.get("k", 10)))


def _shown(view: View) -> pd.DataFrame:
    frame = _frame(view)
    return frame[frame["measure"] == main_measure(view)]


def _mechanisms(view: View, frame: pd.DataFrame) -> list[str]:
    return [name for name in view.mechanisms if name in set(frame["mechanism"])]


def _sentence(view: View) -> str:
    """Say at which setting a session gives away most beside a single query."""
    curves = [curve for _, curve in _shown(view).groupby(list(SETTING), sort=False)]
    steepest = max(curves, key=lambda curve: curve["risk"].iloc[-1] - curve["risk"].iloc[0])
    first, last = (steepest.iloc[place] for place in (0, -1))
    where = setting_name(str(first["mechanism"]), str(first["parameter"]), float(first["value"]))
    if last["risk"] <= first["risk"]:
        return "At none of the settings shown is more found from a session than from its last query alone."
    return (
        f"At {where} the session attacker finds {percent(first['risk'])} of the last queries from what was sent for "
        f"them alone, and {percent(last['risk'])} ({100 * last['low']:.0f} to {100 * last['high']:.0f}) from "
        f"{last['length']} queries. Of the settings shown this is the steepest rise."
    )


def _table(view: View) -> ReportTable:
    frame, measure, shown = _frame(view), main_measure(view), _shown(view)
    counts = sorted(set(shown["length"]))
    rows: Rows = {}
    for (name, parameter, value), own in shown.groupby(list(SETTING), sort=False):
        points = {row["length"]: row for row in own.to_dict("records")}
        cells = [Cell(name), Cell(setting_text(parameter, value))]
        cells += [_point(points[count]) if count in points else MISSING for count in counts]
        rows[view.result.strategies[name], f"{name}@{value}"] = tuple(cells)
    return ReportTable(
        name="sessions",
        title=f"{measure} by the number of queries of a session that were seen",
        headings=("Mechanism", "Setting", *map(str, counts)),
        column_groups=(("", 2), ("Queries seen", len(counts))),
        row_groups=grouped(rows),
        frame=named_frame(view, frame),
        caption="Mean risk of the last query of a session, when the attacker sees what was sent for it and for the "
        "queries just before it, with 95 % intervals over sessions. The attacker knows the mechanism. The CSV file has "
        "all measures.",
        stubs=2,
    )


def _point(row: Mapping[str, Any]) -> Cell:
    return Cell(number(row["risk"]), small=(interval(row["low"], row["high"]),))


def _charts(view: View, looks: Mapping[str, Look]) -> list[dict[str, Any]]:
    shown = _shown(view)
    counts = sorted(set(shown["length"]))
    places = dict(zip(counts, (_WIDTH * place for place in log_places(counts)), strict=True))
    charts = []
    for name in _mechanisms(view, shown):
        marks: list[dict[str, Any]] = []
        legend = []
        for dash, (value, own) in enumerate(shown[shown["mechanism"] == name].groupby("value", sort=False)):
            setting = setting_text(str(own["parameter"].iloc[0]), float(str(value)))
            line = {column: _line(places, own, column) for column in ("low", "risk", "high")}
            marks.append({"band": f"{line['high']} {' '.join(reversed(line['low'].split()))}"})
            title = f"{name} {setting}: {main_measure(view)}"
            marks.append({"points": line["risk"], "side": "utility", "dash": dash % 4, "title": title})
            legend.append({"dash": dash % 4, "text": setting})
        charts.append(
            {
                "name": name,
                "color": looks[name].number % 10,
                "about": f"{name}: {main_measure(view)} against the number of queries of a session",
                "ticks": [{"x": f"{x:.2f}", "n": n} for n, x in places.items()],
                "marks": marks,
                "legend": legend,
            }
        )
    return charts


def _line(places: Mapping[int, float], curve: pd.DataFrame, column: str) -> str:
    points = zip(curve["length"], curve[column], strict=True)
    return " ".join(f"{places[length]:.2f},{_HEIGHT * (1 - y):.2f}" for length, y in points)


def over_length(view: View, looks: Mapping[str, Look]) -> "Figure":
    """Return the risk against the number of queries seen, for papers: a panel per mechanism."""
    shown = _shown(view)

    def draw(axes: "Axes", name: str) -> None:
        axis_of_counts(axes, sorted(set(shown["length"])))
        curves = shown[shown["mechanism"] == name].groupby("value", sort=False)
        for (value, own), dash in zip(curves, DASHES, strict=False):
            look = looks[name]
            axes.fill_between(own["length"], own["low"], own["high"], color=look.light, alpha=0.1, linewidth=0)
            label = format_value(float(str(value)))
            axes.plot(own["length"], own["risk"], color=look.light, linestyle=dash, label=label)
        if view.parameter_of(name):
            title = safe(view.parameter_of(name))
            axes.legend(title=title, fontsize=6, title_fontsize=6, frameon=True, framealpha=0.85, edgecolor="none")

    with styled():
        x = "queries of the session that were seen\nwith 95 % intervals"
        return panels(_mechanisms(view, shown), draw, x, f"risk ({main_measure(view)})")
