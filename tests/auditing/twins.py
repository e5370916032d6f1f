"""Wrong twins: mechanisms that claim what they do not keep, as published code does."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

import quipukit as qk
from quipukit.guarantees import Guarantee, LocalDP, MetricDP, WithinGroup
from quipukit.lexical import STOP_WORDS
from quipukit.mechanisms.base import OneGenerator, Streams, Tick, Variants
from quipukit.mechanisms.cmp import CMP
from quipukit.mechanisms.cover import Cover
from quipukit.mechanisms.custext import CusText
from quipukit.mechanisms.mahalanobis import Mahalanobis
from quipukit.mechanisms.queryexp import Floats, QueryExp
from quipukit.mechanisms.santext import SanText, SortedRow
from quipukit.mechanisms.tem import TEM
from quipukit.mechanisms.vickrey import VickreyCMP
from quipukit.mechanisms.wbb import WBB

NAMES = ("the", "cat", "dog", "cow", "horse", "violin", "tax", "loan", "bank", "debt", "fever", "cough", "pain", "song")


@functools.cache
def vocabulary() -> qk.Vectors:
    """Return some words in a plane; the last two are twins."""
    points = np.random.default_rng(3).normal(size=(len(NAMES), 2)) * [2.0, 0.7]
    points[-1] = points[-2]
    return qk.Vectors(NAMES, points)


@dataclass(frozen=True, kw_only=True)
class TopK(CusText):
    """Per-word lists of the k nearest words, sold as groups."""

    mapping: str = "topk"

    @property
    def promise(self) -> Guarantee:
        return LocalDP(self.epsilon, f"the words of one group of {self.k}")


@dataclass(frozen=True, kw_only=True)
class SoldBoxes(WBB):
    """Boxes that leave the word out, sold as metric DP."""

    all_tokens: bool = True

    @property
    def promise(self) -> Guarantee:
        return MetricDP(self.epsilon)


@dataclass(frozen=True, kw_only=True)
class Renormalized(Mahalanobis):
    """The direction is divided by its length after it was stretched."""

    def stretch(self, directions: NDArray[np.float64]) -> NDArray[np.float64]:
        stretched = super().stretch(directions)
        return stretched / np.linalg.norm(stretched, axis=1, keepdims=True)

    @property
    def promise(self) -> Guarantee:
        return super().promise


class _After:
    """Changes what another mechanism made, with a look at the query."""

    def changed(self, word: str, sent: str) -> str:
        raise NotImplementedError

    @classmethod
    def obfuscate_batch(
        cls,
        group: Sequence[Any],
        queries: Sequence[tuple[str, str]],
        n: int,
        streams: Streams,
        tick: Tick = lambda _: None,
    ) -> list[list[Variants]]:
        made = super().obfuscate_batch(group, queries, n, streams, tick)  # type: ignore[misc]
        return [
            [
                Variants([_by_word(one, query, text) for text in variants.texts], variants.flags)
                for (_, query), variants in zip(queries, several, strict=True)
            ]
            for one, several in zip(group, made, strict=True)
        ]


def _by_word(one: Any, query: str, text: str) -> str:
    return " ".join(one.changed(word, sent) for word, sent in zip(query.split(), text.split(), strict=True))


@dataclass(frozen=True, kw_only=True)
class UnknownVerbatim(_After, TEM):
    """Unknown words are sent as they are."""

    def changed(self, word: str, sent: str) -> str:
        return sent if word.lower() in self.vectors else word

    @property
    def promise(self) -> Guarantee:
        return MetricDP(self.epsilon)


@dataclass(frozen=True, kw_only=True)
class LooksAgain(_After, VickreyCMP):
    """After the noise it looks at the secret once more, and never sends it."""

    def changed(self, word: str, sent: str) -> str:
        if sent != word:
            return sent
        far = np.linalg.norm(self.vectors.matrix - self.vectors.vector(word).astype(np.float32), axis=1)
        return str(self.vectors.words[int(np.argsort(far, kind="stable")[1])])

    @property
    def promise(self) -> Guarantee:
        return MetricDP(self.epsilon)


@dataclass(frozen=True, kw_only=True)
class KeepsCase(_After, CMP):
    """A word that was typed in upper case comes out in upper case."""

    def changed(self, word: str, sent: str) -> str:
        return sent.upper() if word.isupper() else sent

    @property
    def promise(self) -> Guarantee:
        return MetricDP(self.epsilon)


@dataclass(frozen=True, kw_only=True)
class NotShuffled(CMP):
    """Sold as shuffled; the words of the query are sent in their own order."""

    @classmethod
    def obfuscate_batch(
        cls,
        group: Sequence[Any],
        queries: Sequence[tuple[str, str]],
        n: int,
        streams: Streams,
        tick: Tick = lambda _: None,
    ) -> list[list[Variants]]:
        plain = [replace(one, shuffle=False, length=None) for one in group]
        return super().obfuscate_batch(plain, queries, n, streams, tick)

    applies_word_options: ClassVar[bool] = True

    @property
    def promise(self) -> Guarantee:
        return MetricDP(self.epsilon)


@dataclass(frozen=True, kw_only=True)
class StopWordsPass(CMP):
    """Stop words are sent as they are."""

    def passes(self, word: str) -> bool:
        return word in STOP_WORDS

    @property
    def promise(self) -> Guarantee:
        return MetricDP(self.epsilon)


@dataclass(frozen=True, kw_only=True)
class HalfClaimed(CMP):
    """It claims half of its epsilon."""

    @property
    def promise(self) -> Guarantee:
        return MetricDP(self.epsilon / 2)


@dataclass(frozen=True, kw_only=True)
class OtherSampler(SanText):
    """Its law is right, and its code samples from another one: at twice the epsilon."""

    def sample(self, near: SortedRow, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
        twice = SanText(epsilon=2 * self.epsilon, vectors=self.vectors)
        return twice.sample(near, uniforms)

    @property
    def promise(self) -> Guarantee:
        return MetricDP(self.epsilon)


@dataclass(frozen=True, kw_only=True)
class Stuck(CMP):
    """All variants get the same noise, whatever stream they are given."""

    @classmethod
    def obfuscate_batch(
        cls,
        group: Sequence[Any],
        queries: Sequence[tuple[str, str]],
        n: int,
        streams: Streams,
        tick: Tick = lambda _: None,
    ) -> list[list[Variants]]:
        if isinstance(streams, OneGenerator):
            return super().obfuscate_batch(group, queries, n, streams, tick)

        class Same:
            def owner(self, mechanism: Any) -> str:
                return streams.owner(mechanism)

            def stream(self, owner: str, qid: str, text: str, variant: int) -> np.random.Generator:
                return streams.stream(owner, qid, text, 0)

        return super().obfuscate_batch(group, queries, n, Same(), tick)

    @property
    def promise(self) -> Guarantee:
        return MetricDP(self.epsilon)


@dataclass(frozen=True, kw_only=True)
class TotalForgotten(SanText):
    """It claims that epsilon is spent by all variants together, and spends it on each."""

    def for_variants(self, n: int) -> "TotalForgotten":
        return replace(self, budget="each")

    @property
    def promise(self) -> Guarantee:
        return MetricDP(self.epsilon)


@dataclass(frozen=True, kw_only=True)
class PercentileCut(QueryExp):
    """Only the nearer half of the pool can come out."""

    name: ClassVar[str] = "PercentileCut"

    def log_probs(self, query: str) -> Floats:
        logs = super().log_probs(query)
        kept = np.where(logs >= np.median(logs), logs, -np.inf)
        return kept - np.log(np.exp(kept).sum())

    @property
    def guarantee(self) -> Guarantee:
        return MetricDP(self.epsilon, "euclidean, sentence encodings", "query")


@dataclass(frozen=True, kw_only=True)
class AroundTheQuery(Cover):
    """The group is chosen around the query."""

    def variants(self, query: str, n: int, rngs: Callable[[int], np.random.Generator]) -> Variants:
        row = max(self.cover.pool.row(query), 0)
        return Variants([self.cover.pool.texts[(row + shift) % len(self.cover.pool)] for shift in range(int(self.k))])

    @property
    def guarantee(self) -> Guarantee:
        return WithinGroup(int(self.k), self.cover.pool.name)


@dataclass(frozen=True, kw_only=True)
class OwnFirst(Cover):
    """The right group, but the query itself stands first."""

    def variants(self, query: str, n: int, rngs: Callable[[int], np.random.Generator]) -> Variants:
        texts = super().variants(query, n, rngs).texts
        return Variants(sorted(texts, key=lambda text: text != query))

    @property
    def guarantee(self) -> Guarantee:
        return WithinGroup(int(self.k), self.cover.pool.name)
