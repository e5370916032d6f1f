"""Several sets of texts at a time: what the log's words are worth to each lies side by side, and is read in one go."""

from collections.abc import Callable

from quipukit.threads import in_threads

WIDTH = 8  # sets: a line of the processor's cache holds as many numbers in double precision
_SPAN = 32_768  # rows of the log that a thread works on at a time


def in_spans(work: Callable[[int, int], None], rows: int) -> None:
    """Let threads do some rows after the other, given the first and the one after the last."""
    in_threads(lambda first: work(first, min(first + _SPAN, rows)), range(0, rows, _SPAN))
