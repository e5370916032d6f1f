"""What engines show is made safe before anybody sees it."""

import pytest

from quipukit.retrieval.base import Shown
from quipukit.retrieval.hits import docno_of, ranking, score_of, shown_document, shown_fields


def test_what_is_shown_is_kept_only_if_wanted_and_within_the_depth() -> None:
    hits = [("a", 1.0, Shown("A")), ("b", 3.0, Shown("B")), ("c", 2.0), ("a", 0.5, Shown("twice"))]
    assert ranking(hits, 2).shown == {} and ranking(hits, 2, shows=True).shown == {"b": Shown("B")}
    assert ranking(hits, 3, shows=True).shown["a"] == Shown("A")


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", "http:evil", "//host", "https://a b", "https://" + "x" * 3000, 5]
)
def test_only_web_addresses_are_passed_on(url: object) -> None:
    assert shown_fields("title", "snippet", url).url == ""
    assert shown_fields(url="HTTPS://host/page").url == "HTTPS://host/page"


@pytest.mark.parametrize("value", [None, 5, {"a": 1}, [None, {}], float("nan")])
def test_what_is_no_text_says_nothing(value: object) -> None:
    assert shown_fields(value, value, value) == Shown()
    assert shown_document(value) == Shown()


def test_texts_are_short_and_of_one_line() -> None:
    shown = shown_fields("a\x1b[31m\nb", "word " * 100_000)
    assert shown.title == "a [31m b" and len(shown.snippet) <= 1000


def test_documents_as_they_are_stored_are_understood() -> None:
    assert shown_document({"id": "1", "contents": "cats: small animals"}) == Shown("cats", "small animals")
    long = shown_document("word " * 200)
    assert long.title.endswith("word…") and len(long.title) <= 80 < len(long.snippet) <= 300
    assert shown_document({"title": "Cats", "text": "x", "url": "https://cats"}) == Shown("Cats", "x", "https://cats")


def test_ids_and_scores_are_checked() -> None:
    assert docno_of(["7"]) == "7" and docno_of(7) == "7" and score_of("1.5") == 1.5
    assert (
        docno_of("a\ud800\N{GREEK SMALL LETTER ALPHA}") == "a?\N{GREEK SMALL LETTER ALPHA}"
    )  # or no file could hold it
    for wrong in ("", None, [], ["a", "b"], 1.5):
        with pytest.raises(ValueError, match="id"):
            docno_of(wrong)
    with pytest.raises(ValueError, match="number"):
        score_of("nan")
