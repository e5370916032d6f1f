"""A query pool: public queries, among which a user's own hides.

Everything about a cover follows from the pool, so it must be public in earnest: a pool that is made of the queries of
one user, or of a few, gives away what they asked.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from quipukit.errors import InputError
from quipukit.text import key

BUILT_IN = "wordnet"  # the log that comes with quipukit


@dataclass(frozen=True, eq=False)
class QueryPool:
    """Distinct public queries (by `text.key`), in the order of their keys: that of the file plays no part.

    >>> pool = QueryPool.of(["dogs", "Cats", "cats "], "pets")
    >>> pool.texts, pool.row("CATS"), pool.row("birds")
    (['Cats', 'dogs'], 0, -1)
    """

    name: str
    texts: list[str]
    rows: dict[str, int]
    sha256: str

    @classmethod
    def of(cls, texts: Iterable[str], name: str = "queries") -> "QueryPool":
        """Make a pool from texts; of those with one key the first counts, and texts with nothing in them are left out.

        The hash is over the keys: how a query is written in the file does not change which queries there are.
        """
        first: dict[str, str] = {}
        for text in texts:
            if identity := key(text):
                first.setdefault(identity, text)
        if not first:
            raise InputError("the pool holds no query; give a file with one query per line.")
        keys = sorted(first)
        digest = hashlib.sha256("\n".join(keys).encode("utf-8", "surrogatepass")).hexdigest()
        return cls(name, [first[one] for one in keys], {one: row for row, one in enumerate(keys)}, digest)

    def __len__(self) -> int:
        return len(self.texts)

    def row(self, text: str) -> int:
        """Return the row of a query, or -1 where the pool does not have it."""
        return self.rows.get(key(text), -1)
