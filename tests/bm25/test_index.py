"""The small BM25 index against a brute force."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.bm25.index import SmallIndex
from quipukit.errors import InputError
from quipukit.lexical import stems, text_words
from tests.examples import examples

WORDS = ["crime", "crimes", "sea", "seas", "story", "plant", "wolf", "x", "9", "the"]


def brute_force(
    documents: list[tuple[str, str]], query: list[str], depth: int, k1: float, b: float, stemmed: bool
) -> list[tuple[str, float]]:
    """Return BM25 as its formula says, one document at a time."""
    bags = [Counter(stems(words) if stemmed else words) for words in (text_words(text) for _, text in documents)]
    lengths = [bag.total() for bag in bags]
    mean = sum(lengths) / len(lengths) if any(lengths) else 1.0
    terms = stems(query) if stemmed else query
    scored = []
    for position, (bag, length) in enumerate(zip(bags, lengths, strict=True)):
        score = 0.0
        for term in terms:
            df = sum(term in other for other in bags)
            if bag[term]:
                idf = math.log(1 + (len(bags) - df + 0.5) / (df + 0.5))
                score += idf * bag[term] / (bag[term] + k1 * (1 - b + b * length / mean))
        if score > 0:
            scored.append((score, position))
    scored.sort(key=lambda pair: (-round(pair[0], 10), pair[1]))
    return [(documents[position][0], score) for score, position in scored[:depth]]


texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


@examples(200)
@given(
    st.lists(texts, min_size=1, max_size=30),
    st.lists(st.sampled_from([*WORDS, "absent"]), max_size=4),
    st.integers(1, 8),
    st.sampled_from([(0.9, 0.4), (1.2, 0.75), (0.0, 0.0), (2.0, 1.0)]),
    st.booleans(),
)
def test_search_is_the_formula(
    found_texts: list[str], query: list[str], depth: int, parameters: tuple[float, float], stemmed: bool
) -> None:
    documents = [(f"d{i}", text) for i, text in enumerate(found_texts)]
    index = SmallIndex.build(documents, *parameters, stemmed=stemmed)
    ids, scores = index.search(query, depth)
    query = [word for word in query if word != "the"]
    expected = brute_force(documents, query, depth, *parameters, stemmed)
    assert ids == [id for id, _ in expected]
    np.testing.assert_allclose(scores, [score for _, score in expected], rtol=1e-9)


def random_index(seed: int, size: int = 400) -> SmallIndex:
    rng = np.random.default_rng(seed)
    vocabulary = np.array([f"w{i}" for i in range(60)])
    weights = 1 / np.arange(1, 61)
    return SmallIndex.build(
        (f"d{i}", " ".join(rng.choice(vocabulary, rng.integers(0, 15), p=weights / weights.sum()))) for i in range(size)
    )


def test_ties_at_the_cut_go_to_the_first_documents() -> None:
    index = SmallIndex.build([(f"d{i}", "sea") for i in range(50)] + [("best", "sea sea")])
    assert index.search(["sea"], 4)[0] == ["best", "d0", "d1", "d2"]
    assert index.search(["sea", "sea"], 4)[0] == ["best", "d0", "d1", "d2"]


def test_the_order_of_the_words_does_not_matter() -> None:
    index = random_index(1)
    words = [f"w{i}" for i in range(40)]
    one, other = index.search(words, 400), index.search(words[::-1], 400)
    assert len(one[0]) > 300 and one[0] == other[0] and np.array_equal(one[1], other[1])


def test_documents_that_tie_by_the_formula_tie() -> None:
    # 0.1 + 0.2 + 0.3 differs from 0.3 + 0.2 + 0.1: each document repeats another word of the three.
    tied = ["sea sea story wolf", "sea story story wolf", "sea story wolf wolf"]
    index = SmallIndex.build((f"d{i}", tied[i % 3]) for i in range(30))
    ids, scores = index.search(["wolf", "sea", "story"], 30)
    assert len(set(scores.tolist())) == 1
    assert ids == [f"d{i}" for i in range(30)]


def test_target_ranks_are_those_of_the_search() -> None:
    index = random_index(2)
    rng = np.random.default_rng(3)
    queries = [rng.integers(0, len(index.terms), rng.integers(0, 5)) for _ in range(300)]
    targets = np.sort(rng.choice(len(index), 10, replace=False))
    starts = np.concatenate([[0], np.cumsum([len(query) for query in queries])])
    ranks, matched = index.rank_targets(np.concatenate(queries), starts, targets)
    ties = 0
    for query, found, count in zip(queries, ranks, matched, strict=True):
        order, scores = index.rank(query, len(index))
        assert count == len(order)
        ties += len(scores) - len(np.unique(scores))
        place = {document: rank for rank, document in enumerate(order.tolist())}
        assert found.tolist() == [place.get(target, -1) for target in targets.tolist()]
    assert ties > 1000, "the data must hold ties for this to test them"


def test_documents_can_be_read_back() -> None:
    index = SmallIndex.build([("a", "The seas of a STORY"), ("b", ""), ("c", "x don't")])
    assert [index.words_of(i) for i in range(3)] == [["seas", "story"], [], ["x"]]
    assert len(index) == 3
    assert index.search(["sea"])[0] == ["a"]


def test_stems_can_be_left_alone() -> None:
    documents = [("a", "crimes"), ("b", "crime")]
    assert SmallIndex.build(documents).search(["crime"])[0] == ["a", "b"]
    assert SmallIndex.build(documents, stemmed=False).search(["crime"])[0] == ["b"]


@pytest.mark.parametrize("documents", [[], [("a", "")], [("a", "the of"), ("b", "...")]])
def test_an_index_of_nothing_finds_nothing(documents: list[tuple[str, str]]) -> None:
    index = SmallIndex.build(documents)
    ids, scores = index.search(["sea"])
    assert ids == [] and len(scores) == 0 and len(index) == len(documents)


@pytest.mark.parametrize(("k1", "b"), [(-1, 0.4), (0.9, 1.1), (math.nan, 0.4), (0.9, math.nan)])
def test_wrong_parameters_are_refused(k1: float, b: float) -> None:
    with pytest.raises(InputError, match="k1 >= 0"):
        SmallIndex.build([("a", "sea")], k1, b)
