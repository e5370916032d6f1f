"""Query logs in every kind of file that people have."""

import gzip

import pandas as pd
import pytest

from quipukit.attackers.log import read_log
from quipukit.errors import FileError, InputError
from quipukit.io.logs import read_log_file


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("log.txt", "cats\nDogs\ncats\n"),
        ("log", "cats\nDogs\ncats\n"),
        ("log.tsv", "query\tsource\ncats\ta\nDogs\tb\ncats\tc\n"),
        ("log.tsv", "AnonID\tQuery\tQueryTime\n1\tcats\t2006\n2\tDogs\t2006\n3\tcats\t2006\n"),
        ("log.tsv", "cats\nDogs\ncats\n"),
        ("log.tsv", "1\tcats\n2\tDogs\n3\tcats\n"),
        ("log.csv", "count,query\n2,cats\n1,Dogs\n"),
        ("log.csv", "text\ncats\nDogs\ncats\n"),
        ("log.csv", "q1,cats\nq2,Dogs\nq3,cats\n"),
        ("log.tsv", "\ufeffQuery\tcount\rcats\t2\rDogs\t1"),
        ("log.txt", "\ufeffcats\rDogs\rcats\r"),
        ("log.jsonl", '{"query": "cats", "count": 2}\n{"query": "Dogs", "count": "1"}\n'),
    ],
)
@pytest.mark.parametrize("compressed", [False, True])
def test_text_files(tmp_path, name, content, compressed):
    path = tmp_path / (name + ".gz" if compressed else name)
    path.write_bytes(gzip.compress(content.encode()) if compressed else content.encode())
    log = read_log(path)
    assert (log.texts, log.counts.tolist()) == (["cats", "Dogs"], [2, 1])


def test_parquet(tmp_path):
    pd.DataFrame({"query": ["cats", "dogs"], "count": [4, 1]}).to_parquet(tmp_path / "log.parquet")
    assert read_log(tmp_path / "log.parquet").counts.tolist() == [4, 1]
    pd.DataFrame({"query": ["cats", "dogs"], "freq": [4, 1]}).to_parquet(tmp_path / "log.parquet")
    assert read_log(tmp_path / "log.parquet").counts.tolist() == [4, 1]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("log.txt", b"", "is empty"),
        ("log.txt", b"\x00\x01\x02 binary", "not a text file"),
        ("log.txt", b"cats\n\xff\xfe\n", "line 2.*UTF-8"),
        ("log.tsv", b"a\tb\tc\n1\t2\t3\n", "which column"),
        ("log.csv", b"query,count\ncats,many\n", "line 2.*count is not a whole number"),
        ("log.tsv", b"source\tquery\na\n", "line 2.*column is missing"),
        ("log.txt.gz", b"no gzip", "cannot be read"),
        ("log.tsv", b"cats\t5\ndogs\t3\n", "whether its two columns are ids, queries or counts; name the columns"),
        ("log.tsv", b"cats9\t5\ndogs8\t3\n", "ids, queries or counts"),
        ("log.tsv", b"5\tcats\n5\tdogs\n", "ids, queries or counts"),
        ("log.tsv", b"9\tcats\n5\tdogs\n", "ids, queries or counts"),
        ("log.tsv", b"1\t5\n2\t3\n", "ids, queries or counts"),
        ("log.tsv", b"cats\tanimals\ndogs\tanimals\n", "ids, queries or counts"),
        ("log.tsv", b"1\tcats\n2\tdogs\tand more\n", "line 2.*column too many"),
        ("log.csv", b"cats\nfood, cheap\n", "line 2.*column too many.*quote"),
        ("log.csv", b'query\n"cats" and dogs\n', "line 2.*quotation mark"),
        ("log.csv", b'query\n"cats\n', "line 2.*quotation mark"),
        ("log.txt", b"cats\t5\n", "line 1.*without tabs"),
        ("log.txt", b"cats\ra\ndogs\n", "line 1.*carriage return"),
        ("log.txt", b"cats\ndogs\0\n", "line 2.*NUL"),
        ("log.tsv", "query\tcount\ncats\t\u00b2\n".encode(), "line 2.*count is not a whole number"),
        ("log.csv", b"query,count\ncats," + b"9" * 30 + b"\n", "too large"),
        ("log.jsonl", b'{"query": null}\n', "line 1.*missing or not a string"),
        ("log.jsonl", b'{"query": "cats"}\n["x"]\n', "line 2.*not a JSON object"),
        ("log.json", b'{"query": "cats"}\n', "jsonl"),
        ("log.parquet", b"nonsense", "damaged, or not a Parquet file"),
    ],
)
def test_what_is_no_log_is_refused_with_the_fix(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises((FileError, InputError), match=words):
        read_log(tmp_path / name)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"query": ["cats", None], "count": [1, 2]}, "row 2: the query is missing"),
        ({"query": ["cats", "dogs"], "count": [1, None]}, "row 2: the count"),
        ({"query": ["cats", "dogs"], "count": [1.5, 2]}, "row 1: the count"),
        ({"query": ["cats", "dogs"], "count": [1, -2]}, "row 2: the count"),
        ({"query": [b"cats", b"dogs"]}, "row 1: the query is missing or not a string"),
    ],
)
def test_gaps_in_parquet_are_refused_with_their_row(tmp_path, columns, words):
    pd.DataFrame(columns).to_parquet(tmp_path / "log.parquet")
    with pytest.raises(FileError, match=words):
        read_log(tmp_path / "log.parquet")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileError, match=r"none\.txt"):
        read_log(tmp_path / "none.txt")


@pytest.mark.heavy
def test_the_shared_log_is_read(shared_data):
    assert len(read_log(shared_data / "querylog" / "queries.tsv.gz")) == 181_963


def test_texts_come_as_they_are_written(tmp_path):
    (tmp_path / "log.txt").write_text("Cats\ncats\n \n")
    texts, counts = read_log_file(tmp_path / "log.txt")
    assert list(texts)[:2] == ["Cats", "cats"] and counts is None
    (tmp_path / "log.csv").write_text("query,count\nCats,2\ncats,1\n")
    texts, counts = read_log_file(tmp_path / "log.csv")
    assert (list(texts), list(counts)) == (["Cats", "cats"], [2, 1])
