"""What differs between two runs, by their manifests."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from quipukit.results import Result

# Reported elsewhere: settings by name, queries by count, systems and measures by choice.
_TOLD = ("form", "specs", "skipped", "examples", "queries", "systems", "measures")
_HASH = "fingerprint"
_WIDTH = 40


def manifest_differences(first: "Result", second: "Result", systems: tuple[str, str]) -> pd.DataFrame:
    """Return the facts of the manifests that are not the same: what, first, second."""
    facts = [_facts(result, name) for result, name in zip((first, second), systems, strict=True)]
    rows = [
        (what, *(_short(what, side.get(what)) for side in facts))
        for what in dict.fromkeys([*facts[0], *facts[1]])
        if facts[0].get(what) != facts[1].get(what)
    ]
    # A fingerprint is worth reporting only if nothing else says that this part differs.
    reported = {what.split(".")[0] for what, *_ in rows if not what.endswith(_HASH)}
    rows = [row for row in rows if not (row[0].endswith(_HASH) and row[0].split(".")[0] in reported)]
    return pd.DataFrame(rows, columns=["what", "first", "second"])


def _facts(result: "Result", system: str) -> dict[str, Any]:
    chosen = next(known for known in result.manifest["systems"] if known["name"] == system)
    parts = {name: part for name, part in result.manifest.items() if name not in _TOLD}
    return _flat({**parts, "system": chosen})


def _flat(part: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for name, value in part.items():
        facts.update(_flat(value, f"{before}{name}.") if isinstance(value, Mapping) else {f"{before}{name}": value})
    return facts


def _short(what: str, value: Any) -> str:
    if value is None:
        return "-"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if what.endswith(_HASH):
        return text[:12]
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."
