"""The compiled loops over postings against the same sums in NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.bm25 import kernels
from quipukit.bm25.formula import summands


@st.composite
def postings(draw):
    """An index of a few terms: for every term the documents that hold it, and what each adds to a score."""
    size = draw(st.integers(1, 12))
    terms = draw(st.lists(st.lists(st.integers(0, size - 1), unique=True).map(sorted), min_size=1, max_size=6))
    starts = np.cumsum([0, *map(len, terms)]).astype(np.int64)
    documents = np.array([document for term in terms for document in term], np.int32)
    # Few distinct numbers, exact in binary: ties are common, and sums equal in any order.
    impacts = np.array(
        draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=len(documents), max_size=len(documents)))
    )
    rows = st.lists(st.integers(0, len(terms) - 1), unique=True, max_size=4)
    queries = draw(st.lists(rows, min_size=1, max_size=4))
    return size, starts, documents, impacts.astype(np.float64), queries


def ranking(size, starts, documents, impacts, rows):
    """Return the documents that match, best first; of equal ones the lower number comes first."""
    total = np.zeros(size)
    matched = set()
    for row in rows:
        for posting in range(starts[row], starts[row + 1]):
            total[documents[posting]] += impacts[posting]
            matched.add(int(documents[posting]))
    return sorted(matched, key=lambda document: (-total[document], document)), total


def joined(queries):
    rows = np.array([row for query in queries for row in query], np.int64)
    return rows, np.cumsum([0, *map(len, queries)]).astype(np.int64)


@given(postings(), st.integers(1, 6))
def test_the_best_are_those_of_a_full_sort(index, depth):
    size, starts, documents, impacts, queries = index
    rows, bounds = joined(queries)
    found = np.full((len(queries), depth), -1, np.int32)
    scores = np.zeros((len(queries), depth))
    kernels.top(rows, bounds, starts, documents, impacts, size, found, scores)
    for query, own in enumerate(queries):
        order, total = ranking(size, starts, documents, impacts, own)
        best = order[:depth]
        assert found[query, : len(best)].tolist() == best and set(found[query, len(best) :].tolist()) <= {-1}
        assert scores[query, : len(best)].tolist() == total[best].tolist()


@pytest.mark.parametrize(("size", "terms"), [(100, 5), (70_000, 5), (70_000, 100)])
def test_codes_give_the_same_as_the_summands_that_they_stand_for(size, terms):
    """In a small and a large collection, where the sums are made in several ranges, and with many terms in a query."""
    rng = np.random.default_rng(terms)
    own = [np.unique(rng.integers(0, size, rng.integers(1, 200))) for _ in range(terms)]
    starts = np.cumsum([0, *map(len, own)]).astype(np.int64)
    documents = np.concatenate(own).astype(np.int32)
    frequencies, lengths = np.arange(1.0, 13.0), rng.random(12) * 2
    codes, idf = rng.integers(0, 12, len(documents)).astype(np.uint16), rng.random(terms)
    impacts = summands(np.repeat(idf, np.diff(starts)), frequencies[codes], lengths[codes])
    rows, bounds = joined([list(range(terms)), [0], [], rng.integers(0, terms, 4).tolist()])
    for array in (starts, documents, codes, idf, frequencies, lengths):  # as they are on disk, for which it is compiled
        array.flags.writeable = False
    results = []
    for kernel, given_postings in (
        (kernels.top, (impacts,)),
        (kernels.top_coded, (codes, idf, frequencies, lengths)),
    ):
        found, scores = np.full((4, 50), -1, np.int32), np.zeros((4, 50))
        kernel(rows, bounds, starts, documents, *given_postings, size, found, scores)
        results.append((found.tobytes(), scores.tobytes()))
    assert results[0] == results[1] and (found[:2] >= 0).any()


@given(postings(), st.data())
def test_ranks_of_targets_are_their_places_in_a_full_sort(index, data):
    size, starts, documents, impacts, queries = index
    targets = np.array(data.draw(st.lists(st.integers(0, size - 1), unique=True, min_size=1)), np.int64)
    rows, bounds = joined(queries)
    ranks = np.full((len(queries), len(targets)), -1, np.int64)
    matched = np.zeros(len(queries), np.int64)
    kernels.rank_targets(rows, bounds, targets, starts, documents, impacts, size, ranks, matched)
    for query, own in enumerate(queries):
        order, _ = ranking(size, starts, documents, impacts, own)
        assert matched[query] == len(order)
        assert ranks[query].tolist() == [order.index(target) if target in order else -1 for target in targets]
