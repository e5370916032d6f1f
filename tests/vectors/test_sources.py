"""Where vectors come from: kept once under their source's fingerprint, checked at every load, never stale."""

import contextlib
import gzip
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from quipukit.errors import FileError, InputError, VectorsError
from quipukit.storage import sha256
from quipukit.vectors import sources, store
from quipukit.vectors.sources import file_fingerprint, installed, load_vectors, vectors_home
from quipukit.vectors.store import Vectors


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "vectors"


@pytest.fixture
def reads(monkeypatch) -> list[Path]:
    """The text files that were really read."""
    seen: list[Path] = []
    read = sources.read_text_vectors

    def record(path):
        seen.append(path)
        return read(path)

    monkeypatch.setattr(sources, "read_text_vectors", record)
    return seen


def glove(folder: Path, content: str = "cat 1 2\ndog 3 4\n", name: str = "glove.txt") -> Path:
    path = folder / name
    path.write_text(content)
    return path


# --- text files ---------------------------------------------------------------------------------------------------


def test_a_text_file_is_read_once(tmp_path, home, reads):
    path = glove(tmp_path)
    for given in (path, str(path), path):
        found = load_vectors(given)
        assert list(found.words) == ["cat", "dog"]
        assert found.matrix.tolist() == [[1, 2], [3, 4]]
    assert len(reads) == 1
    assert vectors_home() == home
    assert len(list(home.iterdir())) == 1
    assert found.folder == next(home.iterdir())
    assert found.meta["source"] == sha256(path)


def test_another_content_is_another_source(tmp_path, home, reads):
    path = glove(tmp_path)
    load_vectors(path)
    path.write_text("cat 1 2\ndog 3 5\n")
    os.utime(path, ns=(1, 1))
    assert load_vectors(path).matrix.tolist() == [[1, 2], [3, 5]]
    # Back to what it was: kept from the first time.
    path.write_text("cat 1 2\ndog 3 4\n")
    os.utime(path, ns=(2, 2))
    assert load_vectors(path).matrix.tolist() == [[1, 2], [3, 4]]
    assert len(reads) == 2


def test_equal_content_elsewhere_is_not_read_again(tmp_path, home, reads):
    (tmp_path / "other").mkdir()
    load_vectors(glove(tmp_path))
    copy = glove(tmp_path / "other")
    assert list(load_vectors(copy).words) == ["cat", "dog"]
    assert len(reads) == 1


def test_a_file_of_the_same_name_and_size_is_told_apart(tmp_path, home):
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    first, second = glove(one), glove(two, "cat 1 2\ndog 3 9\n")
    os.utime(first, ns=(5, 5))
    os.utime(second, ns=(5, 5))
    assert file_fingerprint(first) != file_fingerprint(second)
    assert load_vectors(first).matrix[1, 1] == 4
    assert load_vectors(second).matrix[1, 1] == 9
    assert load_vectors(first).matrix[1, 1] == 4


@pytest.mark.parametrize("file", ["matrix.npy", "words.json", "meta.json"])
@pytest.mark.parametrize("damage", ["gone", "half", "flipped", "empty"])
def test_a_damaged_copy_is_built_again(tmp_path, home, reads, file, damage):
    path = glove(tmp_path)
    folder = load_vectors(path).folder
    target = folder / file
    content = target.read_bytes()
    if damage == "gone":
        target.unlink()
    else:
        # The last byte of a file of numbers or words matters as much as the first.
        flipped = content[:-1] + bytes([content[-1] ^ 1])
        target.write_bytes({"half": content[: len(content) // 2], "flipped": flipped, "empty": b""}[damage])
    found = load_vectors(path)
    assert list(found.words) == ["cat", "dog"]
    assert found.matrix.tolist() == [[1, 2], [3, 4]]
    assert len(reads) == 2
    assert load_vectors(path).matrix.tolist() == [[1, 2], [3, 4]]
    assert len(reads) == 2


def test_a_copy_of_another_version_is_built_again(tmp_path, home, reads, monkeypatch):
    path = glove(tmp_path)
    load_vectors(path)
    monkeypatch.setattr(store, "FORMAT", store.FORMAT + 1)
    assert load_vectors(path).meta["format"] == store.FORMAT
    assert len(reads) == 2


def test_a_copy_of_another_source_is_not_used(tmp_path, home, reads):
    # A folder whose name says one thing and whose content another: renamed by hand, or half of a collision.
    path = glove(tmp_path)
    folder = load_vectors(path).folder
    other = load_vectors(glove(tmp_path, "fish 7 8\n", "other.txt")).folder
    shutil.rmtree(folder)
    other.rename(folder)
    assert list(load_vectors(path).words) == ["cat", "dog"]


@pytest.mark.parametrize("step", ["build", "save"])
def test_a_failure_leaves_nothing_behind(tmp_path, home, monkeypatch, step):
    path = glove(tmp_path)

    def fail(*arguments, **options):
        raise KeyboardInterrupt

    if step == "build":
        monkeypatch.setattr(sources, "read_text_vectors", fail)
    else:
        monkeypatch.setattr(np, "save", fail)
    with pytest.raises(KeyboardInterrupt):
        load_vectors(path)
    assert not home.exists() or list(home.iterdir()) == []


def test_a_malformed_file_is_not_kept(tmp_path, home):
    with pytest.raises(FileError, match="line 2"):
        load_vectors(glove(tmp_path, "cat 1 2\ndog 3\n"))
    assert list(installed()) == []


@pytest.mark.parametrize("name", ["no-such-file.txt", "no-such-pack"])
def test_what_does_not_exist_is_refused_and_packs_are_named(home, name):
    with pytest.raises(FileError, match=f"{name}.*minilm-words"):
        load_vectors(name)


def test_a_folder_without_vectors_is_refused(tmp_path, home):
    with pytest.raises(FileError):
        load_vectors(tmp_path)


def test_a_stored_folder_can_be_named(tmp_path, home):
    folder = load_vectors(glove(tmp_path)).folder
    assert list(load_vectors(folder).words) == ["cat", "dog"]
    matrix = folder / "matrix.npy"
    matrix.write_bytes(matrix.read_bytes()[:-4])
    # There is nothing to build it from: an error, not a guess.
    with pytest.raises(VectorsError, match="damaged"):
        load_vectors(folder)


def test_a_home_with_a_tilde(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("QUIPUKIT_HOME", "~/kept")
    assert vectors_home() == tmp_path / "kept" / "vectors"
    glove(tmp_path)
    assert list(load_vectors("~/glove.txt").words) == ["cat", "dog"]


def test_several_that_start_at_once_do_not_trip_over_each_other(tmp_path, home, monkeypatch):
    # Workers of one experiment all find the cache empty, build, and put their result in the same place.
    path = glove(tmp_path)
    together = threading.Barrier(4)
    read = sources.read_text_vectors

    def meet(path):
        found = read(path)
        with contextlib.suppress(threading.BrokenBarrierError):  # it is no fault to let only one of them build
            together.wait(timeout=0.2)
        return found

    monkeypatch.setattr(sources, "read_text_vectors", meet)
    for round_ in range(5):
        path.write_text(f"cat 1 {round_}\ndog 3 4\n")
        os.utime(path, ns=(round_, round_))
        together.reset()
        with ThreadPoolExecutor(4) as pool:
            found = [task.result() for task in [pool.submit(load_vectors, path) for _ in range(4)]]
        assert all(one.matrix.tolist() == [[1, round_], [3, 4]] for one in found)
    assert sorted(folder.name[0] for folder in home.iterdir()) == ["g"] * 5


# --- what is installed ---------------------------------------------------------------------------------------------


def test_installed_lists_what_is_there(tmp_path, home):
    assert list(installed()) == []
    load_vectors(glove(tmp_path))
    (home / ".draft-abc").mkdir()
    (home / ".draft-abc" / "meta.json").write_text("{}")
    (home / "unrelated").mkdir()
    (home / "a file").write_text("x")
    [(folder, meta)] = list(installed())
    assert folder.name.startswith("glove-")
    assert (meta["words"], meta["dimension"]) == (2, 2)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b"null", b"7"])
def test_one_damaged_pack_does_not_hide_the_others(tmp_path, home, content):
    load_vectors(glove(tmp_path))
    (home / "broken").mkdir()
    (home / "broken" / "meta.json").write_bytes(content)
    found = dict(installed())
    assert len(found) == 2
    assert all(isinstance(meta, dict) for meta in found.values())
    assert found[home / "broken"].get("damaged")
    # ... nor does it stop a file from being loaded.
    assert list(load_vectors(glove(tmp_path, "fish 1 1\n", "fish.txt")).words) == ["fish"]


# --- names -------------------------------------------------------------------------------------------------------


def test_installed_vectors_are_loaded_by_name(tmp_path, home, monkeypatch):
    path = glove(tmp_path, name="med.100d.txt")
    found = sources.install(path)
    assert found.name == "med.100d"
    path.unlink()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    named = load_vectors("med.100d")
    assert list(named.words) == ["cat", "dog"]
    assert named.fingerprint == found.fingerprint
    assert named is load_vectors("med.100d"), "loaded twice while in use"
    assert list(sources.installed_names()) == ["med.100d"]
    # A name comes before a file in the current folder, which can still be named by its path.
    glove(Path(), "fish 1 2\n", "med.100d")
    assert list(load_vectors("med.100d").words) == ["cat", "dog"]
    assert list(load_vectors("./med.100d").words) == ["fish"]
    assert list(load_vectors(Path("med.100d")).words) == ["fish"]


@pytest.mark.parametrize(
    ("file", "name"),
    [("a.txt", "a"), ("a.b.vec", "a.b"), ("glove", "glove"), ("\u8a5e.txt", "\u8a5e"), ("x.d", "x.d")],
)
def test_the_usual_name_is_the_file_s_own(tmp_path, home, file, name):
    assert sources.install(glove(tmp_path, name=file)).name == name


def test_a_compressed_file_loses_both_endings(tmp_path, home):
    path = tmp_path / "med.txt.gz"
    path.write_bytes(gzip.compress(b"cat 1 2\ndog 3 4\n"))
    assert sources.install(path).name == "med"


def test_a_name_that_is_taken_is_refused_or_replaced(tmp_path, home):
    one = sources.install(glove(tmp_path), "pets")
    other = glove(tmp_path, "fish 7 8\n", "other.txt")
    with pytest.raises(InputError, match="other vectors called 'pets'"):
        sources.install(other, "pets")
    assert list(load_vectors("pets").words) == ["cat", "dog"]
    # The same content is no clash, wherever it lies.
    assert sources.install(tmp_path / "glove.txt", "pets").fingerprint == one.fingerprint
    assert list(sources.install(other, "pets", replace=True).words) == ["fish"]
    assert list(load_vectors("pets").words) == ["fish"]
    assert list(one.words) == ["cat", "dog"], "who has it open keeps it"


HOSTILE = ["", " ", ".", "..", "../x", "a/b", "/etc", "-x", ".hidden", "a b", "a\nb", "a\0b", "~", "x" * 101]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_refused(tmp_path, home, name):
    with pytest.raises(InputError, match="vectors cannot be called"):
        sources.install(glove(tmp_path), name)
    assert not home.exists() or list(home.iterdir()) == []


@pytest.mark.parametrize("name", ["default", "Default", "minilm-words", "glove-6b-100d", "GloVe-6B-100d-wink"])
def test_names_of_packs_are_refused(tmp_path, home, name):
    with pytest.raises(InputError, match="is the name of a pack"):
        sources.install(glove(tmp_path), name)


def test_a_file_that_cannot_be_read_takes_no_name(tmp_path, home):
    with pytest.raises(FileError, match="line 2"):
        sources.install(glove(tmp_path, "cat 1 2\ndog 3\n"), "pets")
    with pytest.raises(FileError, match=r"no file .*no\.txt"):
        sources.install(tmp_path / "no.txt")
    assert sources.installed_names() == {}
    sources.install(glove(tmp_path), "pets")


def test_what_does_not_exist_names_what_is_installed(tmp_path, home):
    sources.install(glove(tmp_path), "pets")
    with pytest.raises(FileError, match=r"pats.*minilm-words.*pets"):
        load_vectors("pats")


def test_removed_vectors_are_gone_and_nothing_else(tmp_path, home):
    sources.install(glove(tmp_path), "pets")
    kept = load_vectors(glove(tmp_path, "fish 1 1\n", "fish.txt")).folder
    for name in (*HOSTILE, "named", "no"):
        with pytest.raises(InputError, match="on disk"):
            sources.remove(name)
    sources.remove("pets")
    assert sources.installed_names() == {}
    with pytest.raises(FileError):
        load_vectors("pets")
    sources.remove(kept.name)
    assert list(installed()) == []


# --- packs ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def pack(home, monkeypatch) -> SimpleNamespace:
    """A pack whose builds are counted."""
    pack = SimpleNamespace(builds=0, source="1", ABOUT="for tests")

    def build() -> Vectors:
        pack.builds += 1
        return Vectors(["a", "b"], np.eye(2) * pack.builds, name="toy")

    def finish(vectors: Vectors) -> Vectors:
        vectors.compose = lambda word: None
        return vectors

    pack.build, pack.finish, pack.fingerprint = build, finish, lambda: pack.source
    monkeypatch.setitem(sources.PACKS, "toy", pack)
    return pack


def test_a_pack_is_built_once_and_finished_always(pack):
    assert load_vectors("toy").compose is not None
    assert load_vectors("toy").compose is not None
    assert pack.builds == 1


def test_a_pack_of_other_ingredients_is_built_again(pack, home):
    load_vectors("toy")
    pack.source = "2"
    assert load_vectors("toy").matrix[0, 0] == 2
    assert pack.builds == 2
    assert [folder.name for folder in home.iterdir()] == ["toy"]


def test_a_damaged_pack_is_built_again(pack, home):
    load_vectors("toy")
    (home / "toy" / "words.json").write_text('["a", "c"]')
    assert list(load_vectors("toy").words) == ["a", "b"]
    assert pack.builds == 2
