"""What attackers find after fewer variants than were sent: the curve along which a risk has grown to what it is.

For every setting and query the variants are put into a random order, and the attackers see the first n of them: subsets
that are nested, so that the curve of a query is not broken by other draws. The order depends on nothing but the setting
and the query. Where variants are drawn independently (all mechanisms that replace words), n of N are what the mechanism
sends at N = n; a heuristic that sends its best variants first would send those. Where all variants share one budget
(``budget='total'``) n of them are not what it sends at N = n, and there is no such curve.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.errors import InputError
from quipukit.frames import OBFUSCATED, RANKS, SETTING
from quipukit.progress import Progress, part_of
from quipukit.seeds import keyed
from quipukit.settings import shares_budget

if TYPE_CHECKING:
    from quipukit.attackers.panel import Panel
    from quipukit.executors.base import Executor

SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
# Ranks after some of the variants: ``seen`` is how many the attacker saw, or all where there were fewer.
GROWTH = replace(RANKS, name="Growth", columns={**RANKS.columns, "seen": "whole"}, key=(*RANKS.key, "seen"))


def sizes_below(variants: int, sizes: Sequence[int] = SIZES) -> list[int]:
    """Return the sizes of subsets of this many variants, in rising order; not the whole, which is the attack itself.

    >>> sizes_below(50), sizes_below(3), sizes_below(1)
    ([1, 2, 5, 10, 20], [1, 2], [])
    """
    given: Sequence[object] = sizes
    for size in given:
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
            raise InputError(f"a size must be a whole number of at least 1 (found {size!r}).", argument="sizes")
    return sorted({int(size) for size in sizes if size < variants})


def with_own_budgets(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of settings whose variants have each its own epsilon: a part of others is not what they send."""
    own = ~table["mechanism"].map(shares_budget).astype(bool)
    return table if own.all() else table[own].reset_index(drop=True)


def random_places(obfuscated: pd.DataFrame) -> NDArray[np.int64]:
    """Return the place of every row in the random order of its setting's and query's variants, from 0."""
    groups = [*SETTING, "qid"]
    group = obfuscated.groupby(groups, sort=False, observed=True).ngroup().to_numpy()
    by_variant = np.lexsort((obfuscated["variant"].to_numpy(), group))
    names = obfuscated[groups].drop_duplicates().itertuples(index=False, name=None)
    places = np.empty(len(obfuscated), np.int64)
    start = 0
    for (mechanism, parameter, value, qid), count in zip(names, np.bincount(group).tolist(), strict=True):
        order = keyed("variants seen", mechanism, parameter, repr(float(value)), qid).permutation(count)
        places[by_variant[start : start + count]] = order
        start += count
    return places


def growth_ranks(
    panel: "Panel",
    obfuscated: pd.DataFrame,
    queries: pd.DataFrame,
    sizes: Sequence[int],
    *,
    settings: pd.DataFrame | None = None,
    names: Sequence[str] | None = None,
    progress: Progress | None = None,
    executor: "Executor | None" = None,
) -> pd.DataFrame:
    """Return the ranks after each number of variants, as a Growth table: Ranks, and ``seen``.

    All attackers of a panel see the same subsets, in the order of the variants; the arguments are those of
    `Panel.ranks`. Settings whose variants share a budget are left out, see `with_own_budgets`.
    """
    sent = with_own_budgets(OBFUSCATED.check(obfuscated))
    settings = None if settings is None else with_own_budgets(settings)
    places = random_places(sent)
    tables = []
    for number, size in enumerate(sizes):
        ranks = panel.ranks(
            sent[places < size],
            queries,
            settings=settings,
            names=names,
            progress=part_of(progress, number, 1, len(sizes)),
            executor=executor,
        )
        tables.append(ranks.assign(seen=size))
    return GROWTH.check(pd.concat(tables, ignore_index=True)) if tables else GROWTH.empty()
