"""Tables as files: damage is refused in one line, and what is written is complete, or not there at all."""

import gzip

import pandas as pd
import pytest

from quipukit.attackers.log import read_log
from quipukit.errors import FileError
from quipukit.io.obfuscated import read_obfuscated
from quipukit.io.queries import read_queries
from quipukit.io.tables import FORMATS, as_text, read_table, write_table
from tests.io.samples import SECRET, written


@pytest.mark.heavy
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


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_table_is_its_columns_and_nothing_else(tmp_path, suffix):
    table = pd.DataFrame({"name": ["a", "b"], "number": [1.5, 2.0]})
    table.attrs["note"] = SECRET
    write_table(table, tmp_path / f"t{suffix}")
    assert SECRET.encode() not in (tmp_path / f"t{suffix}").read_bytes()
    assert table.attrs == {"note": SECRET}, "the caller's table is left alone"
    back = read_table(tmp_path / f"t{suffix}")
    assert back["name"].tolist() == ["a", "b"] and [float(cell) for cell in back["number"]] == [1.5, 2.0]


@pytest.mark.parametrize("name", ["t.xls", "t", "t.csv.zip"])
def test_an_unknown_ending_is_refused_and_nothing_is_written(tmp_path, name):
    with pytest.raises(FileError, match=r"cannot tell the format; end the name in \.csv"):
        write_table(pd.DataFrame({"a": [1]}), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_what_a_format_cannot_hold_is_named_by_column_and_row(tmp_path):
    table = pd.DataFrame({"number": [1, 2], "text": ["a", f"{SECRET}\t"]})
    with pytest.raises(FileError, match=r"column 'text', row 2, holds a tab.*write \.csv or \.parquet") as fault:
        write_table(table, tmp_path / "t.tsv")
    assert "secret" not in str(fault.value) and not (tmp_path / "t.tsv").exists()
    assert "\t" in as_text(table, ".csv")


def test_a_compressed_table_is_read_by_its_inner_ending(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n1,\n"))
    table = read_table(tmp_path / "t.csv.gz")
    assert table.values.tolist() == [["1", ""]], "cells stay texts, and an empty one is a value"
    assert table.index.tolist() == [2], "the index is the number of the line"
