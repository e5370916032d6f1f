"""What the frames of PyTerrier are checked for, column by column."""

import pandas as pd
import pytest

pytest.importorskip("pyterrier", reason='needs PyTerrier: pip install "quipukit[pyterrier]"')

from quipukit.errors import FrameError, InputError
from quipukit.memo import Memo
from quipukit.pyterrier.frames import is_query_column, list_ranks, query_frame, refuse_rewritten, result_frame, source

TOPICS = pd.DataFrame({"qid": ["b", "a"], "query": ["my secret", "another"], "other": [1, 2]}, index=[7, 3])


def test_a_frame_of_queries_is_taken_as_it_stands():
    assert query_frame(TOPICS, "X").values.tolist() == [["b", "my secret"], ["a", "another"]]
    assert query_frame(TOPICS.iloc[:0], "X").empty


@pytest.mark.parametrize("name", ["query_0", "query_12"])
def test_what_a_rewriter_kept_is_refused(name):
    with pytest.raises(FrameError, match=f"X: the frame has column '{name}'"):
        refuse_rewritten(["qid", "query", name], "X")
    refuse_rewritten(["qid", "query", "query_vec", "query_toks"], "X")


def test_columns_made_of_a_query_count_as_one():
    assert [name for name in ("query", "query_0", "query_vec", "docno", "text") if is_query_column(name)] == [
        "query",
        "query_0",
        "query_vec",
    ]


def test_results_name_queries_and_documents():
    with pytest.raises(FrameError, match=r"X needs results with column 'docno' \(found qid, query, other\)"):
        result_frame(TOPICS.reset_index(drop=True), "X")
    with pytest.raises(FrameError, match=r"column 'qid' \(found none\)"):
        result_frame(pd.DataFrame(), "X")


def test_where_variants_come_from():
    assert source("Random", None, False)[1] == 20
    assert source(Memo("Random", n=4), None, False)[1] == 4
    with pytest.raises(InputError, match=r"Decoys.* sends the original"):
        source("Decoys@3", 5, False)


def test_lists_are_ordered_by_rank_or_else_by_falling_score():
    found = pd.DataFrame({"qid": ["1", "1", "2"], "docno": ["a", "b", "a"], "score": [1, 2, 3]})
    assert list_ranks(found, "X").tolist() == [1, 0, 0]
    assert list_ranks(found.assign(rank=[4, 7, 1]), "X").tolist() == [0, 1, 0]
    assert list_ranks(pd.DataFrame(columns=["qid", "docno", "score"]), "X").tolist() == []
    with pytest.raises(FrameError, match="X needs column 'rank' or 'score'"):
        list_ranks(found[["qid", "docno"]], "X")


@pytest.mark.parametrize("cell", [None, float("nan"), "high"])
@pytest.mark.parametrize("name", ["score", "rank"])
def test_results_without_a_place_in_their_list_are_refused(name, cell):
    found = pd.DataFrame({"qid": ["1", "1"], "docno": ["a", "b"], name: [1.0, cell]})
    with pytest.raises(FrameError, match=f"X: column '{name}' of the results holds cells that are no numbers"):
        list_ranks(found, "X")
