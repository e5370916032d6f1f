"""What mechanisms promise, as values that travel with them."""

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
        """Tell whether anything is promised at all."""
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
