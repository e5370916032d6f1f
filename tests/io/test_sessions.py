"""Sessions as files, and what is wrong with them in words."""

from pathlib import Path

import pandas as pd
import pytest

import quipukit as qk
from quipukit.errors import FileError
from quipukit.io.sessions import read_sessions

QUERIES = pd.DataFrame({"qid": ["1", "2"], "query": ["cat", "dog"]})


def written(folder: Path, content: str, name: str = "sessions.tsv") -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def test_sessions_come_in_the_order_of_their_positions(tmp_path: Path) -> None:
    path = written(tmp_path, "sid\tposition\tqid\ns\t7\t2\ns\t3\t1\nr\t1\t1\n")
    table = qk.read_sessions(path, QUERIES)
    assert table.values.tolist() == [["s", 3, "1"], ["s", 7, "2"], ["r", 1, "1"]]
    other = written(tmp_path, "query_id,session,pos\n1,s,3\n", "sessions.csv")
    assert read_sessions(other).values.tolist() == [["s", 3, "1"]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("sid\tposition\tqid\ns\t1\t1\ns\t1\t2\n", "line 2 and line 3 have the same sid, position; keep one"),
        ("sid\tposition\tqid\ns\t1\t9\n", r"1 of 1 queries are unknown \(first: 9\); give the queries"),
        ("sid\tposition\tqid\ns\t1\t\n", "row 1 names no query"),
        ("sid\tposition\tqid\n\t1\t1\n", "row 1 names no session"),
        ("sid\tposition\tqid\n", "holds no session"),
        ("sid\tqid\ns\t1\n", "column 'position' is missing; the first line names the columns"),
        ("sid\tposition\tqid\ns\tfirst\t1\n", "position"),
    ],
)
def test_faults_are_named_with_their_fix(tmp_path: Path, content: str, words: str) -> None:
    with pytest.raises(FileError, match=words):
        read_sessions(written(tmp_path, content), QUERIES)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="end the name in"):
        read_sessions(written(tmp_path, "x", "sessions.doc"))
