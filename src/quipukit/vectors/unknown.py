"""Which words of some queries a vocabulary does not have."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from quipukit.frames import queries_frame
from quipukit.text import Tokenizer, tokenize
from quipukit.vectors.store import Vectors


@dataclass(frozen=True, eq=False)
class UnknownWords:
    """The words of some queries that a vocabulary does not have.

    ``words``: word, count (how often it occurs) and queries (in how many), the most frequent first.
    ``per_query``: qid, words (all tokens of the query), unknown, and share, the part of them that is unknown.
    """

    words: pd.DataFrame
    per_query: pd.DataFrame

    @property
    def tokens(self) -> int:
        """Return how many words the queries have together."""
        return int(self.per_query["words"].sum())

    @property
    def unknown(self) -> int:
        """Return how many of them are unknown."""
        return int(self.per_query["unknown"].sum())

    @property
    def affected(self) -> int:
        """Return how many queries have at least one unknown word."""
        return int((self.per_query["unknown"] > 0).sum())

    def __str__(self) -> str:
        """Return the shares in one line, without a word of a query."""
        return (
            f"{self.unknown:,} of {self.tokens:,} words ({_percent(self.unknown, self.tokens)}) are outside the "
            f"vocabulary, in {self.affected:,} of {len(self.per_query):,} queries"
        )


def unknown_words(
    queries: "pd.DataFrame | Mapping[str, str] | Iterable[str]", vectors: Vectors, tokenizer: Tokenizer = "clean"
) -> UnknownWords:
    """Find the words of queries that a vocabulary does not have, read as a mechanism with this tokenizer reads them.

    >>> import numpy as np
    >>> pets = Vectors(["cat", "dog"], np.eye(2))
    >>> found = unknown_words(["cat and dog", "a dog"], pets)
    >>> print(found)
    2 of 5 words (40.0 %) are outside the vocabulary, in 2 of 2 queries
    >>> found.words["word"].tolist()
    ['a', 'and']
    """
    counts: Counter[str] = Counter()
    affected: Counter[str] = Counter()
    rows: list[dict[str, Any]] = []
    for qid, query in queries_frame(queries)[["qid", "query"]].itertuples(index=False, name=None):
        tokens = tokenize(query, vectors.__contains__, tokenizer)
        missing = [token for token in tokens if token not in vectors]
        counts.update(missing)
        affected.update(set(missing))
        share = len(missing) / len(tokens) if tokens else 0.0
        rows.append({"qid": qid, "words": len(tokens), "unknown": len(missing), "share": share})
    order = sorted(counts, key=lambda word: (-counts[word], word))
    listed = [{"word": word, "count": counts[word], "queries": affected[word]} for word in order]
    return UnknownWords(
        pd.DataFrame(listed, columns=["word", "count", "queries"]),
        pd.DataFrame(rows, columns=["qid", "words", "unknown", "share"]),
    )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "0 %"
