"""Decoys: send the query itself, among others that are drawn anew each time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from quipukit.covers.load import load_partition
from quipukit.covers.partition import Partition
from quipukit.guarantees import Guarantee, NoGuarantee
from quipukit.mechanisms.base import QueryMechanism, Variants, check_choice, check_whole
from quipukit.registry import HidesMore
from quipukit.text import key

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

_TOPIC = 10  # times k: the queries of a topic from which matched decoys are drawn


@dataclass(frozen=True, kw_only=True)
class Decoys(QueryMechanism):
    """Send the query and k - 1 decoys from a public pool, in random order: a baseline, as browser extensions do it.

    Decoys are drawn without replacement, anew at each release: from the whole pool (``topic="random"``), or from the
    group of at least 10 k queries that the query belongs to (``topic="matched"``; see `Cover` for groups). The number
    of texts is k, whatever ``n`` says. A query of the pool is sent as the pool spells it.

    Guarantee: none. One release alone hides a query that is drawn uniformly from the pool: among the k texts all are
    equally likely, and a guess is right with probability 1/k. But a query outside the pool is the one text that is not
    in it; a query asked again is the one text that comes back; who knows what the user is likely to ask picks it out of
    random decoys; and matched ones release the topic.

    Reference: Howe, Nissenbaum. TrackMeNot: resisting surveillance in web search. 2009.

    >>> from quipukit.covers.describe import Description
    >>> from quipukit.covers.make import make_partition
    >>> from quipukit.covers.pool import QueryPool
    >>> pool = QueryPool.of(["cat food", "dog food", "income tax", "tax return"])
    >>> decoys = Decoys(k=3, cover=make_partition(pool, 2, Description("static:default")))
    >>> sent = decoys.obfuscate("who was ada lovelace")
    >>> len(sent), "who was ada lovelace" in sent
    (3, True)
    """

    name: ClassVar[str] = "Decoys"
    summary: ClassVar[str] = "the query itself among fresh random queries: falls to repetition"
    strategy: ClassVar[str] = "cover"
    reference: ClassVar[str] = "Howe, Nissenbaum, 2009 (TrackMeNot)"
    parameter: ClassVar[str] = "k"
    grid: ClassVar[tuple[float, ...]] = (2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
    default: ClassVar[float | None] = 10.0
    hides_more: ClassVar[HidesMore] = "larger"
    sends_original: ClassVar[bool] = True
    own_count: ClassVar[bool] = True

    k: float
    cover: Partition = field(default=None, repr=False)  # type: ignore[assignment]
    topic: str = "random"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_whole(self.name, "k", self.k, 2))
        check_choice(self.name, "topic", self.topic, ("random", "matched"))
        if self.cover is None:
            object.__setattr__(self, "cover", load_partition())
        self.cover.starts(int(self.k))  # refuses a pool that is too small

    @property
    def guarantee(self) -> Guarantee:
        return NoGuarantee(
            f"the query is sent; alone, and drawn uniformly from the pool, it is one of {self.k:g}, but asked again it "
            "is the text that comes back, and outside the pool the one that is not in it"
        )

    # --- what may come along ---

    @property
    def group_size(self) -> int:
        """Return how many queries at least the decoys are drawn from."""
        size = len(self.cover.pool)
        return size if self.topic == "random" else min(_TOPIC * int(self.k), size)

    def groups_of(self, texts: "list[str]") -> Places:
        """Return the number of the group whose queries come along with each text."""
        if self.topic == "random":
            return np.zeros(len(texts), np.int64)
        return self.cover.groups_of(texts, self.group_size)

    @property
    def group_starts(self) -> Places:
        """Return where the groups begin, in the order of the partition, and where the last one ends."""
        if self.topic == "random":
            return np.array([0, len(self.cover.pool)])
        return self.cover.starts(self.group_size)

    def variants(self, query: str, n: int, rngs: Callable[[int], np.random.Generator]) -> Variants:
        if not key(query):
            return Variants([], {"empty": 1})
        pool, rng = self.cover.pool, rngs(0)
        group = int(self.groups_of([query])[0])
        members = self.cover.order[slice(*self.group_starts[group : group + 2])]
        own = pool.row(query)
        others = members[members != own]
        drawn = rng.choice(len(others), int(self.k) - 1, replace=False)
        texts = [query if own < 0 else pool.texts[own], *(pool.texts[row] for row in others[drawn].tolist())]
        order = rng.permutation(len(texts))
        return Variants([texts[place] for place in order], {} if own >= 0 else {"outside": 1})

    def query_law(self, candidates: Sequence[str]) -> "DecoyLaw":
        return DecoyLaw(self, candidates)


class DecoyLaw:
    """ln P(texts | candidate) of one release, or of several, one after the other; of the last, a random part will do.

    Of a release of k texts, t are seen. If the candidate is among them, the other t - 1 are any of its group of m (of
    which it is none itself): t/k / C(m, t - 1). If it is not, it is among those not seen: (1 - t/k) / C(m, t).
    """

    def __init__(self, mechanism: Decoys, candidates: Sequence[str]) -> None:
        """Look up every candidate: whether it is in the pool, and which queries come along with it."""
        self._mechanism = mechanism
        pool = mechanism.cover.pool
        self._groups = mechanism.groups_of(list(candidates))
        inside = np.array([pool.row(text) >= 0 for text in candidates], bool)
        self._decoys = np.diff(mechanism.group_starts)[self._groups] - inside
        self._places: dict[str, list[int]] = {}
        for place, text in enumerate(candidates):
            self._places.setdefault(key(text), []).append(place)

    def log_likelihoods(self, texts: Sequence[str]) -> Floats:
        """Return the logarithms, in the order of the candidates; minus infinity where it cannot have sent the texts."""
        k = int(self._mechanism.k)
        total = np.zeros(len(self._groups))
        for start in range(0, len(texts), k):
            total += self._of_release(texts[start : start + k])
        return total

    def _of_release(self, texts: Sequence[str]) -> Floats:
        mechanism, seen = self._mechanism, len(texts)
        keys = [key(text) for text in texts]
        logs = np.full(len(self._groups), -np.inf)
        if len(set(keys)) < seen:
            return logs  # no text comes twice
        inside = np.array([mechanism.cover.pool.row(text) >= 0 for text in texts])
        groups = mechanism.groups_of(list(texts))
        share = seen / mechanism.k
        if inside.all() and share < 1 and len(set(groups.tolist())) == 1:
            unseen = self._groups == groups[0]
            logs[unseen] = np.log(1 - share) - _log_choices(self._decoys[unseen], seen)
        for number, one in enumerate(keys):
            others = np.arange(seen) != number
            for place in self._places.get(one, ()):
                fits = inside[others].all() and (groups[others] == self._groups[place]).all()
                own = self._decoys[place : place + 1]
                logs[place] = np.log(share) - _log_choices(own, seen - 1)[0] if fits else -np.inf
        return logs


def _log_choices(sizes: Places, count: int) -> Floats:
    """Return the logarithm of the number of ways to choose some of each of these sizes."""
    known, where = np.unique(sizes, return_inverse=True)
    steps = np.arange(count)
    ways: Floats = np.log(np.maximum(known[:, None] - steps, 1) / (steps + 1)).sum(axis=1)
    return ways[where]
