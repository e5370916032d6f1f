"""The default vectors: what they hold, at which scale, and from which files they may be built."""

import numpy as np
import pytest

from quipukit.errors import VectorsError
from quipukit.vectors import default_pack, nearest
from quipukit.vectors.sources import load_vectors
from quipukit.vectors.store import Vectors
from quipukit.vectors.wordfilter import WordFilter


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
    rows = np.linspace(0, len(default) - 1, 300).astype(np.int64)
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
