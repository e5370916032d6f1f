"""Pieces: complete or not there, named by what they depend on, and nobody else's."""

import errno
from pathlib import Path

import pandas as pd
import pytest

from quipukit.errors import InputError, ResourceError
from quipukit.experiment.pieces import Pieces, alone, name_of, sweep, writing

FRAME = pd.DataFrame({"qid": ["a", "b"], "score": [0.1, 1 / 3]})


def test_a_piece_comes_back_as_it_was(tmp_path: Path) -> None:
    pieces = Pieces(tmp_path)
    assert not pieces.has("attack", "one")
    pieces.save("attack", "one", FRAME)
    assert pieces.has("attack", "one")
    pd.testing.assert_frame_equal(pieces.load("attack", "one"), FRAME, check_exact=True, check_dtype=False)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["one.parquet"]


def test_equal_frames_are_equal_bytes_whatever_they_carry(tmp_path: Path) -> None:
    pieces, carrying = Pieces(tmp_path), FRAME.copy()
    carrying.attrs["notes"] = ["of the batch that it came in"]
    pieces.save("attack", "one", FRAME)
    pieces.save("attack", "two", carrying)
    assert pieces.digest("attack", "one") == pieces.digest("attack", "two")
    assert carrying.attrs == {"notes": ["of the batch that it came in"]}


@pytest.mark.parametrize("size", [0, 1, 10, 400])
def test_a_piece_that_cannot_be_read_is_not_there(tmp_path: Path, size: int) -> None:
    Pieces(tmp_path).save("attack", "one", FRAME)
    path = Pieces(tmp_path).path("attack", "one")
    path.write_bytes(path.read_bytes()[:size])
    assert not Pieces(tmp_path).has("attack", "one")
    assert not path.exists()


def test_a_fault_while_writing_leaves_the_old_piece_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = Pieces(tmp_path)
    pieces.save("attack", "one", FRAME)
    before = pieces.path("attack", "one").read_bytes()

    def half(self: pd.DataFrame, path: Path, **_: object) -> None:
        path.write_bytes(before[:50])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_parquet", half)
    with pytest.raises(ResourceError, match="No space left on device"):
        pieces.save("attack", "one", FRAME.iloc[:1])
    assert pieces.path("attack", "one").read_bytes() == before
    assert len(list(pieces.path("attack", "one").parent.iterdir())) == 1


def test_names_tell_everything_apart() -> None:
    parts = [("a", 1), ("a", 1.5), ("a", "1"), ("a", [1]), ("a1",), ("a", None), ("a", {"x": 1}), ("a", {"x": 2}), ()]
    assert len({name_of(*part) for part in parts}) == len(parts)
    assert name_of("a", {"x": 1, "y": 2}) == name_of("a", {"y": 2, "x": 1})
    assert len(name_of("a")) == 40


def test_drafts_are_swept_and_nothing_else(tmp_path: Path) -> None:
    Pieces(tmp_path).save("attack", "one", FRAME)
    kept = [".lock", "experiment.json", ".gitignore", ".notes-short.json", "scores-abcdefgh.parquet"]
    swept = [".experiment-abcd1_fg.json", ".scores-abcd1_fg.parquet", "pieces/attack/.one-abcd1_fg.parquet"]
    for name in (*kept, *swept):
        (tmp_path / name).write_text("", encoding="utf-8")
    sweep(tmp_path)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {*kept, "pieces/attack/one.parquet"}


def test_one_at_a_time(tmp_path: Path) -> None:
    with alone(tmp_path / "new"):
        with pytest.raises(InputError, match="another run is at work"), alone(tmp_path / "new"):
            pass
        with alone(tmp_path / "other"):
            pass
    with pytest.raises(ZeroDivisionError), alone(tmp_path / "new"):
        raise ZeroDivisionError
    with alone(tmp_path / "new"):
        pass


def test_other_faults_pass_through_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(KeyError), writing(tmp_path):
        raise KeyError
    words = r"cannot be written \(disk on fire\).*What was finished is kept\."
    with pytest.raises(ResourceError, match=words), writing(tmp_path):
        raise OSError("disk on fire")
