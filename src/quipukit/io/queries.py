"""Queries as files: TSV with or without a header, CSV, JSON lines and Parquet."""

import itertools
from pathlib import Path

import pandas as pd

from quipukit.errors import FileError
from quipukit.frames import QUERIES
from quipukit.io.reading import file_kind, is_header, read_rows, with_width
from quipukit.io.tables import ID_COLUMNS, Pathish, checked_table, read_table, table_of

RENAMED = {"id": "qid", "text": "query", "query_id": "qid"}  # other names of our columns
_TEXTS = {"query", "text"}


def read_queries(path: Pathish) -> pd.DataFrame:
    """Read queries: TSV (qid, tab, query; a header line is optional), or CSV, JSON lines or Parquet with columns.

    The columns are ``qid`` and ``query``; ``id`` and ``text`` are understood too. Ids stay strings.
    """
    path = Path(path)
    frame = _read_topics(path) if file_kind(path) in (".tsv", ".txt") else read_table(path)
    frame = frame.rename(columns={old: new for old, new in RENAMED.items() if new not in frame.columns})
    if list(frame.columns).count("qid") == 1:
        stripped = [qid.strip() if isinstance(qid, str) else qid for qid in frame["qid"].tolist()]
        frame["qid"] = pd.Series(stripped, frame.index, object)
    queries = checked_table(path, QUERIES, frame)
    if queries.empty:
        raise FileError(f"{path}: there is no query in the file; write lines 'qid<TAB>query'.")
    nameless = queries["qid"].eq("")
    if nameless.any():
        raise FileError(f"{path}: query {int(nameless.argmax()) + 1} has no id; give every query one.")
    return queries


def _read_topics(path: Path) -> pd.DataFrame:
    rows = read_rows(path)
    first = next(rows)
    names = [name.strip().casefold() for name in first[1]]
    if ID_COLUMNS.intersection(names) and _TEXTS.intersection(names):
        return table_of(path, names, rows)
    if len(names) == 2 and names[0] in _TEXTS:  # beside it may stand ids or counts
        raise FileError(f"{path}: the first line names the queries but not their ids; name those 'qid'.")
    # Of two columns one may have any name: topics are often headed "qid, title" or "number, query".
    if len(names) == 2 and is_header(names[0], names[1], ID_COLUMNS, _TEXTS):
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
