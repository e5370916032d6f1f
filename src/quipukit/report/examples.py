"""Examples: what was sent for a query and what the attacker guessed; the only part of a report with query texts."""

import math
from typing import Any

import pandas as pd

from quipukit.report.views import View
from quipukit.specs import format_value

QUERIES = 12
VARIANTS = 4
GUESSES = 5


def example_queries(view: View) -> list[str]:
    """Return the ids of the example queries: the first for which the result holds guesses."""
    known = set(view.result.queries["qid"])
    return [qid for qid in dict.fromkeys(view.result.guesses["qid"]) if qid in known][:QUERIES]


def examples_of(view: View) -> list[dict[str, Any]]:
    """Return the example queries, each with its settings, mechanism by mechanism.

    A setting has ``value``, ``sent`` (texts), and per attacker a list of ``attacker``, ``rank`` (of the original among
    the guesses, None where it was not found) and ``guesses``, pairs of a text and whether it is the original.
    """
    result = view.result
    qids = example_queries(view)
    if not qids:
        return []
    seed = result.seeds[0]
    texts = dict(zip(result.queries["qid"], result.queries["query"], strict=True))
    keys = ["mechanism", "value", "qid"]

    def of_seed(frame: pd.DataFrame) -> pd.DataFrame:
        return frame[(frame["seed"] == seed) & frame["qid"].isin(qids)]

    sent: dict[tuple[Any, ...], list[str]] = {}
    variants = result.sent_for(qids, seed).sort_values("variant", kind="stable")
    for *key, query in variants[[*keys, "query"]].to_numpy():
        sent.setdefault(tuple(key), []).append(query)
    guesses: dict[tuple[Any, ...], list[tuple[str, bool]]] = {}
    rows = of_seed(result.guesses).sort_values("guess", kind="stable")
    for *key, query, hit in rows[[*keys, "attacker", "query", "hit"]].to_numpy():
        guesses.setdefault(tuple(key), []).append((query, bool(hit)))
    ranks = of_seed(result.ranks)[[*keys, "attacker", "log_rank"]].to_numpy()
    ranked = {tuple(key): rank for *key, rank in ranks}
    attackers = [name for name in view.result.attackers if name in set(rows["attacker"])]

    def attack(mechanism: str, value: float, qid: str, attacker: str) -> dict[str, Any]:
        key = (mechanism, value, qid, attacker)
        rank = _rank(ranked.get(key, math.inf))
        return {"attacker": attacker, "rank": rank, "guesses": guesses.get(key, [])[:GUESSES]}

    grid = view.settings[["mechanism", "value"]].to_numpy()
    return [
        {
            "qid": qid,
            "query": texts[qid],
            "settings": [
                {
                    "mechanism": mechanism,
                    "value": value,
                    "sent": _distinct(sent.get((mechanism, value, qid), []))[:VARIANTS],
                    "attacks": [attack(mechanism, value, qid, attacker) for attacker in attackers],
                }
                for mechanism, value in grid
            ],
        }
        for qid in qids
    ]


def _distinct(texts: list[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _rank(rank: float) -> str | None:
    return format_value(rank) if math.isfinite(rank) else None
