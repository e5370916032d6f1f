"""WBB: boxes, both modes, what passes and what never comes out."""

import functools

import numpy as np
import pytest

from quipukit.errors import SpecError
from quipukit.guarantees import NoGuarantee
from quipukit.mechanisms.sampling import Place
from quipukit.mechanisms.wbb import WBB
from quipukit.vectors.store import Vectors


@functools.cache
def cloud() -> Vectors:
    words = [f"x{a}{b}" for a in "bcdfgh" for b in ("ab", "ec", "id", "of", "ug", "al", "em", "in", "op", "ur")]
    return Vectors(words, np.random.default_rng(61).standard_normal((60, 8)))


def box(vectors: Vectors, row: int, k: int, n: int, measure: str = "angle") -> tuple[np.ndarray, np.ndarray]:
    """Candidates and their distances, from the definition."""
    exact = vectors.matrix.astype(np.float64)
    norms = np.linalg.norm(exact, axis=1)
    angle = 1 - exact @ exact[row] / norms / norms[row]
    gaps = np.linalg.norm(exact - exact[row], axis=1)
    distance = {"angle": angle, "euclidean": gaps, "product": angle * gaps}[measure]
    ranked = np.argsort(distance, kind="stable")
    return ranked[k : k + n], distance[ranked[k : k + n]]


def law(mechanism: WBB, word: str) -> np.ndarray:
    return np.exp([mechanism.log_prob(y, word) for y in mechanism.vectors.words])


@pytest.mark.parametrize("measure", ["angle", "euclidean", "product"])
@pytest.mark.parametrize(("k", "n"), [(1, 15), (2, 15), (4, 20)])
def test_candidates_are_the_n_words_after_the_safe_box(measure, k, n):
    mechanism = WBB(epsilon=5, k=k, n=n, measure=measure, all_tokens=True, vectors=cloud())
    for row in (0, 25, 59):
        rows, distances = box(cloud(), row, k, n, measure)
        found = law(mechanism, cloud().words[row])
        assert set(np.flatnonzero(found)) == set(rows)
        assert len(rows) == n
        scores = 1 / (1 + np.exp((distances - distances.mean()) / distances.std()))
        weights = np.exp(5 * scores / 2)
        np.testing.assert_allclose(found[rows], weights / weights.sum(), rtol=1e-6)


@pytest.mark.parametrize("mode", ["exponential", "published"])
def test_the_safe_box_and_the_word_itself_never_come_out(mode):
    mechanism = WBB(epsilon=5, k=4, mode=mode, all_tokens=True, vectors=cloud())
    for row in (3, 40):
        sent = set(mechanism.obfuscate(cloud().words[row], 2000, np.random.default_rng(1)))
        rows, _ = box(cloud(), row, 4, 15)
        assert sent == {cloud().words[i] for i in rows}


def test_published_mode_does_not_depend_on_epsilon():
    query = " ".join(cloud().words[:5])
    texts = [
        WBB(epsilon=epsilon, mode="published", all_tokens=True, vectors=cloud()).obfuscate(
            query, 50, np.random.default_rng(2)
        )
        for epsilon in (1e-6, 1.0, 50.0, 1e6)
    ]
    assert all(text == texts[0] for text in texts)
    exponential = [
        WBB(epsilon=epsilon, all_tokens=True, vectors=cloud()).obfuscate(query, 50, np.random.default_rng(2))
        for epsilon in (1.0, 50.0)
    ]
    assert exponential[0] != exponential[1]


def test_published_mode_reads_distances_by_the_whole_query():
    mechanism = WBB(epsilon=1, mode="published", all_tokens=True, vectors=cloud())
    alone = Place(cloud().matrix[3].astype(np.float64), 3)
    other = Place(cloud().matrix[50].astype(np.float64), 50)
    together = mechanism.neighborhood(Place(alone.point, 3, mechanism.query_context([alone, other])))
    joined = np.concatenate([box(cloud(), 3, 2, 15)[1], box(cloud(), 50, 2, 15)[1]])
    assert together.center == pytest.approx(joined.mean())
    assert together.spread == pytest.approx(joined.std())
    own = mechanism.neighborhood(Place(alone.point, 3, mechanism.query_context([alone])))
    assert own.center == pytest.approx(box(cloud(), 3, 2, 15)[1].mean())
    # A word alone: log_prob is that of a query of one word, weights proportional to the sigmoid.
    rows, distances = box(cloud(), 3, 2, 15)
    scores = 1 / (1 + np.exp((distances - distances.mean()) / distances.std()))
    np.testing.assert_allclose(law(mechanism, cloud().words[3])[rows], scores / scores.sum(), rtol=1e-6)


def test_queries_of_one_batch_do_not_touch_each_other_in_published_mode():
    from quipukit.obfuscation import obfuscate

    mechanism = WBB(epsilon=1, mode="published", all_tokens=True, vectors=cloud())
    words = cloud().words
    queries = {"one": words[0], "two": f"{words[0]} {words[30]}", "three": f"{words[45]} {words[0]} {words[7]}"}
    together = obfuscate(queries, mechanism, 20, seed=4)
    for qid, text in queries.items():
        alone = obfuscate({qid: text}, mechanism, 20, seed=4)["query"].tolist()
        assert together.loc[together["qid"] == qid, "query"].tolist() == alone


def test_small_epsilon_is_uniform_on_the_box():
    found = law(WBB(epsilon=1e-6, all_tokens=True, vectors=cloud()), cloud().words[7])
    np.testing.assert_allclose(found[found > 0], 1 / 15, rtol=1e-5)


@pytest.mark.parametrize("mode", ["exponential", "published"])
@pytest.mark.parametrize("measure", ["angle", "euclidean", "product"])
def test_equidistant_candidates_are_alike(mode, measure):
    vectors = Vectors(["xa", "xb", "xc", "xd", "xe"], np.eye(5))
    mechanism = WBB(epsilon=9, k=1, mode=mode, measure=measure, all_tokens=True, vectors=vectors)
    np.testing.assert_allclose(law(mechanism, "xc"), [0.25, 0.25, 0, 0.25, 0.25], rtol=1e-6)


def test_the_word_heads_its_own_safe_box_even_after_a_twin():
    # A twin in a lower row comes first by (distance, row); the word must not slip out of its box because of that.
    vectors = Vectors(["xa", "xb", "xc", "xd", "xe"], [[1.0, 0], [1.0, 0], [1.0, 0.1], [1.0, 0.2], [1.0, 0.3]])
    mechanism = WBB(epsilon=1, k=1, n=4, all_tokens=True, vectors=vectors)
    for word in vectors.words:
        assert law(mechanism, word)[vectors.row(word)] == 0


def test_fewer_words_than_asked_for_shrink_the_box():
    vectors = Vectors(["xa", "xb", "xc", "xd"], np.random.default_rng(5).standard_normal((4, 3)))
    assert (law(WBB(epsilon=1, k=2, n=15, all_tokens=True, vectors=vectors), "xb") > 0).sum() == 2
    with pytest.raises(SpecError, match="fewer than 2 candidates"):
        WBB(epsilon=1, k=3, all_tokens=True, vectors=vectors)


def test_candidates_are_alphabetic_and_no_stop_words():
    words = ["the", "Of", "1999", "co2", "x-ray", "river", "house", "garden", "music", "train"]
    vectors = Vectors(words, np.random.default_rng(6).standard_normal((10, 3)))
    mechanism = WBB(epsilon=1, k=1, all_tokens=True, vectors=vectors)
    sent = set(" ".join(mechanism.obfuscate("the river 1999 unknown", 500, np.random.default_rng(7))).split())
    assert sent == {"river", "house", "garden", "music", "train"}


def test_an_unknown_word_gets_a_box_around_the_mean():
    mechanism = WBB(epsilon=1, k=3, n=5, all_tokens=True, vectors=cloud())
    exact, mean = cloud().matrix.astype(np.float64), cloud().mean
    angle = 1 - exact @ mean / np.linalg.norm(exact, axis=1) / np.linalg.norm(mean)
    assert set(np.flatnonzero(law(mechanism, "unknown"))) == set(np.argsort(angle, kind="stable")[3:8])


def test_only_nouns_and_adjectives_are_replaced():
    words = ["who", "is", "quickly", "eat", "river", "green", "house", "garden", "music", "train", "city", "paper"]
    vectors = Vectors(words, np.random.default_rng(8).standard_normal((12, 6)))
    mechanism = WBB(epsilon=1, k=1, vectors=vectors)
    for text in mechanism.obfuscate("Who is eat quickly, green river?", 30, np.random.default_rng(9)):
        who, is_, eat, quickly, green, river = text.split()
        assert (who, is_, eat, quickly) == ("who", "is", "eat", "quickly")
        assert green != "green"
        assert river != "river"
    assert mechanism.log_prob("who", "who") == 0
    everything = WBB(epsilon=1, k=1, all_tokens=True, vectors=vectors)
    assert everything.log_prob("who", "who") == -np.inf


def test_a_name_that_wordnet_does_not_know_is_replaced():
    words = ["zyzzogeton", "river", "house", "garden", "music"]
    vectors = Vectors(words, np.random.default_rng(10).standard_normal((5, 3)))
    texts = WBB(epsilon=1, k=1, vectors=vectors).obfuscate("zyzzogeton", 50)
    assert "zyzzogeton" not in texts


def test_boxes_are_made_once_for_all_settings(monkeypatch):
    from quipukit.obfuscation import obfuscate
    from quipukit.vectors import nearest

    vectors = Vectors(cloud().words, cloud().matrix)
    made = []
    distances = nearest.distances

    def record(matrix, point):
        made.append(vectors.words[int(np.argmin(np.square(vectors.matrix - point).sum(axis=1)))])
        return distances(matrix, point)

    monkeypatch.setattr(nearest, "distances", record)
    specs = [f"WBB(all_tokens=True, measure=euclidean)@{epsilon}" for epsilon in (1, 5, 10)]
    obfuscate(["xbab xbec", "xbab"], specs, 3, vectors=vectors, seed=1)
    assert sorted(made) == ["xbab", "xbec"]


def test_nothing_is_promised():
    for options in ({}, {"mode": "published"}, {"all_tokens": True}):
        assert isinstance(WBB(epsilon=1, vectors=cloud(), **options).guarantee, NoGuarantee)


@pytest.mark.parametrize(
    ("option", "value", "fault"),
    [
        ("k", 0, "k must be a whole number of at least 1"),
        ("k", 1.5, "k must be a whole number"),
        ("n", 1, "n must be a whole number of at least 2"),
        ("n", None, "n must be a number"),
        ("measure", "cosine", "measure must be one of"),
        ("mode", "new", "mode must be one of"),
        ("all_tokens", "no", "all_tokens must be True or False"),
    ],
)
def test_other_options_are_refused(option, value, fault):
    with pytest.raises(SpecError, match=fault):
        WBB(epsilon=1, vectors=cloud(), **{option: value})
