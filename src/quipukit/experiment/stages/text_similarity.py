"""The traditional view of a cell: how close the obfuscated queries stay to the originals, in words and in meaning."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from quipukit.encoders.base import Encoder
from quipukit.encoders.half import unrounded
from quipukit.encoders.load import load_encoder
from quipukit.encoders.static import StaticEncoder
from quipukit.encoders.store import PrivateStore
from quipukit.errors import NoClosedForm
from quipukit.experiment.cells import Cell
from quipukit.experiment.stages.base import Context, Stage
from quipukit.measures.similarity import similarity_and_failures
from quipukit.text import tokenize

if TYPE_CHECKING:
    from quipukit.experiment.stages.obfuscate import Obfuscate
    from quipukit.mechanisms.base import Mechanism

SIMILARITY = "minilm"  # sentence similarity is defined by this model, unless the run has a static encoder
COLUMNS = ("jaccard", "sentence_similarity", "kept_words", "verbatim", "any_verbatim", "distinct", "n_x")

# Words of the queries whose law is looked up: an exact mean over some says enough, and all would take minutes.
_WORDS = 40


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
        store = self.context.store_of(self.encoder)
        with self.context.timer.stage("comparing texts") as progress:
            for number, cell in enumerate(missing, 1):
                yield cell, text_similarity(self.obfuscate.sent(cell), self.plan.queries, cell.setting.bound, store)
                progress(number, len(missing))


def similarity_encoder(attacking: Encoder) -> Encoder:
    """Return the encoder of sentence similarity: one model for all runs, or the static encoder of a run that has one.

    Who chose static vectors chose not to wait: encoding every variant by a transformer would take most of the time.
    """
    return attacking if isinstance(unrounded(attacking), StaticEncoder) else load_encoder(SIMILARITY)


def text_similarity(
    sent: pd.DataFrame, queries: pd.DataFrame, mechanism: "Mechanism | None", store: PrivateStore
) -> pd.DataFrame:
    """Return one row of `COLUMNS`; NaN where nothing was sent, or where a measure does not apply."""
    if sent.empty:
        return pd.DataFrame([dict.fromkeys(COLUMNS, np.nan)])
    row = similarity_and_failures(sent, queries, lambda texts: store.ensure(texts, "query")).iloc[0]
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
