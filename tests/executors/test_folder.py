"""A shared folder has a key of its own, which lies neither in it nor in a name."""

from pathlib import Path

import pytest

from quipukit.errors import InputError
from quipukit.executors.folder import SharedFolder
from quipukit.secret import installation_secret


def test_every_folder_has_a_key_of_its_own(tmp_path: Path) -> None:
    first, second = (SharedFolder.open(tmp_path / name) for name in ("a", "b"))
    assert SharedFolder.open(tmp_path / "a") == first and len(first.key) == 32
    assert len({first.key, second.key, installation_secret()}) == 3
    assert first.key.hex() not in repr(first) and repr(first.key) not in repr(first)


def test_neither_the_key_nor_the_secret_lies_in_the_folder(tmp_path: Path) -> None:
    folder = SharedFolder.open(tmp_path / "a")
    content = b"".join(path.read_bytes() for path in folder.path.rglob("*") if path.is_file())
    for secret in (folder.key, installation_secret()):
        assert secret not in content and secret.hex().encode() not in content
    assert folder.path.stat().st_mode & 0o777 == 0o700


def test_the_key_depends_on_the_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = SharedFolder.open(tmp_path / "a")
    monkeypatch.setenv("QUIPUKIT_SECRET_FILE", str(tmp_path / "other.key"))
    assert SharedFolder.open(tmp_path / "a").key != here.key


def test_private_names_differ_by_run_and_say_nothing(tmp_path: Path) -> None:
    folder = SharedFolder.open(tmp_path / "a")
    names = {folder.private(run).name for run in (b"/home/ann/divorce", b"/home/ann/other")}
    assert len(names) == 2 and not any("ann" in name for name in names)
    assert folder.private(b"/home/ann/divorce") == folder.private(b"/home/ann/divorce")


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"shared folder .* cannot be used .*; name one that"):
        SharedFolder.open(tmp_path / "file" / "below")
