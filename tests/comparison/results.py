"""Pairs of small results."""

import copy
from dataclasses import replace
from typing import Any

import pandas as pd

from quipukit.comparison import Comparison
from quipukit.results import Result

FIRST = {
    ("A", 1): ([0, 0, 0, 0], [0.1, 0.2, 0.3, 0.2]),
    ("A", 5): ([1, 0, 0, 0], [0.5, 0.6, 0.7, 0.6]),
    ("A", 9): ([1, 1, 0, 1], [0.6, 0.7, 0.8, 0.7]),
    ("Identity", 0): ([1, 1, 1, 1], [0.7, 0.8, 0.9, 0.8]),
}
SECOND = {
    ("A", 1): ([0, 0, 0, 0], [0.0, 0.1, 0.2, 0.1]),
    ("A", 5): ([1, 1, 0, 0], [0.5, 0.6, 0.7, 0.6]),
    ("A", 9): ([1, 1, 1, 1], [0.6, 0.7, 0.8, 0.7]),
    ("Identity", 0): ([1, 1, 1, 1], [0.7, 0.8, 0.9, 0.8]),
}


def with_manifest(result: Result, **parts: Any) -> Result:
    manifest = copy.deepcopy(dict(result.manifest))
    for name, part in parts.items():
        manifest[name] = {**manifest[name], **part} if isinstance(part, dict) else part
    return replace(result, manifest=manifest)


def other_texts(result: Result) -> Result:
    return replace(result, queries=result.queries.assign(query=result.queries["query"] + " differently"))


def utilities(found: Comparison) -> pd.DataFrame:
    return found.settings[found.settings["side"] == "utility"].reset_index(drop=True)
