"""Folders of arrays: complete, or recognized as something else; what is large is hashed when it may have changed."""

import os
import shutil

import numpy as np
import pytest

from quipukit.bm25 import files
from quipukit.bm25.files import intact, open_folder, read_note, replacing, write_folder


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "folder"
    write_folder(place, {"numbers": np.arange(1000), "nothing": np.empty(0, np.int32)}, {"made": "today"}, small=0)
    return place


def damage(path, keep_times=False):
    state = path.stat()
    content = bytearray(path.read_bytes())
    content[-3] ^= 0x10
    path.write_bytes(content)
    if keep_times:
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def test_what_is_written_is_read(folder):
    arrays = open_folder(folder)
    assert arrays["numbers"].tolist() == list(range(1000)) and arrays["nothing"].dtype == np.int32
    assert read_note(folder) == {"made": "today"} and intact(folder)
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in folder.iterdir())


@pytest.mark.parametrize("small", [0, 10**9])
@pytest.mark.parametrize("keep_times", [True, False])
@pytest.mark.parametrize("name", ["numbers.npy", "meta.json"])
def test_damage_is_found(folder, small, keep_times, name):
    damage(folder / name, keep_times)
    assert open_folder(folder, small) is None and not intact(folder)


@pytest.mark.parametrize("small", [0, 10**9])
@pytest.mark.parametrize("name", ["numbers.npy", "nothing.npy", "meta.json"])
def test_a_missing_or_short_file_is_found(folder, small, name):
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-1])
    assert open_folder(folder, small) is None
    (folder / name).unlink()
    assert open_folder(folder, small) is None
    assert open_folder(folder / "nowhere", small) is None


def test_a_large_folder_is_hashed_only_where_a_file_may_have_changed(folder, tmp_path, monkeypatch):
    hashed = []
    digest = files.digest
    monkeypatch.setattr(files, "digest", lambda path: hashed.append(path.name) or digest(path))
    assert open_folder(folder, small=0) and hashed == []
    assert open_folder(folder, small=10**9) and sorted(hashed) == ["nothing.npy", "numbers.npy"]
    hashed.clear()
    copy = shutil.copytree(folder, tmp_path / "copy")  # with its times, and yet other files
    assert open_folder(copy, small=0) and len(hashed) == 2
    assert open_folder(copy, small=0) and len(hashed) == 2
    moved = copy.rename(tmp_path / "moved")
    assert open_folder(moved, small=0) and len(hashed) == 2
    (moved / "checked.json").unlink()
    assert open_folder(moved, small=0) and len(hashed) == 4


def test_a_draft_takes_the_place_of_a_folder_when_all_went_well(tmp_path):
    folder, draft = tmp_path / "deep" / "folder", tmp_path / "draft"
    with pytest.raises(FileNotFoundError), replacing(folder, draft) as place:
        (place / "no such folder" / "half").touch()
    assert draft.exists() and not folder.exists()
    for name in ("one", "two"):
        with replacing(folder, draft) as place:
            assert list(place.iterdir()) == []
            (place / name).touch()
        assert [path.name for path in folder.iterdir()] == [name]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep"]
