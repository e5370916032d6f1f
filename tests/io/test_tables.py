"""Files of queries: read strictly, with the line at fault, and back as they were written."""

import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from quipukit.attackers.log import read_log
from quipukit.errors import FileError
from quipukit.frames import OBFUSCATED
from quipukit.io.obfuscated import read_obfuscated, with_budget, write_obfuscated
from quipukit.io.queries import read_queries
from quipukit.obfuscation import obfuscate
from quipukit.vectors.store import Vectors

SECRET = "my secret illness"


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


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


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize(
    ("column", "cell"),
    [("query", b"cat"), ("query", ["cat"]), ("qid", b"1"), ("qid", 1.0), ("mechanism", b"CMP"), ("value", b"5")],
)
def test_cells_of_the_wrong_type_in_obfuscated_parquet_are_refused(tmp_path, published, column, cell):
    row = {"qid": "1", "variant": 0, "query": "cat", "mechanism": "CMP", "parameter": "epsilon", "value": 5.0}
    table = pd.DataFrame([{**row, column: cell}])
    names = {"qid": "id", "query": "obfuscatedText", "value": "epsilon"} if published else {}
    if published:
        table = table.drop(columns=["variant", "parameter"]).rename(columns=names).assign(text=SECRET)
    table.to_parquet(tmp_path / "sent.parquet")
    with pytest.raises(FileError, match=f"row 1: column '{names.get(column, column)}'"):
        read_obfuscated(tmp_path / "sent.parquet")


def test_one_id_and_one_value_written_in_two_ways_are_one(tmp_path):
    row = '{{"id": {}, "text": "a", "obfuscatedText": "b", "mechanism": "CMP", "epsilon": {}}}\n'
    path = written(tmp_path, "sent.jsonl", row.format(1, 5) + row.format('"1"', "5.0"))
    obfuscated, originals = read_obfuscated(path)
    assert obfuscated[["qid", "variant"]].values.tolist() == [["1", 0], ["1", 1]]
    assert originals.values.tolist() == [["1", "a"]]


def test_the_same_setting_in_two_files_is_refused(tmp_path):
    content = f"qid,variant,query,mechanism,parameter,value\n{SECRET},0,a,CMP,epsilon,1\n"
    written(tmp_path, "a.csv", content)
    written(tmp_path, "b.csv", content)
    with pytest.raises(FileError, match="two of its files hold the same setting") as fault:
        read_obfuscated(tmp_path)
    assert "secret" not in str(fault.value)


def test_damaged_parquet_is_refused_in_one_line(tmp_path):
    whole = tmp_path / "whole.parquet"
    pd.DataFrame({"qid": ["1", "2"], "query": [SECRET, SECRET]}).to_parquet(whole)
    content = whole.read_bytes()
    bad = [b"", b"PAR1PAR1", b"PAR1\4\0\0\0PAR1", *(content[:size] for size in range(0, len(content), 97))]
    bad += [content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :] for at in range(4, len(content), 11)]
    faults = []
    for damaged in bad:
        path = written(tmp_path, "q.parquet", damaged)
        for read in (read_queries, read_obfuscated, read_log):
            try:
                read(path)  # a flipped bit may do no harm
            except FileError as fault:
                faults.append(str(fault))
    assert len(faults) > len(bad)
    assert not any("\n" in fault or "secret" in fault for fault in faults)


def test_a_quotation_mark_in_tsv_is_one(tmp_path):
    header = "qid\tvariant\tquery\tmechanism\tparameter\tvalue\n"
    rows = '1\t0\t"a\tCMP\tepsilon\t1\n1\t1\tb\tCMP\tepsilon\t1\n1\t2\tc"\tCMP\tepsilon\t1\n'
    obfuscated, _ = read_obfuscated(written(tmp_path, "sent.tsv", header + rows))
    assert obfuscated["query"].tolist() == ['"a', "b", 'c"']


TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
@given(
    queries=st.lists(TEXTS, min_size=1, max_size=5),
    mechanism=TEXTS.filter(str.strip),
    value=st.floats(1e-6, 1e6),
)
def test_obfuscated_queries_are_read_back_as_they_were_or_refused(suffix, queries, mechanism, value):
    setting = {"mechanism": mechanism, "parameter": "epsilon", "value": value}
    rows = [{"qid": str(n), "variant": 0, "query": query, **setting} for n, query in enumerate(queries)]
    table = OBFUSCATED.check(pd.DataFrame(rows))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"sent{suffix}")
        unfit = {".csv": "\0", ".tsv": "\0\t\r\n"}.get(suffix, "")
        if any(character in text for character in unfit for text in [*queries, mechanism]):
            with pytest.raises(FileError, match="cannot; write"):
                write_obfuscated(table, path)
            assert not path.exists()
            return
        write_obfuscated(table, path)
        back, _ = read_obfuscated(path)
    assert_frame_equal(back, table, check_exact=suffix != ".jsonl", rtol=1e-12)


def test_the_budget_counts_the_variants_of_tables_put_together():
    pets = Vectors(["cat", "dog"], [[0.0, 1.0], [1.0, 0.0]])
    one, two = (obfuscate({"q": "cat"}, "CMP@3", 2, vectors=pets) for _ in range(2))
    both = pd.concat([one, two.assign(variant=two["variant"] + 2)], ignore_index=True)
    assert both.attrs["n"] == 2, "pandas no longer keeps it; the test has lost its object"
    assert with_budget(both)[["n", "budget"]].drop_duplicates().values.tolist() == [[4, 12.0]]
    # A part of a table was paid for as a whole.
    assert with_budget(one.head(1))[["n", "budget"]].values.tolist() == [[2, 6.0]]
