"""Artifacts: complete or missing, named by what they depend on, and moved away only where damage is proven."""

import contextlib
import errno
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import quipukit.experiment.artifacts
from quipukit.errors import FrameError, ResourceError
from quipukit.experiment.artifacts import Artifacts, Record, key_of
from quipukit.frames import QUERIES
from quipukit.software import software_versions
from quipukit.table import Table

FRAME = pd.DataFrame({"qid": ["a", "b"], "score": [0.1, 1 / 3]})


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A folder with one artifact."""
    Artifacts(tmp_path).save("ranks", "one", FRAME)
    return tmp_path


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_an_artifact_comes_back_as_it_was(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path)
    assert not artifacts.has("ranks", "one")
    artifacts.save("ranks", "one", FRAME)
    for one in (artifacts, Artifacts(tmp_path)):
        assert one.has("ranks", "one")
        pd.testing.assert_frame_equal(one.load("ranks", "one"), FRAME, check_exact=True, check_dtype=False)
    assert files(tmp_path) == {"artifacts/ranks/one.parquet", "artifacts/ranks/one.json"}


def test_equal_frames_are_equal_bytes_whatever_they_carry(tmp_path: Path) -> None:
    artifacts, carrying = Artifacts(tmp_path), FRAME.copy()
    carrying.attrs["notes"] = ["of the batch that it came in"]
    artifacts.save("ranks", "one", FRAME)
    artifacts.save("ranks", "two", carrying)
    assert artifacts.digest("ranks", "one") == artifacts.digest("ranks", "two")
    assert carrying.attrs == {"notes": ["of the batch that it came in"]}


def test_what_is_done_to_one_reading_is_not_seen_in_the_next(saved: Path) -> None:
    artifacts = Artifacts(saved)
    for column, value in (("score", 9.0), ("qid", "c"), ("new", 1)):
        first = artifacts.load("ranks", "one")
        first.loc[0, column] = value
        first.attrs["mine"] = True
        again = artifacts.load("ranks", "one")
        pd.testing.assert_frame_equal(again, FRAME, check_exact=True, check_dtype=False)
        assert not again.attrs


def test_a_table_is_checked_as_the_kind_that_is_asked_for(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path)
    artifacts.save("queries", "one", pd.DataFrame({"query": ["x", "y"], "qid": ["1", "1"]}))
    for _ in range(2):
        assert list(artifacts.load("queries", "one")) == ["query", "qid"]
        with pytest.raises(FrameError, match="two rows with qid=1"):
            artifacts.load("queries", "one", QUERIES)
    artifacts.save("queries", "one", pd.DataFrame({"query": ["x", "y"], "qid": ["1", "2"]}))
    assert list(artifacts.load("queries", "one", QUERIES)) == ["qid", "query"]
    assert list(artifacts.load("queries", "one")) == ["query", "qid"]


def test_few_rows_are_kept_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quipukit.experiment.artifacts, "KEPT_ROWS", 5)
    reads: list[int] = []

    class Counted(Table):
        """Is asked to check a table whenever one was decoded."""

        def check(self, frame: pd.DataFrame) -> pd.DataFrame:
            reads.append(1)
            return frame

    kind = Counted("Counted", {}, ())
    artifacts = Artifacts(tmp_path)
    for key in "abc":
        artifacts.save("ranks", key, FRAME.assign(score=float(ord(key))))
    for key, in_all in (("a", 1), ("a", 1), ("b", 2), ("a", 2), ("c", 3), ("b", 3), ("a", 4)):
        assert artifacts.load("ranks", key, kind)["score"].tolist() == [ord(key)] * 2
        assert len(reads) == in_all


# --- damage ---


@pytest.mark.parametrize("file", ["one.parquet", "one.json"])
def test_every_flipped_bit_is_noticed(saved: Path, file: str) -> None:
    path = saved / "artifacts" / "ranks" / file
    whole = path.read_bytes()
    for position in range(0, 8 * len(whole), 37):
        flipped = bytearray(whole)
        flipped[position // 8] ^= 1 << position % 8
        Artifacts(saved).save("ranks", "one", FRAME)
        path.write_bytes(flipped)
        if Artifacts(saved).has("ranks", "one"):
            # White space of a record is not its content; anything else is noticed.
            assert file == "one.json" and json.loads(flipped) == json.loads(whole)


@pytest.mark.parametrize("place", [("ranks", "two"), ("scores", "one")])
def test_the_files_of_another_artifact_are_noticed(saved: Path, place: tuple[str, str]) -> None:
    said: list[str] = []
    one, other = Artifacts(saved).path("ranks", "one"), Artifacts(saved).path(*place)
    other.parent.mkdir(exist_ok=True)
    for suffix in (".parquet", ".json"):
        shutil.copy(one.with_suffix(suffix), other.with_suffix(suffix))
    artifacts = Artifacts(saved, said.append)
    assert not artifacts.has(*place) and artifacts.has("ranks", "one")
    assert len(said) == 1 and "/".join(place) in said[0]


@pytest.mark.parametrize("size", [0, 1, 10, 400])
def test_a_truncated_artifact_is_moved_away_and_reported(saved: Path, size: int) -> None:
    path = Artifacts(saved).path("ranks", "one")
    os.truncate(path, size)
    lines: list[str] = []
    assert not Artifacts(saved, lines.append).has("ranks", "one")
    assert files(saved) == {"artifacts/damaged/ranks-one.parquet", "artifacts/damaged/ranks-one.json"}
    assert len(lines) == 1 and "does not match its checksum" in lines[0]


def test_damage_between_two_reads_stops_the_run(saved: Path) -> None:
    artifacts = Artifacts(saved)
    assert artifacts.has("ranks", "one")
    os.truncate(artifacts.path("ranks", "one"), 100)
    with pytest.raises(ResourceError, match="run the experiment again"):
        artifacts.load("ranks", "one")
    assert not artifacts.has("ranks", "one")


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EACCES, errno.EIO, errno.ENFILE])
@pytest.mark.parametrize("use", ["has", "load", "digest"])
def test_what_cannot_be_read_stays_where_it_is(
    saved: Path, monkeypatch: pytest.MonkeyPatch, number: int, use: str
) -> None:
    def refused(self: Path) -> bytes:
        raise OSError(number, os.strerror(number), str(self))

    before = files(saved)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", refused)
        with pytest.raises(ResourceError, match=r"cannot be read .*nothing was removed"):
            getattr(Artifacts(saved), use)("ranks", "one")
    assert files(saved) == before
    assert Artifacts(saved).has("ranks", "one")


def test_too_many_open_files_remove_nothing(saved: Path) -> None:
    """With real exhaustion: 56 of 56 valid files were deleted once."""
    import resource

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 8, limits[1]))
    try:
        with contextlib.suppress(OSError):
            while True:
                opened.append(os.open(os.devnull, os.O_RDONLY))
        with pytest.raises(ResourceError, match="nothing was removed"):
            Artifacts(saved).has("ranks", "one")
    finally:
        for file in opened:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert Artifacts(saved).has("ranks", "one")


# --- writing ---


def test_a_fault_while_writing_leaves_nothing_that_looks_finished(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(self: pd.DataFrame, path: Path, **_: object) -> None:
        path.write_bytes(b"PAR1")
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(pd.DataFrame, "to_parquet", half)
        with pytest.raises(ResourceError, match="No space left on device"):
            Artifacts(saved).save("ranks", "two", FRAME)
    assert not Artifacts(saved).has("ranks", "two")
    assert files(saved) == {"artifacts/ranks/one.parquet", "artifacts/ranks/one.json"}


def test_a_table_without_a_record_is_not_finished(saved: Path) -> None:
    Artifacts(saved).path("ranks", "one").with_suffix(".json").unlink()
    lines: list[str] = []
    assert not Artifacts(saved, lines.append).has("ranks", "one")
    assert lines == []  # a killed run, and no damage


# --- names and versions ---


def test_keys_tell_everything_apart() -> None:
    parts = [("a", 1), ("a", 1.5), ("a", "1"), ("a", [1]), ("a1",), ("a", None), ("a", {"x": 1}), ("a", {"x": 2}), ()]
    assert len({key_of(*part) for part in parts}) == len(parts)
    assert key_of("a", {"x": 1, "y": 2}) == key_of("a", {"y": 2, "x": 1})
    assert len(key_of("a")) == 40


def test_versions_are_those_that_computed(saved: Path) -> None:
    old = {**software_versions(), "numpy": "1.0.0"}
    path = Artifacts(saved).path("ranks", "one")
    record = Record.loads(path.with_suffix(".json").read_bytes())
    assert record is not None and record.software == software_versions()
    path.with_suffix(".json").write_text(replace(record, software=old).dumps(), encoding="utf-8")
    artifacts = Artifacts(saved)
    assert artifacts.has("ranks", "one")
    assert artifacts.software() == dict(sorted(old.items()))
    artifacts.save("ranks", "two", FRAME)
    assert artifacts.software()["numpy"] == ["1.0.0", software_versions()["numpy"]]


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"sha256": "x", "software": {}, "check": "y"}', b"\xff"])
def test_a_damaged_record_is_none(text: bytes) -> None:
    assert Record.loads(text) is None
