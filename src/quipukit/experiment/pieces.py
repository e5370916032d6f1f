"""What an experiment has finished, piece by piece, on disk.

A piece is a table in a file whose name is the hash of everything that it depends on. It appears complete or not at
all, so that a run that was killed goes on with the pieces that are there; and a changed input has another name, so
that nothing stale is ever taken for new.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from quipukit.errors import InputError, ResourceError
from quipukit.storage import atomic_write, cache_home, make_folder, sha256

# NumPy's own fault for a file that it could not write to the end has no number.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, None)


def name_of(*parts: Any) -> str:
    """Return the name of a piece: a hash over what it depends on, as JSON."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:40]


class Pieces:
    """The pieces of one experiment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._digests: dict[Path, str] = {}

    def path(self, stage: str, name: str) -> Path:
        """Return where a piece lies."""
        return self.folder / "pieces" / stage / f"{name}.parquet"

    def has(self, stage: str, name: str) -> bool:
        """Tell whether a piece is finished; one that cannot be read is removed, and is not."""
        path = self.path(stage, name)
        if not path.is_file():
            return False
        if path not in self._digests:
            try:
                pd.read_parquet(path)
            except (OSError, ValueError):
                path.unlink()  # a disk fault, or a machine that lost its power: nothing of ours writes half a file
                return False
            self._digests[path] = sha256(path)
        return True

    def load(self, stage: str, name: str) -> pd.DataFrame:
        """Read a piece."""
        return pd.read_parquet(self.path(stage, name))

    def digest(self, stage: str, name: str) -> str:
        """Return the hash of a finished piece: what depends on its content depends on this."""
        path = self.path(stage, name)
        if path not in self._digests:
            self._digests[path] = sha256(path)
        return self._digests[path]

    def save(self, stage: str, name: str, frame: pd.DataFrame) -> None:
        """Write a piece, complete or not at all."""
        plain = frame.copy(deep=False)
        plain.attrs = {}  # they tell of the batch that the rows came in, and a piece must not depend on that
        with writing(self.folder), atomic_write(self.path(stage, name)) as draft:
            plain.to_parquet(draft, index=False, compression="zstd")


def sweep(folder: Path) -> None:
    """Remove the drafts that killed runs left in the folder of an experiment; only for the run that holds it."""
    for pattern in (".*-????????.json", ".*-????????.parquet", "pieces/*/.*-????????.parquet"):
        for draft in folder.glob(pattern):
            draft.unlink(missing_ok=True)


@contextlib.contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Say what to do where something cannot be written."""
    try:
        yield
    except OSError as fault:
        reason = fault.strerror or str(fault) or type(fault).__name__
        raise ResourceError(
            f"{folder} cannot be written ({reason}); make room, then go on with "
            f"`quipukit evaluate --resume {folder}`. What was finished is kept."
        ) from fault


@contextlib.contextmanager
def room_elsewhere(folder: Path) -> Iterator[None]:
    """Say what to do where the cache of quipukit has no room for vectors or an index."""
    try:
        yield
    except OSError as fault:
        if fault.errno not in _FULL:
            raise
        raise ResourceError(
            f"{cache_home()} cannot be written ({fault.strerror or fault}); make room there, or set QUIPUKIT_HOME to "
            f"another folder, then run the same command. What {folder} holds is kept."
        ) from fault


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold the folder for one run; a second one is told so. A killed run leaves no lock behind."""
    with writing(folder):
        make_folder(folder)
        handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"another run is at work in {folder}; wait for it, stop it, or name another folder."
            ) from None
        yield
    finally:
        os.close(handle)
