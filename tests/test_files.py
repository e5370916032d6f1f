"""Files of queries: read strictly, with the line at fault, and back as they were written."""

import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from quipukit.errors import FileError
from quipukit.files import read_obfuscated, read_queries, with_budget, write_obfuscated
from quipukit.frames import OBFUSCATED
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
    ],
)
def test_what_does_not_fit_is_refused_with_its_line_and_without_its_text(tmp_path, name, content, words):
    with pytest.raises(FileError, match=words) as fault:
        read_queries(written(tmp_path, name, content))
    assert "secret" not in str(fault.value)


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
