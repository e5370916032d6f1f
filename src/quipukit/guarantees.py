"""What mechanisms promise, as values that travel with them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from quipukit.numeric import shown_bound
from quipukit.specs import format_value

# Part of every guarantee that holds for repetitions of a query too; a recommendation looks for it.
ASKED_AGAIN = "however often it is asked"
_SENT_TOO = "A query of the pool is itself among what is sent, as it is, unless others of its group represent it."


@dataclass(frozen=True)
class Guarantee:
    """Base of all guarantees."""

    def composed(self, n: int) -> "Guarantee":
        """Return the guarantee of n independent releases about the same query."""
        return self

    @property
    def private(self) -> bool:
        """Return whether anything is promised at all."""
        return True


@dataclass(frozen=True)
class MetricDP(Guarantee):
    """Metric differential privacy: P(M(x) = y) <= exp(epsilon * d(x, x')) P(M(x') = y) for all x, x', y.

    N independent obfuscations of one query multiply epsilon by N.

    >>> MetricDP(10).composed(50)
    MetricDP(epsilon=500, metric='euclidean', per='word', scope='all words')
    """

    epsilon: float
    metric: str = "euclidean"
    per: str = "word"
    scope: str = "all words"
    # What floating point adds to the exponent, at most, where that is proved; None where it is not.
    rounding: float | None = field(default=None, repr=False)

    def composed(self, n: int) -> "MetricDP":
        return replace(self, epsilon=self.epsilon * n, rounding=_times(self.rounding, n))

    def __str__(self) -> str:
        scope = "" if self.scope == "all words" else f", {self.scope}"
        return f"{format_value(self.epsilon)}-metric DP ({self.metric}) per {self.per}{scope}{_exactly(self.rounding)}"


@dataclass(frozen=True)
class LocalDP(Guarantee):
    """Local differential privacy among a set of words: P(M(x) = y) <= exp(epsilon) P(M(x') = y)."""

    epsilon: float
    among: str
    per: str = "word"
    rounding: float | None = field(default=None, repr=False)  # as in MetricDP

    def composed(self, n: int) -> "LocalDP":
        return replace(self, epsilon=self.epsilon * n, rounding=_times(self.rounding, n))

    def __str__(self) -> str:
        return f"{format_value(self.epsilon)}-DP among {self.among} per {self.per}{_exactly(self.rounding)}"


def _times(rounding: float | None, n: int) -> float | None:
    return None if rounding is None else rounding * n


def _exactly(rounding: float | None) -> str:
    if rounding is None:
        return ""
    return ", sampled exactly" + (f" (rounding adds {shown_bound(rounding)} at most)" if rounding else "")


@dataclass(frozen=True)
class WithinGroup(Guarantee):
    """What is sent is a function of the query's group alone: all queries of a group look the same, however often asked.

    No attacker succeeds more often than the prior allows *within* a group: for queries drawn from a prior, with the
    probability of the group's most likely query (one guess) or of its ten most likely ones (ten guesses). With a
    uniform prior this is 1 / k and 10 / k. For one particular query, or under another prior, nothing follows; and the
    group itself, which is a topic, is released.
    """

    k: int  # queries of the pool in the smallest group
    pool: str

    def __str__(self) -> str:
        return (
            f"indistinguishable among {self.k:,} or more queries of the pool {self.pool}, {ASKED_AGAIN} "
            "(the group, a topic, is released; queries outside the pool share a group with them)"
        )

    @property
    def promises(self) -> tuple[str, ...]:
        """Return what is promised, sentence by sentence."""
        return (
            f"All queries of one group, {self.k:,} or more of the pool {self.pool}, send the same texts: what the "
            "engine sees does not tell them apart, however often one of them is asked.",
            f"For a query drawn uniformly from the pool, one guess is right with probability {1 / self.k:.3g} at most, "
            f"ten guesses with {min(1.0, 10 / self.k):.3g}.",
        )

    @property
    def limits(self) -> tuple[str, ...]:
        """Return what is not promised, sentence by sentence."""
        return (
            "The topic is released: which group it is.",
            "Nothing follows for one particular query, or under another prior: who knows what this user is likely to "
            "ask, or how, ranks the group by that.",
            _SENT_TOO,
            "Related queries in a row narrow it down: a session is not covered.",
            "A query outside the pool shares its group with those of the attacker's log that fall there: maybe few.",
            "When, and how often, something is asked is seen.",
        )


@dataclass(frozen=True)
class WithinNodes(WithinGroup):
    """What is sent in a session is a function of the sequence of its new nodes: those that were not sent before in it.

    Sessions with the same sequence, sent at the same moments, look the same, whatever was asked under the nodes. For
    one query it is `WithinGroup`.
    """

    def __str__(self) -> str:
        return (
            f"sessions with the same new nodes are indistinguishable; a node has {self.k:,} or more queries of the "
            f"pool {self.pool} (which nodes, and when they are sent, is released)"
        )

    @property
    def promises(self) -> tuple[str, ...]:
        """Return what is promised, sentence by sentence."""
        return (
            f"A node, {self.k:,} or more queries of the pool {self.pool}, is sent once in a session, always as the "
            "same list; a later query under it sends nothing.",
            "Two sessions with the same sequence of new nodes, sent at the same moments, are indistinguishable.",
        )

    @property
    def limits(self) -> tuple[str, ...]:
        """Return what is not promised, sentence by sentence."""
        return (
            "The topics are released: which nodes, in which order, and when.",
            "Queries of a session are related: two nodes together say more about the queries under each than either "
            "node alone. A session that stays under its first node releases that one only.",
            _SENT_TOO,
            "Opening a document at its site, or clicking on it, is outside: local answers hide the query, not the "
            "visit.",
            "Within a node nothing follows for one particular query, or under another prior than the uniform one.",
            "A query outside the pool shares its node with those of the attacker's log that fall there: maybe few.",
        )


@dataclass(frozen=True)
class NoGuarantee(Guarantee):
    """Nothing is promised, and why."""

    reason: str

    @property
    def private(self) -> bool:
        return False

    def __str__(self) -> str:
        return f"none: {self.reason}"


@dataclass(frozen=True)
class ForAllVariants(Guarantee):
    """A guarantee of all variants of a query together, however many there are: they share one budget.

    >>> print(ForAllVariants(MetricDP(10)), "|", ForAllVariants(MetricDP(10)).composed(50))
    10-metric DP (euclidean) per word, for all variants together | 10-metric DP (euclidean) per word
    """

    whole: Guarantee

    def composed(self, n: int) -> Guarantee:
        return self.whole

    @property
    def private(self) -> bool:
        return self.whole.private

    def __str__(self) -> str:
        return f"{self.whole}, for all variants together"


@dataclass(frozen=True)
class Together(Guarantee):
    """Several guarantees that hold at once about one query and add up to no single number."""

    parts: tuple[Guarantee, ...]

    def composed(self, n: int) -> "Together":
        return Together(tuple(part.composed(n) for part in self.parts))

    def __str__(self) -> str:
        return " + ".join(map(str, self.parts))


def joint(releases: Sequence[tuple[str, Guarantee]]) -> Guarantee:
    """Return what releases about one query promise together; each comes with the owner of its noise.

    Where n variants are sent of each, compose the guarantees first: some do not grow with n.

    Independent releases of one kind (the same metric or group, the same scope) add their epsilons; others are listed
    separately, because a bound on one distance does not bound another. A metric goes by its name, so all releases must
    be about the same vectors, as those of one call of the command line are.

    Releases that share their noise promise nothing together: with ``CMP@1`` and ``CMP@2`` on the words 0, 1 and 3 of a
    line, the outputs (3, 1) come from 0 with probability 0.0585 and from 3 with probability 0, so that no epsilon
    bounds the ratio.

    >>> print(joint([("CMP@1", MetricDP(1)), ("CMP@2", MetricDP(2))]))
    3-metric DP (euclidean) per word
    >>> print(joint([("A", MetricDP(1, "mahalanobis")), ("B", MetricDP(2, "mahalanobis, lam=0.5"))]))
    1-metric DP (mahalanobis) per word + 2-metric DP (mahalanobis, lam=0.5) per word
    >>> print(joint([("spherical", MetricDP(1)), ("spherical", MetricDP(2))]))
    none: settings that share their noise have no finite joint guarantee
    """
    owners = [owner for owner, _ in releases]
    if len(set(owners)) < len(owners):
        return NoGuarantee("settings that share their noise have no finite joint guarantee")
    sums: dict[Guarantee, Guarantee] = {}
    for owner, release in releases:
        one = release.whole if isinstance(release, ForAllVariants) else release
        if not isinstance(one, MetricDP | LocalDP):
            if len(releases) > 1 and all(isinstance(each, WithinGroup) for _, each in releases):
                # Groups of one pool need not be nested: what two of them share may be a single query.
                return NoGuarantee("a query in two groups is known to be in both, and those may share few")
            return one if len(releases) == 1 else NoGuarantee(f"{owner} has none")
        kind = replace(one, epsilon=0, rounding=None)
        known = sums.get(kind, replace(kind, rounding=0.0))
        assert isinstance(known, MetricDP | LocalDP)
        proved = None if known.rounding is None or one.rounding is None else known.rounding + one.rounding
        sums[kind] = replace(known, epsilon=known.epsilon + one.epsilon, rounding=proved)
    parts = tuple(sums.values())
    return parts[0] if len(parts) == 1 else Together(parts)
