"""What a notebook shows of an object: small tables and lists in HTML, in which everything is escaped."""

import html
from collections.abc import Iterable, Mapping, Sequence

from quipukit.terminal import visible

_CELL = "text-align:left;padding:.15em .8em .15em 0"


def escaped(text: object) -> str:
    """Return a text as HTML shows it literally, with its control characters written out.

    >>> escaped("<b>\\x1b")
    '&lt;b&gt;\\\\x1b'
    """
    return html.escape(visible(str(text)))


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; numbers that are not whole have three digits.

    >>> table(["a"], [[0.12345]]).count("0.123")
    1
    """
    head = "".join(f'<th style="{_CELL}">{escaped(one)}</th>' for one in headings)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{escaped(_shown(cell))}</td>' for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def block(
    title: object, facts: Mapping[str, object] | None = None, notes: Iterable[object] = (), below: str = ""
) -> str:
    """Return a title with facts by name, notes as a list, and ``below``, which is HTML already."""
    lines = "".join(f"<div>{escaped(name)}: {escaped(_shown(value))}</div>" for name, value in (facts or {}).items())
    listed = "".join(f"<li>{escaped(note)}</li>" for note in notes if note)
    return f"<div><b>{escaped(title)}</b>{lines}{f'<ul>{listed}</ul>' if listed else ''}{below}</div>"


def _shown(value: object) -> object:
    if value is None or value != value:
        return ""
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.3f}"
    return int(value) if isinstance(value, float) else value
