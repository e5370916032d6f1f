import numpy as np
import pytest

from quipukit.attackers.base import KnownLog
from quipukit.attackers.tokens import LogTokens


def test_rows_are_the_words_of_each_query():
    tokens = LogTokens.of(["Cat food?", "", "food for the cat's cat"])
    assert len(tokens) == 3
    rows = [[tokens.words[i] for i in tokens.ids[a:b]] for a, b in zip(tokens.starts, tokens.starts[1:], strict=False)]
    assert rows == [["cat", "food"], [], ["food", "for", "the", "cat", "cat"]]
    assert tokens.lengths.tolist() == [2, 0, 5]


def test_a_word_counts_once_per_query():
    tokens = LogTokens.of(["cat cat", "cat dog"])
    assert dict(zip(tokens.words, tokens.frequencies.tolist(), strict=True)) == {"cat": 2, "dog": 1}


def test_an_empty_log_has_no_words():
    tokens = LogTokens.of([])
    assert (len(tokens), tokens.words, tokens.frequencies.tolist()) == (0, [], [])


def test_attackers_share_the_words_and_cannot_change_them():
    log = KnownLog(["cat food"], np.ones(1, np.int64))
    copy = log.copied()
    assert copy.tokens is log.tokens
    with pytest.raises(ValueError, match="read-only"):
        copy.tokens.ids[0] = 5
    copy.counts[0] = 7
    assert log.counts[0] == 1
