"""Documents of a session are encoded once, and scored as ever."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import quipukit as qk
from quipukit.encoders.base import Encoder, Piece
from quipukit.encoders.load import load_encoder
from quipukit.retrieval.base import Shown
from quipukit.retrieval.dense import DenseScorer
from quipukit.retrieval.load import load_scorer
from quipukit.retrieval.snippets import ShownDocuments
from quipukit.search.held import HeldDocuments

COLLECTION = qk.load_collection("wordnet")
DOCNOS = [docno for (docno, _), _ in zip(COLLECTION.documents(), range(3000), strict=False)]


class Counting(Encoder):
    """The static encoder, which counts what it encodes."""

    def __init__(self) -> None:
        self._own, self.count = load_encoder("static"), 0
        self.dimension = self._own.dimension

    name, fingerprint, similarity, quick = "counting", "counting", "cosine", True

    def variant(self, kind: Any) -> str:
        return self._own.variant(kind)

    def pieces(self, texts: Sequence[str], kind: Any) -> Iterator[Piece]:
        self.count += len(texts) if kind == "document" else 0
        return self._own.pieces(texts, kind)


def test_the_scores_are_those_of_the_reranker_bit_by_bit() -> None:
    plain = load_scorer("static", COLLECTION)
    assert isinstance(plain, DenseScorer)
    held = HeldDocuments(plain)
    batches = [("how does a tumor grow", DOCNOS), ("income tax", DOCNOS[::7]), ("zebra", [])]
    for expected, found in zip(plain.score_many(batches), held.score_many(batches), strict=True):
        assert np.array_equal(expected, found)
    assert held.encoder.quick and held.name == plain.name


def test_a_document_is_encoded_once_and_no_more_are_held_than_allowed() -> None:
    encoder = Counting()
    held = HeldDocuments(DenseScorer(COLLECTION, encoder), most=2000)
    first = held.score("income tax", DOCNOS[:1500])
    distinct = len(held)
    assert encoder.count == distinct <= 1500
    assert np.array_equal(held.score("income tax", DOCNOS[:1500]), first) and encoder.count == distinct
    held.score("income tax", DOCNOS)
    assert len(held) <= 2000
    assert np.array_equal(held.score("income tax", DOCNOS[:1500]), first)


def test_a_document_that_is_shown_with_other_words_is_read_again() -> None:
    shown = {"a": Shown("Cat food"), "b": Shown("Dog food")}
    held = HeldDocuments(DenseScorer(ShownDocuments(None, shown), "static"))
    cat, dog = held.score("kitten", ["a", "b"])
    shown["b"] = Shown("A kitten")
    assert cat > dog and held.score("kitten", ["a", "b"])[1] > cat
    assert len(held) == 3
    held.forget()
    assert len(held) == 0
