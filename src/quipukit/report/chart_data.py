"""What the page's scripts draw from: one object of plain lists, numbers and texts."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from quipukit.report.examples import examples_of
from quipukit.report.labels import Box, along, around, group
from quipukit.report.narrative import risk_name, scores_in_words
from quipukit.report.palette import Look
from quipukit.report.plane_figures import CORNERS
from quipukit.report.table_model import typeset
from quipukit.report.views import Block
from quipukit.specs import format_value

# Where plotly can write beside a point, and the direction in which that is.
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
# In shares of the plane's side, for letters of 11 pixels on a plane of 560.
_LETTER, _LINE, _MARKER = 0.013, 0.025, 0.009


def page_data(blocks: Sequence[Block], looks: Mapping[str, Look], examples: bool) -> dict[str, Any]:
    """Return everything that is drawn; no text of a query where ``examples`` are not wanted."""
    return {
        "looks": {
            name: {"color": look.number % 10, "marker": look.marker, "dash": look.dash} for name, look in looks.items()
        },
        "corners": [list(corner) for corner in CORNERS],
        "blocks": [_block(block, examples) for block in blocks],
    }


def script_safe(data: Any) -> str:
    """Return JSON that can stand inside a script element, whatever its texts hold."""
    text = json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _block(block: Block, examples: bool) -> dict[str, Any]:
    return {
        "name": block.name,
        "judged": block.judged,
        "measure": block.measure,
        "attackers": [{"name": who, "risk": risk_name(who)} for who in block.attackers],
        "mechanisms": [_mechanism(block, name) for name in block.mechanisms],
        "references": [_mechanism(block, name) for name in block.references],
        "examples": examples_of(block) if examples else [],
    }


def _mechanism(block: Block, name: str) -> dict[str, Any]:
    first = block.curve(name, block.attackers[0])
    return {
        "name": name,
        "strategy": block.result.strategies[name],
        "parameter": block.parameter_of(name),
        "values": [float(value) for value in first["value"]],
        "names": [format_value(value) for value in first["value"]],
        "utility": _rounded(first["utility"]) if block.judged else [],
        "utility_bounds": _bounds(first, "utility") if block.judged else [],
        "risk": {who: _rounded(block.curve(name, who)["risk"]) for who in block.attackers},
        "risk_bounds": {who: _bounds(block.curve(name, who), "risk") for who in block.attackers},
        "score": {who: _score(block, name, who) for who in block.attackers},
        "labels": {who: _labels(block, name, who) for who in block.attackers} if block.judged else {},
    }


def _score(block: Block, name: str, who: str) -> str:
    row = block.score_of(name, who)
    if row is None:
        return ""
    parts = [*scores_in_words(row), *([] if row["rankable"] else ["QuIPU is not ranked"])]
    return typeset(" \N{MIDDLE DOT} ".join(parts))


def _labels(block: Block, name: str, who: str) -> list[list[str]]:
    references = (block.curve(other, who).iloc[0] for other in block.references)
    return plane_labels(block.curve(name, who), [(float(row["risk"]), float(row["utility"])) for row in references])


def plane_labels(curve: Any, others: Sequence[tuple[float, float]] = ()) -> list[list[str]]:
    """Return a text and a position for every point of a curve, clear of its line and of other points.

    Settings at one place share one text.
    """
    places = [(float(r), float(u)) for r, u in zip(curve["risk"], curve["utility"], strict=True)]
    labels = [["", "top center"] for _ in places]
    marks = around([*places, *others], _MARKER) + along(places, _MARKER, _MARKER / 4)
    written: list[Box] = []
    for spot in group(places, list(curve["value"]), near=0.018):
        x, y = places[spot.first]
        boxes = {name: _beside(x, y, spot.text, direction) for name, direction in _POSITIONS.items()}
        # Where no place is free, a label rather lies on a line than on another label.
        position = min(boxes, key=lambda name: (_met(boxes[name], written), _met(boxes[name], marks)))
        written.append(boxes[position])
        labels[spot.first] = [spot.text, position]
    return labels


def _met(box: Box, others: Sequence[Box]) -> int:
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
