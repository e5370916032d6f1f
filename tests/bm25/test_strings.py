"""Tables of strings against lists and dictionaries; the loops of `quipukit.bm25.tables` under them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from quipukit.bm25 import strings
from quipukit.bm25.strings import StringTable, merged

# All of Unicode, and half of a surrogate pair, which is no character but can be in a docno.
SETS = st.sets(st.one_of(st.text(max_size=4), st.sampled_from(["\ud800", "a\udfffb", "\U0001f408", "\ue000", ""])))


@given(SETS, SETS)
def test_strings_are_found_and_returned(own, others):
    ordered = sorted(own)
    table = StringTable.of(ordered)
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
    count = strings.DECODED + 1
    table = StringTable.of([f"{number:07}" for number in range(count)])
    rows = np.array([5, count - 1, 5])
    taken = table.take(rows)
    assert taken == ["0000005", f"{count - 1:07}", "0000005"] and taken[0] is taken[2]
    assert "_decoded" not in vars(table)
