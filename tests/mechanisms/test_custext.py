"""CusText: closed forms, groups, overlapping sets and degenerate cases."""

import functools
import math
import re

import numpy as np
import pytest

from quipukit.errors import SpecError
from quipukit.guarantees import LocalDP, NoGuarantee
from quipukit.mechanisms.custext import CusText
from quipukit.vectors.store import Vectors

line = Vectors(["a", "b", "c"], [[0.0], [1.0], [3.0]])


@functools.cache
def cloud() -> Vectors:
    return Vectors([f"w{i}" for i in range(60)], np.random.default_rng(60).standard_normal((60, 8)))


def law(mechanism: CusText, word: str) -> np.ndarray:
    return np.exp([mechanism.log_prob(y, word) for y in mechanism.vectors.words])


def expected(distances: np.ndarray, epsilon: float) -> np.ndarray:
    scores = (distances.max() - distances) / (distances.max() - distances.min())
    weights = np.exp(epsilon * scores / 2)
    return weights / weights.sum()


@pytest.mark.parametrize("mapping", ["groups", "topk", "aggressive"])
def test_golden_law(mapping):
    found = law(CusText(epsilon=2, k=3, mapping=mapping, vectors=line), "a")
    np.testing.assert_allclose(found, (0.479752, 0.343757, 0.176491), atol=1e-6)


def test_golden_audit():
    mechanism = CusText(epsilon=3, k=3, vectors=line)
    logs = np.log([law(mechanism, word) for word in "abc"])
    worst = max(np.max(logs[x] - logs[y]) for x in range(3) for y in range(3))
    assert worst == pytest.approx(1.6398, abs=5e-5)
    assert worst <= 3


def test_law_inside_a_group():
    mechanism = CusText(epsilon=4, k=7, vectors=cloud())
    exact = cloud().matrix.astype(np.float64)
    for row in (0, 33, 59):
        members = mechanism.grouping.members[mechanism.grouping.group_of[row]]
        wanted = np.zeros(60)
        wanted[members] = expected(np.linalg.norm(exact[members] - exact[row], axis=1), 4)
        np.testing.assert_allclose(law(mechanism, f"w{row}"), wanted, rtol=1e-6)


def test_words_of_a_group_share_their_outputs():
    mechanism = CusText(epsilon=1, k=7, vectors=cloud())
    for members in mechanism.grouping.members:
        supports = [set(np.flatnonzero(law(mechanism, f"w{row}"))) for row in members]
        assert all(support == set(members) for support in supports)


def test_topk_sets_differ_from_word_to_word():
    mechanism = CusText(epsilon=1, mapping="topk", vectors=cloud())
    exact = cloud().matrix.astype(np.float64)
    supports = []
    for row in range(60):
        near = np.argsort(np.linalg.norm(exact - exact[row], axis=1), kind="stable")[:10]
        found = law(mechanism, f"w{row}")
        assert set(np.flatnonzero(found)) == set(near)
        np.testing.assert_allclose(
            found[near], expected(np.linalg.norm(exact[near] - exact[row], axis=1), 1), rtol=1e-6
        )
        supports.append(frozenset(near))
    assert len(set(supports)) > 50


@pytest.mark.parametrize("mapping", ["groups", "topk"])
@pytest.mark.parametrize("k", [3, 10, 100])
def test_more_words_asked_for_than_there_are(mapping, k):
    found = law(CusText(epsilon=2, k=k, mapping=mapping, vectors=line), "a")
    np.testing.assert_allclose(found, (0.479752, 0.343757, 0.176491), atol=1e-6)


@pytest.mark.parametrize("similarity", ["euclidean", "cosine"])
def test_equidistant_words_are_alike(similarity):
    # dmax = dmin: every score is 1. Released code divides by 0 here.
    twins = Vectors(["a", "b", "c"], [[1.0, 2.0]] * 3)
    for mapping in ("groups", "topk"):
        mechanism = CusText(epsilon=5, k=3, mapping=mapping, similarity=similarity, vectors=twins)
        np.testing.assert_allclose(law(mechanism, "b"), 1 / 3, rtol=1e-9)


@pytest.mark.parametrize("similarity", ["euclidean", "cosine"])
def test_zero_vectors_are_no_obstacle(similarity):
    vectors = Vectors(["a", "b", "c", "d"], [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 2.0]])
    for mapping in ("groups", "topk"):
        mechanism = CusText(epsilon=5, k=2, mapping=mapping, similarity=similarity, vectors=vectors)
        for word in (*"abcd", "unknown"):
            np.testing.assert_allclose(law(mechanism, word).sum(), 1)


def test_cosine_scores():
    exact = cloud().matrix.astype(np.float64)
    cosine = exact @ exact[3] / np.linalg.norm(exact, axis=1) / np.linalg.norm(exact[3])
    near = np.argsort(-cosine, kind="stable")[:10]
    scores = (cosine[near] - cosine[near].min()) / (cosine[near].max() - cosine[near].min())
    weights = np.exp(2 * scores)
    found = law(CusText(epsilon=4, mapping="topk", similarity="cosine", vectors=cloud()), "w3")
    assert set(np.flatnonzero(found)) == set(near)
    np.testing.assert_allclose(found[near], weights / weights.sum(), rtol=1e-6)


def test_small_and_large_epsilon():
    mechanism = CusText(epsilon=1e-6, k=7, vectors=cloud())
    found = law(mechanism, "w3")
    np.testing.assert_allclose(found[found > 0], 1 / (found > 0).sum(), rtol=1e-5)
    assert set(CusText(epsilon=1e6, k=7, vectors=cloud()).obfuscate("w3", 50)) == {"w3"}


def test_unknown_words_join_the_group_nearest_to_the_mean():
    vectors = Vectors(["a", "b", "c", "d"], [[0.0], [1.0], [10.0], [12.0]])
    mechanism = CusText(epsilon=2, k=2, vectors=vectors)
    # Groups {0, 1} and {10, 12} with centers 0.5 and 11; the mean is 5.75, as far from one as from the other.
    found = law(mechanism, "unknown")
    assert np.flatnonzero(found).tolist() == [0, 1]
    np.testing.assert_allclose(found[:2], expected(np.array([5.75, 4.75]), 2), rtol=1e-9)


def test_stop_words_are_kept_only_on_demand():
    vectors = Vectors(["the", "cat", "of", "dog"], np.eye(4))
    assert {text.split()[0] for text in CusText(epsilon=1, k=4, vectors=vectors).obfuscate("the cat", 100)} > {"the"}
    keeping = CusText(epsilon=1, k=4, keep_stopwords=True, vectors=vectors)
    assert {text.split()[0] for text in keeping.obfuscate("the cat", 100)} == {"the"}
    assert keeping.log_prob("the", "the") == 0
    # What is sent as it is has no privacy, and a promise with an exception is none.
    assert isinstance(keeping.guarantee, NoGuarantee) and "stop words" in str(keeping.guarantee)
    # A stop word that the vocabulary lacks is an unknown word, and is not sent.
    assert all(text.split()[0] in vectors.words for text in keeping.obfuscate("and cat", 50))


def test_guarantees():
    groups = CusText(epsilon=4, k=7, vectors=cloud()).guarantee
    assert isinstance(groups, LocalDP)
    assert groups.epsilon == 4
    assert groups.among == "the words of one group of 7 to 11"  # 60 words: eight groups, four words left over
    for mapping in ("topk", "aggressive"):
        assert isinstance(CusText(epsilon=4, mapping=mapping, vectors=cloud()).guarantee, NoGuarantee)


@pytest.mark.parametrize("count", [1, 3, 9, 13, 19, 20, 24, 37])
def test_the_guarantee_names_the_groups_that_there_are(count):
    vectors = Vectors([f"w{i}" for i in range(count)], np.random.default_rng(count).standard_normal((count, 2)))
    mechanism = CusText(epsilon=1, vectors=vectors)
    sizes = [len(rows) for rows in mechanism.grouping.members]
    stated = [int(number) for number in re.findall(r"\d+", mechanism.guarantee.among)]
    assert stated[0] <= min(sizes) and max(sizes) <= stated[-1] <= 19
    assert count >= 20 or stated == [count]


@pytest.mark.parametrize("k", [1, 0, -3, 2.5, math.nan, "ten", None, True])
def test_another_k_is_refused(k):
    with pytest.raises(SpecError, match="k must be a"):
        CusText(epsilon=1, k=k, vectors=line)


@pytest.mark.parametrize(
    ("option", "value"), [("mapping", "nearest"), ("similarity", "angle"), ("mapping", None), ("similarity", 3)]
)
def test_another_choice_is_refused(option, value):
    with pytest.raises(SpecError, match=f"{option} must be one of"):
        CusText(epsilon=1, vectors=line, **{option: value})


@pytest.mark.parametrize("value", ["no", 1, 0, None])
def test_keep_stopwords_is_true_or_false(value):
    with pytest.raises(SpecError, match="keep_stopwords must be True or False"):
        CusText(epsilon=1, keep_stopwords=value, vectors=line)
