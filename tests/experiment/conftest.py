"""The tiny experiment, and one run of it that nothing disturbed."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from quipukit.experiment.artifacts import Artifacts
from quipukit.results import Result
from tests.experiment import tiny

# One mechanism and a search system without a model: for tests that look at neither.
SMALL: dict[str, Any] = {"specs": ("CMP@5",), "systems": (("bm25", "bm25"),)}


def slowly(*values: Any) -> list[Any]:
    """Return values of a parameter that `make test` leaves out."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


@dataclass(frozen=True)
class Whole:
    """A run that went through undisturbed."""

    folder: Path
    result: Result
    files: dict[str, bytes]

    @property
    def artifacts(self) -> set[str]:
        return {str(path.relative_to(self.folder)) for path in self.folder.glob("artifacts/*/*.parquet")}


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny collection; a test that changes it takes a copy."""
    return tiny.write_collection(tmp_path_factory.mktemp("tiny") / "village")


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of its own: the encoders of these tests are nobody else's."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def village(place: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tiny collection, with encoders that need no model."""
    tiny.no_model(monkeypatch, cache)
    return place


@pytest.fixture(scope="session")
def whole(place: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """The tiny experiment, run once without a disturbance."""
    return undisturbed(place, cache, tmp_path_factory.mktemp("runs") / "whole")


@pytest.fixture(scope="session")
def small(place: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """The experiment `SMALL`, run once without a disturbance."""
    return undisturbed(place, cache, tmp_path_factory.mktemp("runs") / "small", **SMALL)


def undisturbed(place: Path, cache: Path, folder: Path, **changes: Any) -> Whole:
    """Run the tiny experiment, with changes, in a folder."""
    with pytest.MonkeyPatch.context() as patch:
        tiny.no_model(patch, cache)
        result = tiny.run(place, folder, **changes)
    return Whole(folder, result, tiny.result_files(folder))


@pytest.fixture
def finished(whole: Whole, tmp_path: Path) -> Path:
    """A copy of the finished run."""
    return Path(shutil.copytree(whole.folder, tmp_path / "finished"))


@pytest.fixture
def small_copy(small: Whole, tmp_path: Path) -> Path:
    """A copy of the finished small run."""
    return Path(shutil.copytree(small.folder, tmp_path / "small"))


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> Callable[[], dict[str, int]]:
    """How many artifacts of each table were saved since the last call."""
    tables: list[str] = []
    save = Artifacts.save

    def noted(self: Artifacts, table: str, key: str, frame: pd.DataFrame) -> None:
        save(self, table, key, frame)
        tables.append(table)

    def look() -> dict[str, int]:
        counts = {table: tables.count(table) for table in dict.fromkeys(tables)}
        tables.clear()
        return counts

    monkeypatch.setattr(Artifacts, "save", noted)
    return look
