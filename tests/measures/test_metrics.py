"""Scores and risks as ir_measures has them."""

import ir_measures
import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.errors import FrameError, InputError
from quipukit.measures.metrics import GuessP, GuessR, GuessRR, guess_run, metrics

SETTING = {"mechanism": "CMP", "parameter": "epsilon", "value": 5.0}
LOG = ["how tumors grow", "weather tomorrow", "signs of depression", "cheap flights", "harbor hotels", "walnut cake"]
QUERIES = pd.DataFrame({"qid": ["1", "2", "3"], "query": ["how tumors grow", "cheap flights", "harbor hotels"]})
SENT = pd.DataFrame(
    [
        {"qid": qid, "variant": 0, "query": text, **SETTING}
        for qid, text in (("1", "tumors grow"), ("2", "cheap walnut cake"), ("3", "nothing of it"))
    ]
)


@pytest.fixture(scope="module")
def report():
    return qk.attack_report(SENT, QUERIES, LOG, attackers=["Lexical", "Words"])


def test_the_risks_are_measures_of_a_run_of_guesses(report):
    scores = qk.risk(report.ranks, k=3)
    for attacker, own in scores.groupby("attacker"):
        qrels, run = guess_run(report.guesses(len(LOG)), str(attacker))
        measures = {"P@1": GuessP @ 1, "R@3": GuessR @ 3, "RR": GuessRR}
        found = ir_measures.calc_aggregate(list(measures.values()), qrels, run)
        means = own.groupby("measure")["score"].mean()
        assert {name: found[measure] for name, measure in measures.items()} == pytest.approx(dict(means)), attacker
        # Text by text the same, through any door of ir_measures.
        each = {(one.query_id, one.measure): one.value for one in ir_measures.iter_calc([GuessRR], qrels, run)}
        rr = own[own["measure"] == "RR"].set_index("qid")["score"]
        assert {qid: value for (qid, _), value in each.items()} == pytest.approx(dict(rr))
        texts = {*LOG, *SENT["query"]}
        assert not texts & set(map(str, run.to_numpy().ravel())) and not texts & set(map(str, qrels.to_numpy().ravel()))


def test_ties_count_in_expectation_where_ir_measures_takes_one_order():
    row = {**SETTING, "attacker": "QuIA", "qid": "1"}
    guesses = pd.DataFrame([{**row, "query": text, "similarity": 1.0, "hit": text == "b"} for text in "abcd"])
    qrels, run = guess_run(guesses)
    found = ir_measures.calc_aggregate([GuessP @ 1, GuessP @ 2, GuessR @ 2, GuessRR, ir_measures.P @ 1], qrels, run)
    assert found[GuessP @ 1] == 0.25 and found[GuessR @ 2] == 0.5 and found[GuessP @ 2] == 0.25
    assert found[GuessRR] == pytest.approx(np.mean([1, 1 / 2, 1 / 3, 1 / 4]))
    assert found[ir_measures.P @ 1] in (0.0, 1.0), "one order, whatever it is"


def test_an_original_that_was_not_guessed_counts_nothing():
    row = {**SETTING, "attacker": "QuIA", "similarity": 1.0, "hit": False}
    qrels, run = guess_run(pd.DataFrame([{**row, "qid": "1", "query": "a"}]))
    assert ir_measures.calc_aggregate([GuessP @ 1, GuessRR], qrels, run) == {GuessP @ 1: 0.0, GuessRR: 0.0}
    assert ir_measures.calc_aggregate([GuessRR], qrels, run.iloc[:0]) == {GuessRR: 0.0}


def test_results_are_metrics(report):
    scores = qk.risk(report.ranks)
    own = scores[scores["attacker"] == "Lexical"]
    found = metrics(own)
    assert all(isinstance(one, ir_measures.Metric) for one in found)
    assert [one.value for one in found] == own["score"].tolist()
    assert {str(one.measure) for one in found} == {"GuessP@1", "GuessR@10", "GuessRR"}
    run = pd.DataFrame({"qid": ["1"], "docno": ["d"], "score": [1.0], "rank": [0]})
    qrels = pd.DataFrame({"qid": ["1"], "docno": ["d"], "relevance": [1]})
    (utility,) = metrics(qk.utility(run, qrels, ["nDCG@10"]))
    assert utility == ir_measures.Metric("1", ir_measures.nDCG @ 10, 1.0)


def test_what_has_no_place_in_ir_measures_is_refused(report):
    scores = qk.risk(report.ranks)
    with pytest.raises(InputError, match=r"these are 2 attackers, .* choose one"):
        metrics(scores)
    other = scores[scores["attacker"] == "Lexical"].assign(value=9.0)
    with pytest.raises(InputError, match="these are 2 settings"):
        metrics(pd.concat([scores[scores["attacker"] == "Lexical"], other], ignore_index=True))
    with pytest.raises(InputError, match="'Style' is no risk"):
        metrics(scores[scores["attacker"] == "Lexical"].assign(measure="Style").drop_duplicates(["qid"]))
    guesses = report.guesses(2)
    with pytest.raises(InputError, match="no guesses of 'Nobody'; there are those of Lexical, Words"):
        guess_run(guesses, "Nobody")
    with pytest.raises(FrameError, match="need column 'hit'"):
        guess_run(guesses.drop(columns="hit"))
