"""Text files of word vectors: GloVe, word2vec and fastText, with or without a header."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quipukit.errors import FileError
from quipukit.vectors.store import Vectors

_BLOCK = 65_536


def read_text_vectors(path: Path) -> Vectors:
    """Read a text file with one word and its numbers a line, separated by blanks.

    A first line "count dimension" is skipped. The numbers are taken from the right, for some words contain
    blanks. Of a word that occurs twice the first row stays. Anything else stops with the number of its line.
    """
    words: dict[str, None] = {}
    blocks: list[NDArray[np.float32]] = []
    rows: list[NDArray[np.float32]] = []
    dimension = 0
    for number, line in _lines(path):
        if not dimension:
            if number == 1 and _is_header(line):
                continue
            dimension = _dimension(path, line)
        word, vector = _parse(path, number, line, dimension)
        if word in words:
            continue
        words[word] = None
        rows.append(vector)
        if len(rows) == _BLOCK:
            blocks.append(np.array(rows))
            rows = []
    if not words:
        raise FileError(f"{path}: there is no vector in the file; give a file of lines 'word 0.1 0.2 ...'.")
    if rows:
        blocks.append(np.array(rows))
    state = path.stat()
    stamp = [str(path.resolve()), state.st_size, state.st_mtime_ns]
    matrix = np.concatenate(blocks)
    matrix.flags.writeable = False  # ours alone: spares the store a copy
    return Vectors(words, matrix, name=path.stem, meta={"stamp": stamp})


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                line = raw.decode("utf-8").rstrip("\r\n ")
                if line:
                    yield number, line
    except UnicodeDecodeError as fault:
        raise FileError(
            f"{path}, line {number}: byte {fault.start} is not UTF-8; convert the file, for instance with iconv."
        ) from None
    except (EOFError, gzip.BadGzipFile) as fault:
        raise FileError(
            f"{path}: the compressed file is damaged after line {number} ({fault}); get it again."
        ) from None


def _is_header(line: str) -> bool:
    fields = line.split(" ")
    return len(fields) == 2 and all(field.isascii() and field.isdigit() for field in fields)


def _dimension(path: Path, line: str) -> int:
    """Count the numbers at the right end of the first line; a word of one number has none to its left."""
    fields = line.split(" ")
    count = 0
    while count < len(fields) - 1 and _is_number(fields[-1 - count]):
        count += 1
    if not count:
        raise FileError(f"{path}, line 1: found no numbers after the word; lines must read 'word 0.1 0.2 ...'.")
    return count


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _parse(path: Path, number: int, line: str, dimension: int) -> tuple[str, NDArray[np.float32]]:
    fields = line.rsplit(" ", dimension)
    if len(fields) != dimension + 1 or not fields[0]:
        raise FileError(f"{path}, line {number}: expected a word and {dimension} numbers; mend or delete the line.")
    try:
        vector = np.array(fields[1:], dtype=np.float32)
    except ValueError:
        bad = next(field for field in fields[1:] if not _is_number(field))
        raise FileError(f"{path}, line {number}: {bad!r} is not a number; mend or delete the line.") from None
    if not np.isfinite(vector).all():
        raise FileError(f"{path}, line {number}: holds NaN, infinity or a number too large; delete the line.")
    return fields[0], vector
