"""The traditional view of a cell: how close the obfuscated queries stay to the originals, in words and in meaning."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.encoders.base import Encoder
from quipukit.encoders.encodings import Encodings
from quipukit.encoders.half import unrounded
from quipukit.encoders.load import load_encoder
from quipukit.encoders.static import StaticEncoder
from quipukit.errors import NoClosedForm
from quipukit.executors.local import Local
from quipukit.executors.shared import Plain
from quipukit.experiment.cells import Cell
from quipukit.experiment.stages.base import Context, Stage
from quipukit.measures.similarity import similarity_and_failures
from quipukit.text import key, tokenize

if TYPE_CHECKING:
    from quipukit.experiment.stages.obfuscate import Obfuscate
    from quipukit.mechanisms.base import Mechanism

SIMILARITY = "minilm"  # sentence similarity is defined by this model, unless the run has a static encoder
COLUMNS = ("jaccard", "sentence_similarity", "kept_words", "verbatim", "any_verbatim", "distinct", "n_x")

# Words of the queries whose law is looked up: an exact mean over some says enough, and all would take minutes.
_WORDS = 40


# Variants of a cell whose vectors are sent to a worker that cannot read them from a shared folder.
_MOST_SENT = 20_000


class TextSimilarity(Stage[Cell]):
    """Caches `quipukit.similarity` and how often nothing changed: one row of `COLUMNS`."""

    name = "text_similarity"

    def __init__(self, context: Context, obfuscate: "Obfuscate") -> None:
        super().__init__(context)
        self.obfuscate = obfuscate
        self.encoder = similarity_encoder(context.plan.encoder)

    @property
    def cells(self) -> Sequence[Cell]:
        return self.plan.cells

    def depends_on(self, cell: Cell) -> Any:
        known = [self.plan.fingerprints["queries"], self.encoder.fingerprint]
        return [self.obfuscate.digest(cell), known, self.obfuscate.law(cell)]

    def compute(self, missing: Sequence[Cell]) -> Iterator[tuple[Cell, pd.DataFrame]]:
        few = self.context.executor.shared is not None or len(self.plan.queries) * max(self.plan.ns) <= _MOST_SENT
        executor = self.context.executor if few else Local()
        encode = self.context.store_of(self.encoder).ensure
        with self.context.timer.stage("comparing texts") as progress:
            items = (
                _Comparing(
                    Plain((sent, self.plan.queries, _Vectors.of(sent, self.plan.queries, encode))), cell.setting.bound
                )
                for cell, sent in ((cell, self.obfuscate.sent(cell)) for cell in missing)
            )
            for done, (number, row) in enumerate(executor.map(_compared, items), 1):
                yield missing[number], row
                progress(done, len(missing))


def similarity_encoder(attacking: Encoder) -> Encoder:
    """Return the encoder of sentence similarity: one model for all runs, or the static encoder of a run that has one.

    Who chose static vectors chose not to wait: encoding every variant by a transformer would take most of the time.
    """
    return attacking if isinstance(unrounded(attacking), StaticEncoder) else load_encoder(SIMILARITY)


class _Vectors:
    """The vectors of some texts, which travel themselves, or by the names of files that workers share."""

    def __init__(self, places: dict[str, int], vectors: "Encodings | NDArray[Any]") -> None:
        self._places, self._vectors = places, vectors

    @classmethod
    def of(cls, sent: pd.DataFrame, queries: pd.DataFrame, encode: "Callable[[list[str]], Encodings]") -> "_Vectors":
        """Take the vectors of all that is compared: the identities of texts."""
        texts = list(dict.fromkeys(map(key, (*queries["query"], *sent["query"]))))
        return cls({text: place for place, text in enumerate(texts)}, encode(texts))

    def __reduce__(self) -> tuple[Any, ...]:
        vectors = self._vectors
        if isinstance(vectors, Encodings):
            referred = vectors.referred(slice(None))
            vectors = vectors[:] if referred is None else referred
        return _Vectors, (self._places, vectors)

    def __call__(self, texts: list[str]) -> "Encodings | NDArray[Any]":
        places = [self._places[text] for text in texts]
        return self._vectors.chosen(places) if isinstance(self._vectors, Encodings) else self._vectors[places]


@dataclass(frozen=True, eq=False)
class _Comparing:
    """What a setting sent, and what it is compared with."""

    texts: "Plain[tuple[pd.DataFrame, pd.DataFrame, _Vectors]]"  # sent, originals, and the vectors of both
    mechanism: "Mechanism | None"


def _compared(item: _Comparing) -> pd.DataFrame:
    sent, queries, encode = item.texts.content
    return text_similarity(sent, queries, item.mechanism, encode)


def text_similarity(
    sent: pd.DataFrame,
    queries: pd.DataFrame,
    mechanism: "Mechanism | None",
    encode: "Callable[[list[str]], Encodings | NDArray[Any]]",
) -> pd.DataFrame:
    """Return one row of `COLUMNS`; NaN where nothing was sent, or where a measure does not apply."""
    if sent.empty:
        return pd.DataFrame([dict.fromkeys(COLUMNS, np.nan)])
    row = similarity_and_failures(sent, queries, encode).iloc[0]
    by_query = sent.groupby("qid", sort=False)["query"]
    measured = {
        **{name: float(row[name]) for name in ("jaccard", "sentence_similarity", "verbatim", "any_verbatim")},
        "kept_words": float(row["tokens"]),
        "distinct": float((by_query.nunique() / by_query.size()).mean()),
        "n_x": _kept_probability(mechanism, queries, float(row["tokens"])),
    }
    return pd.DataFrame([measured], columns=list(COLUMNS))


def _kept_probability(mechanism: "Mechanism | None", queries: pd.DataFrame, kept: float) -> float:
    """Return N_x, the mean of P(M(x) = x) over words of the queries: from the law, where there is one."""
    vocabulary = None if mechanism is None else mechanism.vocabulary
    if mechanism is None or vocabulary is None:
        return np.nan
    if mechanism.by_query:
        return kept
    words = dict.fromkeys(word for query in queries["query"] for word in tokenize(query))
    known = [word for word in words if vocabulary.row(word) >= 0]
    count = min(_WORDS, len(known))
    chosen = [known[number * len(known) // count] for number in range(count)]
    try:
        kept_by_law = [mechanism.word_law(word).itself for word in chosen or vocabulary.words[:1]]
    except NoClosedForm:
        # As often as it happened, N times for every word of every query; but shuffled words have no place to compare.
        return np.nan if getattr(mechanism, "shuffle", False) else kept
    return float(np.mean(kept_by_law)) if chosen else np.nan
