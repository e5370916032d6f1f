"""A pool of four topics, and its partition by static vectors."""

import functools
import itertools

from quipukit.covers.describe import Description
from quipukit.covers.make import make_partition
from quipukit.covers.partition import Partition
from quipukit.covers.pool import QueryPool

TOPICS = {
    "animals": ("cat", "dog", "horse", "cow", "sheep"),
    "money": ("tax", "loan", "bank", "salary", "debt"),
    "health": ("cancer", "fever", "pain", "cough", "diabetes"),
    "music": ("piano", "guitar", "song", "violin", "orchestra"),
}
FORMS = ("{}", "what is a {}", "best {} for beginners", "{} history", "how to find a good {}", "{} and {}")
STATIC = Description("static:default", 0)


@functools.cache
def pool() -> QueryPool:
    """Return some 200 queries about four topics."""
    texts = []
    for words in TOPICS.values():
        texts += [form.format(one, two) for form in FORMS for one, two in itertools.permutations(words, 2)]
    return QueryPool.of(texts, "topics")


@functools.cache
def partition(leaf: int = 10) -> Partition:
    """Return its partition."""
    return make_partition(pool(), leaf, STATIC)
