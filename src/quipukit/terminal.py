"""What a person reads on a terminal: text whose control characters are shown, not obeyed.

Logs, engines and files may hold escape sequences that recolor, rewrite or reverse what stands on the screen, so
nothing is printed that has not passed through here.
"""

import re
import sys

# C0 and C1 with DEL, separators of lines, overrides and isolates of direction, and halves of surrogate pairs.
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str, keep: str = "") -> str:
    r"""Return the text with its control characters written out, except those to keep.

    >>> print(visible("red: \x1b[31m\N{RIGHT-TO-LEFT OVERRIDE}"))
    red: \x1b[31m\u202e
    """
    return _CONTROL.sub(lambda one: one[0] if one[0] in keep else one[0].encode("unicode_escape").decode(), text)


def visible_json(text: str) -> str:
    """Return JSON with the control characters escaped that JSON itself leaves as they are; its meaning is the same."""
    return _CONTROL.sub(lambda one: one[0] if one[0] == "\n" else f"\\u{ord(one[0]):04x}", text)


def say(line: str) -> None:
    """Print a line on stderr."""
    print(visible(line), file=sys.stderr)
