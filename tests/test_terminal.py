"""Control characters are shown and not obeyed; what is meant stays the same."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.terminal import say, visible, visible_json

CONTROLS = [*map(chr, range(32)), "\x7f", "\x9b", "\u2028", "\u202e", "\u2066", "\ud800"]


@pytest.mark.parametrize("control", CONTROLS, ids=ascii)
def test_every_control_character_is_written_out(control):
    assert visible(f"a{control}b") == f"a{control.encode('unicode_escape', 'surrogatepass').decode()}b"
    assert visible(f"a{control}b", keep=control) == f"a{control}b"


@given(st.text())
def test_what_is_shown_is_shown_alike_again(text):
    assert visible(visible(text)) == visible(text)


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_json_keeps_its_meaning_and_loses_its_control_characters(value):
    shown = visible_json(json.dumps(value, ensure_ascii=False, indent=1))
    assert json.loads(shown) == value
    assert visible(shown, keep="\n") == shown


def test_a_line_stays_one_line_on_stderr(capsys):
    say("a\nb\x1b[2J")
    assert capsys.readouterr() == ("", "a\\nb\\x1b[2J\n")
