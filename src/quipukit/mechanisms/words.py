"""Mechanisms that replace a query word by word, and what they do with words outside the vocabulary.

The number of tokens is released without protection: a variant has as many words as the query, unless ``length`` hides
it inside a public bin.
"""

import functools
from abc import abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from quipukit.errors import NoClosedForm, SpecError
from quipukit.guarantees import ForAllVariants, Guarantee, NoGuarantee
from quipukit.mechanisms.base import EPSILON_RANGE, Mechanism, Variants, check_choice, check_flag
from quipukit.mechanisms.changes import change_since
from quipukit.mechanisms.wordoptions import BUDGETS, WORD_OPTIONS, Bins, check_word_options, with_bins
from quipukit.text import TOKENIZERS, current_tokenizer, tokenize
from quipukit.vectors.store import Vectors

OOV_POLICIES = ("anchor", "uniform", "drop", "subword", "gaussian", "keep")

# What stands at a position instead of the number of a site.
UNIFORM, KEEP, GAUSSIAN = -1, -2, -3

# What stands where nothing has been chosen yet; a token that is forgotten must not be sent.
UNSET = -4


@dataclass(frozen=True, kw_only=True)
class WordMechanism(Mechanism):
    """A mechanism that draws a word of the vocabulary for every token, independently.

    ``oov`` says what happens to a token outside the vocabulary:

    - ``anchor``: it is taken to stand at the mean of all vectors, so all such words look alike and the metric
      guarantee extends to them;
    - ``uniform``: any word of the vocabulary, uniformly;
    - ``drop``: the token is left out (which shows in the length);
    - ``subword``: its vector is composed of its parts, where the embedding can do that;
    - ``gaussian``: a fresh N(0, I) vector at each occurrence, as the published queries were made;
    - ``keep``: sent verbatim. Refused without ``unsafe=True``, and nothing is guaranteed.

    Three options change what an attacker sees of the words (docs/defences.md). ``shuffle`` sends the words of each
    variant in a random order. ``length`` ("bins:4,8,12") adds anchors, as unknown words have them, up to a public
    number of words; of a longer query each variant sends a random part. With ``budget="total"`` epsilon is spent by all
    variants together: each of N gets epsilon/N.
    """

    can_be_padded: ClassVar[bool] = True  # whether the anchors that length= adds come out as any word

    vectors: Vectors = field(default=None, repr=False)  # type: ignore[assignment]
    oov: str = "anchor"
    tokenizer: str = "clean"
    unsafe: bool = False
    shuffle: bool = False
    length: str | None = None
    budget: str = "each"

    def __post_init__(self) -> None:
        if self.vectors is None:
            from quipukit.vectors.sources import load_vectors

            object.__setattr__(self, "vectors", load_vectors())
        check_choice(self.name, "oov", self.oov, OOV_POLICIES)
        object.__setattr__(self, "tokenizer", current_tokenizer(self.tokenizer))
        check_choice(self.name, "tokenizer", self.tokenizer, TOKENIZERS)
        check_flag(self.name, "unsafe", self.unsafe)
        if self.oov == "keep" and not self.unsafe:
            raise SpecError(
                f"{self.name}: oov='keep' sends unknown words verbatim; add unsafe=True if that is what you want."
            )
        if self.oov == "subword" and self.vectors.compose is None:
            raise SpecError(
                f"{self.name}: oov='subword' needs vectors that compose unknown words, and "
                f"{self.vectors.name!r} does not; use oov='anchor'."
            )
        check_flag(self.name, "shuffle", self.shuffle)
        check_choice(self.name, "budget", self.budget, BUDGETS)
        if self.length is not None:
            object.__setattr__(self, "length", str(Bins.parse(self.name, self.length)))
        check_word_options(self)

    @functools.cached_property
    def bins(self) -> Bins | None:
        """Return the numbers of words that are sent; None where a variant has as many as the query."""
        return None if self.length is None else Bins.parse(self.name, self.length)

    def for_variants(self, n: int) -> Self:
        """Return the mechanism as it makes each of n variants: with ``budget="total"``, at epsilon / n."""
        if self.budget != "total":
            return self
        each = self.value / max(1, n)
        if each < EPSILON_RANGE[0]:
            raise SpecError(
                f"{self.spec!r}: {n} variants get an epsilon of {each:.3g} each; the least is {EPSILON_RANGE[0]:g}: "
                "ask for fewer variants, or spend more."
            )
        changes: dict[str, Any] = {self.parameter: each, "budget": "each"}
        return replace(self, **changes)

    @property
    def noise_family(self) -> str:
        # Without the options of the text as a whole: in common mode the words drawn are then the same with and without.
        spec = self.spec
        return replace(spec, options=tuple(one for one in spec.options if one[0] not in WORD_OPTIONS)).family

    def one_word(self) -> Self:
        """Return the mechanism as it treats one word in one variant: what remains is the law of the words."""
        if self.budget == "total":
            raise NoClosedForm(
                f"{self.spec!r}: what happens to a word depends on the number of variants that share epsilon; ask "
                "for_variants(n), with the n that you send."
            )
        return self if not self.shuffle else replace(self, shuffle=False, length=None)

    def tokens(self, query: str) -> list[str]:
        """Return the words of a query, as the mechanism sees them."""
        return tokenize(query, self.vectors.__contains__, self.tokenizer)  # type: ignore[arg-type]

    def spent_on(self, query: str) -> int:
        words = len(self.tokens(query))
        return words if self.bins is None else self.bins.of(words)

    def passes(self, word: str) -> bool:
        """Return whether a word of the vocabulary is sent as it is, by the mechanism's own definition."""
        return False

    @property
    @abstractmethod
    def promise(self) -> Guarantee:
        """Return what is promised for words that the mechanism replaces, regardless of the policy for the others.

        It speaks for the class that defines it, and for those that it derives from. Where a subclass changes anything
        that the law of the words may depend on, the promise is not its own, and nothing is guaranteed.
        """

    @property
    def guarantee(self) -> Guarantee:
        if self.oov == "keep":
            return NoGuarantee("words outside the vocabulary are sent verbatim (oov='keep')")
        if change := change_since(type(self), "promise"):
            return NoGuarantee(f"{self.name} changes {change} and promises nothing of its own")
        promise = self.promise if self.bins is None else with_bins(self.promise, self.bins)
        return ForAllVariants(promise) if self.budget == "total" and promise.private else promise

    @property
    def scope(self) -> str:
        """Return among which words the guarantee holds."""
        # Composed vectors give unknown words other distances than one common place does: not one and the same metric.
        known = "words of the vocabulary"
        return {"anchor": "all words", "subword": "all words, unknown ones by their parts"}.get(self.oov, known)

    @property
    def words_key(self) -> Hashable:
        """Return a key that is equal for mechanisms which see the same tokens and sites in a query."""
        return (id(self.vectors), self.oov, self.tokenizer, self.length)


@dataclass(frozen=True)
class Sites:
    """All tokens of some queries, and the distinct places in the embedding at which they stand.

    Token t (counted over all queries) reads ``words[t]`` and stands at site ``site_of[t]``, or is ``UNIFORM``,
    ``KEEP`` or ``GAUSSIAN``. Site s is ``points[s]``; ``rows[s]`` is its row in the vocabulary, -1 for a place
    that is no word; ``query_of[s]`` is the query it belongs to, -1 where queries share their sites. Query q has
    the tokens ``starts[q]`` to ``starts[q + 1]``.
    """

    words: list[str]
    site_of: NDArray[np.int64]
    points: NDArray[np.float64]
    rows: list[int]
    query_of: list[int]
    starts: list[int]
    flags: list[dict[str, int]]
    most: int | None = None  # words in a text, where a query may have more

    def span(self, query: int) -> slice:
        return slice(self.starts[query], self.starts[query + 1])

    def length(self, query: int) -> int:
        return self.starts[query + 1] - self.starts[query]

    def units(self, n: int) -> Iterator[tuple[int, int]]:
        """Iterate over (query, variant), in the order in which noise is drawn; empty queries draw none."""
        return ((q, v) for q in range(len(self.flags)) if self.length(q) for v in range(n))

    def texts(
        self, vectors: Vectors, chosen: NDArray[np.int32], order: NDArray[np.int32] | None = None
    ) -> list[Variants]:
        """Join the chosen rows (tokens x variants) to texts, query by query.

        ``order`` says for the places of a query which of its tokens stand there, one after the other, if not all in
        their own order; of a query that is longer than the largest bin, as many are sent as that holds.
        """
        if ((chosen < 0) & (chosen != KEEP)).any() or ((chosen == KEEP) & (self.site_of != KEEP)[:, None]).any():
            raise RuntimeError("a token was left without a replacement; nothing is sent")
        results, words = [], vectors.words
        for query, flags in enumerate(self.flags):
            span = self.span(query)
            kept = self.words[span] if (self.site_of[span] == KEEP).any() else []
            texts = []
            for variant in range(chosen.shape[1]):
                rows = chosen[span, variant].tolist()  # numbers of Python's own: several times faster to look up
                sent = [words[row] for row in rows] if not kept else _with_kept(words, rows, kept)
                if order is not None:
                    sent = [sent[place] for place in order[span, variant][: self.most].tolist()]
                texts.append(" ".join(sent))
            results.append(Variants(texts, flags))
        return results


def _with_kept(words: Sequence[str], rows: Sequence[int], kept: Sequence[str]) -> list[str]:
    """Return the words of these rows, and a query's own where a row says so."""
    return [word if row == KEEP else words[row] for word, row in zip(kept, rows, strict=True)]


def find_sites(mechanism: WordMechanism, queries: Sequence[tuple[str, str]], bins: Bins | None = None) -> Sites:
    """Tokenize queries and place their tokens in the embedding, by the mechanism's policy for unknown words.

    With ``bins``, anchors follow up to the number of words that is sent.
    """
    vectors = mechanism.vectors
    words: list[str] = []
    site_of: list[int] = []
    numbers: dict[Hashable, int] = {}
    points: list[NDArray[np.float64]] = []
    rows: list[int] = []
    query_of: list[int] = []
    starts = [0]
    flags: list[dict[str, int]] = []

    def site(place: Hashable, point: Any, row: int = -1) -> int:
        if (owner, place) not in numbers:
            numbers[owner, place] = len(points)
            points.append(np.asarray(point(), np.float64))
            rows.append(row)
            query_of.append(owner)
        return numbers[owner, place]

    for number_of_query, (_, query) in enumerate(queries):
        owner = number_of_query if mechanism.by_query else -1
        count: dict[str, int] = {}
        for word in mechanism.tokens(query):
            row = vectors.row(word)
            if row >= 0 and mechanism.passes(word):
                count["passed"] = count.get("passed", 0) + 1
                number = KEEP
            elif row >= 0:
                number = site(row, lambda row=row: vectors.matrix[row], row)
            else:
                count["oov"] = count.get("oov", 0) + 1
                if mechanism.oov == "drop":
                    continue
                number = _unknown_site(mechanism, word, site)
            words.append(word)
            site_of.append(number)
        if len(words) == starts[-1]:
            count["empty"] = 1
        pads = 0 if bins is None else max(0, bins.of(len(words) - starts[-1]) - (len(words) - starts[-1]))
        if pads:
            words += [""] * pads
            site_of += [site("anchor", lambda: vectors.mean)] * pads
        starts.append(len(words))
        flags.append(count)
    stacked = np.array(points) if points else np.empty((0, vectors.dimension))
    most = None if bins is None else bins.largest
    return Sites(words, np.array(site_of, np.int64), stacked, rows, query_of, starts, flags, most)


def _unknown_site(mechanism: WordMechanism, word: str, site: Any) -> int:
    vectors = mechanism.vectors
    if mechanism.oov == "subword" and vectors.compose is not None:
        point = vectors.compose(word)
        if point is not None:
            return int(site(("subword", word), lambda: point))
    # "subword" falls back to the anchor for a string without any known part.
    if mechanism.oov in ("anchor", "subword"):
        return int(site("anchor", lambda: vectors.mean))
    return {"uniform": UNIFORM, "keep": KEEP, "gaussian": GAUSSIAN}[mechanism.oov]


def uniform_rows(uniforms: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Turn numbers of [0, 1) into rows of a vocabulary, all equally likely."""
    return np.minimum((uniforms * count).astype(np.int64), count - 1)
