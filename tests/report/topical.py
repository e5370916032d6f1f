"""A made-up result whose queries are those of the built-in collection, so that they have kinds."""

from dataclasses import replace

from quipukit.collections.wordnet_glosses import topics
from quipukit.results import Result
from tests.example_results import make_result
from tests.report.results import SMALL, only


def topical_result(queries: int = 12, step: int = 13) -> Result:
    """Return a result over every ``step``-th topic."""
    result = only(make_result(queries=queries, name="wordnet"), SMALL)
    chosen = topics()[::step][:queries]
    names = dict(zip(result.queries["qid"], (topic.qid for topic in chosen), strict=True))
    texts = {topic.qid: topic.query for topic in chosen}
    frames = {
        field: getattr(result, field).assign(qid=getattr(result, field)["qid"].map(names))
        for field in ("queries", "obfuscated", "ranks", "scores", "guesses", "notes", "need")
    }
    frames["queries"] = frames["queries"].assign(query=frames["queries"]["qid"].map(texts))
    return replace(result, **frames)
