"""Bags of words: numbered as a dictionary would number them, whatever their hashes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.attackers.bags import Bags, _number, _sort
from quipukit.attackers.tokens import LogTokens

QUERIES = st.lists(st.lists(st.sampled_from("abcdef"), max_size=5).map(" ".join), max_size=30)


def by_hand(tokens: LogTokens, known: np.ndarray) -> list[tuple[int, ...]]:
    rows = [tokens.ids[start:stop] for start, stop in zip(tokens.starts, tokens.starts[1:], strict=False)]
    return [tuple(sorted(ids[known[ids]].tolist())) for ids in rows]


@given(QUERIES, st.sets(st.sampled_from("abcdef")))
def test_rows_with_the_same_known_words_share_a_bag(queries, unknown):
    tokens = LogTokens.of(queries)
    known = np.array([word not in unknown for word in tokens.words], bool)
    bags, expected = Bags.of(tokens, known), by_hand(tokens, known)
    number = {bag: place for place, bag in enumerate(dict.fromkeys(expected))}
    assert bags.of_row.tolist() == [number[bag] for bag in expected]
    found = [tuple(bags.ids[start:stop].tolist()) for start, stop in zip(bags.starts, bags.starts[1:], strict=False)]
    assert found == list(number) and len(bags) == len(number)


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_equal_hashes_do_not_make_bags_equal(kept):
    tokens = LogTokens.of(["a b", "c", "b a", "a c", "c", "", "b", "c a"])
    ids, starts = np.empty_like(tokens.ids), np.empty_like(tokens.starts)
    hashes, numbers = np.empty(len(tokens), np.uint64), np.empty(len(tokens), np.int32)
    _sort(tokens.ids, tokens.starts, np.ones(3, bool), ids, starts, hashes)
    hashes %= np.uint64(kept + 1)
    assert _number(ids, starts, hashes, np.argsort(hashes, kind="stable"), numbers) == (6, 5)
    assert numbers.tolist() == [0, 1, 0, 2, 1, 3, 4, 2]
