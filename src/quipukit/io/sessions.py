"""Sessions as files: which queries one user asked in a row."""

from pathlib import Path

import pandas as pd

from quipukit.errors import FileError, FrameError
from quipukit.frames import SESSIONS, sessions_frame
from quipukit.io.reading import file_kind
from quipukit.io.tables import FORMATS, Pathish, checked_table, read_table

RENAMED = {"session": "sid", "session_id": "sid", "pos": "position", "id": "qid", "query_id": "qid"}


def read_sessions(path: Pathish, queries: pd.DataFrame | None = None) -> pd.DataFrame:
    """Read sessions: TSV, CSV, JSON lines or Parquet with the columns sid, position and qid.

    Positions are whole numbers that rise within a session; they need not begin at 1. With ``queries``, a session that
    names another query is refused.
    """
    path = Path(path)
    if file_kind(path) not in FORMATS:
        raise FileError(f"{path}: cannot tell the format; end the name in {', '.join(FORMATS)}.")
    frame = read_table(path)
    frame = frame.rename(columns={old: new for old, new in RENAMED.items() if new not in frame.columns})
    missing = [name for name in SESSIONS.columns if name not in frame.columns]
    if missing:
        raise FileError(
            f"{path}: column {missing[0]!r} is missing; the first line names the columns sid, position and qid."
        )
    try:
        return sessions_frame(checked_table(path, SESSIONS, frame), queries)
    except FrameError as fault:
        raise FileError(f"{path}: {fault}") from None
