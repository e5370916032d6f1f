"""The frontier: the settings that no other setting beats in both risk and utility.

One setting **beats** another if it has no more risk, no less utility, and is better in one of the two. What counts is
the mean over the same queries; two settings whose intervals overlap may change places on others.

Two kinds of settings are shown and are never members. *References* (Identity, Random) say what is possible. Settings
that **pool more than 2 % of the collection** do not count, whatever they find: among so many documents even random
words find relevant ones. They neither lie on the frontier nor beat what does.
"""

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.measures.intervals import Floats
from quipukit.specs import format_value

# Where more of the collection is pooled, even random words find relevant documents.
MOST_POOLED = 0.02
# Random words pool about, not exactly, as many documents as the variants of a setting.
_NEARLY = 1.1
# Means of many numbers differ in their last digits.
_DIGITS = 9


def pareto(risk: Floats, utility: Floats) -> NDArray[np.bool_]:
    """Return which points no other one beats: none with as little risk and as much utility, and better in one.

    >>> pareto(np.array([0.1, 0.2, 0.3]), np.array([0.4, 0.4, 0.6])).tolist()
    [True, False, True]
    """
    return np.asarray(~beats(risk, utility).any(axis=0))


def beats(risk: Floats, utility: Floats) -> NDArray[np.bool_]:
    """Return for every pair of points whether the first (row) beats the second (column)."""
    r, u = np.round(risk, _DIGITS), np.round(utility, _DIGITS)
    no_worse = (r[:, None] <= r) & (u[:, None] >= u)
    better = (r[:, None] < r) | (u[:, None] > u)
    return np.asarray(no_worse & better)


def pools_much(shares: object) -> NDArray[np.bool_]:
    """Return which shares of the collection are too much for a utility to count; an unknown share is not.

    >>> pools_much([0.01, 0.04, float("nan")]).tolist()
    [False, True, False]
    """
    return np.asarray(np.asarray(shares, np.float64) > MOST_POOLED)


def frontier(points: pd.DataFrame, references: Collection[str] = ()) -> pd.DataFrame:
    """Return the settings with what places them on the frontier or keeps them off it.

    ``points`` has a row per setting, and per N where there are several, for one attacker and persona: mechanism, value,
    risk, utility; pooled_share, need_consensus, need_guess and pooled where they were measured. ``references`` are the
    mechanisms that are no members. Added are

    - ``name``: the setting as a spec, CMP@10; with its N where there are several;
    - ``reference`` and ``pools_much``: why it is no member;
    - ``frontier``: whether it is one;
    - ``would_be``: whether it would be one, but pools too much;
    - ``beaten_by``: the name of the member that beats it, of several the one of the highest utility; empty for others;
    - ``need``: the larger need leakage, by consensus or by guessing;
    - ``random``: what random words find in as many documents (see `random_utilities`), NaN where that is not known.
    """
    table = points.reset_index(drop=True)
    reference = table["mechanism"].isin(list(references)).to_numpy(bool)
    much = pools_much(table["pooled_share"]) if "pooled_share" in table else np.zeros(len(table), bool)
    counted = ~reference & ~much
    risk, utility = (table[side].to_numpy(np.float64) for side in ("risk", "utility"))
    all_beaten = beats(risk, utility)
    beaten = all_beaten & counted[:, None]
    member = counted & ~beaten.any(axis=0)
    names = setting_names(table)
    needs = table.reindex(columns=["need_consensus", "need_guess"]).astype(np.float64)
    return table.assign(
        name=names,
        reference=reference,
        pools_much=much,
        frontier=member,
        would_be=much & ~reference & ~(all_beaten & ~reference[:, None]).any(axis=0),
        beaten_by=[
            _best(np.flatnonzero(beaten[:, place] & member), risk, utility, names) if counted[place] else ""
            for place in range(len(table))
        ],
        need=needs.max(axis=1),
        random=random_utilities(table),
    )


def setting_names(table: pd.DataFrame) -> list[str]:
    """Return every setting as a spec, with its N where the table has several."""
    parameters = table["parameter"] if "parameter" in table else pd.Series("epsilon", table.index)
    several = "n" in table and table["n"].nunique() > 1
    ns = table["n"] if several else pd.Series(0, table.index)
    rows = zip(table["mechanism"], parameters, table["value"], ns, strict=True)
    return [
        f"{mechanism}{f'@{format_value(float(value))}' if parameter else ''}{f', N = {n}' if several else ''}"
        for mechanism, parameter, value, n in rows
    ]


def random_utilities(table: pd.DataFrame, name: str = "Random") -> Floats:
    """Return what random words find in as many documents as every setting pools; NaN where that is not known.

    It is known between the pools that `Random` was measured with (several, in a sweep over N) and, because nothing is
    found in no document, below the smallest of them: linear in between. Pools that are larger by more than a tenth than
    the largest are not known.
    """
    unknown = np.full(len(table), np.nan)
    if "pooled" not in table:
        return unknown
    own = table[(table["mechanism"] == name) & table["pooled"].notna()].sort_values("pooled", kind="stable")
    if own.empty:
        return unknown
    sizes, found = (np.concatenate([[0.0], own[column].to_numpy(np.float64)]) for column in ("pooled", "utility"))
    pooled = table["pooled"].to_numpy(np.float64)
    known = pooled <= _NEARLY * sizes[-1]
    return np.where(known, np.interp(pooled, sizes, found), np.nan)


def _best(members: NDArray[np.int64], risk: Floats, utility: Floats, names: Sequence[str]) -> str:
    if not len(members):
        return ""
    return names[min(members, key=lambda place: (-utility[place], risk[place]))]
