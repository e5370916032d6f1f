"""Text files of word vectors: GloVe, word2vec and fastText, with or without a header."""

import gzip
import itertools
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quipukit.errors import FileError
from quipukit.storage import file_stamp
from quipukit.vectors.store import Vectors

_BLOCK = 65_536


def read_text_vectors(path: Path) -> Vectors:
    """Read a text file with one word and its numbers a line, separated by blanks.

    A first line "count dimension" is skipped. The numbers are taken from the right, because some words contain
    blanks. Of a word that occurs twice, or in two ways that differ in case alone, the first row stays: queries are
    read without case, and "Cat" sent for "cat" would hide nothing. Anything else stops with the number of its line.
    """
    words: dict[str, str] = {}
    blocks: list[NDArray[np.float32]] = []
    rows: list[NDArray[np.float32]] = []
    lines = _lines(path)
    first = list(itertools.islice(lines, 2))
    has_header, dimension = _shape(path, [line for _, line in first])
    count = 0
    for number, line in itertools.chain(first[has_header:], lines):
        count += 1
        word, vector = _parse(path, number, line, dimension)
        if word.lower() in words:
            continue
        words[word.lower()] = word
        rows.append(vector)
        if len(rows) == _BLOCK:
            blocks.append(np.array(rows))
            rows = []
    promised = int(first[0][1].split(" ")[0]) if has_header else 0
    if count < promised:
        raise FileError(f"{path}: its header says {promised:,} words, but it holds {count:,}; download it again.")
    if rows:
        blocks.append(np.array(rows))
    matrix = np.concatenate(blocks)
    matrix.flags.writeable = False  # ours alone: spares the store a copy
    return Vectors(words.values(), matrix, name=path.stem, meta={"stamp": file_stamp(path)})


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                line = raw.decode("utf-8").rstrip("\r\n ")
                if number == 1:
                    line = line.removeprefix("\ufeff")
                if line:
                    yield number, line
    except UnicodeDecodeError as fault:
        raise FileError(
            f"{path}, line {number}: byte {fault.start} is not UTF-8; convert the file, for instance with iconv."
        ) from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as fault:
        raise FileError(
            f"{path}: the compressed file is damaged after line {number} ({fault}); download it again."
        ) from None


def _shape(path: Path, first: list[str]) -> tuple[bool, int]:
    """Detect from the first two lines whether there is a header, and how many numbers a line has."""
    if not first or (len(first) == 1 and _is_header(first[0])):
        raise FileError(f"{path}: there is no vector in the file; give a file of lines 'word 0.1 0.2 ...'.")
    second = _numbers_at_the_end(first[1]) if len(first) > 1 else 0
    if _is_header(first[0]):
        dimension = int(first[0].split(" ")[1])
        if 1 <= dimension <= second:
            return True, dimension
        if second != 1:  # with one number a line, two numbers are a word and its vector
            raise FileError(f"{path}, line 2: has {second} numbers where the header says {dimension}; fix one of them.")
    dimension = _numbers_at_the_end(first[0])
    if not dimension:
        raise FileError(f"{path}, line 1: found no numbers after the word; lines must read 'word 0.1 0.2 ...'.")
    if second > dimension:
        raise FileError(f"{path}, line 1: has {dimension} numbers and line 2 has {second}; fix or delete line 1.")
    return False, dimension


def _is_header(line: str) -> bool:
    fields = line.split(" ")
    return len(fields) == 2 and all(field.isascii() and field.isdigit() for field in fields)


def _numbers_at_the_end(line: str) -> int:
    """Count the numbers at the right end of a line; the first field is always (part of) the word."""
    fields = line.split(" ")
    count = 0
    while count < len(fields) - 1 and _is_number(fields[-1 - count]):
        count += 1
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
        raise FileError(f"{path}, line {number}: expected a word and {dimension} numbers; fix or delete the line.")
    try:
        with np.errstate(over="ignore"):  # refused below, with the number of the line
            vector = np.array(fields[1:], dtype=np.float32)
    except ValueError:
        bad = next(field for field in fields[1:] if not _is_number(field))
        raise FileError(f"{path}, line {number}: {bad!r} is not a number; fix or delete the line.") from None
    if not np.isfinite(vector).all():
        raise FileError(f"{path}, line {number}: holds NaN, infinity or a number too large; delete the line.")
    return fields[0], vector
