"""Utility against public runs and by hand."""

import math

import pandas as pd
import pytest

from quipukit.errors import FrameError, InputError
from quipukit.io.trec import read_qrels, read_run
from quipukit.measures.utility import empty_pools, mean_scores, utility

PUBLIC_RUNS = {
    "BM25": 0.5058,
    "BM25_RM3": 0.5216,
    "D_BERT_KD_TASB": 0.7210,
    "OPEN_AI_ADA2": 0.7035,
    "SPLADE_P_P_ENSEMBLE_DISTIL": 0.7308,
    "REP_LLAMA": 0.7439,
}


@pytest.mark.parametrize(("name", "expected"), PUBLIC_RUNS.items())
def test_public_runs_score_what_is_published(shared_data, name, expected):
    run = read_run(shared_data / "dl19" / "runs" / f"{name}.trec")
    means = mean_scores(utility(run, read_qrels(shared_data / "dl19" / "qrels.txt"), ["nDCG@10"]))
    assert round(means["nDCG@10"].iloc[0], 4) == expected


def frame(**columns):
    return pd.DataFrame(columns)


QRELS = frame(qid=["1", "1", "1", "2", "3"], docno=["a", "b", "c", "a", "a"], relevance=[2, 1, 0, 1, 0])


def test_ndcg_and_recall_by_hand():
    run = frame(qid=["1", "1"], docno=["b", "a"], score=[2.0, 1.0], rank=[0, 1])
    scores = utility(run, QRELS, ["nDCG@10", "SetR"]).set_index(["qid", "measure"])["score"]
    gain = 1 / math.log2(2) + 2 / math.log2(3)
    ideal = 2 / math.log2(2) + 1 / math.log2(3)
    assert scores["1", "nDCG@10"] == pytest.approx(gain / ideal)
    assert scores["1", "SetR"] == 1.0


def test_a_judged_query_that_found_nothing_counts_zero_and_is_counted():
    run = frame(qid=["1"], docno=["a"], score=[1.0], rank=[0])
    scores = utility(run, QRELS, ["nDCG@10"])
    # Query 3 has no relevant document: nothing could be found, so it is left out; query 2 found nothing.
    assert scores.set_index("qid")["score"].to_dict() == {"1": pytest.approx(0.76, abs=0.01), "2": 0.0}
    assert empty_pools(run, QRELS)[["empty", "queries"]].values.tolist() == [[1, 2]]


def test_equal_scores_keep_the_order_of_the_ranks():
    judged = frame(qid=["1"], docno=["z"], relevance=[1])
    documents = ["z", "a", "m"]
    run = frame(qid=["1"] * 3, docno=documents, score=[1.0] * 3, rank=[0, 1, 2])
    assert utility(run, judged, ["RR"])["score"].tolist() == [1.0]
    assert utility(run.assign(rank=[2, 0, 1]), judged, ["RR"])["score"].tolist() == [pytest.approx(1 / 3)]


def test_settings_are_measured_apart():
    run = frame(mechanism="CMP", parameter="epsilon", value=[1.0, 5.0], qid="2", docno=["x", "a"], score=0.0, rank=0)
    means = mean_scores(utility(run, QRELS, ["P@1"]))
    assert dict(zip(means["value"], means["P@1"], strict=True)) == {1.0: 0.0, 5.0: 0.5}


@pytest.mark.parametrize("measures", [["nDGC@10"], ["P@"], ["import os"], [""]])
def test_an_unknown_measure_is_named(measures):
    run = frame(qid=["1"], docno=["a"], score=[1.0], rank=[0])
    with pytest.raises(InputError, match="is not a measure"):
        utility(run, QRELS, measures)


def test_nan_scores_and_missing_columns_are_refused():
    with pytest.raises(FrameError, match="'score' must hold numbers"):
        utility(frame(qid=["1"], docno=["a"], score=[math.nan], rank=[0]), QRELS)
    with pytest.raises(FrameError, match="'rank'"):
        utility(frame(qid=["1"], docno=["a"], score=[1.0]), QRELS)
    with pytest.raises(InputError, match="no relevant document"):
        utility(frame(qid=["1"], docno=["a"], score=[1.0], rank=[0]), QRELS.assign(relevance=0))
