"""A query pool: public queries, among which a user's own hides.

Everything about a cover follows from the pool, so it must be public in earnest: a pool that is made of the queries of
one user, or of a few, gives away what they asked.
"""

import hashlib
import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quipukit.errors import InputError
from quipukit.text import key

BUILT_IN = "wordnet"  # the log that comes with quipukit


@dataclass(frozen=True, eq=False)
class QueryPool:
    """Distinct public queries (by `text.key`), in the order of their keys: that of the file plays no part.

    ``kinds`` says of every query which kind of user or source it comes from, as far as that is public: queries of one
    kind are written alike, and a query hides best among its own. ``counts`` says how often each was asked.

    >>> pool = QueryPool.of(["dogs", "Cats", "cats "], "pets")
    >>> pool.texts, pool.row("CATS"), pool.row("birds")
    (['Cats', 'dogs'], 0, -1)
    """

    name: str
    texts: list[str]
    rows: dict[str, int]
    sha256: str
    kinds: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        texts: Iterable[str],
        name: str = "queries",
        kinds: "Iterable[str] | None" = None,
        counts: "Iterable[int] | None" = None,
    ) -> "QueryPool":
        """Make a pool from texts; of those with one key the first counts, and texts with nothing in them are left out.

        The hash is over keys and kinds: how a query is written in the file does not change which queries there are.
        """
        first: dict[str, str] = {}
        kind_of: dict[str, str] = {}
        asked: Counter[str] = Counter()
        # Not strict: where there are no kinds or counts, their place is taken by what never ends.
        kinds = itertools.repeat("") if kinds is None else kinds
        rows = zip(texts, kinds, itertools.repeat(1) if counts is None else counts, strict=False)
        for text, kind, count in rows:
            if identity := key(text):
                first.setdefault(identity, text)
                kind_of.setdefault(identity, kind)
                asked[identity] += count
        if not first:
            raise InputError("the pool holds no query; give a file with one query per line.")
        keys = sorted(first)
        numbers = {kind: number for number, kind in enumerate(sorted(set(kind_of.values())))}
        own = np.array([numbers[kind_of[one]] for one in keys], np.int64)
        times = np.array([asked[one] for one in keys], np.int64)
        said = "\n".join(keys) if len(numbers) == 1 else "\n".join(f"{one}\t{kind_of[one]}" for one in keys)
        digest = hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()
        return cls(name, [first[one] for one in keys], {one: row for row, one in enumerate(keys)}, digest, own, times)

    def __len__(self) -> int:
        return len(self.texts)

    def row(self, text: str) -> int:
        """Return the row of a query, or -1 where the pool does not have it."""
        return self.rows.get(key(text), -1)
