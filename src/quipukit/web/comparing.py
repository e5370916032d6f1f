"""Two results compared, as the page shows it."""

import json
from typing import Any

from quipukit.comparison import compare_results
from quipukit.results import Result

_COLUMNS = ["mechanism", "attacker", "persona", "score", "first", "second", "difference", "low", "high", "p_holm"]


def compared(first: Result, second: Result) -> dict[str, Any]:
    """Return the comparison as plain lists and numbers."""
    comparison = compare_results(first, second)
    return {
        "measure": comparison.measure,
        "paired": comparison.paired,
        "queries": list(comparison.queries),
        # By pandas: the json module does not know NumPy numbers, and JSON has no NaN.
        "differs": json.loads(comparison.differs.to_json(orient="records")),
        "scores": json.loads(comparison.scores[_COLUMNS].to_json(orient="records")),
        "notes": list(comparison.notes),
    }
