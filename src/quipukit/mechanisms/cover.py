"""Cover: send the fixed group of public queries that the query belongs to."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from quipukit.covers.load import load_partition
from quipukit.covers.partition import Partition
from quipukit.guarantees import Guarantee, NoGuarantee, WithinGroup
from quipukit.mechanisms.base import QueryMechanism, Variants, check_whole
from quipukit.mechanisms.changes import change_since
from quipukit.registry import HidesMore
from quipukit.text import key


@dataclass(frozen=True, kw_only=True)
class Cover(QueryMechanism):
    """Send all queries of a fixed group, in random order: whichever of them was meant, the engine sees the same.

    A public pool of queries is divided once, from public data alone, into groups of ``k`` queries or a few more that
    are close in meaning (`quipukit.covers`). A query of the pool belongs to its group; any other query to the group
    of the leaf that is nearest in meaning and form. The number of variants is that of the group, whatever ``n`` says;
    with ``members`` = N it is N fixed representatives of it.

    Guarantee: queries of one group are indistinguishable, exactly, for any number of repetitions. Which group it is,
    and so the topic, is released; see `WithinGroup` for what follows and what does not. A query of the pool is sent as
    it is among the others: it hides in the crowd.

    >>> from quipukit.covers.describe import Description
    >>> from quipukit.covers.make import make_partition
    >>> from quipukit.covers.pool import QueryPool
    >>> pool = QueryPool.of(["cat food", "dog food", "income tax", "tax return"])
    >>> cover = Cover(k=2, cover=make_partition(pool, 2, Description("static:default")))
    >>> sorted(cover.obfuscate("income tax")), sorted(cover.obfuscate("what do cats eat"))
    (['income tax', 'tax return'], ['cat food', 'dog food'])
    """

    name: ClassVar[str] = "Cover"
    summary: ClassVar[str] = "a fixed group of public queries: hides in the crowd"
    strategy: ClassVar[str] = "cover"
    parameter: ClassVar[str] = "k"
    grid: ClassVar[tuple[float, ...]] = (50.0, 100.0, 200.0, 500.0, 1000.0)
    default: ClassVar[float | None] = 50.0
    hides_more: ClassVar[HidesMore] = "larger"
    sends_original: ClassVar[bool] = True
    own_count: ClassVar[bool] = True

    k: float
    cover: Partition = field(default=None, repr=False)  # type: ignore[assignment]
    members: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_whole(self.name, "k", self.k, 2))
        if self.members is not None:
            object.__setattr__(self, "members", check_whole(self.name, "members", self.members, 1))
        if self.cover is None:
            object.__setattr__(self, "cover", load_partition())
        self.cover.starts(int(self.k))  # refuses a pool that is too small

    @property
    def guarantee(self) -> Guarantee:
        if change := change_since(type(self), "guarantee"):
            return NoGuarantee(f"{self.name} changes {change} and promises nothing of its own")
        sizes = np.diff(self.cover.starts(int(self.k)))
        return WithinGroup(int(sizes.min()), self.cover.pool.name)

    def variants(self, query: str, n: int, rngs: Callable[[int], np.random.Generator]) -> Variants:
        if not key(query):
            return Variants([], {"empty": 1})
        group = self.cover.group_of(query, int(self.k))
        texts = self.cover.members(group, int(self.k), self.members)
        order = rngs(0).permutation(len(texts))
        return Variants([texts[place] for place in order], {} if self.cover.pool.row(query) >= 0 else {"outside": 1})

    def query_law(self, candidates: Sequence[str]) -> "GroupLaw":
        return GroupLaw(self, self.cover.groups_of(list(candidates), int(self.k)))


@dataclass(frozen=True, eq=False)
class GroupLaw:
    """All candidates of the group that was sent are equally likely to have sent it, and no others."""

    mechanism: Cover
    groups: NDArray[np.int64]  # of every candidate

    def log_likelihoods(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return 0 for the candidates whose group sends these texts, and minus infinity for all others."""
        seen = frozenset(map(key, texts))
        fitting = [group for group in self._groups_of(texts) if self._sent_by(group) == seen]
        return np.where(np.isin(self.groups, fitting), 0.0, -np.inf)

    def _groups_of(self, texts: Sequence[str]) -> list[int]:
        cover = self.mechanism.cover
        inside = [text for text in texts if cover.pool.row(text) >= 0]
        return sorted(set(cover.groups_of(inside, int(self.mechanism.k)).tolist()))

    @functools.lru_cache(maxsize=4096)  # noqa: B019 - the law lives as long as the attack
    def _sent_by(self, group: int) -> frozenset[str]:
        mechanism = self.mechanism
        return frozenset(map(key, mechanism.cover.members(group, int(mechanism.k), mechanism.members)))
