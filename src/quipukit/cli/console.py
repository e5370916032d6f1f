"""What commands share: tables, TSV and JSON on stdout, progress on stderr."""

import contextlib
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from quipukit import terminal
from quipukit.terminal import visible, visible_json

if TYPE_CHECKING:
    import pandas as pd

    from quipukit.mechanisms.base import Mechanism

say = terminal.say  # the other half of talking to a person

_QUIET_SECONDS = 2.0
_LINE_SECONDS = 10.0


def print_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> None:
    """Print a table on stdout; in a pipe it is as wide as it needs to be."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = sys.stdout.isatty()
    # Text, not markup: a query may contain square brackets.
    table = Table(
        title=Text(visible(title)) if title else None, box=box.SIMPLE_HEAD, title_justify="left", caption_justify="left"
    )
    for heading in headings:
        table.add_column(Text(visible(heading)), overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    console = Console(width=None if terminal else 10_000, highlight=False)
    with console.capture() as captured:
        console.print(table)
    if title:
        print()  # a titled table is one of several
    # Padding to the table's width is of no use in a pipe, and wraps in a terminal that is then narrowed.
    print("\n".join(line.rstrip() for line in captured.get().rstrip().split("\n")))
    if caption:
        print("\n" + visible(caption, keep="\n"))


def print_tsv(table: "pd.DataFrame") -> None:
    """Print a table as tab-separated rows, one line each: a tab or a line end in a cell is written as \\t or \\n."""
    import csv

    shown = table.rename(columns=visible).map(lambda cell: visible(cell) if isinstance(cell, str) else cell)
    print(shown.to_csv(sep="\t", index=False, lineterminator="\n", quoting=csv.QUOTE_NONE), end="")


def print_json(content: Any) -> None:
    """Print anything that JSON can write, with null for what is missing."""
    print(visible_json(json.dumps(without_nan(content), ensure_ascii=False, indent=1)))


def print_wrapped(text: str, indent: str = "") -> None:
    """Print a paragraph, broken between words in a terminal and in one line elsewhere."""
    import textwrap

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 10_000
    # A number stays in one line with what it is a number of.
    tied = (
        visible(text, keep="\n")
        .replace(" %", "\N{NO-BREAK SPACE}%")
        .replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
    )
    filled = textwrap.fill(tied, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    print(filled.replace("\N{NO-BREAK SPACE}", " "))


@contextlib.contextmanager
def progress(what: str) -> Iterator[Callable[[float, float], None]]:
    """Give a function (done, total) that shows progress on stderr once the work has taken two seconds.

    On a terminal it is a bar with the time left; elsewhere a line every ten seconds.
    """
    if not sys.stderr.isatty():
        yield _lines(what)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(visible(what))
    begin = time.monotonic()
    shown = False

    def show(done: float, total: float) -> None:
        nonlocal shown
        if not shown and time.monotonic() - begin > _QUIET_SECONDS:
            bar.start()
            shown = True
        bar.update(task, completed=done, total=total)

    try:
        yield show
    finally:
        if shown:
            bar.stop()


def prepare(mechanisms: "Sequence[Mechanism]") -> None:
    """Let mechanisms make what takes long, once, with progress of its own."""
    for one in mechanisms:
        with progress(f"preparing {one.name}") as show:
            one.prepare(show)


def _lines(what: str) -> Callable[[float, float], None]:
    begin = time.monotonic()
    last = begin + _QUIET_SECONDS - _LINE_SECONDS

    def show(done: float, total: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _LINE_SECONDS and total:
            last = now
            # What is done first is rarely typical: an estimate from the first tenth misleads.
            left = f", about {(now - begin) * (total - done) / done:.0f} s left" if done > 0.1 * total else ""
            say(f"{what}: {100 * done / total:.0f} %{left}")

    return show


def wide_enough(columns: int) -> bool:
    """Return whether that many columns fit; any number fits in a pipe."""
    return not sys.stdout.isatty() or shutil.get_terminal_size().columns >= columns


def plain(value: Any) -> str:
    """Write a number as people write it, and nothing for a missing one."""
    from quipukit.specs import format_value

    return "" if value is None or value != value else format_value(float(value))


def without_nan(cell: Any) -> Any:
    """Return the same with None for what is missing: JSON knows no NaN."""
    if isinstance(cell, dict):
        return {str(name): without_nan(value) for name, value in cell.items()}
    if isinstance(cell, list | tuple):
        return [without_nan(value) for value in cell]
    return None if cell != cell else cell
