"""Re-ranking on titles and snippets."""

import pytest

import quipukit as qk
from quipukit.errors import InputError
from quipukit.retrieval.base import Shown
from quipukit.retrieval.load import load_scorer
from quipukit.retrieval.snippets import ShownDocuments, on_snippets, reranker_on
from quipukit.retrieval.system import SystemSpec

SHOWN = {"a": Shown("Cat food", "what cats eat"), "b": Shown("Income tax", "how to pay less")}


def test_the_nearest_snippet_scores_highest_and_what_is_not_shown_nothing() -> None:
    scorer = load_scorer("snippet:static", ShownDocuments(None, SHOWN))
    cat, tax, missing = scorer.score("food for my kitten", ["a", "b", "c"])
    assert cat > tax > missing == 0


def test_of_a_collection_the_beginning_of_each_text_is_read() -> None:
    collection = qk.load_collection("wordnet")
    docno = "n14133543"
    shown = ShownDocuments(collection)
    assert shown.texts([docno])[docno].startswith("gonorrhea, gonorrhoea, clap. a common venereal")
    assert len(shown) == len(collection) and shown.fingerprint != collection.fingerprint
    assert len(shown.queries()) == len(collection.queries())


def test_the_name_says_what_is_read() -> None:
    assert on_snippets(reranker_on("minilm", "snippet")) and not on_snippets(reranker_on("minilm", "text"))
    assert SystemSpec("bm25", "snippet:static").fingerprint != SystemSpec("bm25", "static").fingerprint
    assert SystemSpec("bm25", "snippet:static").on_snippets


def test_what_cannot_be_read_from_snippets_is_refused() -> None:
    with pytest.raises(InputError, match="bm25"):
        SystemSpec("bm25", "snippet:bm25")
    with pytest.raises(InputError, match="rerank_on"):
        reranker_on("static", "title")
    with pytest.raises(InputError, match="address"):
        SystemSpec("bm25", "snippet:opensearch+http://host/news")
    with pytest.raises(InputError, match="neither queries"):
        ShownDocuments(None, SHOWN).queries()
