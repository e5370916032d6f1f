"""Where quipukit keeps things: also where the home cannot be written, as in containers."""

import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from quipukit.storage import cache_home, known_sha256, sha256

VECTORS = "cat 0 0\ndog 1 0\nfish 0 2\nbird 3 1\n"


def test_the_chosen_folder_is_taken_and_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path / "a" / "b"))
    assert cache_home() == tmp_path / "a" / "b"
    monkeypatch.delenv("QUIPUKIT_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert cache_home() == tmp_path / "cache" / "quipukit"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_home() == tmp_path / ".cache" / "quipukit"
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_changed_is_hashed_again(tmp_path: Path) -> None:
    file = tmp_path / "weights"
    file.write_bytes(b"one")
    stamp = file.stat()
    first = known_sha256(file)
    assert first == known_sha256(file) == sha256(file)
    file.unlink()
    file.write_bytes(b"two")  # as long as before, and as old, as far as anybody may set it
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert known_sha256(file) == sha256(file) != first


def test_a_read_only_cache_is_read_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "baked" / "vectors" / "pets").mkdir(parents=True)
    (tmp_path / "baked" / "vectors" / "pets" / "meta.json").write_text("{}")
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path / "baked"))
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda path, mode: "baked" not in str(path))
    home = cache_home()
    assert home == cache_home() and home != tmp_path / "baked"
    assert (home / "vectors" / "pets" / "meta.json").read_text() == "{}"
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert capsys.readouterr().err.count("cannot be written") == 1
    shutil.rmtree(home)
    assert (tmp_path / "baked" / "vectors" / "pets" / "meta.json").exists()


@pytest.fixture
def installed(project_root: Path, tmp_path: Path) -> Path:
    """The package as in a container: nothing can be written beside its source."""
    place = tmp_path / "site" / "quipukit"
    shutil.copytree(project_root / "src" / "quipukit", place, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in {file.parent for file in place.rglob("*.py")}:
        (folder / "__pycache__").write_text("")  # the rights of a folder do not bind root; a file in its place does
    return place.parent


@pytest.mark.heavy
def test_a_home_that_cannot_be_written_costs_one_line(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "small.txt").write_text(VECTORS)
    (tmp_path / "file").write_text("")
    (tmp_path / "tmp").mkdir()
    away = ("QUIPUKIT_HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in away}
    environment |= {
        "HOME": str(tmp_path / "file" / "home"),
        "PYTHONPATH": str(installed),
        "TMPDIR": str(tmp_path / "tmp"),
    }
    command = ["obfuscate", "cat dog", "-m", "TEM@1", "--vectors", str(tmp_path / "small.txt")]
    done = subprocess.run(
        [sys.executable, "-m", "quipukit", *command], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "TEM" in done.stdout
    [line] = [line for line in done.stderr.splitlines() if not line.startswith("obfuscating: ")]  # compiling takes time
    assert "cannot be written, so a temporary cache is used" in line and "QUIPUKIT_HOME" in line
    assert list((tmp_path / "tmp").glob("quipukit-*")) == [], "it is removed at the end"


UNWRITABLE = """
import os, signal, sys
from quipukit.storage import cache_home
from quipukit.secret import installation_secret
installation_secret()
print(cache_home(), flush=True)
if sys.argv[1:]:
    os.kill(os.getpid(), signal.SIGTERM)
"""


@pytest.mark.parametrize(("more", "code"), [([], 0), (["end"], -signal.SIGTERM)])
def test_one_notice_tells_of_the_cache_and_the_secret(
    project_root: Path, tmp_path: Path, more: list[str], code: int
) -> None:
    (tmp_path / "file").write_text("")
    away = ("QUIPUKIT_HOME", "QUIPUKIT_SECRET_FILE", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in away}
    environment |= {"HOME": str(tmp_path / "file" / "home"), "PYTHONPATH": str(project_root / "src")}
    done = subprocess.run(
        [sys.executable, "-c", UNWRITABLE, *more], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert len(done.stderr.splitlines()) == 1 and "a temporary cache is used" in done.stderr
    made = Path(done.stdout.strip())
    assert made.name.startswith("quipukit-") and not made.exists(), "it is removed, however the process ends"
