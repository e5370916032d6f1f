"""The folder of a run: one run at a time, and faults that say what to do."""

import errno
import os
from pathlib import Path

import pytest

from quipukit.errors import InputError, ResourceError
from quipukit.experiment.folder import cache_write_errors, remove_partials, run_lock, write_errors


def test_partial_files_are_removed_and_nothing_else(tmp_path: Path) -> None:
    kept = [
        *(".lock", "experiment.json", ".gitignore", ".notes-short.json", "scores-abcdefgh.parquet"),
        *("artifacts/ranks/one.parquet", "artifacts/ranks/one.json"),
    ]
    partial = [
        *(".experiment-abcd1_fg.json", ".scores-abcd1_fg.parquet"),
        *("artifacts/ranks/.one-abcd1_fg.parquet", "artifacts/ranks/.one-abcd1_fg.json"),
    ]
    for name in (*kept, *partial):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    remove_partials(tmp_path)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == set(kept)


def test_one_at_a_time(tmp_path: Path) -> None:
    with run_lock(tmp_path / "new"):
        with pytest.raises(InputError, match="another run is using"), run_lock(tmp_path / "new"):
            pass
        with run_lock(tmp_path / "other"):
            pass
    with pytest.raises(ZeroDivisionError), run_lock(tmp_path / "new"):
        raise ZeroDivisionError
    with run_lock(tmp_path / "new"):
        pass


def test_other_faults_pass_through_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(KeyError), write_errors(tmp_path):
        raise KeyError
    words = r"cannot be written \(disk on fire\).*What was finished is kept\."
    with pytest.raises(ResourceError, match=words), write_errors(tmp_path):
        raise OSError("disk on fire")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "make room.*What was finished is kept"),
        (errno.EACCES, r"check that you may write there, or name another folder\.$"),
        (errno.ENOENT, r"check that you may write there, or name another folder\.$"),
    ],
)
def test_what_to_do_depends_on_why_a_folder_cannot_be_written(tmp_path: Path, number: int, words: str) -> None:
    with pytest.raises(ResourceError, match=rf"{os.strerror(number)}\); {words}"), write_errors(tmp_path):
        raise OSError(number, os.strerror(number), str(tmp_path / "sub"))


def test_a_full_cache_names_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path / "cache"))
    with pytest.raises(ResourceError, match="QUIPUKIT_HOME"), cache_write_errors(tmp_path):
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(PermissionError), cache_write_errors(tmp_path):
        raise PermissionError(errno.EACCES, "Permission denied")
