"""Reciprocal-rank fusion against another computation, and what it does with ties."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from quipukit.errors import InputError
from quipukit.frames import POOL, RANKED
from quipukit.retrieval.base import Ranking
from quipukit.retrieval.fusion import fuse, fused_pool
from quipukit.retrieval.pool import pool


def lists(seed: int = 3, variants: int = 7) -> dict[tuple[str, float], list[list[str]]]:
    """Return random lists of unequal length, some empty, for two settings of two queries each."""
    rng = np.random.default_rng(seed)
    return {
        (qid, value): [[f"d{n:02d}" for n in rng.permutation(30)[: rng.integers(0, 9)]] for _ in range(variants)]
        for qid in ("q1", "q2")
        for value in (1.0, 5.0)
    }


def run_of(given: dict[tuple[str, float], list[list[str]]]) -> pd.DataFrame:
    rows = [
        ("CMP", "epsilon", value, qid, variant, docno, 0.0, rank)
        for (qid, value), own in given.items()
        for variant, docnos in enumerate(own)
        for rank, docno in enumerate(docnos)
    ]
    return pd.DataFrame(rows, columns=["mechanism", "parameter", "value", "qid", "variant", "docno", "score", "rank"])


@pytest.mark.parametrize("k", [0, 1, 60])
def test_scores_are_the_sums_of_reciprocal_ranks(k: int) -> None:
    given = lists()
    fused = fuse(run_of(given), k)
    pd.testing.assert_frame_equal(RANKED.check(fused), fused)
    for (qid, value), own in given.items():
        rows = fused[(fused["qid"] == qid) & (fused["value"] == value)]
        exact = {
            docno: sum((Fraction(1, k + 1 + docnos.index(docno)) for docnos in own if docno in docnos), Fraction())
            for docno in {docno for docnos in own for docno in docnos}
        }
        assert rows["docno"].tolist() == sorted(exact, key=lambda docno: (-exact[docno], docno))
        assert rows["score"].tolist() == pytest.approx([float(exact[docno]) for docno in rows["docno"]], rel=1e-14)
        assert rows["rank"].tolist() == list(range(len(rows)))


def test_the_order_of_the_lists_does_not_decide_ties() -> None:
    # Both stand at the ranks 1, 2, 3, 7 and 11 of five lists, which floating-point sums add up in another order.
    places = {"a": (0, 1, 2, 6, 10), "b": (10, 2, 1, 0, 6)}
    rows = [(docno, variant, rank) for docno, ranks in places.items() for variant, rank in enumerate(ranks)]
    fused = fuse(pd.DataFrame(rows, columns=["docno", "variant", "rank"]).assign(qid="1"))
    assert fused["score"].nunique() == 1
    assert fused["docno"].tolist() == ["a", "b"]


def test_a_pool_keeps_the_fused_score() -> None:
    given = lists()
    sent, rankings = [], {}
    for (qid, value), own in given.items():
        for variant, docnos in enumerate(own):
            text = f"{qid} {value} {variant // 2 * 2}"  # every other variant repeats the one before it
            rankings.setdefault(text, Ranking(docnos, np.empty(0)))
            sent.append(("CMP", "epsilon", value, qid, variant, text))
    obfuscated = pd.DataFrame(sent, columns=["mechanism", "parameter", "value", "qid", "variant", "query"])
    # A list that was returned for two variants counts twice.
    repeated = {key: [own[variant // 2 * 2] for variant in range(len(own))] for key, own in given.items()}
    run = run_of(repeated)
    pooled = fused_pool(obfuscated, rankings)
    pd.testing.assert_frame_equal(POOL.check(pooled), pool(run))
    keys = ["mechanism", "parameter", "value", "qid", "docno"]
    joined = pooled.merge(fuse(run), on=keys)
    assert len(joined) == len(pooled) > 0
    assert (joined["fused"] == joined["score"]).all()


def test_nothing_found_is_nothing_fused() -> None:
    sent = pd.DataFrame({"mechanism": "CMP", "parameter": "epsilon", "value": 1.0, "qid": ["1"], "query": ["x"]})
    assert fused_pool(sent, {"x": Ranking([], np.empty(0))}).empty
    assert fused_pool(sent.iloc[:0], {}).empty and fuse(run_of({})).empty


def test_a_pool_cannot_be_fused() -> None:
    with pytest.raises(InputError, match="column 'rank' is missing; give what"):
        fuse(pd.DataFrame({"qid": ["1"], "variant": [0], "docno": ["a"]}))
    with pytest.raises(InputError, match="k must be 0 or more"):
        fuse(run_of(lists()), k=-1)
