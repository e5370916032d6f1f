"""Examples: what was sent for a query, and what the attacker made of it; the only place where texts leave a result."""

import math
from typing import Any

from quipukit.report.views import Block
from quipukit.specs import format_value

QUERIES = 12
VARIANTS = 4
GUESSES = 5


def examples_of(block: Block) -> list[dict[str, Any]]:
    """Return the example queries, those with guesses; for each, mechanism by mechanism, its settings.

    A setting has ``value``, ``rank`` (of the original among the attacker's guesses, None where it was not found),
    ``sent`` and ``guesses``, pairs of a text and whether it is the original.
    """
    result = block.result
    if result.guesses.empty:
        return []
    seed = result.seeds[0]
    texts = dict(zip(result.queries["qid"], result.queries["query"], strict=True))
    qids = [qid for qid in dict.fromkeys(result.guesses["qid"]) if qid in texts][:QUERIES]
    keys = ["mechanism", "value", "qid"]

    def of_seed(frame: Any) -> Any:
        return frame[(frame["seed"] == seed) & frame["qid"].isin(qids)]

    sent: dict[Any, list[str]] = {}
    for *key, query in of_seed(result.obfuscated).sort_values("variant", kind="stable")[[*keys, "query"]].to_numpy():
        sent.setdefault(tuple(key), []).append(query)
    guessed: dict[Any, list[tuple[str, bool]]] = {}
    rows = of_seed(result.guesses).sort_values("guess", kind="stable")[[*keys, "query", "hit"]]
    for *key, query, hit in rows.to_numpy():
        guessed.setdefault(tuple(key), []).append((query, bool(hit)))
    # The first attacker alone: further ones share the queries, and the guesses are those of the first.
    ranks = of_seed(result.ranks)
    ranks = ranks[ranks["attacker"] == ranks["attacker"].iloc[0]] if len(ranks) else ranks
    ranked = {tuple(key): rank for *key, rank in ranks[[*keys, "log_rank"]].to_numpy()}
    grid = block.settings[["mechanism", "value"]].to_numpy()
    return [
        {
            "qid": qid,
            "query": texts[qid],
            "settings": [
                {
                    "mechanism": mechanism,
                    "value": value,
                    "rank": _rank(ranked.get((mechanism, value, qid), math.inf)),
                    "sent": _distinct(sent.get((mechanism, value, qid), []))[:VARIANTS],
                    "guesses": guessed.get((mechanism, value, qid), [])[:GUESSES],
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
