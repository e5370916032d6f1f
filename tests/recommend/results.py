"""Small results with numbers that can be checked by hand."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from quipukit.recommend import Recommendation
from quipukit.results import TABLES, Result

Sides = tuple[list[float], list[float]]  # risk and utility per query
REFERENCES = ("Identity", "Random")


def tiny_result(
    table: dict[tuple[str, float], Sides],
    risk: tuple[str, ...] = ("R@10",),
    qids: list[str] | None = None,
    ceilings: dict[tuple[str, float], list[float]] | None = None,
    **more: Any,
) -> Result:
    """Return a result with these risks and utilities; every risk measure has the same scores."""
    settings, scores = [], []
    # What the original finds among as many documents: without another word, what it finds with one list.
    originals, ceilings = table.get(("Identity", 0.0), ([], []))[1], ceilings or {}
    names = qids or [f"q{number}" for number in range(len(next(iter(table.values()))[0]))]
    for (mechanism, value), sides in table.items():
        plain = mechanism in REFERENCES
        own = {"mechanism": mechanism, "parameter": "" if plain else "epsilon", "value": value}
        facts = {
            name: {"text": "", "whole": 0, "number": 0.0}[kind] for name, kind in TABLES["settings"].columns.items()
        }
        facts |= {"strategy": "reference" if plain else "sampling", "guarantee": "some", "n": 50, "variants": 50.0}
        settings.append({**facts, **own, "budget": 50 * value, **more})
        for side, measures, attacker, system, found in (
            ("risk", risk, "QuIA", "", sides[0]),
            ("utility", ("nDCG@10",), "", "bm25", sides[1]),
            ("ceiling", ("nDCG@10",), "", "bm25", ceilings.get((mechanism, value), originals)),
        ):
            for measure, (qid, score) in product(measures, zip(names, found, strict=side != "ceiling")):
                row = {"seed": 1, "system": system, "attacker": attacker, "qid": qid, "side": side}
                scores.append({**row, **own, "measure": measure, "score": score})
    frames = {name: one.empty() for name, one in TABLES.items()}
    frames["queries"] = TABLES["queries"].check(pd.DataFrame({"qid": names, "query": [f"secret {q}" for q in names]}))
    frames["settings"] = TABLES["settings"].check(pd.DataFrame(settings))
    frames["scores"] = TABLES["scores"].check(pd.DataFrame(scores))
    manifest = {"collection": {"name": "tiny"}, "systems": [{"name": "bm25", "depth": 10}], "seeds": [1]}
    return Result(manifest, **frames)


HAND: dict[tuple[str, float], Sides] = {
    key: (risk * 200, utility * 200)
    for key, (risk, utility) in {
        ("A", 1.0): ([0.0, 0.0, 0.0, 0.0], [0.1, 0.2, 0.3, 0.2]),
        ("A", 5.0): ([1.0, 0.0, 0.0, 0.0], [0.5, 0.6, 0.7, 0.6]),
        ("A", 9.0): ([1.0, 1.0, 0.0, 1.0], [0.6, 0.7, 0.8, 0.7]),
        ("B", 2.0): ([0.0, 1.0, 0.0, 0.0], [0.4, 0.5, 0.6, 0.5]),
        ("B", 4.0): ([1.0, 1.0, 0.0, 0.0], [0.5, 0.6, 0.7, 0.6]),
        ("Identity", 0.0): ([1.0, 1.0, 1.0, 1.0], [0.7, 0.8, 0.9, 0.8]),
        ("Random", 0.0): ([0.0, 0.0, 0.0, 0.0], [0.9, 0.9, 0.9, 0.9]),  # absurdly good: it must not be chosen
    }.items()
}


def by_hand(**wishes: Any) -> Recommendation:
    return tiny_result(HAND).recommend(**wishes)


def quiet(queries: int, settings: int = 1, hits: int = 0) -> Result:
    """Return a result in which every setting is found in so many cases."""
    risk = [1.0] * hits + [0.0] * (queries - hits)
    return tiny_result({("A", 1.0 + value): (risk, [0.5] * queries) for value in range(settings)})


def with_log(result: Result, held: int) -> Result:
    """Return the result as if the log held only the first of the originals, and had not been completed."""
    qids = result.queries["qid"].tolist()
    own = {"seed": 1, "mechanism": "A", "parameter": "epsilon", "value": 1.0, "attacker": "QuIA"}
    ranks = [
        {
            **own,
            "qid": qid,
            "log_rank": 99.0 if number < held else np.inf,
            "better": 98 if number < held else -1,
            "tied": 0,
        }
        for number, qid in enumerate(qids)
    ]
    manifest = {**result.manifest, "log": {"size": 1000, "in_log": held, "injected": 0, "inject": False}}
    return replace(result, manifest=manifest, ranks=TABLES["ranks"].check(pd.DataFrame(ranks)))
