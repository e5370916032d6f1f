"""TREC files: there and back, and what is refused."""

import tempfile
import unicodedata
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.errors import FileError, InputError
from quipukit.io.trec import read_qrels, read_run, write_qrels, write_run


def test_a_run_goes_there_and_back_with_its_ties(tmp_path):
    run = pd.DataFrame(
        {
            "qid": ["1", "1", "1", "007"],
            "docno": ["b", "c", "a", "x"],
            "score": [2.5, 2.5, 2.5, -1e-9],
            "rank": [0, 1, 2, 0],
        }
    )
    write_run(run, tmp_path / "deep" / "run.trec", tag="mine")
    back = read_run(tmp_path / "deep" / "run.trec")
    assert back[["qid", "docno", "rank"]].values.tolist() == [
        ["007", "x", 0],
        ["1", "b", 0],
        ["1", "c", 1],
        ["1", "a", 2],
    ]
    assert back["score"].tolist() == pytest.approx([0, 2.5, 2.5, 2.5], abs=1e-6)
    assert set(back["tag"]) == {"mine"}


def test_equal_scores_keep_the_order_of_the_files_ranks(tmp_path):
    (tmp_path / "run").write_text("1 Q0 a 3 0.5 t\n1 Q0 c 2 0.5 t\n1 Q0 b 2 0.5 t\n1 Q0 d 9 0.7 t\n")
    assert read_run(tmp_path / "run")["docno"].tolist() == ["d", "b", "c", "a"]


def test_qrels_go_there_and_back(tmp_path):
    qrels = pd.DataFrame({"qid": ["1", "2"], "docno": ["a", "b"], "relevance": [3, -1]})
    write_qrels(qrels, tmp_path / "qrels.txt")
    pd.testing.assert_frame_equal(read_qrels(tmp_path / "qrels.txt"), qrels, check_dtype=False)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"1 Q0 a 1 nan tag\n", "line 1: the score is not a number"),
        (b"1 Q0 a 1 0.5 tag\n1 Q0 b x tag\n", "line 2.*5 fields"),
        (b"1 Q0 a 1 inf tag\n", "line 1: the score is not a number"),
        (b"1 Q0 a 1 0.5 tag\n1 Q0 a 2 0.4 tag\n", "line 2: the document comes a second time"),
        (b"1 Q0 \xff 1 0.5 tag\n", "line 1.*UTF-8"),
    ],
)
def test_a_bad_run_is_refused_with_its_line(tmp_path, content, words):
    (tmp_path / "run.trec").write_bytes(content)
    with pytest.raises(FileError, match=words):
        read_run(tmp_path / "run.trec")


def test_bad_qrels_are_refused(tmp_path):
    (tmp_path / "q").write_text("1 0 a x\n")
    with pytest.raises(FileError, match=r"line 1: the relevance is not a number"):
        read_qrels(tmp_path / "q")
    (tmp_path / "q").write_text("1 0 a 0.7\n")
    with pytest.raises(FileError, match=r"the relevance is not a whole number"):
        read_qrels(tmp_path / "q")
    for sly in ("1_0", "\u0661", "\u00b2", "9" * 400, "1e18"):
        (tmp_path / "q").write_text(f"1 0 a {sly}\n", encoding="utf-8")
        with pytest.raises(FileError, match=r"line 1: the relevance is not a"):
            read_qrels(tmp_path / "q")
    with pytest.raises(FileError, match="no such file"):
        read_qrels(tmp_path / "none")


def test_an_empty_file_is_a_run_that_found_nothing(tmp_path):
    (tmp_path / "run.trec").write_text("")
    assert read_run(tmp_path / "run.trec").empty


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_byte_order_mark_and_any_line_end(tmp_path, end):
    (tmp_path / "run").write_bytes(f"\ufeff1 Q0 a 1 2 t{end}1 Q0 b 2 1 t{end}".encode())
    (tmp_path / "qrels").write_bytes(f"\ufeff1 0 a 1{end}1 0 b 0{end}".encode())
    assert read_run(tmp_path / "run")[["qid", "docno"]].values.tolist() == [["1", "a"], ["1", "b"]]
    assert read_qrels(tmp_path / "qrels").values.tolist() == [["1", "a", 1], ["1", "b", 0]]


IDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)


@given(
    st.dictionaries(
        st.tuples(IDS, IDS), st.floats(-1e6, 1e6).map(lambda number: round(number, 3)), min_size=1, max_size=8
    )
)
def test_a_run_is_read_back_as_it_was_or_refused(found):
    run = pd.DataFrame(
        [(qid, docno, score) for (qid, docno), score in found.items()], columns=["qid", "docno", "score"]
    )
    run = run.sort_values(["qid", "score"], ascending=[True, False], kind="stable")
    run["rank"] = run.groupby("qid").cumcount()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.trec")
        if any(c.isspace() or unicodedata.category(c) == "Cc" or c == "\ufeff" for c in "".join(map("".join, found))):
            with pytest.raises(InputError, match="TREC file cannot"):
                write_run(run, path)
            assert not path.exists()
            return
        write_run(run, path)
        back = read_run(path)
    wanted = sorted(run[["qid", "rank", "docno"]].itertuples(index=False, name=None))
    assert sorted(back[["qid", "rank", "docno"]].itertuples(index=False, name=None)) == wanted


def test_ids_that_no_trec_file_can_hold_are_refused_before_anything_is_written(tmp_path):
    run = pd.DataFrame({"qid": ["1", "2"], "docno": ["a", "my secret b"], "score": [1.0, 1.0], "rank": [0, 0]})
    with pytest.raises(InputError, match=r"docno number 2 .* white space") as fault:
        write_run(run, tmp_path / "run")
    assert "secret" not in str(fault.value) and not (tmp_path / "run").exists()
    with pytest.raises(InputError, match="query id number 1"):
        write_qrels(pd.DataFrame({"qid": [" 1"], "docno": ["a"], "relevance": [1]}), tmp_path / "qrels")
