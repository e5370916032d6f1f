"""The data that the page's script draws: one object of plain lists, numbers and texts."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from quipukit.report.examples import examples_of
from quipukit.report.labels import Box, along, around, group
from quipukit.report.palette import Look
from quipukit.report.plane_figures import CORNERS
from quipukit.report.table_model import typeset
from quipukit.report.views import View
from quipukit.report.wording import risk_axis, risk_name, scores_text
from quipukit.specs import format_value

# Where plotly can put a label beside a point, and the direction of that place.
_POSITIONS = {
    "top center": (0, 1),
    "middle right": (1, 0),
    "middle left": (-1, 0),
    "bottom center": (0, -1),
    "top right": (1, 1),
    "top left": (-1, 1),
    "bottom right": (1, -1),
    "bottom left": (-1, -1),
}
# As shares of the plane's side, for letters of 11 pixels on a plane of 560.
_LETTER, _LINE, _MARKER = 0.013, 0.025, 0.009


def chart_data(views: Sequence[View], looks: Mapping[str, Look], examples: bool) -> dict[str, Any]:
    """Return everything that is drawn; without ``examples``, no query text."""
    return {
        "looks": {
            name: {"color": look.number % 10, "marker": look.marker, "dash": look.dash} for name, look in looks.items()
        },
        "corners": [list(corner) for corner in CORNERS],
        "views": [_view(view, examples) for view in views],
    }


def script_safe(data: Any) -> str:
    """Return JSON that is safe inside a script element, for any texts."""
    text = json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _view(view: View, examples: bool) -> dict[str, Any]:
    return {
        "name": view.name,
        "judged": view.judged,
        "measure": view.measure,
        "attackers": [
            {"name": label, "risk": risk_name(label), "axis": risk_axis(label)}
            for label in dict.fromkeys([*view.headlines, *view.labels])
        ],
        "several": len(view.attackers) > 1,
        "mechanisms": [_mechanism(view, name) for name in view.mechanisms],
        "references": [_mechanism(view, name) for name in view.references],
        "examples": examples_of(view) if examples else [],
    }


def _mechanism(view: View, name: str) -> dict[str, Any]:
    first = view.curve(name, view.labels[0])
    return {
        "name": name,
        "strategy": view.result.strategies[name],
        "parameter": view.parameter_of(name),
        "values": [float(value) for value in first["value"]],
        "names": [format_value(value) for value in first["value"]],
        "utility": _rounded(first["utility"]) if view.judged else [],
        "utility_bounds": _bounds(first, "utility") if view.judged else [],
        "risk": {label: _rounded(view.curve(name, label)["risk"]) for label in view.labels},
        "risk_bounds": {label: _bounds(view.curve(name, label), "risk") for label in view.labels},
        "need": {label: _need(view, name, label) for label in view.labels} if view.judged else {},
        "score": {label: _score(view, name, label) for label in view.labels},
        "labels": {label: _labels(view, name, label) for label in view.labels} if view.judged else {},
    }


def _score(view: View, name: str, label: str) -> str:
    row = view.score_of(name, label)
    if row is None:
        return ""
    parts = [*scores_text(row), *([] if row["rankable"] else ["QuIPU is not ranked"])]
    return typeset(" \N{MIDDLE DOT} ".join(parts))


def _need(view: View, name: str, label: str) -> list[str]:
    """Return for every setting what is learned about the need, in words; empty where it was not measured."""
    parts = {"need_consensus": "by consensus", "need_guess": "by guessing"}
    rows = view.curve(name, label)[list(parts)].to_numpy()
    shown = [
        [f"{share:.3f} {how}" for share, how in zip(row, parts.values(), strict=True) if share == share] for row in rows
    ]
    return [typeset(f"need leaked: {', '.join(one)}") if one else "" for one in shown]


def _labels(view: View, name: str, label: str) -> list[list[str]]:
    references = (view.curve(other, label).iloc[0] for other in view.references)
    return plane_labels(view.curve(name, label), [(float(row["risk"]), float(row["utility"])) for row in references])


def plane_labels(curve: Any, others: Sequence[tuple[float, float]] = ()) -> list[list[str]]:
    """Return the label and its position for every point of a curve, clear of the line and of other points.

    Settings at the same place share a label.
    """
    places = [(float(r), float(u)) for r, u in zip(curve["risk"], curve["utility"], strict=True)]
    labels = [["", "top center"] for _ in places]
    marks = around([*places, *others], _MARKER) + along(places, _MARKER, _MARKER / 4)
    written: list[Box] = []
    for spot in group(places, list(curve["value"]), near=0.018):
        x, y = places[spot.first]
        boxes = {name: _beside(x, y, spot.text, direction) for name, direction in _POSITIONS.items()}
        # Where no place is free, overlapping a line is better than overlapping another label.
        position = min(boxes, key=lambda name: (_overlaps(boxes[name], written), _overlaps(boxes[name], marks)))
        written.append(boxes[position])
        labels[spot.first] = [spot.text, position]
    return labels


def _overlaps(box: Box, others: Sequence[Box]) -> int:
    return sum(box.meets(other) for other in others)


def _beside(x: float, y: float, text: str, direction: tuple[int, int]) -> Box:
    width, height = _LETTER * len(text), _LINE
    right, up = direction
    center_x = x + right * (_MARKER * 1.6 + width / 2)
    center_y = y + up * (_MARKER * 1.6 + height / 2)
    return Box(center_x - width / 2, center_y - height / 2, center_x + width / 2, center_y + height / 2)


def _bounds(curve: Any, side: str) -> list[list[float]]:
    return [[round(float(end), 4) for end in ends] for ends in curve[[f"{side}_low", f"{side}_high"]].to_numpy()]


def _rounded(numbers: Any) -> list[float]:
    return [round(float(value), 5) for value in numbers]
