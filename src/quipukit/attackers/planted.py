"""Planted sessions: judged queries, each after related queries of a log, where no real sessions are at hand.

Nobody has judged what a user of a session wants at each step, so that the utility of a session is that of its last
query: the judged one. Before it come queries of the log that are near it in meaning but not nearest, which would be
the same question in other words.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.encoders.base import Encoder
from quipukit.encoders.load import load_encoder
from quipukit.encoders.store import EncodingStore, PrivateStore
from quipukit.errors import InputError
from quipukit.frames import QUERIES, Queries, queries_frame, sessions_frame
from quipukit.progress import Progress
from quipukit.seeds import keyed
from quipukit.text import key

NEAREST = (4, 60)  # neighbors that may come before a query: from the fourth to the sixtieth
LENGTH = 5
_BLOCK = 16_384
_DIGITS = 5  # of a cosine that count: its last bits depend on the machine


class Planted(NamedTuple):
    """Sessions, and all of their queries: the judged ones, and those that were put before them."""

    sessions: pd.DataFrame
    queries: pd.DataFrame


def plant_sessions(
    queries: Queries,
    log: Iterable[str],
    encoder: str | Encoder = "minilm",
    length: int = LENGTH,
    seed: int = 7,
    *,
    nearest: tuple[int, int] = NEAREST,
    progress: Progress | None = None,
) -> Planted:
    """Return a session for every query: ``length`` - 1 related queries of a public log, then the query itself.

    The related ones are drawn from the query's 4th to 60th nearest neighbors in the log, itself not counted, or as
    ``nearest`` says. A session depends on the query, its id, the log and the seed alone. Its ``sid`` is the id of its
    last query; the others are called ``<qid>~1``, ``<qid>~2`` and so on. The log is encoded once, ever; the queries are
    encoded in memory.
    """
    given: object = length
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise InputError(f"length must be a whole number of at least 1 (found {given!r}).", argument="length")
    asked = queries_frame(queries)
    texts = sorted({key(text): text for text in log if key(text)}.values(), key=key)
    first, last = nearest
    if length - 1 > last - first + 1:
        raise InputError(f"length must be at most {last - first + 2} (found {length}).", argument="length")
    if len(texts) < first + length:
        raise InputError(f"the log has {len(texts)} queries: too few for sessions of {length}; give a larger one.")
    model = load_encoder(encoder)
    public = EncodingStore(model)
    vectors = _unit(PrivateStore(public).get(asked["query"].tolist()))
    near = _nearest(vectors, public.ensure(texts, "query", progress), last + 1)
    sessions, added = [], []
    for (qid, query), rows in zip(asked.itertuples(index=False, name=None), near, strict=True):
        others = [texts[row] for row in rows if key(texts[row]) != key(query)][first - 1 : last]
        chosen = keyed("planted session", seed, qid, query).permutation(len(others))[: length - 1]
        for position, place in enumerate(chosen, 1):
            added.append((f"{qid}~{position}", others[place]))
            sessions.append((qid, position, f"{qid}~{position}"))
        sessions.append((qid, len(chosen) + 1, qid))
    all_queries = pd.concat([asked, pd.DataFrame(added, columns=["qid", "query"], dtype=object)], ignore_index=True)
    table = pd.DataFrame(sessions, columns=["sid", "position", "qid"])
    return Planted(sessions_frame(table, all_queries), QUERIES.check(all_queries))


def _nearest(vectors: NDArray[np.float32], log: "object", count: int) -> NDArray[np.int64]:
    """Return the rows of the log that are nearest to each vector, the nearest first; of level ones the first row."""
    best = np.full((len(vectors), 0), -np.inf, np.float32)
    rows = np.empty((len(vectors), 0), np.int64)
    size = len(log)  # type: ignore[arg-type]
    for start in range(0, size, _BLOCK):
        block = _unit(log[start : start + _BLOCK])  # type: ignore[index]
        best = np.hstack([best, np.round(vectors @ block.T, _DIGITS)])
        rows = np.hstack([rows, np.broadcast_to(np.arange(start, start + len(block)), (len(vectors), len(block)))])
        order = np.argsort(-best, axis=1, kind="stable")[:, :count]
        best, rows = np.take_along_axis(best, order, 1), np.take_along_axis(rows, order, 1)
    return rows


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
