"""Stop words, stems, tags, and the words of a text."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.lexical import (
    CLOSED_CLASS,
    STOP_WORDS,
    content_words,
    is_closed,
    is_stop_word,
    stem,
    stems,
    tag,
    text_words,
)
from quipukit.wordnet.database import load_wordnet


def test_importing_it_is_light() -> None:
    heavy = "{'numba', 'pandas', 'torch', 'scipy', 'Stemmer'}"
    code = f"import sys, quipukit.lexical; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_one_list_of_stop_words() -> None:
    assert CLOSED_CLASS < STOP_WORDS
    assert 150 <= len(STOP_WORDS) <= 180
    assert all(word == word.lower() and word.isalpha() for word in STOP_WORDS)
    assert {"the", "of", "who", "is", "not", "to"} <= STOP_WORDS
    assert STOP_WORDS.isdisjoint({"us", "crime", "year", "state"})


@pytest.mark.parametrize("word", ["don't", "who'll", "isn\u2019t", "what's", "I'm".lower(), "a", "are", "who"])
def test_closed_classes_hold_contractions(word: str) -> None:
    assert is_closed(word) and is_stop_word(word)


@pytest.mark.parametrize("word", ["dog's", "o'clock", "crime", "won", "don", "very", ""])
def test_other_words_are_not_closed(word: str) -> None:
    assert not is_closed(word)


def test_stems() -> None:
    assert stems(["crimes", "growing", "relational"]) == ["crime", "grow", "relat"]
    assert stem("tumours") == "tumour"
    assert stems([]) == []


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("are", "closed"),
        ("a", "closed"),
        ("who", "closed"),
        ("can't", "closed"),
        ("tumours", "n"),
        ("mice", "n"),
        ("growing", "v"),
        ("founded", "v"),
        ("social", "a"),
        ("quickly", "r"),
        ("bluetooth", "unknown"),
        ("", "unknown"),
    ],
)
def test_tagger(word: str, expected: str) -> None:
    assert tag(word, load_wordnet()) == expected


def test_content_words_are_letters_only() -> None:
    assert content_words("The tumour's 2 B12-rich CELLS don't grow_fast, at 9 o\u2019clock") == [
        "tumour",
        "rich",
        "cells",
        "grow",
        "fast",
        "oclock",
    ]
    assert content_words("") == content_words("what is the of") == content_words("_ - ' 12") == []


@given(st.text(max_size=80))
def test_words_of_any_text(text: str) -> None:
    found = text_words(text)
    assert not STOP_WORDS & set(found)
    assert all(word and word.isalnum() for word in found)
    assert content_words(text) == [word for word in found if word.isalpha()]
    assert text_words(text.upper().casefold()) == text_words(text.upper())


# The index
