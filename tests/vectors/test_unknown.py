"""Words outside a vocabulary: each is named, counted, and charged to its queries."""

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.vectors.store import Vectors
from quipukit.vectors.unknown import unknown_words

PETS = Vectors(["cat", "dog", "cafe"], np.eye(3))
QUERIES = {"a": "Cat, owl and OWL", "b": "dog", "c": "", "d": "owl caf\u00e9 \ufe0f", "e": "emu"}


def test_words_are_counted_by_occurrence_and_by_query():
    found = unknown_words(QUERIES, PETS)
    assert found.words.to_dict("records") == [
        {"word": "owl", "count": 3, "queries": 2},
        {"word": "and", "count": 1, "queries": 1},
        {"word": "emu", "count": 1, "queries": 1},
    ]
    assert found.per_query[["qid", "words", "unknown"]].to_numpy().tolist() == [
        ["a", 4, 3], ["b", 1, 0], ["c", 0, 0], ["d", 2, 1], ["e", 1, 1]
    ]  # fmt: skip
    assert found.per_query["share"].tolist() == [0.75, 0, 0, 0.5, 1]
    assert (found.tokens, found.unknown, found.affected) == (8, 5, 3)
    assert str(found) == "5 of 8 words (62.5 %) are outside the vocabulary, in 3 of 5 queries"


def test_the_published_way_of_reading_leaves_words_as_they_are():
    found = unknown_words({"a": "Cat, caf\u00e9"}, PETS, "whitespace")
    assert found.words["word"].tolist() == ["caf\u00e9", "cat,"]


@pytest.mark.parametrize("queries", [{}, {"a": ""}, pd.DataFrame({"qid": [], "query": []})])
def test_nothing_is_no_division_by_zero(queries):
    found = unknown_words(queries, PETS)
    assert found.words.empty
    assert str(found).startswith("0 of 0 words (0 %)")


@pytest.mark.parametrize("tokenizer", ["clean", "whitespace"])
def test_the_counts_are_those_that_a_mechanism_flags(tokenizer):
    table = qk.obfuscate(QUERIES, [f"CMP(tokenizer={tokenizer})@1"], n=1, vectors=PETS, seed=1)
    notes = qk.notes(table)
    flagged = notes[notes["flag"] == "oov"].set_index("qid")["count"].to_dict()
    per_query = unknown_words(QUERIES, PETS, tokenizer).per_query.set_index("qid")["unknown"]
    assert flagged == per_query[per_query > 0].to_dict()
