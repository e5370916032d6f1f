"""Vectors in memory and on disk: what is refused, what is derived, and that damage is noticed."""

import hashlib
import json
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import quipukit as qk
from quipukit.errors import VectorsError
from quipukit.vectors import store
from quipukit.vectors.grouping import group_words
from quipukit.vectors.store import Vectors, load, save
from tests.examples import examples

WORDS = ["cat", "dog", "naïve", "two words", "\u4e2d"]


def vectors(dimension: int = 3) -> Vectors:
    matrix = np.random.default_rng(dimension).standard_normal((len(WORDS), dimension))
    return Vectors(WORDS, matrix, name="pets", meta={"source": "here", "scale": 2.5})


# --- in memory --------------------------------------------------------------------------------------------------


def test_words_and_rows():
    found = vectors()
    assert len(found) == 5
    assert found.dimension == 3
    assert found.matrix.dtype == np.float32
    assert [found.row(word) for word in WORDS] == [0, 1, 2, 3, 4]
    assert found.row("fish") == -1
    assert "dog" in found
    assert "Dog" not in found
    assert 7 not in found
    np.testing.assert_array_equal(found.vector("dog"), found.matrix[1].astype(np.float64))
    with pytest.raises(KeyError):
        found.vector("fish")
    assert repr(found) == "Vectors('pets', 5 words x 3)"


def test_a_cased_vocabulary_is_found_by_case_folded_words():
    words = ["The", "Cat", "STRASSE", "Stra\u00dfe", "\u039f\u03b4\u03cc\u03c2", "the", "fish"]
    found = Vectors(words, np.eye(len(words)))
    # As a tokenizer writes them; the vocabulary's own spelling comes first, then the first row that folds to it.
    folded = {"the": 5, "The": 0, "cat": 1, "Cat": 1, "strasse": 2, "stra\u00dfe": 3, "fish": 6}
    folded |= {"\u03bf\u03b4\u03cc\u03c3": 4, "\u03bf\u03b4\u03cc\u03c2": 4}
    assert {word: found.row(word) for word in folded} == folded
    assert all(word in found for word in folded)
    for absent in ("CAT", "Fish", "dog", ""):
        assert absent not in found
    np.testing.assert_array_equal(found.vector("cat"), np.eye(len(words))[1])


@pytest.mark.parametrize("name", ["CMP", "TEM", "SanText"])
@pytest.mark.parametrize("tokenizer", ["clean", "whitespace"])
def test_mechanisms_know_the_words_of_a_cased_vocabulary(name, tokenizer):
    cased = Vectors(["Cat", "Dog", "Fish", "Bird"], 9 * np.eye(4))
    table = qk.obfuscate(["cat DOG"], [f"{name}(tokenizer={tokenizer})@50"], n=4, vectors=cased, seed=1)
    assert qk.notes(table).empty
    # A large epsilon changes nothing; what is sent is spelled as in the vocabulary.
    assert set(table["query"]) == {"Cat Dog"}


def test_the_matrix_is_read_only_and_the_callers_stays_theirs():
    mine = np.eye(2, dtype=np.float32)
    found = Vectors(["a", "b"], mine)
    with pytest.raises(ValueError, match="read-only"):
        found.matrix[0, 0] = 5
    mine[0, 0] = 5  # still writeable, and what was checked stays as it was checked
    assert found.matrix[0, 0] == 1


@pytest.mark.parametrize(
    "make", [np.asfortranarray, lambda a: a[:, ::-1], lambda a: a.astype(">f4"), np.ndarray.tolist]
)
def test_any_layout_of_the_matrix_is_taken(make):
    matrix = np.arange(6, dtype=np.float64).reshape(2, 3)
    given_matrix = make(matrix)
    found = Vectors(["a", "b"], given_matrix)
    np.testing.assert_array_equal(found.matrix, np.asarray(given_matrix))
    assert found.matrix.flags.c_contiguous
    assert found.matrix.dtype == np.dtype(np.float32)


@pytest.mark.parametrize(
    ("words", "matrix", "fault"),
    [
        (["a", "b"], [[1.0]], "2 words need a matrix of 2 rows"),
        (["a"], [[1.0], [2.0]], "1 words need a matrix of 1 rows"),
        (["a"], [1.0], "need a matrix"),
        ([], np.empty((0, 3)), "empty"),
        (["a"], np.empty((1, 0)), "empty"),
        (["a", "b"], [[1.0], [np.nan]], "row 1 .* NaN or infinity"),
        (["a", "b"], [[np.inf], [1.0]], "row 0 .* NaN or infinity"),
        (["a"], [[1e13]], "norm 1e.13; rescale"),
        (["a"], [[1e-13]], "norm 1e-13; rescale"),
        (["a", "b", "a"], [[1.0], [2.0], [3.0]], "'a' occurs twice"),
    ],
)
def test_what_cannot_be_used_is_refused(words, matrix, fault):
    with pytest.raises(VectorsError, match=fault):
        Vectors(words, matrix)


def test_a_number_too_large_for_float32_is_refused_without_a_warning():
    with pytest.raises(VectorsError):
        Vectors(["a", "b"], [[1.0], [1e39]])


def test_a_bad_row_is_found_far_down():
    matrix = np.ones((40_000, 1), np.float32)
    matrix[33_333] = np.nan
    with pytest.raises(VectorsError, match="row 33333 "):
        Vectors(map(str, range(40_000)), matrix)


def test_zero_vectors_alone_are_allowed():
    found = Vectors(["a", "b"], np.zeros((2, 2)))
    assert found.half_norms.tolist() == [0, 0]


@given(
    hnp.arrays(np.float32, hnp.array_shapes(min_dims=2, max_dims=2, max_side=8), elements=st.floats(-8, 8, width=32))
)
@examples(60)
def test_derived_quantities_are_what_they_say(matrix):
    if 0 < np.linalg.norm(matrix.astype(np.float64), axis=1).max() < 1e-12:
        matrix = np.zeros_like(matrix)
    found = Vectors([f"w{i}" for i in range(len(matrix))], matrix)
    exact = matrix.astype(np.float64)
    np.testing.assert_allclose(found.half_norms, (exact**2).sum(axis=1) / 2, rtol=1e-13)
    np.testing.assert_allclose(found.mean, exact.mean(axis=0), rtol=1e-13, atol=1e-13)
    wanted = np.cov(exact.T, bias=True).reshape(matrix.shape[1], -1)
    np.testing.assert_allclose(found.covariance, wanted, atol=1e-12)


def test_blocks_cover_every_row_once():
    found = Vectors([str(i) for i in range(10)], np.arange(10.0)[:, None])
    blocks = list(found.blocks(4))
    assert [len(block) for block in blocks] == [4, 4, 2]
    np.testing.assert_array_equal(np.concatenate(blocks), found.matrix)


def test_sums_over_several_blocks():
    # More rows than one block: half norms, mean and covariance are sums over blocks.
    matrix = np.random.default_rng(0).standard_normal((33_000, 2)) + 5
    found = Vectors([str(i) for i in range(33_000)], matrix)
    exact = found.matrix.astype(np.float64)
    np.testing.assert_allclose(found.half_norms, (exact**2).sum(axis=1) / 2)
    np.testing.assert_allclose(found.mean, exact.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.covariance, np.cov(exact.T, bias=True), rtol=1e-9)


def test_fingerprint_is_of_the_content():
    assert vectors().fingerprint == vectors().fingerprint
    assert Vectors(WORDS, vectors().matrix, name="other name").fingerprint == vectors().fingerprint
    changed = vectors().matrix.copy()
    changed[2, 1] = np.nextafter(changed[2, 1], np.float32(9))
    assert Vectors(WORDS, changed).fingerprint != vectors().fingerprint
    assert Vectors([*WORDS[:-1], "x"], vectors().matrix).fingerprint != vectors().fingerprint
    assert Vectors(WORDS[::-1], vectors().matrix).fingerprint != vectors().fingerprint


def test_restrict_keeps_the_order_of_the_vocabulary():
    compose = {"cats": np.zeros(3)}.get
    found = Vectors(WORDS, vectors().matrix, name="pets", compose=compose).restrict(["two words", "cat", "fish"])
    assert found.words == ["cat", "two words"]
    np.testing.assert_array_equal(found.matrix, vectors().matrix[[0, 3]])
    assert found.compose is compose
    with pytest.raises(VectorsError, match="none of the given words"):
        vectors().restrict(["fish"])


def test_derived_things_are_built_once_even_by_many_threads():
    found, built = vectors(), []
    together = threading.Barrier(8)

    def ask() -> None:
        together.wait()
        found.derived("table", lambda: built.append(1) or object())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert built == [1]


def test_a_derived_thing_that_failed_is_tried_again():
    found = vectors()
    with pytest.raises(ZeroDivisionError):
        found.derived("table", lambda: 1 // 0)
    assert found.derived("table", lambda: 7) == 7


# --- on disk ----------------------------------------------------------------------------------------------------


def test_saved_vectors_come_back_mapped(tmp_path):
    save(vectors(), tmp_path / "pets")
    found = load(tmp_path / "pets")
    assert list(found.words) == WORDS
    assert found.name == "pets"
    assert found.meta["scale"] == 2.5
    assert found.meta["source"] == "here"
    assert found.folder == tmp_path / "pets"
    np.testing.assert_array_equal(found.matrix, vectors().matrix)
    assert found.fingerprint == vectors().fingerprint
    # Mapped, not read: the array leans on the file.
    base = found.matrix
    while base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        found.matrix[0, 0] = 1


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=8, unique=True))
@examples(25)
def test_any_words_survive_the_disk(tmp_path_factory, words):
    folder = tmp_path_factory.mktemp("store") / "v"
    save(Vectors(words, np.ones((len(words), 2))), folder)
    assert list(load(folder).words) == words


def folder_hash(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}


@pytest.mark.parametrize("file", ["matrix.npy", "words.json", "meta.json"])
@pytest.mark.parametrize("damage", ["gone", "empty", "half", "longer"])
def test_a_damaged_store_is_refused(tmp_path, file, damage):
    folder = tmp_path / "pets"
    save(vectors(), folder)
    path = folder / file
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes({"empty": b"", "half": content[: len(content) // 2], "longer": content + b"x"}[damage])
    with pytest.raises(VectorsError, match="delete"):
        load(folder)


@pytest.mark.parametrize("file", ["matrix.npy", "words.json", "meta.json"])
def test_every_flipped_bit_is_noticed(tmp_path, file):
    folder = tmp_path / "pets"
    save(vectors(2), folder)
    path = folder / file
    content = path.read_bytes()
    unnoticed = []
    for position in range(len(content)):
        for bit in (0, 5):
            path.write_bytes(content[:position] + bytes([content[position] ^ (1 << bit)]) + content[position + 1 :])
            try:
                load(folder)
            except VectorsError:
                continue
            unnoticed.append((position, content[position : position + 1]))
    assert unnoticed == []


@pytest.mark.parametrize("meta", ["[]", "null", "7", '"text"', "{}", '{"format": 1}', '{"format": 0, "sha256": {}}'])
def test_meta_of_another_kind_is_refused(tmp_path, meta):
    folder = tmp_path / "pets"
    save(vectors(), folder)
    (folder / "meta.json").write_text(meta)
    with pytest.raises(VectorsError):
        load(folder)


def test_a_store_of_another_version_is_refused(tmp_path, monkeypatch):
    save(vectors(), tmp_path / "pets")
    monkeypatch.setattr(store, "FORMAT", store.FORMAT + 1)
    with pytest.raises(VectorsError, match="another version"):
        load(tmp_path / "pets")


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(VectorsError, match="cannot be read"):
        load(tmp_path / "nowhere")


class Killed(BaseException):
    """What a signal looks like to Python: no `except Exception` sees it."""


@pytest.mark.parametrize("fault", [OSError("disk full"), Killed()])
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("step", ["save", "write_text"])
def test_saving_is_all_or_nothing(tmp_path, monkeypatch, step, before, fault):
    folder = tmp_path / "pets"
    if before:
        save(vectors(2), folder)
    old = folder_hash(folder) if before else None

    def fail(*arguments, **options):
        raise fault

    monkeypatch.setattr(*((np, "save") if step == "save" else (Path, "write_text")), fail)
    with pytest.raises(type(fault)):
        save(vectors(3), folder)
    assert [path.name for path in tmp_path.iterdir()] == (["pets"] if before else [])
    if before:
        assert folder_hash(folder) == old
        assert load(folder).dimension == 2


def test_saving_again_replaces(tmp_path):
    save(vectors(2), tmp_path / "pets")
    (tmp_path / "pets" / "left over").write_text("x")
    save(vectors(3), tmp_path / "pets")
    assert load(tmp_path / "pets").dimension == 3
    assert [path.name for path in tmp_path.iterdir()] == ["pets"]
    assert not (tmp_path / "pets" / "left over").exists()


# --- derived tables on disk ---------------------------------------------------------------------------------------


def stored(tmp_path, count: int = 40) -> Path:
    matrix = np.random.default_rng(1).standard_normal((count, 3))
    save(Vectors([f"w{i}" for i in range(count)], matrix), tmp_path / "v")
    return tmp_path / "v"


def test_derived_tables_are_kept_beside_their_vectors(tmp_path, monkeypatch):
    folder = stored(tmp_path)
    wanted = group_words(load(folder), 4).group_of
    kept = {path.name for path in folder.iterdir()} - {"matrix.npy", "words.json", "meta.json"}
    assert kept

    def refuse(*arguments):
        raise AssertionError("built again")

    monkeypatch.setattr("quipukit.vectors.nearest.top_k", refuse)
    np.testing.assert_array_equal(group_words(load(folder), 4).group_of, wanted)


@pytest.mark.parametrize("damage", ["half", "flipped", "empty", "no checksum", "other shape"])
def test_a_damaged_derived_table_is_built_again(tmp_path, damage):
    folder = stored(tmp_path)
    wanted = group_words(load(folder), 4).group_of
    table = next(folder.glob("groups*.npy"))
    content = table.read_bytes()
    if damage == "no checksum":
        table.with_suffix(".sha256").unlink()
    elif damage == "other shape":
        np.save(table, wanted[:10])
    else:
        flipped = content[:-1] + bytes([content[-1] ^ 64])
        table.write_bytes({"half": content[: len(content) // 2], "flipped": flipped, "empty": b""}[damage])
    np.testing.assert_array_equal(group_words(load(folder), 4).group_of, wanted)
    # ... and the damage is mended on disk as well.
    np.testing.assert_array_equal(np.load(table), wanted)


def test_a_folder_that_cannot_be_written_is_no_reason_to_stop(tmp_path, monkeypatch):
    folder = stored(tmp_path)

    def full(*arguments, **options):
        raise OSError("disk full")

    monkeypatch.setattr(np, "save", full)
    assert group_words(load(folder), 4).group_of.max() == 9
    assert sorted(path.name for path in folder.iterdir()) == ["matrix.npy", "meta.json", "words.json"]


def test_vectors_that_are_not_stored_keep_their_tables_in_memory():
    found, built = vectors(), []
    for _ in range(2):
        array = found.derived_on_disk("table", lambda: built.append(1) or np.arange(3))
        assert array.tolist() == [0, 1, 2]
    assert built == [1]


def test_meta_is_plain_json(tmp_path):
    save(vectors(), tmp_path / "pets")
    meta = json.loads((tmp_path / "pets" / "meta.json").read_text(encoding="utf-8"))
    assert meta["words"] == 5
    assert meta["dimension"] == 3
    assert set(meta["sha256"]) >= {"matrix.npy", "words.json"}
