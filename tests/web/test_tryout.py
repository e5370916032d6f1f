"""Try."""

import pytest

from quipukit.errors import InputError
from quipukit.web.settings import Mechanisms
from quipukit.web.tryout import try_setting

MECHANISMS = Mechanisms()


def test_the_original_is_noticed() -> None:
    trial = try_setting(MECHANISMS, "Income Tax!", "Identity", None, 2)
    assert trial.texts == ("Income Tax!",) * 2 and trial.contains_original and trial.sends_original
    assert not try_setting(MECHANISMS, "income tax", "Random", None, 1).sends_original


def test_unknown_words_are_noted() -> None:
    assert try_setting(MECHANISMS, "qqzzxxyy tax", "CMP", 10, 1).notes == ("1 of its words are not in the vocabulary",)


@pytest.mark.parametrize(("query", "n", "words"), [("", 1, "empty"), ("x" * 1001, 1, "at most"), ("x", 0, "N")])
def test_what_cannot_be_tried(query: str, n: int, words: str) -> None:
    with pytest.raises(InputError, match=words) as fault:
        try_setting(MECHANISMS, query, "Identity", None, n)
    assert "xx" not in str(fault.value)
