"""A result on disk, below `Result.save` and `Result.load`."""

import json
from pathlib import Path

import pandas as pd
import pytest

from quipukit.errors import FileError
from quipukit.results.files import FORM, manifest_text, read_result, write_result
from quipukit.results.tables import OPTIONAL, TABLES
from tests.example_results import make_result


def test_what_is_written_is_read(tmp_path: Path) -> None:
    result = make_result(queries=2, mechanisms=("CMP",))
    tables = {name: getattr(result, name) for name in TABLES}
    write_result(tmp_path, result.manifest, tables)
    manifest, read = read_result(tmp_path)
    assert manifest == json.loads(manifest_text(result.manifest)) and manifest["form"] == FORM == 2
    for name, table in tables.items():
        pd.testing.assert_frame_equal(read[name], table, check_exact=True)


@pytest.mark.parametrize(("form", "reads"), [(1, True), (2, True), (3, False), ("2", False), (None, False)])
def test_versions_that_are_read(tmp_path: Path, form: object, reads: bool) -> None:
    result = make_result(queries=2, mechanisms=("CMP",))
    write_result(tmp_path, {**result.manifest, "form": form}, {name: getattr(result, name) for name in TABLES})
    if reads:
        assert read_result(tmp_path)[0]["form"] == form
    else:
        with pytest.raises(FileError, match="another version"):
            read_result(tmp_path)


@pytest.mark.parametrize("table", OPTIONAL)
@pytest.mark.parametrize("form", [1, 2])
def test_results_from_before_a_table_are_read(tmp_path: Path, form: int, table: str) -> None:
    result = make_result(queries=2, mechanisms=("CMP",))
    tables = {name: getattr(result, name) for name in TABLES if name != table}
    write_result(tmp_path, {**result.manifest, "form": form}, tables)
    read = read_result(tmp_path)[1]
    assert read[table].empty and list(read[table].columns) == list(getattr(result, table).columns)
    if form == 2:  # the first version wrote no checksums
        getattr(result, table).to_parquet(tmp_path / f"{table}.parquet")
        with pytest.raises(FileError, match=rf"{table}.parquet is missing or damaged"):  # of something else
            read_result(tmp_path)


@pytest.mark.parametrize("table", OPTIONAL)
def test_a_later_table_that_was_written_must_be_there(tmp_path: Path, table: str) -> None:
    make_result(queries=2, mechanisms=("CMP",)).save(tmp_path)
    (tmp_path / f"{table}.parquet").unlink()
    with pytest.raises(FileError, match=rf"{table}.parquet is missing or damaged"):
        read_result(tmp_path)


def test_equal_manifests_are_equal_texts() -> None:
    assert manifest_text({"b": 1, "a": {"d": 2, "c": 3}}) == manifest_text({"a": {"c": 3, "d": 2}, "b": 1})
