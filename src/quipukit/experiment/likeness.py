"""The traditional view of a cell: how near the obfuscated queries stay to the originals, in words and in meaning."""

import numpy as np
import pandas as pd

from quipukit.encoders.store import PrivateStore
from quipukit.frames import SETTING
from quipukit.measures.similarity import failure_rates, similarity
from quipukit.mechanisms.base import Mechanism
from quipukit.mechanisms.sampling import Sampling
from quipukit.mechanisms.words import WordMechanism
from quipukit.text import tokenize

# Words of the queries whose law is looked up: an exact mean over some says enough, and all would take minutes.
_WORDS = 40

COLUMNS = ("jaccard", "sentence_similarity", "kept_words", "verbatim", "any_verbatim", "distinct", "n_x")


def likeness(
    sent: pd.DataFrame, queries: pd.DataFrame, mechanism: Mechanism | None, store: PrivateStore
) -> pd.DataFrame:
    """Return one row of `COLUMNS`; NaN where nothing was sent, or where a measure does not apply."""
    if sent.empty:
        return pd.DataFrame([dict.fromkeys(COLUMNS, np.nan)])
    alike = similarity(sent, queries, lambda texts: store.get(texts, "query"))
    row = alike.merge(failure_rates(sent, queries), on=list(SETTING)).iloc[0]
    by_query = sent.groupby("qid", sort=False)["query"]
    measured = {
        **{name: float(row[name]) for name in ("jaccard", "sentence_similarity", "verbatim", "any_verbatim")},
        "kept_words": float(row["tokens"]),
        "distinct": float((by_query.nunique() / by_query.size()).mean()),
        "n_x": _kept_probability(mechanism, queries, float(row["tokens"])),
    }
    return pd.DataFrame([measured], columns=list(COLUMNS))


def _kept_probability(mechanism: Mechanism | None, queries: pd.DataFrame, kept: float) -> float:
    """Return N_x, the mean of P(M(x) = x) over words of the queries: from the law, where there is one."""
    if not isinstance(mechanism, WordMechanism):
        return np.nan
    if not isinstance(mechanism, Sampling) or mechanism.by_query:
        # Without a closed form: as often as it happened, N times for every word of every query.
        return kept
    words = dict.fromkeys(word for query in queries["query"] for word in tokenize(query))
    known = [word for word in words if mechanism.vectors.row(word) >= 0]
    count = min(_WORDS, len(known))
    chosen = [known[number * len(known) // count] for number in range(count)]
    return float(np.mean([mechanism.word_law(word).itself for word in chosen])) if chosen else np.nan
