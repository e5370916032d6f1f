"""Results whose obfuscated queries are too many to be held: they are read when they are asked for (`results.held`)."""

import dataclasses
from pathlib import Path

import pandas as pd
import pytest

import quipukit as qk
from quipukit.errors import FileError, FrameError
from quipukit.report.examples import examples_of
from quipukit.report.views import View
from quipukit.results import Result, files, rows
from quipukit.results.held import Tables
from quipukit.results.rows import Rows, parts_of
from tests.example_results import make_result

SMALL = ("CMP", "AEA", "Identity", "Random")


@pytest.fixture(scope="module")
def result() -> Result:
    return make_result(queries=4, mechanisms=SMALL, seeds=(7, 8))


@pytest.fixture
def stored(result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Result:
    """The same, read from a folder with all but its obfuscated queries."""
    monkeypatch.setattr(files, "GROUP_ROWS", 7)
    result.save(tmp_path / "saved")
    monkeypatch.setattr(rows, "HELD_ROWS", len(result.obfuscated) - 1)
    loaded = Result.load(tmp_path / "saved")
    assert not is_held(loaded)
    return loaded


def is_held(result: Tables) -> bool:
    return isinstance(vars(result)["obfuscated"], pd.DataFrame)


def test_rows_are_read_once_they_are_asked_for(result: Result, stored: Result) -> None:
    pd.testing.assert_frame_equal(stored.obfuscated, result.obfuscated, check_exact=True)
    assert is_held(stored) and stored.obfuscated is stored.obfuscated


def test_as_many_as_can_be_held_are(result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result.save(tmp_path)
    monkeypatch.setattr(rows, "HELD_ROWS", len(result.obfuscated))
    assert is_held(Result.load(tmp_path))


def test_neither_digest_nor_file_nor_report_needs_all_rows(result: Result, stored: Result, tmp_path: Path) -> None:
    assert stored.digest == result.digest
    for name, one in (("read", stored), ("held", result)):
        one.save(tmp_path / name)
    for path in (tmp_path / "held").iterdir():
        assert path.read_bytes() == (tmp_path / "read" / path.name).read_bytes()
    shown, expected = (examples_of(View("", one, one.systems[0], one.measures[0])) for one in (stored, result))
    assert shown == expected != []
    pd.testing.assert_frame_equal(stored.quipu(replicates=5), result.quipu(replicates=5))
    stored.recommend(max_risk=0.9)
    assert not is_held(stored)


def test_some_queries_are_read_alone(result: Result, stored: Result) -> None:
    first, *_, last = result.queries["qid"]
    for seed in (None, 8):
        whole = result.obfuscated
        own = whole[whole["qid"].isin([first, last]) & ((whole["seed"] == seed) if seed else True)]
        for one in (result, stored):
            pd.testing.assert_frame_equal(one.sent_for([first, last], seed), own.reset_index(drop=True))
    assert stored.sent_for([]).empty and list(stored.sent_for([])) == list(result.obfuscated)
    assert not is_held(stored)


def test_a_sweep_is_divided_without_being_read(result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = {
        name: pd.concat([table.assign(n=n) for n in (2, 3)], ignore_index=True)
        for name, table in vars(result).items()
        if isinstance(table, pd.DataFrame) and name != "queries"
    }
    sweep = Result({**result.manifest, "n": [2, 3]}, queries=result.queries, **tables)
    sweep.save(tmp_path)
    monkeypatch.setattr(rows, "HELD_ROWS", 10)
    loaded = Result.load(tmp_path)
    at = loaded.at(3)
    assert not is_held(loaded) and not is_held(at)
    pd.testing.assert_frame_equal(at.obfuscated, sweep.at(3).obfuscated, check_exact=True)
    assert at.digest == sweep.at(3).digest


@pytest.mark.parametrize("change", ["removed", "another"])
def test_a_file_that_was_changed_meanwhile_is_not_read(stored: Result, tmp_path: Path, change: str) -> None:
    path = tmp_path / "saved" / "obfuscated.parquet"
    path.unlink()
    if change == "another":
        make_result(queries=5, mechanisms=SMALL).obfuscated.to_parquet(path)
    for ask in (lambda: stored.obfuscated, lambda: stored.digest, lambda: stored.sent_for(["1"])):
        with pytest.raises(FileError, match=r"obfuscated\.parquet was changed or removed .*load it again"):
            ask()


def test_how_the_noise_was_drawn_is_always_known(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the manifest does not say it, the rows do, and are read."""
    monkeypatch.setattr(rows, "HELD_ROWS", 10)
    bare = dataclasses.replace(
        result, manifest={**result.manifest, "noise": None}, obfuscated=result.obfuscated.assign(noise="common")
    )
    bare.save(tmp_path)
    assert set(Result.load(tmp_path).obfuscated["noise"]) == {"common"}
    assert Result.load(tmp_path).digest == bare.digest


def test_rows_are_those_of_their_table(result: Result) -> None:
    table = qk.results.TABLES["obfuscated"]
    half = len(result.obfuscated) // 2
    twice = Rows(lambda: [result.obfuscated[:half], result.obfuscated[half - 1 :]], table)
    with pytest.raises(FrameError, match="two rows with seed="):
        twice.frame()
    assert Rows(lambda: [], table).frame().empty
    assert [len(part) for part in parts_of(Rows(lambda: [], table), 3)] == [0]
    assert [len(part) for part in parts_of(result.queries, 3)] == [3, 1]
    with pytest.raises(FrameError, match="needs column 'variant'"):
        list(Rows(lambda: [result.obfuscated.drop(columns="variant")], table).parts())
