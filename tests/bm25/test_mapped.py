"""The index on disk against the one in memory: the same summands to the last bit, and the same ties."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.bm25.build import Work, build
from quipukit.bm25.formula import Settings
from quipukit.bm25.index import SmallIndex
from quipukit.bm25.mapped import MappedIndex
from quipukit.bm25.runs import ChunkSize
from quipukit.collections.load import load_collection
from tests.examples import examples, slowly

WORDS = ["crime", "crimes", "sea", "naïve", "Ärger", "猫", "o'clock", "don't", "the", "x", "9", "ﬁne"]
DOCNOS = st.lists(st.one_of(st.integers(0, 2000).map(str), st.text(min_size=1, max_size=3)), unique=True, max_size=25)
TEXTS = st.one_of(st.just(""), st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join))
SETTINGS = [Settings(), Settings(1.2, 0.75), Settings(0.0, 0.0), Settings(2.0, 1.0, False, False)]


def built(folder, pairs, settings=SETTINGS[0], chunk=250_000, **opened):
    build(pairs, settings, Work(folder / "index", folder / "unfinished", "texts", len(pairs), size=ChunkSize(chunk)))
    assert not (folder / "unfinished").exists()
    index = MappedIndex.open(folder / "index", **opened)
    assert index is not None
    return index


def reference(pairs, settings):
    """Return the index in memory, its documents in the order of their docnos: they win ties in that order."""
    ordered = sorted(pairs, key=lambda pair: pair[0])
    return SmallIndex.build(ordered, settings.k1, settings.b, settings.stemmed, settings.skip_stop_words)


def assert_same(index, small):
    assert index.docnos.take(np.arange(len(index))) == small.ids
    assert len(index.terms) == len(small.terms)
    terms = list(small.terms)
    rows = index.terms.find(terms)
    for term, row in zip(terms, rows.tolist(), strict=True):
        span = slice(small.starts[small.terms[term]], small.starts[small.terms[term] + 1])
        own = slice(index.starts[row], index.starts[row + 1])
        assert index.documents[own].tolist() == small.documents[span].tolist()
        found, scores = search(index, [[row]], len(index))
        expected = small.rank(np.array([small.terms[term]]), len(index))
        assert found[0].tolist() == expected[0].tolist() and scores[0].tobytes() == expected[1].tobytes()
        every = index.scores(np.array([row]), np.arange(len(index), dtype=np.int32))
        assert every[small.documents[span]].tobytes() == small.impacts[span].tobytes()
        assert np.count_nonzero(every) == span.stop - span.start


def search(index, queries, depth):
    rows = np.array([row for query in queries for row in query], np.int64)
    starts = np.cumsum([0, *map(len, queries)])
    found = np.full((len(queries), depth), -1, np.int32)
    scores = np.empty(found.shape)
    index.top(rows, starts, found, scores)
    counts = (found >= 0).sum(axis=1)
    return [own[:n] for own, n in zip(found, counts, strict=True)], [
        own[:n] for own, n in zip(scores, counts, strict=True)
    ]


@examples(12)
@given(DOCNOS, st.data(), st.sampled_from(SETTINGS), st.integers(1, 6), st.sampled_from([0, 1000]))
def test_it_is_the_index_in_memory_to_the_last_bit(tmp_path_factory, docnos, data, settings, chunk, expanded):
    texts = data.draw(st.lists(TEXTS, min_size=len(docnos), max_size=len(docnos)))
    pairs = list(zip(docnos, texts, strict=True))
    if not pairs:
        return
    index = built(tmp_path_factory.mktemp("index"), pairs, settings, chunk, expanded=expanded)
    small = reference(pairs, settings)
    assert_same(index, small)
    words = data.draw(st.lists(st.sampled_from(list(small.terms) or [""]), max_size=4))
    rows = [small.terms[word] for word in words if word in small.terms]
    for depth in (1, 3, len(pairs)):
        [found], [scores] = search(index, [index.terms.find([word for word in words if word in small.terms])], depth)
        expected = small.rank(np.array(rows, np.int64), depth)
        assert found.tolist() == expected[0].tolist() and scores.tobytes() == expected[1].tobytes()


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("name", "every", "chunk"),
    [("vaswani", 3, 1_000), *slowly(("vaswani", 1, 3_000), ("wordnet", 2, 50_000), ("msmarco_pool", 1, 7_001))],
)
def test_real_collections_are_the_same_to_the_last_bit(tmp_path, shared_data, name, every, chunk):
    pairs = list(load_collection(name if name == "wordnet" else shared_data / name).documents())[::every][::-1]
    index, small = built(tmp_path, pairs, chunk=chunk), reference(pairs, Settings())
    terms = list(small.terms)[::50]
    rows = index.terms.find(terms)
    queries = [(rows[at : at + 5], [small.terms[term] for term in terms[at : at + 5]]) for at in range(0, 1000, 5)]
    expected = [small.rank(np.array(theirs, np.int64), 100) for _, theirs in queries]
    for expanded in (True, False):
        found, scores = search(replace(index, expanded=expanded), [own for own, _ in queries], 100)
        for number, (documents, values) in enumerate(expected):
            assert found[number].tolist() == documents.tolist()
            assert scores[number].tobytes() == values.tobytes()
    per_term = np.diff(index.starts)
    assert (per_term[index.terms.find(list(small.terms))] == np.diff(small.starts)).all()


@pytest.mark.slow
def test_more_pairs_of_frequency_and_length_than_two_bytes_can_number(tmp_path):
    frequencies, fillers = 70, 1000
    text = " ".join(f"t{n} " * n for n in range(1, frequencies + 1))
    pairs = [(f"{n:04}", f"{text} " + "filler " * n) for n in range(fillers)]
    index = built(tmp_path, pairs, chunk=300, expanded=0)
    assert index.codes.dtype == np.uint32 and len(index.frequencies) > 1 << 16
    small = reference(pairs, Settings())
    for term in ("t1", "t50", "filler"):
        [found], [scores] = search(index, [index.terms.find([term])], 1000)
        expected = small.rank(np.array([small.terms[term]]), 1000)
        assert found.tolist() == expected[0].tolist() and scores.tobytes() == expected[1].tobytes()


def test_it_does_not_depend_on_where_chunks_end(tmp_path):
    rng = np.random.default_rng(3)
    pairs = [(str(n), " ".join(rng.choice(WORDS, rng.integers(0, 9)))) for n in rng.permutation(100)]
    hashes = {
        hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.glob("index/*.npy")))).hexdigest()
        for folder, chunk in ((tmp_path / str(size), size) for size in (1, 7, 33, 100, 1000))
        if built(folder, pairs, chunk=chunk)
    }
    assert len(hashes) == 1


def test_equal_indexes_have_equal_hashes(tmp_path):
    one, same, other = (
        built(tmp_path / name, [("a", "crime story"), ("b", text)], chunk=chunk).hash()
        for name, text, chunk in (("1", "sea", 1), ("2", "sea", 5), ("3", "ocean", 5))
    )
    assert one == same != other
