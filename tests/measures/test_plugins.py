"""Utility measures of other packages: found by name, cut where asked, scored like those of ir_measures."""

import pandas as pd
import pytest

from quipukit.errors import InputError
from quipukit.measures.plugins import GROUP, PluginMeasure, plugin_measure
from quipukit.measures.utility import measure_identities, parse_measures, utility
from quipukit.plugins import look_again, temporarily_installed

QRELS = pd.DataFrame({"qid": ["1", "1", "1", "2"], "docno": ["a", "b", "c", "a"], "relevance": [2, 1, 0, 1]})
RUN = pd.DataFrame({"qid": ["1"] * 3, "docno": ["x", "b", "a"], "score": [3.0, 2.0, 1.0], "rank": [0, 1, 2]})


def share_of_relevant(ranking, relevance):
    return sum(relevance.get(docno, 0) > 0 for docno in ranking) / max(1, len(ranking))


@pytest.fixture(autouse=True)
def installed():
    with temporarily_installed(GROUP, Share=share_of_relevant):
        yield


def scores(measures):
    found = utility(RUN, QRELS, measures)
    return {(row.qid, row.measure): row.score for row in found.itertuples()}


@pytest.mark.parametrize("cutoff", [1, 2, 3, 10])
def test_a_plugin_scores_as_ir_measures_does_where_it_computes_the_same(cutoff):
    found = scores([f"Share@{cutoff}", f"P@{cutoff}", "nDCG@10"])
    # P divides by the cutoff, the plugin by what was found: the same as long as enough was.
    assert found["1", f"Share@{cutoff}"] == pytest.approx(found["1", f"P@{cutoff}"] * cutoff / min(cutoff, 3))
    assert found["2", f"Share@{cutoff}"] == 0, "a judged query for which nothing was found scores 0"
    assert scores(["nDCG@10"])["1", "nDCG@10"] == found["1", "nDCG@10"]


def test_measures_alone_and_in_any_order():
    assert list(scores(["Share"])) == [("1", "Share"), ("2", "Share")]
    assert list(scores(["Share", "RR", "Share@1"])) == [
        (qid, measure) for qid in ("1", "2") for measure in ("Share", "RR", "Share@1")
    ]


@pytest.mark.parametrize("name", ["Other", "Share@", "Share@0", "Share@-1", "Share@x", "share"])
def test_an_unknown_name_lists_what_there_is(name):
    with pytest.raises(InputError, match=r"is not a measure of ir_measures; try nDCG@10.*RR, Share\."):
        parse_measures([name])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, "0.5"])
def test_what_is_no_number_is_refused_without_the_query(value):
    odd = temporarily_installed(GROUP, Odd=lambda ranking, relevance: value)
    with odd, pytest.raises(InputError, match="the measure Odd@5 returned"):
        scores(["Odd@5"])


def test_what_cannot_be_called_is_refused():
    with temporarily_installed(GROUP, Odd=0.5), pytest.raises(InputError, match="Odd of a plugin is no function"):
        plugin_measure("Odd")


def test_an_installed_name_of_ir_measures_is_ignored(tmp_path, monkeypatch):
    info = tmp_path / "thief-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: thief\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\nndcg = thief:VALUE\n")
    monkeypatch.syspath_prepend(tmp_path)
    look_again()
    with pytest.warns(UserWarning, match="'ndcg' .* is ignored: .* built-in NDCG"):
        assert plugin_measure("ndcg") is None
    monkeypatch.undo()
    look_again()


def test_a_plugins_source_is_part_of_what_a_score_depends_on():
    [known, own] = measure_identities(["nDCG@10", "Share@5"])
    assert known == "nDCG@10"
    assert own == ["Share@5", PluginMeasure("Share", share_of_relevant).source_hash] and len(own[1]) == 64
