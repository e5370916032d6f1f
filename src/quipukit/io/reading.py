"""Text files read strictly: bytes to lines, lines to rows; what does not fit stops with its line and is never guessed.

Messages name the file and the line, never its content: it may be a query.
"""

import codecs
import contextlib
import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, cast

from quipukit.errors import FileError

Row = tuple[int, list[str]]  # the number of the line, from 1, and its fields

HEAD = 1 << 20  # bytes that tell how lines end
_BROKEN = re.compile("[\ud800-\udfff]")


def file_kind(path: Path) -> str:
    """Return the ending that names the format, without regard to compression.

    >>> file_kind(Path("topics.tsv.gz"))
    '.tsv'
    """
    return (Path(path.stem).suffix if path.suffix.lower() == ".gz" else path.suffix).lower()


def read_bytes(path: Path) -> bytes:
    """Read a whole file, compressed or not."""
    with _opened(path) as file:
        return file.read()


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Iterate over the lines of a file in UTF-8, with their numbers from 1 and without their ends.

    Lines end in LF or CR LF; in a file without any LF they end in CR. A CR elsewhere may be the end of a line or not,
    and is refused.
    """
    for first, lines in line_blocks(path):
        yield from enumerate(lines, first)


def line_blocks(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Iterate over the same lines many at a time, with the number of the first of them."""
    for first, block, end in byte_blocks(path):
        yield first, block_lines(path, block, end, first)


def block_lines(path: Path, block: bytes, end: str, first: int) -> list[str]:
    """Return the lines of a block, or refuse one by its number."""
    return _plain_lines(block) or list(_checked_lines(path, block, end, first))


def byte_blocks(path: Path) -> Iterator[tuple[int, bytes, str]]:
    """Iterate over many whole lines at a time as they lie in the file: the number of the first, all, and their end."""
    with _opened(path) as file:
        end = line_end(file.read(HEAD))
        file.seek(0)
        first = 1
        while block := file.read() if end == "\r" else file.read(HEAD) + file.readline():
            yield first, block, end
            first += block.count(b"\n") + (not block.endswith(b"\n"))


def is_plain(block: bytes) -> bool:
    """Return whether lines that end in LF are ASCII, and no check refuses anything of them."""
    return block.isascii() and b"\r" not in block and b"\0" not in block


def _plain_lines(block: bytes) -> list[str] | None:
    """Return lines that end in LF and of which no check refuses anything; None where they have to be looked at."""
    if b"\r" in block or b"\0" in block or block.startswith(codecs.BOM_UTF8):
        return None
    try:
        return block.decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError:
        return None


def _checked_lines(path: Path, block: bytes, end: str, first: int) -> Iterator[str]:
    """Yield the lines of a block, or refuse one by its number."""
    encoding = "utf-8-sig" if first == 1 else "utf-8"
    for number, line in _decoded(path, io.BytesIO(block), end, encoding, first):
        if end == "\r" and "\n" in line:
            raise FileError(f"{path}, line {number}: line ends are mixed; convert them, for instance with dos2unix.")
        line = line.removesuffix(end).removesuffix("\r")
        if "\r" in line:
            raise FileError(
                f"{path}, line {number}: a carriage return inside the line; make it a line end or a space, for "
                "instance with tr."
            )
        yield line


def line_end(head: bytes) -> str:
    """Return what ends the lines of a file that begins like this."""
    return "\r" if b"\r" in head and b"\n" not in head else "\n"


def read_rows(path: Path) -> Iterator[Row]:
    """Iterate over the rows of a TSV or CSV file that hold anything; a file with none is refused.

    TSV knows no quoting: a tab ends a field, a line end ends a row, and a quotation mark is one. CSV is as the csv
    module writes it, and a quotation mark that is out of place stops.
    """
    any_line = False
    for row in _csv_rows(path) if file_kind(path) == ".csv" else _tab_rows(path):
        any_line = True
        yield row
    if not any_line:
        raise empty(path)


def empty(path: Path) -> FileError:
    """Return what is wrong with a file that holds nothing."""
    return FileError(f"{path} is empty; write one row per line.")


def with_width(path: Path, rows: Iterable[Row], width: int, shape: str) -> Iterator[Row]:
    """Pass rows of the same number of fields on, and refuse any other."""
    hint = ", and quote a field that contains a comma" if file_kind(path) == ".csv" else ""
    for number, fields in rows:
        if len(fields) != width:
            fault = "a column is missing" if len(fields) < width else "a column too many"
            raise FileError(
                f"{path}, line {number}: {fault} (found {len(fields)}, expected {width}); write {shape}{hint}."
            )
        yield number, fields


def is_header(first: str, second: str, ids: Collection[str], texts: Collection[str]) -> bool:
    """Return whether the two fields of a first line are names of columns, of which one at least is known.

    >>> is_header("number", "query", {"qid"}, {"query"}), is_header("12", "query", {"qid"}, {"query"})
    (True, False)
    """
    first, second = first.strip().casefold(), second.strip().casefold()
    # A name has no digit; what has one beside the text "query" is an id, and "query" was asked.
    named = len(first.split()) == 1 and not any(character.isdigit() for character in first)
    return first in ids or (second in texts and named)


def read_objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Iterate over the objects of a file of JSON lines, with the numbers of their lines."""
    for number, line in numbered_lines(path):
        if line.strip():
            try:
                yield number, parse_object(line)
            except ValueError as fault:
                raise FileError(f"{path}, line {number}: {fault}") from None


def parse_object(line: str) -> dict[str, Any]:
    """Read a line of JSON that has to be an object; the message of the ValueError otherwise quotes nothing."""
    try:
        fields: Any = json.loads(line, object_pairs_hook=_unique)
    except _RepeatedKey:
        raise ValueError("a key stands twice in an object; keep one of them.") from None
    except json.JSONDecodeError as fault:
        raise ValueError(f"not JSON ({fault.msg} at character {fault.pos + 1}); write one object per line.") from None
    except (ValueError, RecursionError):
        raise ValueError("JSON that is nested too deep or has a number too long; write one object per line.") from None
    if not isinstance(fields, dict):
        raise ValueError("not a JSON object; write one object per line.")
    # An escape can stand for half a character, which no file in UTF-8 can hold.
    if "\\u" in line and _BROKEN.search(json.dumps(fields, ensure_ascii=False)):
        raise ValueError("half of a surrogate pair (\\ud800 to \\udfff); write the whole character.")
    return fields


class _RepeatedKey(ValueError):
    """Two values for one key: readers of JSON take the last without a word."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise _RepeatedKey
    return fields


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    try:
        with contextlib.ExitStack() as stack:
            file: IO[bytes] = stack.enter_context(path.open("rb"))
            if path.suffix.lower() == ".gz":
                file = cast(IO[bytes], stack.enter_context(gzip.GzipFile(fileobj=file)))
            yield file
    except FileNotFoundError:
        raise FileError(f"{path}: there is no such file; check the path.") from None
    except IsADirectoryError:
        raise FileError(f"{path} is a folder; name a file in it.") from None
    except (OSError, EOFError, zlib.error) as fault:
        reason = getattr(fault, "strerror", None) or fault
        raise FileError(f"{path} cannot be read ({reason}); check the file.") from None


def _decoded(
    path: Path, file: IO[bytes], newline: str, encoding: str = "utf-8-sig", first: int = 1
) -> Iterator[tuple[int, str]]:
    # Bytes that are not UTF-8 become lone surrogates, so that the line they stand on is known.
    with io.TextIOWrapper(file, encoding=encoding, errors="surrogateescape", newline=newline) as text:
        for number, line in enumerate(text, first):
            if "\0" in line:
                raise FileError(
                    f"{path}, line {number}: a NUL byte, so this is not a text file in UTF-8; convert it, for instance "
                    "with iconv."
                )
            if not line.isascii() and _BROKEN.search(line):
                raise FileError(f"{path}, line {number}: not UTF-8; convert the file, for instance with iconv.")
            yield number, line


def _tab_rows(path: Path) -> Iterator[Row]:
    for number, line in numbered_lines(path):
        if line.strip():
            yield number, line.split("\t")


def _csv_rows(path: Path) -> Iterator[Row]:
    with _opened(path) as file:
        reader = csv.reader((line for _, line in _decoded(path, file, "")), strict=True)
        begin = 1
        try:
            for fields in reader:
                if fields and fields != [""]:
                    yield begin, fields
                begin = reader.line_num + 1
        except csv.Error:
            raise FileError(
                f"{path}, line {begin}: a quotation mark is out of place, or a field is too long; quote a field that "
                'contains one, and double it inside ("").'
            ) from None
