"""Tables that are written and read a part at a time: the same bytes and rows, however they are divided."""

import io
from pathlib import Path

import pandas as pd
import pytest

from quipukit.experiment.artifacts import Artifacts
from quipukit.io.parts import PartReader, PartWriter, spans_of

ROWS = pd.DataFrame({"qid": [f"q{row // 3}" for row in range(23)], "score": [row / 7 for row in range(23)]})
PLACES = {f"q{place}": place for place in range(8)}


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quipukit.experiment.artifacts.GROUP_ROWS", 5)


def written(path: Path, *ends: int) -> Path:
    with PartWriter(path, 5) as writer:
        for start, end in zip((0, *ends), (*ends, len(ROWS)), strict=True):
            writer.add(ROWS[start:end])
    return path


@pytest.mark.parametrize("ends", [(), (1,), (5, 10, 15, 20), (3, 3, 4, 17), (0, 22), (0, 0, 23, 23)])
def test_the_bytes_do_not_depend_on_the_parts(tmp_path: Path, ends: tuple[int, ...]) -> None:
    """And they are those that an artifact has which is saved at once."""
    artifacts = Artifacts(tmp_path)
    artifacts.save("rows", "whole", ROWS)
    whole = artifacts.path("rows", "whole").read_bytes()
    assert written(tmp_path / "parts.parquet", *ends).read_bytes() == whole
    with PartReader(io.BytesIO(whole)) as reader:
        assert [len(frame) for frame in reader.frames()] == [5, 5, 5, 5, 3] and len(reader) == 23


def test_parts_without_rows_have_no_say_in_the_types(tmp_path: Path) -> None:
    nothing = pd.DataFrame({"qid": [], "score": []}, dtype=object)
    with PartWriter(tmp_path / "some", 5) as writer:
        for frame in (nothing, ROWS[:2], nothing, ROWS[2:9], nothing):
            writer.add(frame)
    read = pd.read_parquet(tmp_path / "some")
    pd.testing.assert_frame_equal(read, ROWS[:9], check_dtype=False)
    assert read["score"].dtype == float
    with PartWriter(tmp_path / "none", 5) as writer:
        writer.add(nothing)
    assert list(pd.read_parquet(tmp_path / "none")) == ["qid", "score"]


def test_what_frames_carry_is_not_written(tmp_path: Path) -> None:
    carrying = ROWS.copy()
    carrying.attrs["notes"] = ["of the batch that it came in"]
    with PartWriter(tmp_path / "carrying", 5) as writer:
        writer.add(carrying)
    assert (tmp_path / "carrying").read_bytes() == written(tmp_path / "plain").read_bytes()


@pytest.mark.parametrize("stops", [(8,), (1, 2, 3, 4, 5, 6, 7, 8), (0, 3, 3, 8), (4, 9)])
def test_a_cursor_takes_every_row_once_in_order(tmp_path: Path, stops: tuple[int, ...]) -> None:
    for columns in (None, ["qid"]):
        with PartReader(written(tmp_path / "rows").open("rb")) as reader:
            cursor = reader.cursor(PLACES, columns)
            taken = []
            for stop in stops:
                taken.append(cursor.upto(stop))
                assert taken[-1]["qid"].tolist() == [
                    qid for qid in ROWS["qid"] if (stops[len(taken) - 2] if len(taken) > 1 else 0) <= PLACES[qid] < stop
                ]
                assert list(taken[-1]) == (columns or ["qid", "score"])
            together = pd.concat(taken, ignore_index=True)
            pd.testing.assert_frame_equal(together, ROWS[columns or ["qid", "score"]], check_dtype=False)


def test_a_cursor_over_nothing(tmp_path: Path) -> None:
    with PartWriter(tmp_path / "none", 5) as writer:
        writer.add(ROWS[:0])
    with PartReader((tmp_path / "none").open("rb")) as reader:
        assert reader.cursor(PLACES, ["qid"]).upto(8).empty and len(reader) == 0


def test_queries_are_divided_by_their_rows() -> None:
    assert spans_of([], 5) == [slice(0, 0)]
    assert spans_of([9, 9], 5) == [slice(0, 1), slice(1, 2)]
    assert spans_of([2, 2, 2], 1e9) == [slice(0, 3)]


def test_an_artifact_in_parts_is_complete_or_absent(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path)

    def interrupted() -> None:
        with artifacts.writing("rows", "one") as add:
            add(ROWS)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not artifacts.has("rows", "one")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    with artifacts.writing("rows", "one") as add:
        add(ROWS[:9])
        assert not Artifacts(tmp_path).has("rows", "one")
        add(ROWS[9:])
    for one in (artifacts, Artifacts(tmp_path)):
        assert one.has("rows", "one")
        pd.testing.assert_frame_equal(one.load("rows", "one"), ROWS, check_dtype=False)
        with one.reader("rows", "one") as reader:
            assert len(reader) == 23
