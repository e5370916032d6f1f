"""Artifacts: what an experiment has finished, one table per file.

An artifact's name is the hash of everything that it depends on, so a changed input has another name and nothing stale
is ever taken for new. Beside each table lies a record: its name, the SHA-256 of the file and the versions of the
software that computed it. The record is written last, so a run that was killed leaves a table without a record, which
counts as missing.

The checksum is compared whenever a table is read. One that differs proves damage: the file moves to ``damaged/``, is
reported, and is computed again. A file that cannot be read for another reason (too many open files, no permission, an
I/O error) proves nothing: the run stops, and everything stays where it is.
"""

import contextlib
import hashlib
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import pandas as pd
import pyarrow.parquet as pq

from quipukit.errors import ResourceError
from quipukit.experiment.folder import write_errors
from quipukit.io.parts import COMPRESSION, GROUP_ROWS, PartReader, PartWriter
from quipukit.software import joint_versions, software_versions
from quipukit.storage import atomic_write, make_folder
from quipukit.table import Table

FOLDER = "artifacts"
DAMAGED = "damaged"

# Rows of tables that are kept once they were decoded: some tens of megabytes. Stages read the same ones several times.
KEPT_ROWS = 200_000

T = TypeVar("T")


def key_of(*parts: Any) -> str:
    """Return the name of an artifact: a hash over what it depends on, as JSON."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:40]


@dataclass(frozen=True)
class Record:
    """What is known of a finished artifact."""

    name: str  # the table and the key: a file that was copied over another is no damage, but wrong all the same
    sha256: str
    software: Mapping[str, str]

    def dumps(self) -> str:
        """Return the record as JSON, with a checksum of its own."""
        content = {"name": self.name, "sha256": self.sha256, "software": dict(self.software)}
        return json.dumps({**content, "check": _check(content)}, indent=1) + "\n"

    @classmethod
    def loads(cls, text: bytes) -> "Record | None":
        """Read a record; None where it is damaged."""
        try:
            content = json.loads(text)
            check = content.pop("check")
            return cls(content["name"], content["sha256"], content["software"]) if check == _check(content) else None
        except (ValueError, KeyError, TypeError, AttributeError):
            return None


def _check(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


class Artifacts:
    """The artifacts of one experiment."""

    def __init__(
        self, folder: Path, report: Callable[[str], None] = lambda line: None, *, read_only: bool = False
    ) -> None:
        """Open the artifacts of a run's folder.

        ``report`` receives a line for each damaged file; with ``read_only`` it stays where it is.
        """
        self.folder = folder
        self._report = report
        self._read_only = read_only
        self._verified: dict[Path, Record] = {}
        self._decoded: dict[tuple[str, str], pd.DataFrame] = {}  # by checksum and kind

    def path(self, table: str, key: str) -> Path:
        """Return where an artifact lies."""
        return self.folder / FOLDER / table / f"{key}.parquet"

    def has(self, table: str, key: str) -> bool:
        """Return whether an artifact is finished and undamaged."""
        path = self.path(table, key)
        return path in self._verified or self._verified_by(path, _checksum) is not None

    def load(self, table: str, key: str, kind: Table | None = None) -> pd.DataFrame:
        """Read an artifact, compare it with its checksum, and check it as a table of a ``kind``."""
        path, content = self.path(table, key), self.content(table, key)
        wanted = (self._verified[path].sha256, "" if kind is None else kind.name)
        if wanted not in self._decoded:
            frame = _decoded(path, content)
            self._keep(wanted, frame if kind is None else kind.check(frame))
        # Not a deep copy: what is written to one is, in pandas, never seen in the other.
        return self._decoded[wanted].copy(deep=False)

    def _keep(self, wanted: tuple[str, str], frame: pd.DataFrame) -> None:
        """Keep a decoded table, and let go of the oldest that are too many."""
        self._decoded[wanted] = frame
        rows = sum(map(len, self._decoded.values()))
        for oldest in list(self._decoded)[:-1]:
            if rows <= KEPT_ROWS:
                break
            rows -= len(self._decoded.pop(oldest))

    def content(self, table: str, key: str) -> bytes:
        """Return the bytes of an artifact, once they were compared with their checksum: for a worker to decode."""
        path = self.path(table, key)
        content = self._verified_by(path, _content)
        if content is None:
            raise _gone(path)
        return content

    def reader(self, table: str, key: str) -> PartReader:
        """Open an artifact that is read a part at a time, once all of it was compared with its checksum."""
        path = self.path(table, key)
        file = self._verified_by(path, _opened)
        if file is None:
            raise _gone(path)
        with _read_errors(path):
            return PartReader(file)

    def digest(self, table: str, key: str) -> str:
        """Return the SHA-256 of a finished artifact: what depends on its content depends on this."""
        return self._record(table, key).sha256

    def save(self, table: str, key: str, frame: pd.DataFrame) -> None:
        """Write an artifact, complete or not at all."""
        with self._draft(self.path(table, key)) as draft, write_errors(self.folder):
            _write(frame, draft)

    def save_encoded(self, table: str, key: str, content: bytes) -> None:
        """Write an artifact of which a worker has made the bytes (`encoded`)."""
        with self._draft(self.path(table, key)) as draft, write_errors(self.folder):
            draft.write_bytes(content)

    @contextlib.contextmanager
    def writing(self, table: str, key: str) -> Iterator[Callable[[pd.DataFrame], None]]:
        """Give a function that adds rows to an artifact, which is complete at the end, or was never there.

        It is what `save` would write of all rows at once.
        """
        with self._draft(self.path(table, key)) as draft, PartWriter(draft, GROUP_ROWS) as writer:

            def add(frame: pd.DataFrame) -> None:
                with write_errors(self.folder):
                    writer.add(frame)

            yield add
            with write_errors(self.folder):
                writer.close()

    @contextlib.contextmanager
    def _draft(self, path: Path) -> Iterator[Path]:
        """Give a file to be written, which then takes its place, and has its record."""
        with contextlib.ExitStack() as stack:
            with write_errors(self.folder):
                # A kill between the two writes must not look like damage.
                _record_path(path).unlink(missing_ok=True)
                draft = stack.enter_context(atomic_write(path))
            yield draft
            with write_errors(self.folder):
                with draft.open("rb") as file:
                    checksum = hashlib.file_digest(file, "sha256").hexdigest()
                record = Record(_name(path), checksum, software_versions())
                stack.close()
                with atomic_write(_record_path(path)) as draft:
                    draft.write_text(record.dumps(), encoding="utf-8")
        self._verified[path] = record

    def software(self) -> dict[str, str | list[str]]:
        """Return the versions that computed what this run has used, with a list where artifacts differ."""
        return joint_versions([record.software for record in self._verified.values()] or [software_versions()])

    def _record(self, table: str, key: str) -> Record:
        path = self.path(table, key)
        if not self.has(table, key):
            raise _gone(path)
        return self._verified[path]

    def _verified_by(self, path: Path, read: "Callable[[Path], tuple[T, str]]") -> T | None:
        """Return what ``read`` makes of an artifact, beside its checksum.

        None where it is not finished, or damaged and therefore moved away.
        """
        try:
            with _read_errors(path):
                description, (content, checksum) = _record_path(path).read_bytes(), read(path)
        except FileNotFoundError:
            self._verified.pop(path, None)
            return None
        record = Record.loads(description)
        if record is None or (record.name, record.sha256) != (_name(path), checksum):
            self._verified.pop(path, None)
            if not self._read_only:
                self._quarantine(path)
            return None
        self._verified[path] = record
        return content

    def _quarantine(self, path: Path) -> None:
        place = self.folder / FOLDER / DAMAGED
        with write_errors(self.folder):
            make_folder(place)
            for file in (path, _record_path(path)):
                with contextlib.suppress(FileNotFoundError):
                    file.replace(place / f"{path.parent.name}-{file.name}")
        self._report(
            f"{path.parent.name}/{path.name} does not match its checksum: moved to {FOLDER}/{DAMAGED}, and computed "
            "again; check the disk."
        )


def encoded(frame: pd.DataFrame) -> bytes:
    """Return the bytes that `Artifacts.save` writes for a table."""
    buffer = io.BytesIO()
    _write(frame, buffer)
    return buffer.getvalue()


def _write(frame: pd.DataFrame, where: "Path | BinaryIO") -> None:
    plain = frame.copy(deep=False)
    plain.attrs = {}  # a plugin's own: pandas would write them, and an artifact must depend on its columns alone
    plain.to_parquet(where, index=False, compression=COMPRESSION, row_group_size=GROUP_ROWS)


def _decoded(path: Path, content: bytes) -> pd.DataFrame:
    try:
        # Not pandas' own reader, which is made for data sets of many files: most tables here are small.
        return pq.ParquetFile(io.BytesIO(content)).read().to_pandas()
    except Exception as fault:  # Arrow's and pandas' own. The bytes are those that were written.
        raise ResourceError(
            f"{path} was written by other versions of pandas or pyarrow, and cannot be read with those installed "
            f"({type(fault).__name__}); install them again, or remove the file."
        ) from fault


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def _record_path(path: Path) -> Path:
    return path.with_suffix(".json")


def _gone(path: Path) -> ResourceError:
    return ResourceError(f"{path} is damaged or was removed while the run used it; run the experiment again.")


# --- what an artifact is read for: its checksum, its bytes, or a part at a time; the checksum comes with each ---


def _checksum(path: Path) -> tuple[bool, str]:
    with path.open("rb") as file:
        return True, hashlib.file_digest(file, "sha256").hexdigest()


def _content(path: Path) -> tuple[bytes, str]:
    content = path.read_bytes()
    return content, hashlib.sha256(content).hexdigest()


def _opened(path: Path) -> tuple[BinaryIO, str]:
    file = path.open("rb")
    try:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file, checksum


@contextlib.contextmanager
def _read_errors(path: Path) -> Iterator[None]:
    """Say that nothing was lost where a file cannot be read; one that is not there is none."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as fault:
        raise ResourceError(
            f"{path} cannot be read ({fault.strerror or type(fault).__name__}); nothing was removed. Fix the cause, "
            "then run the experiment again."
        ) from fault
