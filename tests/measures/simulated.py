"""Made-up scores per query."""

from itertools import product

import numpy as np
import pandas as pd

from quipukit.frames import SCORES

Scores = pd.DataFrame


def scores(side: str, measure: str, table: dict[tuple[str, float], list[float]], attacker: str = "QuIA") -> Scores:
    rows = [
        (mechanism, "epsilon", value, attacker if side == "risk" else "", str(qid), side, measure, score)
        for (mechanism, value), per_query in table.items()
        for qid, score in enumerate(per_query)
    ]
    return pd.DataFrame(rows, columns=list(SCORES.columns))


def simulated(
    names: str, queries: int, seed: int, values: tuple[float, ...] = (1.0, 5.0, 10.0)
) -> tuple[Scores, Scores]:
    """Risks that rise with the value and utilities that share the difficulty of their query."""
    rng = np.random.default_rng(seed)
    ease = rng.random(queries)
    risk = {(n, v): (rng.random(queries) < v / 12).astype(float).tolist() for n, v in product(names, values)}
    utility = {(n, v): (ease * (v / 10) ** 0.5).tolist() for n, v in product(names, values)}
    return scores("risk", "P@1", risk), scores("utility", "nDCG@10", utility)
