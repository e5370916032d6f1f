"""Explore: results that are open, as the page draws, filters and hands them out."""

import functools
import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from quipukit.errors import InputError
from quipukit.measures.frontier import MOST_POOLED
from quipukit.measures.risk import persona_of
from quipukit.measures.strongest import STRONGEST, strongest_risks
from quipukit.report.drawing import FORMATS, file_of
from quipukit.report.examples import examples_of
from quipukit.report.frontier import frontier_frame
from quipukit.report.table_model import ReportTable, typeset
from quipukit.report.tables import table_1
from quipukit.report.tables.frontier import frontier as frontier_table
from quipukit.report.views import View
from quipukit.report.write import Report
from quipukit.results import Result
from quipukit.specs import format_value

_NUMBERS = ("risk", "risk_low", "risk_high", "utility", "utility_low", "utility_high", "kept")
_DRAWING = threading.Lock()  # Matplotlib's settings belong to the process


@dataclass(frozen=True, eq=False)
class OpenResult:
    """A result and everything that is computed from it, once, when it is first asked for."""

    name: str
    result: Result

    @classmethod
    def load(cls, folder: Path) -> "OpenResult":
        """Read a result."""
        return cls(folder.name, Result.load(folder))

    @functools.cached_property
    def report(self) -> Report:
        """Return the report that its figures and tables come from."""
        return Report([self.result], runs=[self.name])

    @property
    def views(self) -> list[View]:
        """Return its views, one per search system."""
        return self.report.views

    def view(self, number: int) -> View:
        """Return one of its views."""
        if not 0 <= number < len(self.views):
            raise InputError(f"the result has {len(self.views)} views, counted from 0 (found {number}).")
        return self.views[number]

    def summary(self) -> dict[str, Any]:
        """Return what it is."""
        result = self.result
        return {
            "name": self.name,
            "collection": result.name,
            "queries": len(result.queries),
            "mechanisms": result.mechanisms,
            "settings": len(result.settings),
            "attackers": result.attackers,
            "judged": result.judged,
        }

    @functools.cached_property
    def detail(self) -> dict[str, Any]:
        """Return everything that is drawn."""
        return {
            **self.summary(),
            "looks": {
                name: {"color": look.number % 10, "marker": look.marker, "dash": look.dash}
                for name, look in self.report.looks.items()
            },
            "views": [_view(view) for view in self.views],
            "tables": [_table(table_1(self.views))] if any(view.judged for view in self.views) else [],
            "files": self.files,
        }

    @property
    def files(self) -> list[str]:
        """Return the names of what can be downloaded."""
        figures = [f"{name}.{kind}" for name in self.report.drawings for kind in FORMATS]
        return [*figures, *self.report.table_files]

    def file(self, name: str) -> bytes:
        """Return a figure or a table as a file."""
        stem, _, kind = name.rpartition(".")
        if stem in self.report.drawings and kind in FORMATS:
            with _DRAWING:
                return file_of(self.report.drawings[stem](), kind)
        if name not in self.report.table_files:
            raise InputError("the result has no such file; /api/results/NUMBER lists them.")
        return self.report.table_files[name].encode()

    def queries(self, view: int, mechanism: str, value: float, attacker: str, persona: str) -> list[dict[str, Any]]:
        """Return risk, rank and utility of every query at a setting, the riskiest first."""
        result = self.view(view).result
        risks = _at(strongest_risks(result.risks()) if attacker == STRONGEST else result.risks(), mechanism, value)
        risks = risks[(risks["attacker"] == attacker) & (risks["measure"].map(persona_of) == persona)]
        if risks.empty:
            raise InputError("the result has no such setting, attacker and persona.")
        ranks = _at(result.ranks, mechanism, value)
        ranks = ranks[(ranks["attacker"] == attacker) & (ranks["seed"] == result.seeds[0])]
        rank_of = dict(zip(ranks["qid"], ranks["log_rank"], strict=True))
        utility_of = _utility_of(self.view(view), mechanism, value)
        texts = dict(zip(result.queries["qid"], result.queries["query"], strict=True))
        rows = [
            {
                "qid": qid,
                "query": texts[qid],
                "risk": float(score),
                "rank": _finite(rank_of.get(qid)),
                "utility": _finite(utility_of.get(qid)),
            }
            for qid, score in zip(risks["qid"], risks["score"], strict=True)
        ]
        return sorted(rows, key=lambda row: (-row["risk"], row["rank"] or math.inf, row["qid"]))

    def examples(self, view: int, mechanism: str, value: float) -> list[dict[str, Any]]:
        """Return what a setting sent for the example queries, and what the attackers made of it."""
        self.view(view)
        return [
            {"qid": one["qid"], "query": one["query"], "sent": own["sent"], "attacks": own["attacks"]}
            for one in self._examples(view)
            for own in one["settings"]
            if own["mechanism"] == mechanism and own["value"] == value
        ]

    @functools.cache  # noqa: B019 - results stay open as long as the service runs
    def _examples(self, view: int) -> list[dict[str, Any]]:
        return examples_of(self.views[view])

    def places_of(self, mechanism: str, value: float) -> list[dict[str, Any]]:
        """Return where a setting lies, against the main attacker; nothing where the result does not have it."""
        places = []
        for number, view in enumerate(self.views):
            frame = frontier_frame(view)
            own = frame[(frame["mechanism"] == mechanism) & (frame["value"] == value)] if len(frame) else frame
            for row in own.tail(1).to_dict("records"):
                places.append(
                    {
                        "result": self.name,
                        "view": number,
                        "label": row["label"],
                        "measure": view.measure,
                        "risk": float(row["risk"]),
                        "utility": float(row["utility"]),
                        "frontier": bool(row["frontier"]),
                        "others": [
                            [float(risk), float(utility)]
                            for risk, utility in zip(frame["risk"], frame["utility"], strict=True)
                        ],
                    }
                )
        return places


def _at(frame: pd.DataFrame, mechanism: str, value: float) -> pd.DataFrame:
    return frame[(frame["mechanism"] == mechanism) & (frame["value"] == value)]


def _utility_of(view: View, mechanism: str, value: float) -> Mapping[str, float]:
    if not view.judged:
        return {}
    scores = _at(view.result.utilities(view.system), mechanism, value)
    scores = scores[scores["measure"] == view.measure]
    return dict(zip(scores["qid"], scores["score"], strict=True))


def _view(view: View) -> dict[str, Any]:
    rows = _rows(view)
    pairs = list(dict.fromkeys((row["attacker"], row["persona"]) for row in rows))
    front = frontier_frame(view)
    return {
        "name": view.name,
        "judged": view.judged,
        "measure": view.measure,
        "attackers": list(dict.fromkeys(attacker for attacker, _ in pairs)),
        "personas": list(dict.fromkeys(persona for _, persona in pairs)),
        "mechanisms": [
            {"name": name, "parameter": view.parameter_of(name), "strategy": view.result.strategies[name]}
            for name in (*view.mechanisms, *view.references)
        ],
        "references": view.references,
        "points": rows,
        "frontier": list(front.loc[front["frontier"], "name"]) if len(front) else [],
        "tables": [_table(frontier_table(view))] if view.judged and view.mechanisms else [],
    }


def _rows(view: View) -> list[dict[str, Any]]:
    """Return the points of every setting, attacker and persona; intervals only where the report has them."""
    shown = view.points.to_dict("records")
    known = {(row["attacker"], row["persona"]) for row in shown}
    others: list[dict[Any, Any]] = []
    if view.judged and len(view.result.attackers) > 1:
        points = view.result.points(view.system)
        others = points[points["measure"] == view.measure].to_dict("records")
    much = {(row["mechanism"], row["value"]) for row in shown if row.get("pooled_share", 0.0) > MOST_POOLED}
    rows = [*shown, *(row for row in others if (row["attacker"], row["persona"]) not in known)]
    return [
        {
            "mechanism": row["mechanism"],
            "value": float(row["value"]),
            "name": f"{row['mechanism']}@{format_value(row['value'])}" if row["parameter"] else row["mechanism"],
            "attacker": row["attacker"],
            "persona": row["persona"],
            **{name: _finite(row.get(name)) for name in _NUMBERS},
            "counted": row["mechanism"] not in view.references and (row["mechanism"], row["value"]) not in much,
        }
        for row in rows
    ]


def _finite(number: Any) -> float | None:
    return None if number is None or not math.isfinite(number) else round(float(number), 5)


def _table(table: ReportTable) -> dict[str, Any]:
    def cells(row: Sequence[Any]) -> list[dict[str, Any]]:
        return [
            {
                "text": typeset(cell.text),
                "bold": cell.bold,
                "marks": cell.marks,
                "small": list(map(typeset, cell.small)),
            }
            for cell in row
        ]

    return {
        "name": table.name,
        "title": table.title,
        "headings": list(table.headings),
        "column_groups": [list(group) for group in table.column_groups],
        "stubs": table.stubs,
        "text_columns": list(table.text_columns),
        "groups": [
            {"heading": group.heading, "rows": [cells(row) for row in group.rows]} for group in table.row_groups
        ],
        "caption": typeset(table.caption),
    }
