"""Risk against the number of variants that the attackers have seen: means with intervals, and the strongest attacker.

At every n each query contributes one random subset of its variants, so that P@1 and R@k are hits and have exact
intervals. An interval covers the choice of queries, of noise and of subsets. Points of one curve share their subsets
(the smaller ones are part of the larger ones): their intervals hold one by one, not for the curve as a whole.
"""

import numpy as np
import pandas as pd

from quipukit.attackers.growth import GROWTH
from quipukit.frames import RANKS, SETTING
from quipukit.measures.intervals import mean_intervals
from quipukit.measures.risk import are_hits, risk
from quipukit.measures.sides import score_matrix
from quipukit.measures.strongest import STRONGEST, attackers_of, strongest_intervals

COLUMNS = [*SETTING, "measure", "attacker", "seen", "risk", "low", "high", "found_by"]


def risk_growth(growth: pd.DataFrame, k: int = 10) -> pd.DataFrame:
    """Return the mean risk of every setting, measure and attacker after each number of variants.

    ``growth`` comes from `AttackReport.growth`, or is that of a Result. Columns: setting, measure (P@1, R@k, RR),
    attacker, seen, risk, low, high, found_by. Where there are several attackers, "strongest" is a further one: at every
    setting and n the one with the highest mean, which ``found_by`` names. Its intervals hold for all attackers at once.
    """
    checked = GROWTH.check(growth[list(GROWTH.columns)])
    qids = sorted(set(checked["qid"]))
    parts = []
    for seen, ranks in checked.groupby("seen"):
        scores = risk(ranks[list(RANKS.columns)], k)
        for measure, rows in scores.groupby("measure", sort=False):
            parts.append(_means(rows, qids, str(measure)).assign(seen=seen))
    if not parts:
        return pd.DataFrame(columns=COLUMNS)
    table = pd.concat(parts, ignore_index=True)
    # In the order of the settings, then of the measures and attackers; the curve of each in one piece.
    order = table.groupby([*SETTING, "measure", "attacker"], sort=False, observed=True).ngroup()
    settings = table.groupby(list(SETTING), sort=False, observed=True).ngroup()
    ordered = table.assign(_setting=settings, _curve=order).sort_values(["_setting", "_curve", "seen"], kind="stable")
    return ordered[COLUMNS].reset_index(drop=True)


def _means(scores: pd.DataFrame, qids: list[str], measure: str) -> pd.DataFrame:
    """Return the means of one measure after one number of variants."""
    hits = are_hits(measure, 1)
    names = attackers_of(scores)
    settings = scores[list(SETTING)].drop_duplicates(ignore_index=True)
    places = {key: place for place, key in enumerate(settings.itertuples(index=False, name=None))}
    sides = []
    for name in names:
        side, columns = score_matrix(scores[scores["attacker"] == name], qids)
        matrix = np.zeros((len(qids), len(settings)))  # a setting that an attacker has no ranks for counts 0
        matrix[:, [places[column[:3]] for column in columns]] = side.scores
        sides.append(matrix)
    tables = []
    # All columns at once: each has its own interval.
    lows, highs = (np.split(ends, len(names)) for ends in mean_intervals(np.hstack(sides), hits=hits))
    for name, matrix, low, high in zip(names, sides, lows, highs, strict=True):
        risks = {"risk": matrix.mean(axis=0), "low": low, "high": high}
        tables.append(settings.assign(attacker=name, **risks, found_by=name))
    if len(names) > 1:
        means = np.array([matrix.mean(axis=0) for matrix in sides])
        low, high = strongest_intervals(sides, hits)
        found_by = [names[number] for number in means.argmax(axis=0)]
        risks = {"risk": means.max(axis=0), "low": low, "high": high}
        tables.append(settings.assign(attacker=STRONGEST, **risks, found_by=found_by))
    return pd.concat(tables, ignore_index=True).assign(measure=measure)
