"""Dense retrieval against brute force in float64, and re-ranking that encodes a document once."""

import shutil

import numpy as np
import pandas as pd
import pytest

from quipukit.collections.base import Collection
from quipukit.encoders.base import Encoder, similarities
from quipukit.encoders.load import load_encoder
from quipukit.encoders.store import EncodingStore, PrivateStore
from quipukit.errors import InputError
from quipukit.retrieval import dense, exact
from quipukit.retrieval.dense import Dense, DenseScorer
from tests.encoders.fakes import HashEncoder
from tests.examples import slowly


class Shelf(Collection):
    """A collection in memory that counts how often it is read."""

    name = "shelf"

    def __init__(self, documents, fingerprint="shelf-1"):
        self._documents = dict(documents)
        self._fingerprint = fingerprint
        self.read = 0

    @property
    def fingerprint(self):
        return self._fingerprint

    def documents(self):
        self.read += 1
        return iter(self._documents.items())

    def __len__(self):
        return len(self._documents)

    def queries(self):
        return pd.DataFrame({"qid": [], "query": []})

    def qrels(self):
        return pd.DataFrame({"qid": [], "docno": [], "relevance": []})


class TableEncoder(HashEncoder):
    """Vectors of any distribution: ``table[int(text)]``, or a hash's."""

    def __init__(self, table, similarity="cosine", tag="table"):
        super().__init__(table.shape[1], tag=tag)
        self.table = table
        self.similarity = similarity

    def vector(self, text, kind):
        return self.table[int(text)] if text.strip().isdigit() else super().vector(text, kind)


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path / "home"))


def shelf(count, fingerprint="shelf-1"):
    # The order of the documents is not that of their docnos.
    return Shelf({f"d{(number * 7919) % count:05d}": str(number) for number in range(count)}, fingerprint)


def brute_force(encoder, collection, query, depth):
    """Rank all documents by float64 scores, ties by docno: the definition."""
    one = encoder.vector(query, "query").astype(np.float64)
    scored = []
    for docno, text in collection._documents.items():
        other = encoder.vector(text, "document").astype(np.float64)
        score = float((one * other).sum())
        if encoder.similarity == "cosine":
            norm = np.sqrt((one * one).sum()) * np.sqrt((other * other).sum())
            score = score / norm if norm else 0.0
        scored.append((-score, docno))
    scored.sort()
    return [docno for _, docno in scored[:depth]], [-score for score, _ in scored[:depth]]


def tables():
    rng = np.random.default_rng(5)
    table = rng.standard_normal((700, 24)).astype(np.float32)
    yield "gaussian", table
    repeated = table[rng.integers(0, 20, 700)]
    yield "duplicates", repeated
    close = table[:1] + rng.standard_normal((700, 24)).astype(np.float32) * np.float32(3e-6)
    yield "nearly equal", close
    grid = rng.integers(-2, 3, (700, 24)).astype(np.float32)
    grid[::50] = 0
    yield "whole numbers and zeros", grid
    yield "far apart in size", table * np.exp(rng.standard_normal((700, 1)) * 8).astype(np.float32)


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
@pytest.mark.parametrize(("name", "table"), list(tables()), ids=lambda value: value if isinstance(value, str) else "")
@pytest.mark.parametrize("threads", ["3", *slowly("1")])
def test_rankings_are_those_of_brute_force(name, table, similarity, threads, monkeypatch):
    # Small blocks, so that a few hundred documents take many of them.
    monkeypatch.setattr(exact, "_DOCUMENTS", 64)
    monkeypatch.setattr(exact, "_QUERIES", 4)
    monkeypatch.setenv("QUIPUKIT_THREADS", threads)
    encoder, collection = TableEncoder(table, similarity), shelf(700)
    queries = [*map(str, range(0, 700, 83)), "some words", "more words"]
    for depth in (1, 10, 100):
        for query, ranking in zip(queries, Dense(collection, encoder).search(queries, depth), strict=True):
            docnos, scores = brute_force(encoder, collection, query, depth)
            assert ranking.docnos == docnos
            assert ranking.scores.dtype == np.float64
            assert ranking.scores == pytest.approx(scores, rel=1e-12, abs=1e-14)


def test_a_crowd_of_equal_documents_does_not_pile_up(monkeypatch):
    monkeypatch.setattr(exact, "_DOCUMENTS", 64)
    encoder, collection = TableEncoder(np.ones((2000, 4), np.float32)), shelf(2000)
    docnos, searcher = Dense(collection, encoder).prepare()
    scan = exact._Scan(searcher, np.ones((3, 4), np.float32), 5)
    assert max(len(candidates) for candidates in scan.over(np.arange(2000))) <= 4 * 5 + 64 // 4
    (ranking,) = Dense(collection, encoder).search(["7"], 5)
    assert ranking.docnos == sorted(docnos)[:5]


def test_depth_beyond_the_collection_returns_all_of_it():
    encoder, collection = HashEncoder(), shelf(30)
    (ranking,) = Dense(collection, encoder).search(["anything"], 1000)
    assert ranking.docnos == brute_force(encoder, collection, "anything", 30)[0]
    assert [len(ranking.docnos) for ranking in Dense(collection, encoder).search(["a", "b"], 0)] == [0, 0]


def test_queries_with_nothing_in_them_find_nothing():
    encoder = HashEncoder()
    rankings = Dense(shelf(30), encoder).search(["", "a", " \t\n", '"AND ('], 5)
    assert [len(ranking.docnos) for ranking in rankings] == [0, 5, 0, 5]
    collection = shelf(30, "never read")
    assert Dense(collection, encoder).search(["", " "], 5)[0].docnos == []
    assert collection.read == 0
    assert Dense(collection, encoder).search([], 5) == []


def test_an_empty_collection_finds_nothing():
    (ranking,) = Dense(Shelf({}), HashEncoder()).search(["a"], 5)
    assert ranking.docnos == [] and len(ranking.scores) == 0


def test_documents_are_encoded_once_and_found_again_by_the_next_run():
    collection, first = shelf(200), HashEncoder()
    rankings = Dense(collection, first).search(["a"], 10)
    assert len(first.encoded) == 200 + 1
    again, second = HashEncoder(), shelf(200)
    assert Dense(second, again).search(["a"], 10)[0].docnos == rankings[0].docnos
    assert again.encoded == ["a"]
    assert second.read == 0


def test_another_fingerprint_of_the_collection_is_read_anew_but_its_texts_are_not_encoded_twice():
    Dense(shelf(200), HashEncoder()).search(["a"], 10)
    encoder, grown = HashEncoder(), shelf(210, "shelf-2")
    (ranking,) = Dense(grown, encoder).search(["a"], 10)
    assert ranking.docnos == brute_force(encoder, grown, "a", 10)[0]
    assert sorted(encoder.encoded) == sorted(["a", *map(str, range(200, 210))])


def test_an_interrupted_encoding_goes_on_where_it_stopped(monkeypatch):
    monkeypatch.setattr(dense, "_CHUNK", 64)

    def interrupt(done, of):
        if done >= 130:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Dense(shelf(320), HashEncoder()).prepare(interrupt)
    encoder, collection = HashEncoder(), shelf(320)
    (ranking,) = Dense(collection, encoder).search(["a"], 20)
    assert ranking.docnos == brute_force(encoder, collection, "a", 20)[0]
    assert len(encoder.encoded) == 1 + 320 - 144


@pytest.mark.parametrize("harm", ["vectors", "index", "keys", "docnos"])
def test_whatever_is_damaged_on_disk_is_made_again(harm):
    collection, encoder = shelf(100), HashEncoder()
    first = Dense(collection, encoder)
    expected = first.search(["a"], 10)[0].docnos
    folder = EncodingStore(encoder).folder
    file = {
        "vectors": folder / "rows.float32",
        "index": folder / "index.float32",
        "keys": folder / "collections" / "shelf-1" / "keys.npy",
        "docnos": folder / "collections" / "shelf-1" / "docnos.json",
    }[harm]
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    assert Dense(collection, encoder).search(["a"], 10)[0].docnos == expected
    shutil.rmtree(folder)
    assert Dense(collection, encoder).search(["a"], 10)[0].docnos == expected


def test_progress_goes_over_documents_and_queries():
    seen = []
    Dense(shelf(100), HashEncoder()).search(["a", "b", ""], 5, lambda done, of: seen.append((done, of)))
    assert seen[-1] == (102, 102)
    assert seen == sorted(seen)


def test_queries_are_not_written():
    encoder = HashEncoder()
    retriever, scorer = Dense(shelf(50), encoder), DenseScorer(shelf(50), encoder)
    retriever.search(["my secret"], 5)
    scorer.score("my secret", ["d00001"])
    store = EncodingStore(encoder)
    assert len(store) == 50
    assert store.lookup(store.keys(["my secret"], "query")) is None


def test_a_store_given_is_the_one_used(tmp_path):
    encoder = HashEncoder()
    elsewhere = EncodingStore(encoder, tmp_path / "elsewhere")
    assert DenseScorer(shelf(5), store=PrivateStore(elsewhere)).encoder is encoder
    Dense(shelf(5), store=elsewhere).search(["a"], 1)
    assert (tmp_path / "elsewhere" / encoder.fingerprint / "rows.float32").is_file()


# --- re-ranking -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
def test_scores_are_similarities_with_the_original_query(similarity):
    table = np.random.default_rng(8).standard_normal((60, 12)).astype(np.float32)
    encoder, collection = TableEncoder(table, similarity), shelf(60)
    pool = ["d00003", "d00050", "d00011", "d00003"]
    exact_scores = dict(zip(*brute_force(encoder, collection, "a query", 60), strict=True))
    scores = DenseScorer(collection, encoder).score("a query", pool)
    assert scores == pytest.approx([exact_scores[docno] for docno in pool], abs=1e-13)
    assert scores[0] == scores[3]


def test_a_document_is_encoded_once_and_kept_apart_from_the_shared_cache(tmp_path):
    encoder, collection = HashEncoder(), shelf(100)
    scorer = DenseScorer(collection, store=PrivateStore(EncodingStore(encoder), tmp_path))
    pools = [("one", ["d00001", "d00002"]), ("two", ["d00002", "d00003"]), ("three", []), ("one", ["d00001"])]
    scores = scorer.score_many(pools)
    assert [len(part) for part in scores] == [2, 2, 0, 1]
    assert scores[0][0] == scores[3][0]
    assert collection.read == 1
    documents = [text for text in encoder.encoded if text.isdigit()]
    assert len(documents) == 3
    scorer.score("four", ["d00003", "d00001"])
    assert collection.read == 1  # documents met before are not even read again
    later = HashEncoder()
    again = DenseScorer(shelf(100), store=PrivateStore(EncodingStore(later), tmp_path))
    assert again.score("one", ["d00001", "d00002"]).tolist() == scores[0].tolist()
    assert later.encoded == ["one"]
    # Which documents were found tells what was asked: without a folder of its own a re-ranker writes nothing.
    assert DenseScorer(shelf(100), HashEncoder()).score("one", ["d00001", "d00002"]).tolist() == scores[0].tolist()
    assert len(EncodingStore(encoder)) == 0


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
def test_a_quick_encoder_scores_alike_and_nothing_is_kept(similarity, tmp_path, monkeypatch):
    table = np.random.default_rng(8).standard_normal((200, 12)).astype(np.float32)
    kept, quick = TableEncoder(table, similarity), TableEncoder(table, similarity)
    quick.quick = True
    rng = np.random.default_rng(9)
    pools = [(f"query {n}", [f"d{d:05d}" for d in rng.integers(0, 200, size)]) for n, size in enumerate((70, 0, 1, 90))]
    usual = DenseScorer(shelf(200), kept).score_many(pools)
    monkeypatch.setattr(dense, "_TEXTS", 50)
    collection, seen = shelf(200), []
    scorer = DenseScorer(collection, store=PrivateStore(EncodingStore(quick), tmp_path / "run"))
    scores = scorer.score_many(pools, lambda done, of: seen.append((done, of)))
    assert [one.tolist() for one in scores] == [one.tolist() for one in usual]  # to the last bit
    found = len({docno for _, docnos in pools for docno in docnos})
    assert len([text for text in quick.encoded if text.isdigit()]) == found  # one that two queries found, once
    assert seen[-1] == (found, found) and collection.read == -(-found // 50)
    assert not (tmp_path / "run").exists()
    with pytest.raises(InputError, match="not in the collection"):
        scorer.score("a query", ["d00001", "x1"])


def test_static_word_vectors_are_a_quick_encoder():
    documents = {"a": "the lung is the organ of breathing", "b": "a recipe for bread: flour, water, salt and time"}
    scores = DenseScorer(Shelf(documents), "static").score("how do lungs breathe", ["b", "a"])
    encoder = load_encoder("static")
    (query,), rows = encoder.encode(["how do lungs breathe"]), encoder.encode(list(documents.values()), "document")
    assert scores.tolist() == similarities(query, rows, "cosine").tolist()[::-1] and scores[1] > scores[0]


def test_retrieval_and_re_ranking_share_their_encodings():
    Dense(shelf(100), HashEncoder()).search(["a"], 5)
    encoder = HashEncoder()
    DenseScorer(shelf(100), encoder).score("a", [f"d{number:05d}" for number in range(100)])
    assert encoder.encoded == ["a"]


def test_re_ranking_by_the_retrievers_own_model_keeps_the_order():
    encoder, collection = HashEncoder(), shelf(300)
    (ranking,) = Dense(collection, encoder).search(["a"], 50)
    assert DenseScorer(collection, encoder).score("a", ranking.docnos).tolist() == ranking.scores.tolist()


def test_documents_that_the_collection_does_not_have_are_named():
    scorer = DenseScorer(shelf(10), HashEncoder())
    with pytest.raises(InputError, match=r"4 of 5 documents to re-rank are not in the collection \(x1, x2, x3\); give"):
        scorer.score("a query", ["d00001", "x1", "x2", "x3", "x4"])
    assert scorer.score("a query", []).tolist() == []


def test_progress_of_re_ranking_counts_new_documents():
    scorer, seen = DenseScorer(shelf(100), HashEncoder()), []
    scorer.score_many([("a", [f"d{number:05d}" for number in range(60)])], lambda done, of: seen.append((done, of)))
    assert seen[-1] == (60, 60)


@pytest.mark.heavy
def test_with_a_real_model_the_document_that_says_it_wins():
    documents = {
        "a": "Bankruptcy is a legal process by which people who cannot pay their debts may seek relief.",
        "b": "The lung is the organ of breathing; a tumour of it may grow for years unnoticed.",
        "c": "A recipe for bread: flour, water, salt and time.",
    }
    collection = Shelf(documents, "three")
    rankings = Dense(collection).search(["cannot pay back what I owe", "lung cancer", "baking at home"], 3)
    assert [ranking.docnos[0] for ranking in rankings] == ["a", "b", "c"]
    scores = DenseScorer(collection, "minilm").score("lung cancer", ["a", "b", "c"])
    assert int(np.argmax(scores)) == 1
    assert isinstance(Dense(collection).encoder, Encoder)
