"""What was released, engine by engine and topic by topic: a file of the user's own (SQLite, mode 0600).

It holds hashes under the secret of this installation in the place of queries and topics, and no text of a query unless
that is asked for. Variants that a mechanism drew are kept as they were sent, so that a query that is asked again sends
them again. A release is written before anything is sent: what cannot be counted does not leave.
"""

import contextlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self, get_args

from quipukit.errors import FileError, InputError
from quipukit.secret import keyed_hash
from quipukit.storage import cache_home, make_folder

FILE_VARIABLE = "QUIPUKIT_LEDGER"
IN_MEMORY = ":memory:"
LimitKind = Literal["epsilon", "groups", "repetitions"]
ALL_ENGINES = ""

_VERSION = 1
_PATIENCE = 10.0  # seconds that another process may take
_TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS topics (
    engine TEXT, topic TEXT, setting TEXT, kind TEXT NOT NULL, releases INTEGER NOT NULL, repetitions INTEGER NOT NULL,
    texts INTEGER NOT NULL, originals INTEGER NOT NULL, epsilon REAL, unbounded INTEGER NOT NULL,
    first TEXT NOT NULL, last TEXT NOT NULL, PRIMARY KEY (engine, topic, setting)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS asked (
    engine TEXT, query TEXT, setting TEXT, times INTEGER NOT NULL, PRIMARY KEY (engine, query, setting)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS variants (name TEXT PRIMARY KEY, texts TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS limits (
    engine TEXT, kind TEXT, value REAL NOT NULL, PRIMARY KEY (engine, kind)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS queries (time TEXT NOT NULL, engine TEXT NOT NULL, topic TEXT NOT NULL, text TEXT NOT NULL);
"""


@dataclass(frozen=True)
class Release:
    """What leaves for one query. ``kind`` is "group" for the fixed group of a cover, else "noise".

    ``epsilon`` is the budget that all texts of the query spend together, None where nothing bounds it. ``repeated``
    says that the same texts have left before, for the same query or, of a group, for any.
    """

    engine: str
    topic: str  # a hash
    query: str  # a hash
    setting: str
    kind: Literal["group", "noise"]
    texts: int
    epsilon: float | None = None
    original: bool = False
    repeated: bool = False


@dataclass(frozen=True)
class TopicRow:
    """What an engine has received about a topic under a setting."""

    engine: str
    topic: str
    setting: str
    kind: str
    releases: int  # in which something new left
    repetitions: int  # in which the same left again
    texts: int
    originals: int  # releases with the query itself among the texts
    epsilon: float | None  # of all releases together; None for groups, which have none
    unbounded: int  # releases that no epsilon bounds
    first: str
    last: str


class Ledger:
    """The ledger in a file: ``QUIPUKIT_LEDGER``, or ``ledger.sqlite`` in the folder of quipukit (QUIPUKIT_HOME).

    With ``keep_queries`` the texts of queries are written down as well. Threads and processes may share a file.

    >>> ledger = Ledger(IN_MEMORY)
    >>> _ = ledger.record(Release("wordnet", "t", "q", "CMP@10 x 20", "noise", 20, 200.0))
    >>> ledger.rows()[0].epsilon
    200.0
    """

    def __init__(self, path: "str | os.PathLike[str] | None" = None, *, keep_queries: bool = False) -> None:
        self.path = default_path() if path is None else Path(path)
        self.keep_queries = keep_queries
        self._lock = threading.RLock()
        with self._faults():
            self._base = self._open()

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._base.close()

    # --- what leaves ---

    def record(self, release: Release, name: str = "", variants: Sequence[str] = (), text: str = "") -> tuple[str, ...]:
        """Count a release, and remember the variants that were drawn for it by a name; all of it is on disk, or none.

        Return the variants to send: those of another process, where it drew some for the same name in the meantime.
        """
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
        new, bounded = not release.repeated, release.epsilon is not None
        group = release.kind == "group"
        row = (
            *(release.engine, release.topic, release.setting, release.kind, int(new), int(not new), release.texts),
            *(int(release.original), None if group else (release.epsilon if new and bounded else 0.0)),
            *(int(new and not bounded and not group), now, now),
        )
        with self._transaction() as base:
            base.execute(
                "INSERT INTO topics VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
                "releases = releases + excluded.releases, repetitions = repetitions + excluded.repetitions, "
                "texts = texts + excluded.texts, originals = originals + excluded.originals, "
                "epsilon = epsilon + excluded.epsilon, unbounded = unbounded + excluded.unbounded, "
                "last = excluded.last",
                row,
            )
            base.execute(
                "INSERT INTO asked VALUES (?, ?, ?, 1) ON CONFLICT DO UPDATE SET times = times + 1",
                (release.engine, release.query, release.setting),
            )
            if text and self.keep_queries:
                base.execute("INSERT INTO queries VALUES (?, ?, ?, ?)", (now, release.engine, release.topic, text))
            if name:
                base.execute("INSERT OR IGNORE INTO variants VALUES (?, ?)", (name, json.dumps(list(variants))))
                return self.variants(name) or ()
        return tuple(variants)

    def variants(self, name: str) -> tuple[str, ...] | None:
        """Return the variants that were drawn under a name before; None where it is new."""
        found = self._all("SELECT texts FROM variants WHERE name = ?", name)
        return tuple(json.loads(found[0][0])) if found else None

    def times(self, engine: str, query: str) -> int:
        """Return how often a query (its hash) was asked of an engine."""
        return int(
            self._all("SELECT COALESCE(SUM(times), 0) FROM asked WHERE engine = ? AND query = ?", engine, query)[0][0]
        )

    def released(self, engine: str, topic: str, setting: str) -> bool:
        """Return whether an engine has received something about a topic under a setting."""
        return bool(
            self._all("SELECT 1 FROM topics WHERE engine = ? AND topic = ? AND setting = ?", engine, topic, setting)
        )

    def spent(self, engine: str, topic: str) -> float:
        """Return the epsilon that was spent on a topic with an engine, over all settings."""
        found = self._all("SELECT COALESCE(SUM(epsilon), 0) FROM topics WHERE engine = ? AND topic = ?", engine, topic)
        return float(found[0][0])

    def groups(self, engine: str) -> int:
        """Return how many groups of covers were revealed to an engine."""
        counted = "SELECT COUNT(DISTINCT topic) FROM topics WHERE engine = ? AND kind = 'group'"
        return int(self._all(counted, engine)[0][0])

    def rows(self, engine: str | None = None) -> list[TopicRow]:
        """Return what was released, engine by engine."""
        where, values = ("", ()) if engine is None else (" WHERE engine = ?", (engine,))
        return [
            TopicRow(*row) for row in self._all(f"SELECT * FROM topics{where} ORDER BY engine, last, topic", *values)
        ]

    def queries(self) -> list[tuple[str, str, str, str]]:
        """Return the queries that were written down: time, engine, topic and text."""
        return self._all("SELECT * FROM queries ORDER BY time")

    # --- limits ---

    def limits(self, engine: str | None = None) -> dict[tuple[str, str], float]:
        """Return the limits by engine ("" for all) and kind; for one engine, those that apply to it."""
        found = {(name, kind): value for name, kind, value in self._all("SELECT * FROM limits ORDER BY engine, kind")}
        if engine is None:
            return found
        return {
            (engine, kind): value
            for name in (ALL_ENGINES, engine)
            for (own, kind), value in found.items()
            if own == name
        }

    def set_limit(self, kind: str, value: float | None, engine: str = ALL_ENGINES) -> None:
        """Set a limit, or remove it (None): of epsilon per topic, of groups per engine, of repetitions per query."""
        if kind not in get_args(LimitKind):
            raise InputError(f"a limit is one of {', '.join(get_args(LimitKind))} (found {kind!r}).")
        if value is not None and not 0 <= value < float("inf"):
            raise InputError(f"a limit is a number of 0 or more (found {value}).")
        with self._transaction() as base:
            base.execute("DELETE FROM limits WHERE engine = ? AND kind = ?", (engine, kind))
            if value is not None:
                base.execute("INSERT INTO limits VALUES (?, ?, ?)", (engine, kind, float(value)))

    def crossed(self, release: Release) -> list[str]:
        """Return, in words, which limits a release would cross."""
        limits = {kind: value for (_, kind), value in self.limits(release.engine).items()}
        found = []
        if "epsilon" in limits and release.kind == "noise" and not release.repeated:
            if release.epsilon is None:
                found.append(
                    f"No epsilon bounds what this releases, and your limit for a topic is {limits['epsilon']:g}."
                )
            elif (total := self.spent(release.engine, release.topic) + release.epsilon) > limits["epsilon"]:
                found.append(f"It brings the epsilon of its topic to {total:g}; your limit is {limits['epsilon']:g}.")
        if "groups" in limits and release.kind == "group" and not release.repeated:
            known = self._all("SELECT 1 FROM topics WHERE engine = ? AND topic = ?", release.engine, release.topic)
            if not known and (count := self.groups(release.engine) + 1) > limits["groups"]:
                found.append(f"It reveals topic number {count} to the engine; your limit is {limits['groups']:g}.")
        if "repetitions" in limits and (again := self.times(release.engine, release.query)) > limits["repetitions"]:
            found.append(f"It repeats the query for time number {again}; your limit is {limits['repetitions']:g}.")
        return found

    # --- forgetting ---

    def forget(self, engine: str | None = None) -> int:
        """Delete what was counted about an engine, or about all and the drawn variants with it; limits stay.

        Return how many rows were deleted. What engines have received stays with them.
        """
        where, values = ("", ()) if engine is None else (" WHERE engine = ?", (engine,))
        names = ["topics", "asked", "queries", *(["variants"] if engine is None else [])]
        with self._transaction() as base:
            return sum(base.execute(f"DELETE FROM {name}{where}", values).rowcount for name in names)

    # --- the file ---

    def _open(self) -> sqlite3.Connection:
        if str(self.path) != IN_MEMORY:
            make_folder(self.path.parent)
            # SQLite gives its other files the mode of this one.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        base = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            base.execute("PRAGMA journal_mode = WAL")
            base.execute("PRAGMA synchronous = FULL")
            base.execute("PRAGMA secure_delete = ON")
            base.execute("BEGIN IMMEDIATE")
            for statement in filter(str.strip, _TABLES.split(";")):
                base.execute(statement)
            self._check(base)
            base.execute("COMMIT")
        except BaseException:
            base.close()
            raise
        return base

    def _check(self, base: sqlite3.Connection) -> None:
        own = {"version": str(_VERSION), "secret": keyed_hash(16, b"ledger").hexdigest()}
        known = dict(base.execute("SELECT name, value FROM about"))
        if not known:
            base.executemany("INSERT INTO about VALUES (?, ?)", own.items())
        elif known.get("version") != own["version"]:
            raise FileError(f"{self.path} was written by another version of quipukit; name another file.")
        elif known.get("secret") != own["secret"]:
            raise FileError(
                f"{self.path} was made under another secret of this installation, so that nothing in it can be "
                "compared: bring back the secret (see QUIPUKIT_SECRET_FILE), or move the file away to begin a new one."
            )

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._faults():
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield self._base
                self._base.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # SQLite may have rolled back by itself
                    self._base.execute("ROLLBACK")
                raise

    def _all(self, statement: str, *values: Any) -> list[Any]:
        with self._lock, self._faults():
            return self._base.execute(statement, values).fetchall()

    @contextlib.contextmanager
    def _faults(self) -> Iterator[None]:
        """Say what is wrong with the file, and what to do; SQLite's own words are about its inner workings."""
        try:
            yield
        except OSError as fault:
            reason = fault.strerror or "an error of the file system"
        except sqlite3.Error as fault:
            reason = _reason(fault)
        else:
            return
        raise FileError(f"the ledger {self.path}: {reason} Nothing was sent, and nothing in the ledger is lost.")


def _reason(fault: sqlite3.Error) -> str:
    code = (getattr(fault, "sqlite_errorcode", None) or 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return f"another process has held it for more than {_PATIENCE:g} s; try again, or end that process."
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return "it cannot be written; is the disk full? Make room, or name another file with QUIPUKIT_LEDGER."
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return "it cannot be opened for writing; check its folder and mode, or name another file with QUIPUKIT_LEDGER."
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return "it is damaged, or no ledger; move it away to begin a new one, and keep it for what can be recovered."
    return (
        f"SQLite reports {getattr(fault, 'sqlite_errorname', type(fault).__name__)}; move it away to begin a new one."
    )


def default_path() -> Path:
    """Return where the ledger is kept."""
    chosen = os.environ.get(FILE_VARIABLE)
    return Path(chosen).expanduser() if chosen else cache_home() / "ledger.sqlite"
