"""BM25 against a float64 reference, against bm25s, and its index on disk."""

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.collections.base import Collection
from quipukit.errors import InputError
from quipukit.lexical import stems, text_words
from quipukit.retrieval.bm25 import BM25

NASTY = [
    "",
    "   ",
    '"quoted" AND (cat OR dog)',
    "cat~2^5 +dog -fish",
    "\\",
    "naïve 猫",
    "a:b [1 TO 2]",
    "🐈",
    "the of and",
    "\x00",
]


class Texts(Collection):
    def __init__(self, pairs, fingerprint="texts"):
        self.pairs, self.fingerprint_value, self.name = list(pairs), fingerprint, "texts"

    @property
    def fingerprint(self):
        return self.fingerprint_value

    def documents(self):
        return iter(self.pairs)

    def __len__(self):
        return len(self.pairs)

    def queries(self):
        return pd.DataFrame({"qid": [], "query": []})

    def qrels(self):
        return pd.DataFrame({"qid": [], "docno": [], "relevance": []})


class Formula:
    """BM25 written down as the formula stands, in float64, document by document."""

    def __init__(self, pairs):
        self.documents = {docno: Counter(stems(text_words(text))) for docno, text in pairs}
        self.mean = sum(counts.total() for counts in self.documents.values()) / len(self.documents)
        self.frequency = Counter(term for counts in self.documents.values() for term in counts)

    def scores(self, query, k1=0.9, b=0.4):
        words, scores = stems(text_words(query)), {}
        for docno, counts in self.documents.items():
            score = 0.0
            for term in words:
                if term in counts:
                    idf = math.log(
                        1 + (len(self.documents) - self.frequency[term] + 0.5) / (self.frequency[term] + 0.5)
                    )
                    score += idf * counts[term] / (counts[term] + k1 * (1 - b + b * counts.total() / self.mean))
            if score:
                scores[docno] = score
        return scores


def assert_same_ranking(ranking, expected, depth):
    """The scores agree, and so do the documents but for ones that the formula ties."""
    order = sorted(expected, key=lambda docno: (-round(expected[docno], 9), docno))[:depth]
    assert len(ranking.docnos) == len(order)
    assert ranking.scores == pytest.approx([expected[docno] for docno in ranking.docnos], abs=1e-9)
    assert ranking.docnos == order


@pytest.mark.parametrize("depth", [1, 7, 100])
def test_bm25_is_the_formula_on_random_texts(tmp_path, monkeypatch, depth):
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    rng = np.random.default_rng(2)
    words = [f"w{number}" for number in range(30)]
    # Few words and short texts: many documents tie, which is where rankings go wrong.
    pairs = [(f"d{n:02}", " ".join(rng.choice(words, rng.integers(0, 6)))) for n in rng.permutation(80)]
    index, formula = BM25.of(Texts(pairs)), Formula(pairs)
    for _ in range(40):
        query = " ".join(rng.choice(words, rng.integers(1, 5)))
        assert_same_ranking(index.search([query], depth)[0], formula.scores(query), depth)


@pytest.mark.heavy
def test_bm25_is_the_formula_on_vaswani(shared_data, tmp_path, monkeypatch):
    from quipukit.collections.load import load_collection

    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    vaswani = load_collection(str(shared_data / "vaswani"))
    pairs = list(vaswani.documents())
    index, formula = BM25.of(vaswani), Formula(pairs)
    queries = vaswani.queries()["query"].tolist()[:3]
    for query, ranking in zip(queries, index.search(queries, 100), strict=True):
        assert_same_ranking(ranking, formula.scores(query), 100)


def test_scores_agree_with_bm25s(tmp_path, monkeypatch):
    bm25s = pytest.importorskip("bm25s", reason="bm25s, the peer to compare with, is not installed")
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    rng = np.random.default_rng(3)
    words = [f"w{number}" for number in range(50)]
    pairs = [(f"d{n:03}", " ".join(rng.choice(words, 8))) for n in range(200)]
    peer = bm25s.BM25(k1=0.9, b=0.4, method="lucene", dtype="float64")
    peer.index([text.split() for _, text in pairs], show_progress=False)
    index = BM25.of(Texts(pairs), stemmed=False)
    for query in ("w1 w2", "w3", "w4 w5 w6 w7"):
        theirs = peer.get_scores(query.split())
        [ours] = index.search([query], 200)
        assert ours.scores == pytest.approx([theirs[int(docno[1:])] for docno in ours.docnos], abs=1e-6)
        assert len(ours.docnos) == (theirs > 0).sum()


def test_scorer_and_search_give_the_same_scores(tmp_path, monkeypatch):
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    pairs = [("a", "cat dog"), ("b", "dog dog fish"), ("c", "bird")]
    index = BM25.of(Texts(pairs))
    [ranking] = index.search(["dog fish"], 10)
    assert ranking.docnos == ["b", "a"]
    assert index.score("dog fish", ["b", "a"]) == pytest.approx(ranking.scores)
    assert index.score("dog fish", ["c", "not there"]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("query", NASTY)
def test_no_query_crashes_it(tmp_path, monkeypatch, query):
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    index = BM25.of(Texts([("a", "cat dog"), ("b", "fish")]))
    [ranking] = index.search([query], 10)
    assert set(ranking.docnos) <= {"a", "b"}
    if not text_words(query):
        assert ranking.docnos == []


@given(st.lists(st.text(max_size=20), max_size=5))
def test_any_text_is_a_query(queries):
    index = _small()
    assert len(index.search(queries, 3)) == len(queries)


def _small(_cache={}):  # noqa: B006 (made once for all examples)
    if not _cache:
        _cache["index"] = BM25.of(Texts([("a", "cat dog"), ("b", "fish naïve")], "small"))
    return _cache["index"]


def test_batches_and_threads_change_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    rng = np.random.default_rng(4)
    words = [f"w{number}" for number in range(40)]
    index = BM25.of(Texts([(f"d{n}", " ".join(rng.choice(words, 5))) for n in range(150)]))
    queries = [" ".join(rng.choice(words, 3)) for _ in range(600)]
    together = index.search(queries, 10)
    monkeypatch.setenv("QUIPUKIT_THREADS", "3")
    for query, ranking in list(zip(queries, together, strict=True))[::37]:
        [alone] = index.search([query], 10)
        assert alone.docnos == ranking.docnos and (alone.scores == ranking.scores).all()


def test_the_index_is_reused_only_while_the_collection_is_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    BM25.of(Texts([("a", "cat")], "one"))
    # The same fingerprint: the stored index answers, whatever the documents say now.
    assert BM25.of(Texts([("z", "cat")], "one")).search(["cat"], 5)[0].docnos == ["a"]
    assert BM25.of(Texts([("z", "cat")], "two")).search(["cat"], 5)[0].docnos == ["z"]
    assert BM25.of(Texts([("z", "cat")], "one"), k1=1.2).search(["cat"], 5)[0].docnos == ["z"]


@pytest.mark.parametrize("file", ["codes.npy", "documents.npy", "starts.npy", "docnos_content.npy", "meta.json"])
def test_a_damaged_index_is_made_again(tmp_path, monkeypatch, file):
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    BM25.of(Texts([("a", "cat"), ("b", "cat dog")], "one"))
    [path] = tmp_path.rglob(file)
    content = bytearray(path.read_bytes())
    content[-3] ^= 0x10
    path.write_bytes(content)
    [ranking] = BM25.of(Texts([("z", "cat")], "one")).search(["cat"], 5)
    assert ranking.docnos == ["z"]


def test_stop_words_and_stems_are_options(tmp_path, monkeypatch):
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    texts = Texts([("a", "the cats"), ("b", "who is it")])
    assert BM25.of(texts).search(["cat"], 5)[0].docnos == ["a"]
    assert BM25.of(texts, stemmed=False).search(["cat"], 5)[0].docnos == []
    assert BM25.of(texts).search(["who"], 5)[0].docnos == []
    assert BM25.of(texts, stop_words=False).search(["who"], 5)[0].docnos == ["b"]


def test_an_empty_collection_is_refused_and_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    with pytest.raises(InputError, match="holds no document"):
        BM25.of(Texts([]))
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.parent.name != "locks"] == []


def test_documents_that_change_while_they_are_indexed_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))

    class Changing(Texts):
        def documents(self):
            yield from self.pairs
            self.fingerprint_value = "another"

    with pytest.raises(InputError, match="'texts' changed while they were indexed; run it again"):
        BM25.of(Changing([("a", "cat")]))
    assert list(tmp_path.rglob("*.npy")) == []


def test_a_docno_that_comes_twice_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    with pytest.raises(
        InputError, match=r"'texts' has docnos that come more than once: 1 \(first: its documents 1 and 3"
    ):
        BM25.of(Texts([("a", "cat"), ("b", "dog"), ("a", "fish")]))


def test_the_making_of_an_index_reports_its_progress(tmp_path, monkeypatch):
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    seen = []
    texts = Texts([("a", "cat")])
    BM25.of(texts, progress=lambda done, total: seen.append(done / total))
    assert seen[0] == 0 and seen[-1] == 1
    seen.clear()
    BM25.of(texts, progress=lambda done, total: seen.append(done / total))
    assert seen == []
