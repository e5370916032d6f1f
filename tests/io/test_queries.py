"""Files of queries: read strictly, with the line at fault and never its text."""

import pandas as pd
import pytest

from quipukit.errors import FileError
from quipukit.io.queries import read_queries
from tests.io.samples import SECRET, written


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.tsv", "1\ta b\n2\tc\n"),
        ("q.tsv", "\ufeff1\ta b\r\n2\tc"),
        ("q.tsv", "1\ta b\r2\tc\r"),
        ("q.txt", " 1\ta b\n\n 2 \tc\n"),
        ("q.tsv", "qid\ttitle\n1\ta b\n2\tc\n"),
        ("q.tsv", "number\tquery\n1\ta b\n2\tc\n"),
        ("q.tsv", "Query\tQid\tnote\na b\t1\tx\nc\t2\ty\n"),
        ("q.csv", "\ufeffid, text\n1,a b\n\n2,c\n"),
        ("q.csv", "qid,query\r1,a b\r2,c\r"),
        ("q.csv", 'qid,query\r\n"1","a b"\r\n2,c\r\n'),
        ("q.jsonl", '\ufeff{"qid": 1, "query": "a b"}\n{"query": "c", "qid": "2"}\n'),
    ],
)
def test_what_is_understood(tmp_path, name, content):
    assert read_queries(written(tmp_path, name, content)).values.tolist() == [["1", "a b"], ["2", "c"]]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("q.csv", f"qid,query\nq0,x\nq1,{SECRET},paris\n", "line 3: a column too many.*found 3, expected 2.*quote"),
        ("q.csv", f"qid,query,more\nq1,{SECRET}\n", "line 2: a column is missing"),
        ("q.csv", f'qid,query\nq1,"{SECRET}\nq2,x\n', "line 2: a quotation mark is out of place"),
        ("q.csv", f'qid,query\nq1,"{SECRET}" x\n', "line 2: a quotation mark is out of place"),
        ("q.csv", f"{SECRET},{SECRET}\n1,2\n", "names a column twice"),
        ("q.tsv", f"1\ta\n2\t{SECRET}\tmore\n", "line 2: a column too many"),
        ("q.tsv", f"1\ta\n{SECRET}\n", "line 2: a column is missing"),
        ("q.tsv", f"1\ta\n\t{SECRET}\n", "query 2 has no id"),
        ("q.tsv", f"1\ta\r2\t{SECRET}\n3\tb\n", "line 1"),
        ("q.tsv", f"1\ta\n2\t{SECRET}\0\n", "line 2: a NUL byte"),
        ("q.tsv", f"1\t{SECRET}\n".encode("utf-16"), "not UTF-8|NUL"),
        ("q.tsv", b"1\ta\n2\tb\n3\tmy secret \xed\xa0\x80\n", "line 3: not UTF-8"),
        ("q.jsonl", f'{{"qid": 1, "query": ["{SECRET}"]}}\n', "line 1: a field holds a list"),
        ("q.jsonl", f'{{"qid": 1, "query": "a"}}\n"{SECRET}"\n', "line 2: not a JSON object"),
        ("q.jsonl", "[" * 100_000 + "\n", "line 1"),
        ("q.jsonl", f'{{"qid": 1, "query": "{SECRET}", "query": "b"}}\n', "line 1: a key stands twice"),
        ("q.jsonl", f'{{"qid": 1, "query": "{SECRET} \\ud800"}}\n', "line 1: half of a surrogate pair"),
        ("q.jsonl", f'{{"qid": 1, "query": "{SECRET}"}}\n{{"qid": 2, "query": true}}\n', "line 2: column 'query'"),
        ("q.jsonl", f'{{"qid": 1, "query": "{SECRET}"}}\n\n{{"qid": 2, "query": 5}}\n', "line 3: column 'query'"),
        ("q.jsonl", f'{{"qid": 1, "query": "{SECRET}"}}\n{{"qid": 2.0, "query": "b"}}\n', "line 2: column 'qid'"),
        ("q.jsonl", f'{{"qid": 1, "query": "{SECRET}"}}\n{{"qid": true, "query": "b"}}\n', "line 2: column 'qid'"),
        ("q.jsonl", f'{{"qid": 1, "query": "{SECRET}"}}\n{{"qid": 2}}\n', "line 2: column 'query'"),
        ("q.tsv", f"{SECRET}\ta\nother\t9\n\n{SECRET}\t5\n", "line 1 and line 4 have the same qid; keep one"),
        ("q.tsv", f"query\tcount\n{SECRET}\t5\n", "names the queries but not their ids"),
        ("q.tsv", f"{SECRET}\t5\nother\t9\n", "look like queries and counts, not ids and queries"),
        ("q.csv", f"qid,query\n{SECRET},5\n{SECRET},9\n", "line 2 and line 3 have the same qid"),
        ("q.jsonl", f'{{"qid": 1, "query": "a"}}\n{{"qid": "1", "query": "{SECRET}"}}\n', "line 1 and line 2"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_line_and_without_its_text(tmp_path, name, content, words):
    with pytest.raises(FileError, match=words) as fault:
        read_queries(written(tmp_path, name, content))
    assert "secret" not in str(fault.value)


@pytest.mark.parametrize(
    ("column", "cells", "words"),
    [
        ("query", [b"my secret", b"illness"], "row 1: column 'query'"),
        ("query", [["my", "secret"], ["b"]], "row 1: column 'query'"),
        ("query", [SECRET, None], "row 2: column 'query'"),
        ("query", [1, 2], "row 1: column 'query' is empty or not a text"),
        ("qid", [b"my secret", b"2"], "row 1: column 'qid'"),
        ("qid", [1.0, 2.0], "row 1: column 'qid' is empty or not a text or a whole number"),
        ("qid", [True, False], "row 1: column 'qid'"),
        ("qid", [["my secret"], ["2"]], "row 1: column 'qid'"),
        ("qid", [SECRET, SECRET], "row 1 and row 2 have the same qid"),
    ],
)
def test_cells_of_the_wrong_type_in_parquet_are_refused_with_their_row(tmp_path, column, cells, words):
    pd.DataFrame({"qid": ["1", "2"], "query": ["a", "b"], column: cells}).to_parquet(tmp_path / "q.parquet")
    with pytest.raises(FileError, match=words) as fault:
        read_queries(tmp_path / "q.parquet")
    assert "secret" not in str(fault.value)


def test_whole_numbers_are_ids(tmp_path):
    pd.DataFrame({"qid": [1, 2], "query": ["a", "b"]}).to_parquet(tmp_path / "q.parquet")
    assert read_queries(tmp_path / "q.parquet")["qid"].tolist() == ["1", "2"]
