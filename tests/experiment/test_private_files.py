"""Whatever is written is open to its owner alone, whatever the umask; what was there before stays as it is."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import quipukit as qk
from quipukit.cli import main
from quipukit.storage import atomic_folder, atomic_write, locked, make_folder
from tests.experiment import tiny
from tests.experiment.conftest import slowly


@pytest.fixture(params=[0o000, *slowly(0o022)])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    """Return what anybody else may read, write or enter, the folder itself included."""
    found = [folder, *folder.rglob("*")]
    return [str(path) for path in found if stat.S_IMODE(path.lstat().st_mode) & 0o077]


def command(*arguments: object) -> None:
    """Run a command in this process."""
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    assert not end.value.code


def test_an_experiment_its_report_and_the_cache(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, umask: int, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny.no_model(monkeypatch, tmp_path / "cache" / "home")
    out = tmp_path / "runs" / "deep" / "run"
    result = tiny.run(place, out, specs=["Random"], systems=tiny.BOTH[1:])
    qk.write_report([result], out / "report", formats=("svg",))
    sent = tmp_path / "files" / "sent.csv"
    command("obfuscate", "frost on apple blossom", "-m", "AEA@3", "-o", sent)
    for folder in (tmp_path / "cache", tmp_path / "runs", tmp_path / "files"):
        assert len(list(folder.rglob("*"))) > 0
        assert open_to_others(folder) == []
    written = {path.suffix for path in tmp_path.rglob("*")}
    assert written >= {".parquet", ".json", ".html", ".csv", ".tex", ".svg", ".npy", ".float32", ".lock"}


def test_the_searches_of_a_command_and_its_answers(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, umask: int, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny.no_model(monkeypatch, tmp_path / "home")
    sent, runs = tmp_path / "out" / "sent.parquet", tmp_path / "out" / "runs"
    command("obfuscate", "--queries", place / "topics.tsv", "-m", "AEA@3", "-n", "2", "-o", sent)
    command("retrieve", sent, "--collection", place, "--reranker", "bm25", "-o", runs)
    assert list(runs.glob("*.trec"))
    assert open_to_others(tmp_path / "out") == []


def test_folders_that_were_there_keep_their_mode(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.no_model(monkeypatch, tmp_path / "home")
    mine = tmp_path / "mine"
    mine.mkdir()
    mine.chmod(0o755)
    tiny.run(place, mine, specs=["Random"])
    assert stat.S_IMODE(mine.stat().st_mode) == 0o755
    assert all(stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 for path in mine.rglob("*"))


def test_the_ways_to_write(tmp_path: Path, umask: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path / "home"))
    with atomic_write(tmp_path / "a" / "b" / "file.txt") as draft:
        draft.unlink()
        draft.write_text("made anew by the writer")
    with atomic_folder(tmp_path / "c" / "d") as folder:
        (folder / "inner").mkdir()
        (folder / "inner" / "file").write_text("x")
    with locked(tmp_path / "a"):
        pass
    make_folder(tmp_path / "e" / "f")
    make_folder(tmp_path / "e" / "f")
    for name in ("a", "c", "e", "home"):
        assert open_to_others(tmp_path / name) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"exists|directory"):
        make_folder(tmp_path / "file" / "below")


def test_a_folder_is_closed_to_others_and_its_programs_still_run(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.txt"
    elsewhere.write_text("not ours")
    elsewhere.chmod(0o644)
    with atomic_folder(tmp_path / "made") as folder:
        for name, mode in (("program", 0o755), ("data", 0o644)):
            (folder / name).write_text("")
            (folder / name).chmod(mode)
        (folder / "link").symlink_to(elsewhere)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "made").iterdir()}
    assert modes == {"program": 0o700, "data": 0o600, "link": 0o644}
