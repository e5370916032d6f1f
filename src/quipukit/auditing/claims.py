"""What a guarantee claims about two inputs: the largest privacy loss, in nats; infinite where it says nothing.

A guarantee says its metric and its scope in words. Those of the built-in mechanisms are read here; a mechanism with
others has a method ``claimed_loss(one, other)``.
"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.errors import InputError
from quipukit.guarantees import ForAllVariants, Guarantee, LocalDP, MetricDP, NoGuarantee, Together, WithinGroup
from quipukit.mechanisms.base import Mechanism
from quipukit.mechanisms.mahalanobis import ellipsoid
from quipukit.mechanisms.words import WordMechanism

Floats = NDArray[np.float64]

_LAST = re.compile(r"only the last ([\d,]+) of [\d,]+ words in file order")
_ROUNDING = 1e-9  # of the losses of words, which are computed in float64
_QUERY_ROUNDING = 1e-5  # of distances between encodings, which are float32


class Claims(ABC):
    """The claim of one guarantee about pairs of inputs."""

    rounding: float = _ROUNDING

    @abstractmethod
    def loss(self, one: str, other: str) -> float:
        """Return the largest loss that is claimed for this pair."""

    def losses(self, one: str, others: Sequence[str]) -> Floats:
        """Return the claims for one input and several others."""
        return np.array([self.loss(one, other) for other in others], np.float64)

    def group(self, text: str) -> object:
        """Return something that differs between inputs about which nothing is claimed; equal where that is unknown."""
        return None

    def covers(self, text: str) -> bool:
        """Return whether anything is claimed about an input."""
        return True

    def slack(self, claim: float) -> float:
        """Return how far rounding alone can lift a computed loss above a claim."""
        return self.rounding * (1 + (claim if claim < math.inf else 0.0))


class Nothing(Claims):
    """No claim."""

    def loss(self, one: str, other: str) -> float:
        return math.inf


@dataclass(frozen=True)
class Stated(Claims):
    """The claim that a mechanism states by its own method."""

    stated: Callable[[str, str], float]
    times: float = 1.0

    def loss(self, one: str, other: str) -> float:
        return self.times * float(self.stated(one, other))


class WordClaims(Claims):
    """Claims about words, added up over the positions of texts with the same number of words."""

    def __init__(self, mechanism: WordMechanism, scope: str) -> None:
        """Keep the mechanism, and which words the claim is about."""
        self.mechanism = mechanism
        self._unknown, self._first = _read_scope(mechanism, scope)
        self._known: dict[str, tuple[tuple[str, ...], list[Floats | None]]] = {}

    def covers(self, text: str) -> bool:
        return all(place is not None for place in self._places(text)[1])

    def loss(self, one: str, other: str) -> float:
        (words, places), (other_words, other_places) = self._places(one), self._places(other)
        if len(words) != len(other_words):
            return math.inf  # the number of words is released
        total = 0.0
        for a, b, x, y in zip(words, other_words, places, other_places, strict=True):
            total += 0.0 if a == b else math.inf if x is None or y is None else self.between(x, y)
        return total

    @abstractmethod
    def between(self, one: Floats, other: Floats) -> float:
        """Return the claim about two words by their places."""

    @abstractmethod
    def place(self, row: int, point: Floats) -> Floats:
        """Return what `between` needs to know of a word."""

    def _places(self, text: str) -> tuple[tuple[str, ...], list[Floats | None]]:
        if text not in self._known:
            words = tuple(self.mechanism.tokens(text))
            self._known[text] = words, [self._place(word) for word in words]
        return self._known[text]

    def _place(self, word: str) -> Floats | None:
        """Return the place of a word that the claim is about; None for any other."""
        vectors = self.mechanism.vectors
        row = vectors.row(word)
        if row >= 0:
            return self.place(row, vectors.matrix[row].astype(np.float64)) if row >= self._first else None
        if not self._unknown:
            return None
        composed = vectors.compose(word) if self.mechanism.oov == "subword" and vectors.compose else None
        return self.place(-1, np.asarray(vectors.mean if composed is None else composed, np.float64))


class WordMetric(WordClaims):
    """epsilon times the distance of two words, Euclidean after a linear map."""

    def __init__(self, mechanism: WordMechanism, guarantee: MetricDP, inverse: Floats | None = None) -> None:
        """Keep epsilon, and the map under which the metric is Euclidean."""
        super().__init__(mechanism, guarantee.scope)
        self.epsilon, self._inverse = guarantee.epsilon, inverse
        self._last: tuple[Sequence[str], Floats] | None = None

    def place(self, row: int, point: Floats) -> Floats:
        return point if self._inverse is None else self._inverse @ point

    def between(self, one: Floats, other: Floats) -> float:
        return self.epsilon * float(np.linalg.norm(one - other))

    def losses(self, one: str, others: Sequence[str]) -> Floats:
        words, places = self._places(one)
        last = self._last  # one and the same list is asked about again and again
        if last is None or last[0] is not others:
            several = [self._places(other)[1] for other in others]
            single = all(len(at) == 1 and at[0] is not None for at in several)
            last = (others, np.array([at[0] for at in several]) if single else np.empty(0))
            self._last = last
        if len(words) != 1 or places[0] is None or not len(last[1]):
            return super().losses(one, others)
        apart = last[1] - places[0]
        return self.epsilon * np.sqrt(np.einsum("ij,ij->i", apart, apart))


class WordPositions(WordClaims):
    """epsilon times the number of steps between two words in a list, the largest of several lists."""

    def __init__(self, mechanism: WordMechanism, guarantee: MetricDP) -> None:
        """Keep epsilon; the positions are the mechanism's own."""
        super().__init__(mechanism, guarantee.scope)
        self.epsilon = guarantee.epsilon

    def place(self, row: int, point: Floats) -> Floats:
        own: Any = self.mechanism
        return np.asarray(own.positions[:, own.row_of(point, row)], np.float64)

    def between(self, one: Floats, other: Floats) -> float:
        return self.epsilon * float(np.abs(one - other).max())

    def losses(self, one: str, others: Sequence[str]) -> Floats:
        (_, here), several = self._places(one), [self._places(other)[1] for other in others]
        if any(len(places) != 1 or places[0] is None for places in (here, *several)):
            return super().losses(one, others)
        apart = np.abs(np.array([places[0] for places in several]) - here[0])
        return self.epsilon * apart.max(axis=1)


class WordGroups(WordClaims):
    """epsilon between two words of one group; nothing between others."""

    def __init__(self, mechanism: WordMechanism, guarantee: LocalDP, grouping: Any | None) -> None:
        """Keep epsilon, and the groups; without them all words are in one."""
        # An unknown word is in a group only where it has a place.
        placed = "all words" if mechanism.oov in ("anchor", "subword") else "words of the vocabulary"
        super().__init__(mechanism, guarantee.among if grouping is None else placed)
        self.epsilon, self._grouping = guarantee.epsilon, grouping

    def place(self, row: int, point: Floats) -> Floats:
        group = 0 if self._grouping is None else int(self._grouping.group_of_place(point, row)[0])
        return np.array([float(group)])

    def between(self, one: Floats, other: Floats) -> float:
        return self.epsilon if one[0] == other[0] else math.inf

    def group(self, text: str) -> object:
        return tuple(None if place is None else float(place[0]) for place in self._places(text)[1])


@dataclass(frozen=True)
class QueryMetric(Claims):
    """epsilon times the distance of two queries as points."""

    epsilon: float
    point: Callable[[str], Any]
    rounding: float = _QUERY_ROUNDING

    def loss(self, one: str, other: str) -> float:
        far = np.asarray(self.point(one), np.float64) - np.asarray(self.point(other), np.float64)
        return self.epsilon * float(np.linalg.norm(far))

    def losses(self, one: str, others: Sequence[str]) -> Floats:
        points = np.array([self.point(other) for other in others], np.float64)
        return self.epsilon * np.linalg.norm(points - np.asarray(self.point(one), np.float64), axis=1)


@dataclass(frozen=True)
class SameGroup(Claims):
    """No loss at all between queries of one group; nothing is claimed about others."""

    of: Callable[[str], int]

    def loss(self, one: str, other: str) -> float:
        return 0.0 if self.of(one) == self.of(other) else math.inf

    def group(self, text: str) -> object:
        return self.of(text)


@dataclass(frozen=True)
class Sum(Claims):
    """The claims of several releases about one query."""

    parts: tuple[Claims, ...]

    def loss(self, one: str, other: str) -> float:
        return sum(part.loss(one, other) for part in self.parts)


def claims_of(mechanism: Mechanism, guarantee: Guarantee | None = None) -> Claims:
    """Return what a mechanism claims about pairs of inputs, or what another guarantee would claim in its place."""
    claimed = mechanism.guarantee if guarantee is None else guarantee
    if isinstance(claimed, ForAllVariants):
        return claims_of(mechanism, claimed.whole)
    if isinstance(claimed, NoGuarantee):
        return Nothing()
    stated = getattr(mechanism, "claimed_loss", None)
    if callable(stated):
        own = getattr(mechanism.guarantee.composed(1), "epsilon", None)
        given = getattr(claimed, "epsilon", None)
        return Stated(stated, given / own if own and given is not None else 1.0)
    if isinstance(claimed, Together):
        return Sum(tuple(claims_of(mechanism, part) for part in claimed.parts))
    if isinstance(claimed, WithinGroup) and hasattr(mechanism, "cover"):
        cover, k = mechanism.cover, int(mechanism.value)
        return SameGroup(lambda text: int(cover.group_of(text, k)))
    if isinstance(claimed, MetricDP) and claimed.metric.startswith("euclidean, sentence") and claimed.per == "query":
        return QueryMetric(claimed.epsilon, _kept(mechanism.encoded.point))  # type: ignore[attr-defined]
    if isinstance(claimed, MetricDP) and claimed.metric.startswith("mahalanobis, sentence") and claimed.per == "query":
        inverse = np.linalg.inv(mechanism.ellipsoid.factor)  # type: ignore[attr-defined]
        return QueryMetric(claimed.epsilon, _kept(lambda text: inverse @ mechanism.encoded.point(text)))  # type: ignore[attr-defined]
    if isinstance(mechanism, WordMechanism) and isinstance(claimed, MetricDP) and claimed.per == "word":
        if claimed.metric.startswith("list positions") and hasattr(mechanism, "positions"):
            return WordPositions(mechanism, claimed)
        return WordMetric(mechanism, claimed, _inverse(mechanism, claimed.metric))
    if isinstance(mechanism, WordMechanism) and isinstance(claimed, LocalDP):
        grouped = claimed.among.startswith("the words of one")
        if grouped and not hasattr(mechanism, "grouping"):
            raise _unread(mechanism, f"the words that {claimed.among!r} means")
        return WordGroups(mechanism, claimed, mechanism.grouping if grouped else None)  # type: ignore[attr-defined]
    raise _unread(mechanism, f"the guarantee {claimed}")


def _inverse(mechanism: WordMechanism, metric: str) -> Floats | None:
    """Return the map under which a metric of words is Euclidean; None for the Euclidean one itself."""
    if metric == "euclidean":
        return None
    if not metric.startswith("mahalanobis"):
        raise _unread(mechanism, f"the metric {metric!r}")
    lam = re.fullmatch(r"mahalanobis, lam=([\d.]+)", metric)
    return np.asarray(np.linalg.inv(ellipsoid(mechanism.vectors, float(lam[1]) if lam else 1.0).factor), np.float64)


def _read_scope(mechanism: WordMechanism, scope: str) -> tuple[bool, int]:
    """Return whether a claim is about unknown words too, and the first row of the vocabulary that it is about."""
    if scope.startswith("all words"):
        return True, 0
    if scope.startswith("words of the vocabulary"):
        return False, 0
    if last := _LAST.match(scope):
        return False, len(mechanism.vectors) - int(last[1].replace(",", ""))
    raise _unread(mechanism, f"the scope {scope!r}")


def _unread(mechanism: Mechanism, what: str) -> InputError:
    return InputError(
        f"{mechanism.spec!r}: the audit cannot read {what}; give the class a method claimed_loss(one, other) that "
        "returns the largest loss it claims for two inputs, in nats, and math.inf where it claims nothing."
    )


def _kept(point: Callable[[str], Any]) -> Callable[[str], Any]:
    known: dict[str, Any] = {}

    def once(text: str) -> Any:
        if text not in known:
            known[text] = point(text)
        return known[text]

    return once
