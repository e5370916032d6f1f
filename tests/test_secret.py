"""The secret of an installation: made once, complete, private, outside of the cache."""

import os
import shutil
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from quipukit.errors import InputError
from quipukit.secret import installation_secret, keyed_hash


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A user who has nothing yet."""
    monkeypatch.delenv("QUIPUKIT_SECRET_FILE")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path / "cache"))


def test_it_is_made_once_for_its_owner_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        first = installation_secret()
    finally:
        os.umask(before)
    path = tmp_path / "config" / "quipukit" / "secret.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [file.name for file in path.parent.iterdir()] == ["secret.key"]
    copy = shutil.copy2(path, tmp_path / "copy.key")  # read anew under another name: what was returned is in the file
    monkeypatch.setenv("QUIPUKIT_SECRET_FILE", str(copy))
    assert installation_secret() == first and len(first) == 32
    assert not (tmp_path / "cache").exists()


def test_hashes_differ_between_installations(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    here = keyed_hash(16, b"guess").digest()
    assert keyed_hash(16, b"guess").digest() == here != keyed_hash(16, b"other").digest()
    monkeypatch.setenv("QUIPUKIT_SECRET_FILE", str(tmp_path / "elsewhere" / "key"))
    assert keyed_hash(16, b"guess").digest() != here


def test_processes_that_begin_at_once_agree(tmp_path: Path) -> None:
    code = "from quipukit.secret import installation_secret; print(installation_secret().hex())"
    started = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(6)]
    found = {process.communicate(timeout=60)[0].strip() for process in started}
    assert found == {installation_secret().hex()}


@pytest.mark.parametrize("place", ["secret.key", "deep/folder/secret.key"])
def test_it_never_lies_in_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str) -> None:
    monkeypatch.setenv("QUIPUKIT_SECRET_FILE", str(tmp_path / "cache" / place))
    with pytest.raises(InputError, match="inside the cache"):
        installation_secret()
    monkeypatch.delenv("QUIPUKIT_SECRET_FILE")
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    with pytest.raises(InputError, match="set QUIPUKIT_SECRET_FILE"):
        installation_secret()


def test_where_it_cannot_be_kept_it_lasts_for_the_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    with ThreadPoolExecutor(4) as pool, pytest.warns(UserWarning, match="QUIPUKIT_SECRET_FILE") as told:
        found = list(pool.map(lambda _: installation_secret(), range(8)))
    assert len(told) == 1 and len(set(found)) == 1
    monkeypatch.setenv("QUIPUKIT_SECRET_FILE", str(tmp_path / "file" / "another.key"))
    with pytest.warns(UserWarning, match="of no use to later runs"):
        assert installation_secret() != found[0]


def test_an_empty_file_is_no_secret_and_an_open_one_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "key"
    monkeypatch.setenv("QUIPUKIT_SECRET_FILE", str(path))
    path.write_bytes(b"short")
    with pytest.raises(InputError, match="delete it"):
        installation_secret()
    path.write_bytes(b"x" * 32)
    path.chmod(0o644)
    with pytest.warns(UserWarning, match="chmod 600"):
        installation_secret()
