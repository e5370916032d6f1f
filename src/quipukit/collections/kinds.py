"""Kinds of queries: the part of life that a query of a built-in collection is about, where the collection tells."""

from collections.abc import Callable, Mapping

import pandas as pd

from quipukit.collections import wordnet_glosses


def _wordnet() -> Mapping[str, tuple[str, str]]:
    return {topic.qid: (topic.query, topic.theme) for topic in wordnet_glosses.topics()}


# Collection -> the text and the kind of its queries, by id.
_KINDS: Mapping[str, Callable[[], Mapping[str, tuple[str, str]]]] = {wordnet_glosses.NAME: _wordnet}


def query_kinds(collection: str, queries: pd.DataFrame) -> dict[str, str]:
    """Return the kinds of some queries (qid, query) of a collection, by id; none where the collection tells none.

    A query with the id but not the text of the collection's own is somebody's own query, and has no kind.

    >>> own = pd.DataFrame({"qid": ["w003", "w110"], "query": ["how is gonorrhea treated and passed on", "mine"]})
    >>> query_kinds("wordnet", own), query_kinds("elsewhere", own)
    ({'w003': 'health'}, {})
    """
    if collection not in _KINDS:
        return {}
    known = _KINDS[collection]()
    pairs = zip(queries["qid"], queries["query"], strict=True)
    return {qid: known[qid][1] for qid, text in pairs if qid in known and known[qid][0] == text}
