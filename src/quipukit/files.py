"""Queries and obfuscated queries as files: TSV, CSV, JSON lines and Parquet, our own layout and the published one."""

import csv
import gzip
import io
import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from quipukit.errors import FileError, FrameError
from quipukit.frames import OBFUSCATED, QUERIES, SETTING
from quipukit.home import new_file

FORMATS = (".csv", ".tsv", ".jsonl", ".parquet")
_PUBLISHED = ("id", "text", "obfuscatedText", "mechanism")
_RENAMED = {"id": "qid", "text": "query", "query_id": "qid"}

Pathish = str | os.PathLike[str]


def read_queries(path: Pathish) -> pd.DataFrame:
    """Read queries: TSV (qid, tab, query; a header line is optional), or CSV, JSON lines or Parquet with columns.

    The columns are ``qid`` and ``query``; ``id`` and ``text`` are understood too. Ids stay strings.
    """
    path = Path(path)
    frame = _read_topics(path) if _suffix(path) in (".tsv", ".txt") else _read_table(path)
    frame = frame.rename(columns={old: new for old, new in _RENAMED.items() if new not in frame.columns})
    queries = _checked(path, lambda: QUERIES.check(frame))
    if queries.empty:
        raise FileError(f"{path}: there is no query in the file; write lines 'qid<TAB>query'.")
    return queries


def read_obfuscated(path: Pathish) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read obfuscated queries, a file or a folder of files; return them and the originals that stand beside them.

    Our own layout carries no originals, so that the second table is empty. The published one
    (id, text, obfuscatedText, mechanism, epsilon or level) does.
    """
    path = Path(path)
    files = sorted(file for file in path.rglob("*") if _suffix(file) in FORMATS) if path.is_dir() else [path]
    if not files:
        raise FileError(f"{path}: the folder holds no file of obfuscated queries ({', '.join(FORMATS)}).")
    parts = [_read_part(file) for file in files]
    obfuscated = _checked(path, lambda: OBFUSCATED.check(pd.concat([part for part, _ in parts])))
    originals = pd.concat([queries for _, queries in parts]).drop_duplicates()
    return obfuscated, _checked(path, lambda: QUERIES.check(originals))


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

    The budget is that of one setting. With common noise the settings of a table have no joint one.
    """
    n = obfuscated.attrs.get("n")
    counts = obfuscated.groupby([*SETTING, "qid"])["variant"].transform("size") if n is None else n
    budget = (obfuscated["value"] * counts).where(obfuscated["parameter"] == "epsilon")
    return obfuscated.assign(n=counts, noise=obfuscated.attrs.get("noise", "unknown"), budget=budget)


def as_text(table: pd.DataFrame, suffix: str) -> str:
    """Return a table as CSV, TSV or JSON lines."""
    if suffix == ".jsonl":
        return str(table.to_json(orient="records", lines=True, force_ascii=False))
    return str(table.to_csv(index=False, sep="\t" if suffix == ".tsv" else ",", lineterminator="\n"))


# --- reading ------------------------------------------------------------------------------------------------------


def _suffix(path: Path) -> str:
    return Path(path.stem).suffix if path.suffix == ".gz" else path.suffix


def _checked(path: Path, check: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    try:
        return check()
    except FrameError as fault:
        raise FileError(f"{path}: {fault}") from None


def _read_bytes(path: Path) -> bytes:
    try:
        return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except FileNotFoundError:
        raise FileError(f"{path}: there is no such file; check the path.") from None
    except IsADirectoryError:
        raise FileError(f"{path} is a folder; name a file in it.") from None
    except (OSError, EOFError, zlib.error) as fault:
        raise FileError(f"{path} cannot be read ({fault}); check the file.") from None


def read_text(path: Path) -> str:
    """Read a text file, compressed or not; what is empty, binary or not UTF-8 is refused."""
    content = _read_bytes(path)
    if not content.strip():
        raise FileError(f"{path} is empty; write one query a line.")
    if b"\0" in content[:4096]:
        raise FileError(f"{path} is not a text file; give text, TSV, CSV, JSON lines or Parquet.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = content.count(b"\n", 0, fault.start) + 1
        raise FileError(f"{path}, line {line}: not UTF-8; convert the file, for instance with iconv.") from None


def _read_topics(path: Path) -> pd.DataFrame:
    rows = []
    # Not splitlines(): it also divides at separators that may stand inside a query.
    for number, line in enumerate(read_text(path).split("\n"), 1):
        line = line.rstrip("\r")
        if not line.strip():
            continue
        qid, tab, query = line.partition("\t")
        if not tab:
            raise FileError(f"{path}, line {number}: a column is missing; write 'qid<TAB>query'.")
        if number == 1 and qid in ("qid", "id", "query_id"):
            continue
        rows.append((qid.strip(), query.split("\t")[0]))
    return pd.DataFrame(rows, columns=["qid", "query"])


def _read_table(path: Path) -> pd.DataFrame:
    suffix = _suffix(path)
    try:
        if suffix == ".parquet":
            return pd.read_parquet(io.BytesIO(_read_bytes(path)))
        text = io.StringIO(read_text(path))
        if suffix == ".jsonl":
            return pd.DataFrame([json.loads(line) for line in text if line.strip()])
        if suffix not in FORMATS:
            raise FileError(f"{path}: cannot tell the format; end the name in {', '.join(FORMATS)}.")
        # Empty cells stay empty strings: an empty obfuscation is a value, not a gap.
        return pd.read_csv(
            text,
            dtype=str,
            keep_default_na=False,
            sep="\t" if suffix == ".tsv" else ",",
            quoting=csv.QUOTE_MINIMAL,
        )
    except (ValueError, pd.errors.ParserError) as fault:
        reason = str(fault).strip().splitlines()[0]
        raise FileError(f"{path} is not a readable {suffix[1:]} file ({reason}).") from None


def _read_part(path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    frame = _read_table(path)
    if not {"obfuscatedText", "mechanism"} & set(frame.columns):
        # Not what is found: the first line of a file of plain queries may be one of them.
        raise FileError(f"{path} holds no obfuscated queries; make some with `quipukit obfuscate -o`.")
    if "obfuscatedText" not in frame.columns:
        return _checked(path, lambda: OBFUSCATED.check(frame)), QUERIES.empty()
    missing = [column for column in _PUBLISHED if column not in frame.columns]
    parameter = next((name for name in ("epsilon", "level", "window") if name in frame.columns), None)
    if missing or parameter is None:
        wanted = missing[0] if missing else "epsilon' or 'level"
        raise FileError(f"{path}: column '{wanted}' is missing; the published layout has {', '.join(_PUBLISHED)}.")
    settings: dict[str, Any] = {"mechanism": frame["mechanism"], "parameter": parameter, "value": frame[parameter]}
    obfuscated = pd.DataFrame({"qid": frame["id"], "query": frame["obfuscatedText"], **settings})
    obfuscated["variant"] = obfuscated.groupby([*SETTING, "qid"]).cumcount()
    originals = frame[["id", "text"]].rename(columns=_RENAMED).drop_duplicates()
    return _checked(path, lambda: OBFUSCATED.check(obfuscated)), originals
