"""Kinds of queries: those of the built-in topics, and of nothing else."""

import pandas as pd

from quipukit.collections.kinds import query_kinds
from quipukit.collections.wordnet_glosses import topics


def test_every_built_in_topic_has_a_kind() -> None:
    queries = pd.DataFrame([(topic.qid, topic.query) for topic in topics()], columns=["qid", "query"])
    kinds = query_kinds("wordnet", queries)
    assert len(kinds) == len(topics()) and {"health", "law", "money"} <= set(kinds.values())


def test_own_queries_have_none() -> None:
    first = topics()[0]
    assert query_kinds("wordnet", pd.DataFrame({"qid": [first.qid, "x"], "query": ["my own", first.query]})) == {}
    assert query_kinds("vaswani", pd.DataFrame({"qid": [first.qid], "query": [first.query]})) == {}
