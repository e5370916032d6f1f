"""The one loop over missing cells, and what a key covers."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from quipukit.executors.local import Local
from quipukit.experiment.artifacts import Artifacts
from quipukit.experiment.stages import base
from quipukit.experiment.stages.base import Context, Part, Stage
from quipukit.progress import ProgressListener, StageTimer


class Square(Stage[int]):
    """Squares numbers; cells of equal size share an artifact."""

    name = "square"

    def __init__(self, context: Context, numbers: Sequence[int] = (1, 2, -2, 3)) -> None:
        super().__init__(context)
        self.numbers, self.computed = numbers, list[int]()

    @property
    def cells(self) -> Sequence[int]:
        return self.numbers

    def depends_on(self, cell: int) -> Any:
        return abs(cell)

    def compute(self, missing: Sequence[int]) -> Iterator[tuple[int, pd.DataFrame]]:
        for cell in missing:
            self.computed.append(cell)
            yield cell, pd.DataFrame({"square": [cell * cell]})


def context(folder: Path) -> Context:
    return Context(None, Artifacts(folder), StageTimer(ProgressListener()), Local())  # type: ignore[arg-type]


def test_what_is_missing_is_computed_once(tmp_path: Path) -> None:
    first = Square(context(tmp_path))
    first.run()
    assert first.computed == [1, 2, 3]  # 2 and -2 share an artifact
    assert first.load(-2)["square"].tolist() == [4] and first.digest(2) == first.digest(-2)
    second = Square(context(tmp_path), (3, 4))
    second.run()
    assert second.computed == [4]


def test_what_was_finished_before_an_interruption_stays(tmp_path: Path) -> None:
    class Interrupted(Square):
        def compute(self, missing: Sequence[int]) -> Iterator[tuple[int, pd.DataFrame]]:
            for cell, frame in super().compute(missing):
                if cell == 3:
                    raise KeyboardInterrupt
                yield cell, frame

    with pytest.raises(KeyboardInterrupt):
        Interrupted(context(tmp_path)).run()
    after = Square(context(tmp_path))
    after.source = Interrupted(context(tmp_path)).source
    after.run()
    assert after.computed == [3]


def test_a_key_covers_name_source_and_what_it_depends_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Square(context(tmp_path))
    keys = {stage.key(1), stage.key(2)}
    renamed = Square(context(tmp_path))
    renamed.name = "cube"  # type: ignore[misc]
    keys.add(renamed.key(1))
    monkeypatch.setattr(base, "source_hash", lambda module: "other code")
    keys.add(Square(context(tmp_path)).key(1))
    assert len(keys) == 4


def test_a_damaged_artifact_is_computed_again(tmp_path: Path) -> None:
    Square(context(tmp_path)).run()
    stage = Square(context(tmp_path))
    path = stage.context.artifacts.path("square", stage.key(2))
    path.write_bytes(path.read_bytes()[:-1])
    stage.run()
    assert stage.computed == [2] and stage.load(2)["square"].tolist() == [4]


class Counting(Square):
    """Counts up to a number, two rows at a time, all cells side by side."""

    def compute(self, missing: Sequence[int]) -> Iterator[tuple[int, pd.DataFrame | Part]]:  # type: ignore[override]
        for start in range(0, max(missing), 2):
            for cell in missing:
                rows = pd.DataFrame({"number": range(start, min(start + 2, cell))})
                if start < cell:
                    yield cell, rows if start + 2 >= cell else Part((rows,))


def test_tables_may_come_in_parts(tmp_path: Path) -> None:
    stage = Counting(context(tmp_path), (1, 4, 7))
    stage.run()
    for cell in stage.cells:
        assert stage.load(cell)["number"].tolist() == list(range(cell))
        with stage.reader(cell) as reader:
            assert len(reader) == cell


@pytest.mark.parametrize("fault", [KeyboardInterrupt, OSError, ValueError])
def test_what_was_not_finished_leaves_nothing_behind(tmp_path: Path, fault: type[BaseException]) -> None:
    class Interrupted(Counting):
        def compute(self, missing: Sequence[int]) -> Iterator[tuple[int, pd.DataFrame | Part]]:  # type: ignore[override]
            for cell, rows in super().compute(missing):
                yield cell, rows
                if cell == 4 and not isinstance(rows, Part):
                    raise fault("in the middle of the third")

    stage = Interrupted(context(tmp_path), (1, 4, 7))
    with pytest.raises(fault, match="in the middle"):
        stage.run()
    assert [stage.has(cell) for cell in stage.cells] == [True, True, False]
    assert not [path for path in tmp_path.rglob(".*") if path.is_file()]


def test_a_table_whose_end_is_missing_is_a_mistake(tmp_path: Path) -> None:
    class Endless(Counting):
        def compute(self, missing: Sequence[int]) -> Iterator[tuple[int, pd.DataFrame | Part]]:  # type: ignore[override]
            yield missing[0], Part((pd.DataFrame({"number": [1]}),))

    stage = Endless(context(tmp_path), (1,))
    with pytest.raises(RuntimeError, match="ended before"):
        stage.run()
    assert not stage.has(1)
