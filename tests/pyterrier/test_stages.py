"""Obfuscate and Pool, the ends of a pipeline of one's own."""

import pandas as pd
import pytest

pt = pytest.importorskip("pyterrier", reason='needs PyTerrier: pip install "quipukit[pyterrier]"')

from quipukit.errors import FrameError, InputError  # noqa: E402
from quipukit.obfuscation import mechanism  # noqa: E402
from quipukit.pyterrier import Obfuscate, Pool  # noqa: E402
from tests.pyterrier.test_private import NOISY, SECRETS, TOPICS, VECTORS, Capturing, everything_in  # noqa: E402


def test_variants_come_without_the_originals():
    inner = Capturing()
    pipeline = Obfuscate(NOISY, n=4, seed=3) >> inner >> Pool(TOPICS)
    results = pipeline(TOPICS)
    asked = inner.seen[0]
    assert list(asked.columns) == ["qid", "query"]
    assert asked["qid"].tolist() == [f"{qid}#{variant}" for qid in ("t-17", "t-4") for variant in range(4)]
    assert not [secret for secret in [*SECRETS, "my own"] if secret in everything_in(inner.seen)]
    assert list(results.columns) == ["qid", "query", "docno", "score", "rank"]
    texts = dict(zip(TOPICS["qid"], TOPICS["query"], strict=True))
    assert [texts[qid] for qid in results["qid"]] == results["query"].tolist(), "the original is back, on this side"


def test_pool_fuses_by_reciprocal_rank():
    found = pd.DataFrame({"qid": ["a#0", "a#0", "a#1"], "docno": ["x", "y", "y"], "score": [3.0, 1.0, 9.0]})
    results = Pool({"a": "cat"})(found)
    assert results["docno"].tolist() == ["y", "x"]
    assert results["score"].tolist() == pytest.approx([1 / 61 + 1 / 62, 1 / 61])
    ranked = Pool({"a": "cat"})(found.assign(rank=[1, 2, 1]))
    pd.testing.assert_frame_equal(ranked, results)


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame({"qid": ["a"], "docno": ["x"], "rank": [0]}), "ids must be as Obfuscate writes them"),
        (pd.DataFrame({"qid": ["b#0"], "docno": ["x"], "rank": [0]}), "1 queries are not among its topics"),
        (pd.DataFrame({"qid": ["a#0"], "docno": ["x"]}), "needs column 'rank' or 'score'"),
        (pd.DataFrame({"qid": ["a#0"], "query": ["x"]}), "needs results with column 'docno'"),
    ],
)
def test_what_pool_cannot_read_is_said(frame, words):
    with pytest.raises(FrameError, match=words):
        Pool({"a": "cat"})(frame)


def test_what_obfuscate_cannot_take_is_said():
    stage = Obfuscate(NOISY, n=2)
    with pytest.raises(FrameError, match="has column 'query_0'"):
        stage(TOPICS.assign(query_0="x"))
    with pytest.raises(FrameError, match="an id holds '#'"):
        stage(TOPICS.assign(qid=["a#1", "b"]))
    with pytest.raises(InputError, match="Identity sends the original"):
        Obfuscate("Identity")
    with pytest.raises(InputError, match="2 of 2 variants of CMP@500 are original queries, so nothing was sent"):
        Obfuscate(mechanism("CMP@500", VECTORS), n=1)(TOPICS)


def test_both_can_be_inspected_and_drawn_without_their_topics():
    stage, pool = Obfuscate(NOISY, n=2), Pool(TOPICS)
    assert pt.inspect.transformer_outputs(stage, ["qid", "query", "other"]) == ["qid", "query"]
    assert pt.inspect.transformer_outputs(pool, ["qid", "docno", "score"])[-1] == "rank"
    assert pt.inspect.transformer_inputs(stage) == [["qid", "query"]]
    assert pt.inspect.transformer_inputs(pool)[0] == ["qid", "docno", "rank"]
    page = (stage >> Capturing() >> pool)._repr_html_()
    assert "Obfuscate CMP@0.3" in page and "Engine" in page
    for text in (page, repr(pool), repr(stage)):
        assert not [secret for secret in SECRETS if secret in text]
    empty = pool(pd.DataFrame(columns=["qid", "docno", "rank"]))
    assert list(empty.columns) == pool.transform_outputs(["qid", "docno", "rank"])
