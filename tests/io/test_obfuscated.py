"""Obfuscated queries as files: back as they were written, in both layouts, with the budget that they cost."""

import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from quipukit.errors import FileError
from quipukit.frames import OBFUSCATED
from quipukit.io.obfuscated import read_obfuscated, with_budget, write_obfuscated
from quipukit.io.tables import write_table
from quipukit.obfuscation import obfuscate
from quipukit.vectors.store import Vectors
from tests.examples import examples
from tests.io.samples import SECRET, written

TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)


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


@pytest.mark.parametrize("name", ["missing", "missing.csv"])
def test_a_path_that_is_not_there_is_said_to_be_missing(tmp_path, name):
    with pytest.raises(FileError, match=f"{name}: there is no such file or folder"):
        read_obfuscated(tmp_path / name)


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


def test_a_quotation_mark_in_tsv_is_one(tmp_path):
    header = "qid\tvariant\tquery\tmechanism\tparameter\tvalue\n"
    rows = '1\t0\t"a\tCMP\tepsilon\t1\n1\t1\tb\tCMP\tepsilon\t1\n1\t2\tc"\tCMP\tepsilon\t1\n'
    obfuscated, _ = read_obfuscated(written(tmp_path, "sent.tsv", header + rows))
    assert obfuscated["query"].tolist() == ['"a', "b", 'c"']


@pytest.mark.parametrize(
    "suffix",
    [
        ".csv",
        pytest.param(".parquet", marks=pytest.mark.heavy),
        *(pytest.param(suffix, marks=pytest.mark.slow) for suffix in (".tsv", ".jsonl")),
    ],
)
@given(
    queries=st.lists(TEXTS, min_size=1, max_size=5),
    mechanism=TEXTS.filter(str.strip),
    value=st.floats(1e-6, 1e6),
)
@examples(40)
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
    expected = OBFUSCATED.check(table.assign(n=1, noise="unknown"))
    assert_frame_equal(back, expected, check_exact=suffix != ".jsonl", rtol=1e-12)


def test_the_budget_counts_the_variants_of_tables_put_together():
    pets = Vectors(["cat", "dog"], [[0.0, 1.0], [1.0, 0.0]])
    one, two = (obfuscate({"q": "cat"}, "CMP@3", 2, vectors=pets) for _ in range(2))
    both = pd.concat([one, two.assign(variant=two["variant"] + 2)], ignore_index=True)
    assert with_budget(both)[["n", "budget"]].drop_duplicates().values.tolist() == [[4, 12.0]]
    # A part of a table was paid for as a whole.
    assert with_budget(one.head(1))[["n", "budget"]].values.tolist() == [[2, 6.0]]
    # Beside rows that do not say how many were asked for, too.
    bare = one.head(1).drop(columns=["n", "noise"]).assign(qid="r")
    mixed = with_budget(pd.concat([one.head(1), bare], ignore_index=True))
    assert mixed[["n", "noise", "budget"]].values.tolist() == [[2, "unknown", 6.0], [1, "unknown", 3.0]]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_n_and_noise_are_read_back(tmp_path, suffix):
    pets = Vectors(["cat", "dog"], [[0.0, 1.0], [1.0, 0.0]])
    table = obfuscate({"q": "cat", "r": "dog"}, ["CMP@3", "CMP@5"], 2, vectors=pets, seed=1, noise="common")
    write_obfuscated(table, tmp_path / f"sent{suffix}")
    assert_frame_equal(read_obfuscated(tmp_path / f"sent{suffix}")[0], table)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_file_may_have_gaps_where_tables_were_put_together(tmp_path, suffix):
    row = {"qid": "1", "variant": 0, "query": "cat", "mechanism": "CMP", "parameter": "epsilon", "value": 5.0}
    table = pd.DataFrame([{**row, "n": 3, "noise": "common"}, {**row, "qid": "2"}])
    write_table(table, tmp_path / f"sent{suffix}")
    back, _ = read_obfuscated(tmp_path / f"sent{suffix}")
    assert back[["n", "noise"]].values.tolist() == [[3, "common"], [0, "unknown"]]


def test_a_file_in_which_n_is_no_number_is_refused(tmp_path):
    content = f"qid,variant,query,mechanism,parameter,value,n\n1,0,a,CMP,epsilon,1,{SECRET}\n"
    with pytest.raises(FileError, match="column 'n' must hold numbers") as fault:
        read_obfuscated(written(tmp_path, "a.csv", content))
    assert "secret" not in str(fault.value)


def test_a_shared_budget_is_not_multiplied_by_n():
    rows = {"qid": "1", "query": "a", "parameter": "epsilon", "value": 3.0, "n": 4}
    table = pd.DataFrame(
        [{**rows, "mechanism": name, "variant": v} for name in ("CMP", "CMP(budget='total')") for v in range(4)]
    )
    assert with_budget(table).groupby("mechanism")["budget"].unique().map(list).to_dict() == {
        "CMP": [12.0],
        "CMP(budget='total')": [3.0],
    }
