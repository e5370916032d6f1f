"""Risk: what an attacker gains from its ranking of the query log.

An attacker ranks the log; its *persona* is how far down the ranking it reads. The lazy one looks at the first entry
(P@1), the active one at the first k (R@k, k = 10), the motivated one reads on until the original comes (RR). With b
other entries before the original and t level with it, its rank is uniform on b + 1 .. b + t + 1, so that in expectation

    P@1 = [b = 0] / (t + 1)
    R@k = min(1, max(0, (k - b) / (t + 1)))
    RR  = (H(b + t + 1) - H(b)) / (t + 1),    H the harmonic numbers.

A query that could not be found (better = -1: the log lacks it, or nothing was sent) has risk 0 and is counted.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from quipukit.errors import FrameError, InputError
from quipukit.frames import RANKS, SCORES, SETTING

Policy = Literal["expected", "optimistic", "pessimistic"]
POLICIES: tuple[Policy, ...] = ("expected", "optimistic", "pessimistic")
CURVE = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)

_GROUP = (*SETTING, "attacker")
_SMALL = 32

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]


def risk(ranks: pd.DataFrame, k: int = 10, policy: Policy = "expected") -> pd.DataFrame:
    """Return Scores: P@1, R@k and RR of every query under every setting and attacker.

    ``policy`` says where the original stands among entries level with it: anywhere, all places equally likely
    (``expected``), first (``optimistic``, from the attacker's view) or last (``pessimistic``).

    >>> row = {"mechanism": "CMP", "parameter": "epsilon", "value": 5, "attacker": "QuIA", "qid": "1"}
    >>> scores = risk(pd.DataFrame([{**row, "log_rank": 1.5, "better": 0, "tied": 1}]))
    >>> dict(zip(scores["measure"], scores["score"]))
    {'P@1': 0.5, 'R@10': 1.0, 'RR': 0.75}
    """
    checked, found, better, tied = _counts(ranks, policy)
    measures = _measures(found, better, tied, _whole(k, "k"))
    wide = np.column_stack(list(measures.values()))
    scores = checked.loc[checked.index.repeat(len(measures)), [*_GROUP, "qid"]]
    scores = scores.assign(side="risk", measure=list(measures) * len(checked), score=wide.ravel())
    return SCORES.check(scores)


def mean_risk(ranks: pd.DataFrame, k: int = 10, policy: Policy = "expected") -> pd.DataFrame:
    """Return, for every setting and attacker, the mean risks over all queries, with how many of them were found.

    ``found`` of ``queries`` were ranked at all; the columns that end in ``_found`` are the means over these alone (NaN
    where there are none). ``mean_rank`` and ``median_rank`` are over the found ones too.
    """
    checked, found, better, tied = _counts(ranks, policy)
    measures = _measures(found, better, tied, _whole(k, "k"))
    table = checked[list(_GROUP)].assign(
        **measures,
        found=found,
        queries=1,
        **{f"{name}_found": np.where(found, score, np.nan) for name, score in measures.items()},
        rank=np.where(found, better + 1 + tied / 2, np.nan),
    )
    grouped = table.groupby(list(_GROUP), sort=False)
    means = grouped[[*measures, *(f"{name}_found" for name in measures)]].mean()
    counts = grouped[["found", "queries"]].sum().astype("int64")
    places = grouped["rank"].agg(mean_rank="mean", median_rank="median")
    return pd.concat([means, counts, places], axis=1).reset_index()


def recall_curve(ranks: pd.DataFrame, ks: Sequence[int] = CURVE, policy: Policy = "expected") -> pd.DataFrame:
    """Return the mean R@k over all queries for each k: columns of the setting, attacker, k, recall."""
    checked, found, better, tied = _counts(ranks, policy)
    wanted = [_whole(k, "k") for k in ks]
    return _long(checked, "k", wanted, lambda k: {"recall": np.where(found, _recall(better, tied, k), 0.0)})


def risk_by_log_size(
    ranks: pd.DataFrame, log_size: int, sizes: Sequence[int], k: int = 10, policy: Policy = "expected"
) -> pd.DataFrame:
    """Return the mean risks that smaller logs would give: columns of the setting, attacker, log_size, P@1, R@k, RR.

    ``log_size`` is the number M of distinct entries that were ranked, the original among them. A log of m entries is
    the original and a random subset of m - 1 others. Of a others that came before the original, the subset holds a
    hypergeometric number A, and over all subsets

        P@1 = P(A = 0) = C(M - 1 - a, m - 1) / C(M - 1, m - 1)
        R@k = P(A < k)
        RR  = E[1 / (A + 1)] = (M / m) (1 - C(M - 1 - a, m) / C(M, m)) / (a + 1).

    Ties are broken before the subset is drawn: a is uniform on b .. b + t.
    """
    checked, found, better, tied = _counts(ranks, policy)
    total, k = _whole(log_size, "log_size"), _whole(k, "k")
    if found.any() and int((better + tied)[found].max()) >= total:
        need = int((better + tied)[found].max()) + 1
        raise InputError(f"log_size is {total}, but an original has rank {need}; give the size of the log attacked.")
    for size in sizes:
        if _whole(size, "a size of the log") > total:
            raise InputError(f"sizes must be from 1 to {total}, the size of the log attacked (found {size}).")
    ahead = _covered(better[found], tied[found], total)
    first = np.searchsorted(ahead, np.where(found, better, 0))

    def at_size(size: int) -> dict[str, Floats]:
        means = {}
        for name, scores in _subset_scores(ahead, total, size, k).items():
            sums = np.concatenate([[0.0], np.cumsum(scores)])
            # A single place needs no sum, and its score no rounding.
            alone = np.append(scores, 0.0)[first]
            mean = np.where(
                tied > 0, (sums[np.minimum(first + tied + 1, len(scores))] - sums[first]) / (tied + 1), alone
            )
            means[name] = np.where(found, mean, 0.0)
        return means

    return _long(checked, "log_size", [int(size) for size in sizes], at_size)


def level_everywhere(ranks: pd.DataFrame, log_size: int) -> "set[tuple[str, str, float, str]]":
    """Return at which settings which attackers put all rows of a log level, whatever was asked.

    So does one that knows no law of the mechanism: its risk there is that of chance, and says nothing.

    >>> row = {"mechanism": "AEA", "parameter": "level", "value": 3, "attacker": "Bayes", "qid": "1", "log_rank": 2}
    >>> level_everywhere(pd.DataFrame([{**row, "better": 0, "tied": 2}]), 3)
    {('AEA', 'level', 3, 'Bayes')}
    """
    found = ranks[ranks["better"] >= 0]
    level = (found["better"] == 0) & (found["tied"] == log_size - 1)
    every = level.groupby([found[name] for name in _GROUP], observed=True).all()
    return set(every.index[every])


def persona_of(measure: str) -> str:
    """Return the persona whose risk a measure is: how far down its ranking the attacker reads.

    >>> [persona_of(measure) for measure in ("P@1", "R@10", "R@20", "RR")]
    ['lazy', 'active', 'active@20', 'motivated']
    """
    return {"P@1": "lazy", "R@10": "active", "RR": "motivated"}.get(measure, measure.replace("R@", "active@"))


def is_persona(name: str) -> bool:
    """Return whether a name is that of a persona: lazy, active, active@K or motivated.

    >>> is_persona("active@20"), is_persona("QuIA")
    (True, False)
    """
    return name in ("lazy", "active", "motivated") or name.startswith("active@")


def risk_label(attacker: str, persona: str, several: bool) -> str:
    """Return the name of a risk for people: the persona, after the attacker's name where there are several attackers.

    >>> risk_label("QuIA", "lazy", several=False), risk_label("Bayes", "motivated", several=True)
    ('lazy', 'Bayes motivated')
    """
    return f"{attacker} {persona}".strip() if several else persona


def are_hits(measure: str, seeds: int) -> bool:
    """Return whether the risks of queries are hits, 1 or 0 but for ties: P@1 and R@k are, but not as means over seeds.

    >>> are_hits("R@10", 1), are_hits("R@10", 3), are_hits("RR", 1)
    (True, False, False)
    """
    return seeds == 1 and measure.startswith(("P@", "R@"))


def harmonic_difference(b: ArrayLike, n: ArrayLike) -> Floats:
    """Return H(n) - H(b) = 1 / (b + 1) + ... + 1 / n for whole numbers 0 <= b <= n, to a relative error below 1e-12.

    H(n) = ln x + gamma + 1 / (24 x^2) - 7 / (960 x^4) + ..., x = n + 1/2, subtracted term by term: the difference of
    two rounded harmonic numbers would keep few digits where b is large.
    """
    low, high = (np.asarray(side, np.float64) for side in (b, n))
    head = _HARMONIC[np.minimum(high, _SMALL).astype(np.int64)] - _HARMONIC[np.minimum(low, _SMALL).astype(np.int64)]
    x, y = np.maximum(low, _SMALL) + 0.5, np.maximum(high, _SMALL) + 0.5
    steps = y - x
    series = np.zeros_like(x)
    for power, factor in ((2, 1 / 24), (4, -7 / 960), (6, 31 / 8064), (8, -127 / 30720)):
        # y^-p - x^-p = (x/y - 1) (1 + x/y + ...) x^-p, without cancellation.
        ratio = x / y
        series -= factor * steps / y * sum(ratio**i for i in range(power)) * x**-power
    return head + np.log1p(steps / x) + series


_HARMONIC = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, _SMALL + 1))])


# --- per query ----------------------------------------------------------------------------------------------------


def _counts(ranks: pd.DataFrame, policy: Policy) -> tuple[pd.DataFrame, NDArray[np.bool_], Wholes, Wholes]:
    """Return the checked table, who was found, and how many entries stand before and level under the policy."""
    if policy not in POLICIES:
        raise InputError(f"policy must be one of {', '.join(map(repr, POLICIES))} (found {policy!r}).")
    checked = RANKS.check(ranks)
    better, tied = (checked[column].to_numpy(np.int64) for column in ("better", "tied"))
    if (better < -1).any() or (tied < 0).any():
        raise FrameError("Ranks: 'better' must be -1 (not found) or more, and 'tied' 0 or more; attack again.")
    found = better >= 0
    tied = np.where(found, tied, 0)
    if policy == "expected":
        return checked, found, better, tied
    return checked, found, better + tied if policy == "pessimistic" else better, np.zeros_like(tied)


def _measures(found: NDArray[np.bool_], better: Wholes, tied: Wholes, k: int) -> dict[str, Floats]:
    before = np.where(found, better, 0)
    scores = {
        "P@1": (before == 0) / (tied + 1),
        f"R@{k}": _recall(before, tied, k),
        "RR": np.where(tied > 0, harmonic_difference(before, before + tied + 1) / (tied + 1), 1 / (before + 1)),
    }
    return {name: np.where(found, score, 0.0) for name, score in scores.items()}


def _recall(better: Wholes, tied: Wholes, k: int) -> Floats:
    return np.clip((k - better) / (tied + 1), 0.0, 1.0)


def _whole(number: object, name: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1:
        raise InputError(f"{name} must be a whole number of at least 1 (found {number!r}).")
    return int(number)


def _long(
    checked: pd.DataFrame, name: str, values: Sequence[int], scores: Callable[[int], dict[str, Floats]]
) -> pd.DataFrame:
    """Return the means of some scores over the queries of each group, one row per group and value."""
    keys = checked[list(_GROUP)]
    parts = [
        keys.assign(**scores(value)).groupby(list(_GROUP), sort=False).mean().reset_index().assign(**{name: value})
        for value in values
    ]
    if not parts:
        raise InputError(f"no {name} is given; name at least one.")
    table = pd.concat(parts, keys=range(len(parts))).swaplevel().sort_index(kind="stable").reset_index(drop=True)
    return table[[*_GROUP, name, *(column for column in table.columns if column not in (*_GROUP, name))]]


# --- subsets of the log -------------------------------------------------------------------------------------------


def _covered(better: Wholes, tied: Wholes, total: int) -> Wholes:
    """Return, in rising order, every number of entries that can stand before one of the originals."""
    marks = np.zeros(total + 1, np.int64)
    np.add.at(marks, better, 1)
    np.add.at(marks, better + tied + 1, -1)
    return np.flatnonzero(np.cumsum(marks) > 0)


def _subset_scores(ahead: Wholes, total: int, size: int, k: int) -> dict[str, Floats]:
    """Return the expected risks over random subsets for each number of entries ahead in the whole log."""
    from scipy import stats

    # Products of (1 - m / M) (1 - m / (M - 1)) ... as sums of logarithms: factorials of a million lose their digits.
    # After `total - size` others nothing can be missed any more: the logarithm of 0, which log1p may not be asked for.
    places = np.arange(total - size)
    nothing_before = np.concatenate([[0.0], np.cumsum(np.log1p(-(size - 1) / (total - 1 - places)))])
    misses = np.cumsum(np.log1p(-size / (total - places)))
    first = np.where(ahead <= total - size, nothing_before[np.minimum(ahead, total - size)], -np.inf)
    missed = np.full(len(ahead), -np.inf)
    missed[ahead < total - size] = misses[ahead[ahead < total - size]]
    within = stats.hypergeom.cdf(k - 1, total - 1, ahead, size - 1)
    return {
        "P@1": np.exp(first),
        f"R@{k}": np.where(np.minimum(ahead, size - 1) < k, 1.0, within),
        "RR": total / size * -np.expm1(missed) / (ahead + 1),
    }
