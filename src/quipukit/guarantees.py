"""What mechanisms promise, as values that travel with them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from quipukit.specs import format_value


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

    def composed(self, n: int) -> "MetricDP":
        return replace(self, epsilon=self.epsilon * n)

    def __str__(self) -> str:
        scope = "" if self.scope == "all words" else f", {self.scope}"
        return f"{format_value(self.epsilon)}-metric DP ({self.metric}) per {self.per}{scope}"


@dataclass(frozen=True)
class LocalDP(Guarantee):
    """Local differential privacy among a set of words: P(M(x) = y) <= exp(epsilon) P(M(x') = y)."""

    epsilon: float
    among: str
    per: str = "word"

    def composed(self, n: int) -> "LocalDP":
        return replace(self, epsilon=self.epsilon * n)

    def __str__(self) -> str:
        return f"{format_value(self.epsilon)}-DP among {self.among} per {self.per}"


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
class Together(Guarantee):
    """Several guarantees that hold at once about one query and add up to no single number."""

    parts: tuple[Guarantee, ...]

    def composed(self, n: int) -> "Together":
        return Together(tuple(part.composed(n) for part in self.parts))

    def __str__(self) -> str:
        return " + ".join(map(str, self.parts))


def joint(releases: Sequence[tuple[str, Guarantee]]) -> Guarantee:
    """Return what releases about one query promise together; each comes with the owner of its noise.

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
    for owner, one in releases:
        if not isinstance(one, MetricDP | LocalDP):
            return one if len(releases) == 1 else NoGuarantee(f"{owner} has none")
        kind = replace(one, epsilon=0)
        known = sums.get(kind, kind)
        assert isinstance(known, MetricDP | LocalDP)
        sums[kind] = replace(known, epsilon=known.epsilon + one.epsilon)
    parts = tuple(sums.values())
    return parts[0] if len(parts) == 1 else Together(parts)
