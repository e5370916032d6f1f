"""TREC files: there and back, and what is refused."""

import pandas as pd
import pytest

from quipukit.errors import FileError
from quipukit.trec import read_qrels, read_run, write_qrels, write_run


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
        (b"1 Q0 a 1 nan tag\n", "line 1.*'nan' is not a number"),
        (b"1 Q0 a 1 0.5 tag\n1 Q0 b x tag\n", "line 2.*5 fields"),
        (b"1 Q0 a 1 inf tag\n", "line 1.*'inf'"),
        (b"1 Q0 a 1 0.5 tag\n1 Q0 a 2 0.4 tag\n", "document a comes twice for query 1"),
        (b"1 Q0 \xff 1 0.5 tag\n", "line 1.*UTF-8"),
    ],
)
def test_a_bad_run_is_refused_with_its_line(tmp_path, content, words):
    (tmp_path / "run.trec").write_bytes(content)
    with pytest.raises(FileError, match=words):
        read_run(tmp_path / "run.trec")


def test_bad_qrels_are_refused(tmp_path):
    (tmp_path / "q").write_text("1 0 a x\n")
    with pytest.raises(FileError, match=r"line 1.*relevance 'x'"):
        read_qrels(tmp_path / "q")
    (tmp_path / "q").write_text("1 0 a 0.7\n")
    with pytest.raises(FileError, match=r"'0.7' is not a whole number"):
        read_qrels(tmp_path / "q")
    (tmp_path / "q").write_text("1 0 a 1\n1 0 a 2\n")
    with pytest.raises(FileError, match="two rows with qid=1, docno=a"):
        read_qrels(tmp_path / "q")
    with pytest.raises(FileError, match="no such file"):
        read_qrels(tmp_path / "none")


def test_an_empty_file_is_a_run_that_found_nothing(tmp_path):
    (tmp_path / "run.trec").write_text("")
    assert read_run(tmp_path / "run.trec").empty
