"""Tables of strings against lists and dictionaries; the loops of `quipukit.bm25.tables` under them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from quipukit.bm25.strings import StringTable, merged

# All of Unicode, and half of a surrogate pair, which is no character but can be in a docno.
SETS = st.sets(st.one_of(st.text(max_size=4), st.sampled_from(["\ud800", "a\udfffb", "\U0001f408", "\ue000", ""])))


@given(SETS, SETS, st.sampled_from([0, 1000]))
def test_strings_are_found_and_returned(own, others, decoded):
    ordered = sorted(own)
    table = StringTable.of(ordered, decoded)
    assert len(table) == len(ordered)
    assert table.take(np.arange(len(ordered))) == ordered
    asked = [*others, *ordered]
    assert table.find(asked).tolist() == [ordered.index(one) if one in own else -1 for one in asked]


@given(st.lists(SETS, min_size=1, max_size=5))
def test_a_merged_table_has_every_string_once(sets):
    table, rows = merged([StringTable.of(sorted(own)) for own in sets])
    ordered = sorted(set().union(*sets))
    assert table.take(np.arange(len(table))) == ordered
    for own, numbers in zip(sets, rows, strict=True):
        assert [ordered[number] for number in numbers.tolist()] == sorted(own)


def test_a_large_table_decodes_only_what_is_asked_for():
    table = StringTable.of([f"{number:04}" for number in range(1000)], decoded=999)
    taken = table.take(np.array([5, 999, 5]))
    assert taken == ["0005", "0999", "0005"] and taken[0] is taken[2]
    assert table.find(["0999", "1000"]).tolist() == [999, -1]
    assert set(vars(table)) == {"content", "starts", "decoded"}
