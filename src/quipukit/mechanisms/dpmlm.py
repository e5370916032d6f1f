"""DP-MLM: words drawn from what a masked language model thinks of their place in the query."""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from quipukit.encoders.masked import MaskedModel, masked_model
from quipukit.errors import NoClosedForm, SpecError
from quipukit.guarantees import Guarantee, LocalDP, NoGuarantee
from quipukit.lexical import STOP_WORDS
from quipukit.mechanisms.base import QueryMechanism, Variants, check_epsilon, check_flag, check_number
from quipukit.mechanisms.changes import change_since
from quipukit.text import tokenize

Floats = NDArray[np.float64]

_MOST_CANDIDATES = 2000  # whose laws are computed: a run of the model for each of their words
_AMONG = "queries of equal length (one changed word changes the law of every word: L epsilon for L words)"


@dataclass(frozen=True, kw_only=True)
class DPMLM(QueryMechanism):
    """Replace every word by one that a masked language model finds likely there.

    For each word the model reads the query, and after it the query with that word masked. Its scores l(y) at the mask,
    for the whole words y of its vocabulary, are clipped to a public range [low, high] of width D, and
    P(y) ~ exp(epsilon l(y) / (2 D)). ``model`` is the folder of any masked language model of transformers (BERT,
    RoBERTa and the like) on this machine; nothing is downloaded. Without ``low`` and ``high`` the range is computed
    from the model's scores for a few fixed sentences: from the mean of all to the mean of the largest ones.

    Guarantee: for any two queries with the same number of words, each word that is sent keeps epsilon-DP: clipped
    scores differ by D at most, whatever was asked, and which words can come out never depends on it. But a change of
    one word changes what the model reads for *every* word, so a query of L words spends L epsilon even then, and N
    variants N L epsilon. The number of words is released. With ``keep_stopwords``, which the published code does by
    default and this one does not, none: what is kept is not hidden.

    Reference: Meisenbacher, Chevli, Vladika, Matthes. DP-MLM: differentially private text rewriting using masked
    language models. Findings of ACL 2024.

    >>> print(DPMLM(epsilon=10, model=".").guarantee.composed(5).epsilon)
    50.0
    """

    name: ClassVar[str] = "DPMLM"
    summary: ClassVar[str] = "a word that a masked language model finds likely in its place"
    strategy: ClassVar[str] = "sampling"
    reference: ClassVar[str] = "Meisenbacher et al., Findings of ACL 2024"
    parameter: ClassVar[str] = "epsilon"
    grid: ClassVar[tuple[float, ...]] = (5.0, 10.0, 25.0, 50.0, 100.0, 150.0, 250.0)
    default: ClassVar[float | None] = 50.0
    surveyed: ClassVar[bool] = False

    epsilon: float
    model: str = ""
    low: float | None = None
    high: float | None = None
    keep_stopwords: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.name, self.epsilon))
        check_flag(self.name, "keep_stopwords", self.keep_stopwords)
        given: object = self.model
        if not isinstance(given, str) or not given.strip():
            raise SpecError(
                f"{self.name} needs a masked language model: write {self.name}(model='FOLDER'), the folder of one of "
                "transformers on this machine."
            )
        if (self.low is None) != (self.high is None):
            raise SpecError(f"{self.name}: low and high are one range; give both, or neither.")
        if self.low is not None and self.high is not None:
            for name in ("low", "high"):
                object.__setattr__(self, name, check_number(self.name, name, getattr(self, name)))
            if self.low >= self.high:
                raise SpecError(f"{self.name}: low must lie below high (found {self.low:g} and {self.high:g}).")

    @property
    def guarantee(self) -> Guarantee:
        if change := change_since(type(self), "guarantee"):
            return NoGuarantee(f"{self.name} changes {change} and promises nothing of its own")
        if self.keep_stopwords:
            return NoGuarantee("stop words are sent as they are (keep_stopwords=True)")
        return LocalDP(self.epsilon, _AMONG)

    def claimed_loss(self, one: str, other: str) -> float:
        """Return the largest loss that is claimed for two queries, for an audit."""
        words, others = tokenize(one), tokenize(other)
        if words == others:
            return 0.0
        return self.epsilon * len(words) if len(words) == len(others) else math.inf

    def spent_on(self, query: str) -> int:
        return len(tokenize(query))

    # --- the law ---

    @property
    def masked(self) -> MaskedModel:
        """Return the model; loaded on first use."""
        return masked_model(self.model)

    @property
    def model_fingerprint(self) -> str:
        """Return the identity of the model's files: results are good for these alone."""
        return self.masked.fingerprint

    @functools.cached_property
    def clip(self) -> tuple[float, float]:
        """Return the range that scores are clipped to."""
        return self.masked.usual_range if self.low is None or self.high is None else (self.low, self.high)

    def log_probs(self, query: str) -> Floats:
        """Return ln P(y) for every word of the query (lines) and of the model's vocabulary (columns)."""
        return self._laws(tuple(tokenize(query)))

    def _laws(self, words: tuple[str, ...]) -> Floats:
        low, high = self.clip
        logs = np.clip(self.masked.scores(words).astype(np.float64), low, high) * (self.epsilon / (2 * (high - low)))
        logs -= logs.max(axis=1, keepdims=True, initial=-np.inf)
        laws: Floats = logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))
        return laws

    def log_prob(self, output_word: str, input_word: str) -> float:
        words = tokenize(input_word)
        if len(words) != 1:
            raise NoClosedForm(f"log_prob takes a query of one word (found {len(words)}); ask log_probs(query).")
        if self._keeps(words[0]):
            return 0.0 if output_word == words[0] else -math.inf
        place = self.masked.places.get(output_word)
        return -math.inf if place is None else float(self._laws((words[0],))[0, place])

    def _keeps(self, word: str) -> bool:
        return self.keep_stopwords and word in STOP_WORDS

    def variants(self, query: str, n: int, rngs: Callable[[int], np.random.Generator]) -> Variants:
        words = tuple(tokenize(query))
        if not words:
            return Variants([""] * n, {"empty": 1})
        ends = np.cumsum(np.exp(self._laws(words)), axis=1)
        uniforms = np.array([rngs(variant).random(len(words)) for variant in range(n)]).reshape(n, len(words))
        sent = list(words)
        columns = []
        for place, word in enumerate(words):
            numbers = np.searchsorted(ends[place], uniforms[:, place] * ends[place, -1], side="right")
            drawn = [self.masked.words[number] for number in np.minimum(numbers, ends.shape[1] - 1).tolist()]
            columns.append([sent[place]] * n if self._keeps(word) else drawn)
        kept = sum(map(self._keeps, words))
        return Variants([" ".join(own) for own in zip(*columns, strict=True)], {"passed": kept} if kept else {})

    # --- what an attacker knows ---

    def query_law(self, candidates: Sequence[str]) -> "MaskedLaw":
        if len(candidates) > _MOST_CANDIDATES:
            raise NoClosedForm(
                f"the law of {self.name} takes a run of the model for every word of {len(candidates):,} candidates; "
                f"it is computed for {_MOST_CANDIDATES:,} at most."
            )
        return MaskedLaw(self, [tuple(tokenize(text)) for text in candidates])


@dataclass(frozen=True, eq=False)
class MaskedLaw:
    """ln P(texts | candidate): the sum over texts and positions, each by the law at that position of the candidate."""

    mechanism: DPMLM
    candidates: Sequence[tuple[str, ...]]

    def log_likelihoods(self, texts: Sequence[str]) -> Floats:
        """Return the logarithms; minus infinity for candidates that cannot have sent the texts."""
        sent = [text.split() for text in texts]
        return np.array([self._of(candidate, sent) for candidate in self.candidates], np.float64)

    def _of(self, candidate: tuple[str, ...], sent: Sequence[Sequence[str]]) -> float:
        if any(len(words) != len(candidate) for words in sent):
            return -math.inf
        one = self.mechanism
        laws = one._laws(candidate) if candidate else np.empty((0, 0))
        total = 0.0
        for words in sent:
            for place, word in enumerate(words):
                if one._keeps(candidate[place]):
                    total += 0.0 if word == candidate[place] else -math.inf
                else:
                    column = one.masked.places.get(word)
                    total += -math.inf if column is None else float(laws[place, column])
        return total
