"""Queries and obfuscated queries as files: TSV, CSV, JSON lines and Parquet, our own layout and the published one."""

import csv
import io
import itertools
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from quipukit.errors import FileError, FrameError
from quipukit.frames import OBFUSCATED, QUERIES, SETTING, Kind, Table, joint_noise, noise_of, with_noise
from quipukit.home import new_file
from quipukit.reading import Row, file_kind, is_header, read_bytes, read_objects, read_rows, with_width
from quipukit.terminal import visible

FORMATS = (".csv", ".tsv", ".jsonl", ".parquet")
_PUBLISHED = ("id", "text", "obfuscatedText", "mechanism")
_RENAMED = {"id": "qid", "text": "query", "query_id": "qid"}
_IDS = {"qid", "id", "query_id"}
_TEXTS = {"query", "text"}
_UNFIT = {".tsv": re.compile(r"[\t\r\n\0]"), ".csv": re.compile(r"\0")}
# After white space or characters without width, too. The last four are the wide forms that some spreadsheets take for
# the first four.
_FORMULA = re.compile(r"[\s\u200b-\u200f\u2060\ufeff]*[-=+@\uff1d\uff0b\uff0d\uff20]")
_RETURN = re.compile(r"\r")

Pathish = str | os.PathLike[str]


def read_queries(path: Pathish) -> pd.DataFrame:
    """Read queries: TSV (qid, tab, query; a header line is optional), or CSV, JSON lines or Parquet with columns.

    The columns are ``qid`` and ``query``; ``id`` and ``text`` are understood too. Ids stay strings.
    """
    path = Path(path)
    frame = _read_topics(path) if file_kind(path) in (".tsv", ".txt") else read_table(path)
    frame = frame.rename(columns={old: new for old, new in _RENAMED.items() if new not in frame.columns})
    if list(frame.columns).count("qid") == 1:
        stripped = [qid.strip() if isinstance(qid, str) else qid for qid in frame["qid"].tolist()]
        frame["qid"] = pd.Series(stripped, frame.index, object)
    queries = _checked(path, QUERIES, frame)
    if queries.empty:
        raise FileError(f"{path}: there is no query in the file; write lines 'qid<TAB>query'.")
    nameless = queries["qid"].eq("")
    if nameless.any():
        raise FileError(f"{path}: query {int(nameless.argmax()) + 1} has no id; give every query one.")
    return queries


def read_obfuscated(path: Pathish) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read obfuscated queries, a file or a folder of files; return them and the originals that stand beside them.

    Our own layout carries no originals, so that the second table is empty. The published one
    (id, text, obfuscatedText, mechanism, epsilon or level) does. ``attrs["noise"]`` of the first table is what the
    files say of their noise, where they do.
    """
    path = Path(path)
    files = sorted(file for file in path.rglob("*") if file_kind(file) in FORMATS) if path.is_dir() else [path]
    if not files:
        raise FileError(f"{path}: the folder holds no file of obfuscated queries ({', '.join(FORMATS)}).")
    parts = [_read_part(file) for file in files]
    noise = joint_noise(noise_of(part) for part, _ in parts)
    obfuscated = with_noise(pd.concat([part for part, _ in parts], ignore_index=True), noise)
    if obfuscated.duplicated(list(OBFUSCATED.key)).any():
        raise FileError(f"{path}: two of its files hold the same setting of the same query; keep one of them.")
    originals = pd.concat([queries for _, queries in parts], ignore_index=True).drop_duplicates()
    if originals.duplicated(list(QUERIES.key)).any():
        raise FileError(f"{path}: two originals have the same id; give every query one id, in all files.")
    return _as_table(path, lambda: OBFUSCATED.check(obfuscated)), _as_table(path, lambda: QUERIES.check(originals))


def write_obfuscated(obfuscated: pd.DataFrame, path: Pathish) -> None:
    """Write obfuscated queries by the ending of the path, complete or not at all.

    Beside the columns of the table stand n, whether the noise is independent or common, and, where the parameter is an
    epsilon, the composed budget n * epsilon of the setting. The file is what crosses the trust boundary: it holds these
    columns and nothing else.
    """
    write_table(with_budget(obfuscated), path)


def write_table(table: pd.DataFrame, path: Pathish) -> None:
    """Write any table by the ending of the path, complete or not at all."""
    path = Path(path)
    table = table.copy(deep=False)
    table.attrs = {}  # pandas writes them into the metadata of Parquet files; a table is its columns
    if path.suffix not in FORMATS:
        raise FileError(f"{path}: cannot tell the format; end the name in {', '.join(FORMATS)}.")
    try:
        with new_file(path) as draft:
            if path.suffix == ".parquet":
                table.to_parquet(draft, index=False)
            else:
                draft.write_text(as_text(table, path.suffix), encoding="utf-8", newline="")
    except OSError as fault:
        raise FileError(f"{path} cannot be written ({fault.strerror}); name another place.") from None


def with_budget(obfuscated: pd.DataFrame) -> pd.DataFrame:
    """Add what was asked for and what it costs: n, the kind of noise, and n * epsilon where there is an epsilon.

    The budget is that of one setting. With common noise the settings of a table have no joint one. Where a query has
    more variants than n says (pandas keeps the n of the first of several tables that are put together), they count.
    """
    held = obfuscated.groupby([*SETTING, "qid"])["variant"].transform("size")
    counts = held.clip(lower=obfuscated.attrs.get("n"))
    budget = (obfuscated["value"] * counts).where(obfuscated["parameter"] == "epsilon")
    return obfuscated.assign(n=counts, noise=noise_of(obfuscated), budget=budget)


def as_text(table: pd.DataFrame, suffix: str) -> str:
    """Return a table as CSV, TSV or JSON lines, or say what such a file cannot hold: TSV knows no quoting."""
    if suffix == ".jsonl":
        return str(table.to_json(orient="records", lines=True, force_ascii=False, double_precision=15))
    if place := _place(table, _UNFIT[suffix]):
        what = "a tab, a line end or a NUL" if suffix == ".tsv" else "a NUL"
        other = ".csv or .parquet" if suffix == ".tsv" else ".jsonl or .parquet"
        raise FileError(f"{place} holds {what}, which {suffix[1:].upper()} cannot; write {other}.")
    if suffix == ".tsv":
        return str(table.to_csv(index=False, sep="\t", lineterminator="\n", quoting=csv.QUOTE_NONE))
    # The csv module of Python 3.11 leaves a carriage return unquoted, which then reads as the end of a row.
    quoting = csv.QUOTE_NONNUMERIC if _place(table, _RETURN) else csv.QUOTE_MINIMAL
    return str(table.to_csv(index=False, lineterminator="\n", quoting=quoting))


def spreadsheet_text(table: pd.DataFrame) -> str:
    """Return a table as CSV for spreadsheets: a text that one would take for a formula begins with an apostrophe.

    Control characters are written out, as on a terminal. For tables that people open; a file that is read back is
    written as it is (`as_text`). Numbers stay numbers.
    """
    return as_text(table.rename(columns=_harmless).map(_harmless), ".csv")


def _harmless(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    cell = visible(cell)
    if not _FORMULA.match(cell):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def _place(table: pd.DataFrame, pattern: re.Pattern[str]) -> str:
    """Return where a text matches first, or nothing."""
    for name, column in table.items():
        if column.dtype.kind not in "biuf":
            for row, cell in enumerate(column, 1):
                if isinstance(cell, str) and pattern.search(cell):
                    return f"column {name!r}, row {row},"
    return ""


# --- reading ------------------------------------------------------------------------------------------------------


def read_table(path: Path) -> pd.DataFrame:
    """Read a table with a header: CSV, TSV, JSON lines or Parquet. Cells of a text file stay texts.

    Every row has as many fields as the header; an empty cell is an empty text, for an empty obfuscation is a value.
    The index of a text file's table holds the numbers of its lines.
    """
    kind = file_kind(path)
    if kind == ".parquet":
        return read_parquet(path)
    if kind == ".jsonl":
        return _read_jsonl(path)
    if kind not in FORMATS:
        raise FileError(f"{path}: cannot tell the format; end the name in {', '.join(FORMATS)}.")
    rows = read_rows(path)
    return table_of(path, next(rows)[1], rows)


def table_of(path: Path, header: Sequence[str], rows: Iterable[Row]) -> pd.DataFrame:
    """Return rows under a header as a table of texts, with the numbers of the lines as its index."""
    names = [name.strip() for name in header]
    named = [name for name in names if name]
    if len(set(named)) < len(named):
        # Not which: the first line of a file without a header may be a query.
        raise FileError(f"{path}: the first line names a column twice; give every column its own name.")
    cells = dict(with_width(path, rows, len(names), f"the {len(names)} columns of the first line"))
    return pd.DataFrame(list(cells.values()), index=list(cells), columns=names, dtype=object)


def read_parquet(path: Path) -> pd.DataFrame:
    """Read a Parquet file whole; one that cannot be is refused in one line, which quotes nothing that it holds."""
    content = read_bytes(path)
    try:
        return pd.read_parquet(io.BytesIO(content))
    except Exception:  # Arrow's and pandas' own, and KeyError or TypeError from the notes that pandas leaves in a file
        raise FileError(f"{path} is damaged, or not a Parquet file; write it again.") from None


def check_cells(path: Path, table: pd.DataFrame, kinds: Mapping[str, Kind]) -> None:
    """Refuse cells of the wrong type, with their row: a text is a text, and only an id may be a whole number instead.

    Anything else would be turned into a text of its own making: bytes become "b'cat'", and an id 7.0 matches no 7.
    """
    for column, kind in kinds.items():
        if list(table.columns).count(column) != 1:
            continue  # which the check of the table says
        types = (str, int) if column in _IDS else (str,) if kind == "text" else (str, int, float)
        for number, cell in zip(_row_numbers(path, table), table[column].tolist(), strict=True):
            if not isinstance(cell, types) or isinstance(cell, bool):
                wanted = "a text or a whole number" if column in _IDS else "a text" if kind == "text" else "a number"
                raise FileError(f"{path}, {number}: column {column!r} is empty or not {wanted}; fix or delete the row.")


def _row_numbers(path: Path, table: pd.DataFrame) -> list[str]:
    """Return where the rows of a table stand in its file: rows of Parquet, and lines of anything else."""
    if file_kind(path) == ".parquet":
        return [f"row {number}" for number in range(1, len(table) + 1)]
    return [f"line {number}" for number in table.index]


def _checked(path: Path, kind: Table, table: pd.DataFrame) -> pd.DataFrame:
    """Return the table as it should be; rows at fault are named by number, for what stands there may be a query."""
    check_cells(path, table, kind.columns)
    typed = _as_table(path, lambda: kind.typed(table))
    key = list(kind.key)
    twice = typed.duplicated(key)
    if twice.any():
        second = int(twice.to_numpy().argmax())
        first = int((typed[key] == typed.loc[second, key]).all(axis=1).to_numpy().argmax())
        numbers = _row_numbers(path, table)
        raise FileError(
            f"{path}: {numbers[first]} and {numbers[second]} have the same {', '.join(key)}; keep one of them."
        )
    return typed


def _as_table(path: Path, check: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    try:
        return check()
    except FrameError as fault:
        raise FileError(f"{path}: {fault}") from None


def _read_topics(path: Path) -> pd.DataFrame:
    rows = read_rows(path)
    first = next(rows)
    names = [name.strip().casefold() for name in first[1]]
    if _IDS.intersection(names) and _TEXTS.intersection(names):
        return table_of(path, names, rows)
    if len(names) == 2 and names[0] in _TEXTS:  # beside it may stand ids or counts
        raise FileError(f"{path}: the first line names the queries but not their ids; name those 'qid'.")
    # Of two columns one may have any name: topics are often headed "qid, title" or "number, query".
    if len(names) == 2 and is_header(names[0], names[1], _IDS, _TEXTS):
        return table_of(path, ["qid", "query"], rows)
    shape = "'qid<TAB>query', or name the columns in the first line"
    topics = table_of(path, ["qid", "query"], with_width(path, itertools.chain([first], rows), 2, shape))
    if (
        topics["query"].str.strip().str.fullmatch("[0-9]+").all()
        and topics["qid"].str.strip().str.contains(r"\s").any()
    ):
        # The ids cross the trust boundary with what is sent.
        raise FileError(f"{path}: these look like queries and counts, not ids and queries; write {shape}.")
    return topics


def _read_jsonl(path: Path) -> pd.DataFrame:
    objects = {}
    for number, fields in read_objects(path):
        if any(isinstance(value, dict | list) for value in fields.values()):
            raise FileError(f"{path}, line {number}: a field holds a list or an object; give texts and numbers alone.")
        objects[number] = fields
    if not objects:
        raise FileError(f"{path} is empty; write one object per line.")
    return pd.DataFrame(list(objects.values()), index=list(objects), dtype=object)


def _read_part(path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    frame = read_table(path)
    if not {"obfuscatedText", "mechanism"} & set(frame.columns):
        # Not what is found: the first line of a file of plain queries may be one of them.
        raise FileError(f"{path} holds no obfuscated queries; make some with `quipukit obfuscate -o`.")
    if "obfuscatedText" not in frame.columns:
        return _checked(path, OBFUSCATED, frame), QUERIES.empty()
    missing = [column for column in _PUBLISHED if column not in frame.columns]
    parameter = next((name for name in ("epsilon", "level", "window") if name in frame.columns), None)
    if missing or parameter is None:
        wanted = missing[0] if missing else "epsilon' or 'level"
        raise FileError(f"{path}: column '{wanted}' is missing; the published layout has {', '.join(_PUBLISHED)}.")
    check_cells(path, frame, {**dict.fromkeys(_PUBLISHED, "text"), parameter: "number"})
    settings: dict[str, Any] = {"mechanism": frame["mechanism"], "parameter": parameter, "value": frame[parameter]}
    rows = pd.DataFrame({"qid": frame["id"], "query": frame["obfuscatedText"], **settings, "variant": 0})
    obfuscated = _as_table(path, lambda: OBFUSCATED.typed(rows))  # where 1 and "1" are one id, and 5 and 5.0 one value
    with_noise(obfuscated, noise_of(frame))
    obfuscated["variant"] = obfuscated.groupby([*SETTING, "qid"]).cumcount()
    originals = frame[["id", "text"]].rename(columns=_RENAMED).drop_duplicates()
    return obfuscated, _as_table(path, lambda: QUERIES.typed(originals))
