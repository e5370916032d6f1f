"""The folder of a run: one run at a time, and errors that say what to do when something cannot be written."""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from quipukit.errors import InputError, ResourceError
from quipukit.storage import cache_home, make_folder

# NumPy raises OSError without a number where it could not write a file to the end.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, None)

_PARTIALS = (
    ".*-????????.json",
    ".*-????????.parquet",
    "artifacts/*/.*-????????.parquet",
    "artifacts/*/.*-????????.json",
)


@contextlib.contextmanager
def run_lock(folder: Path) -> Iterator[None]:
    """Hold the folder for one run; a second one is refused. A killed run leaves no lock behind."""
    with write_errors(folder):
        make_folder(folder)
        handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"another run is using {folder}; wait for it, stop it, or name another folder.") from None
        yield
    finally:
        os.close(handle)


def remove_partials(folder: Path) -> None:
    """Remove half-written files that killed runs left behind; only for the run that holds the folder."""
    for pattern in _PARTIALS:
        for partial in folder.glob(pattern):
            partial.unlink(missing_ok=True)


@contextlib.contextmanager
def write_errors(folder: Path) -> Iterator[None]:
    """Say what to do where the folder cannot be written."""
    try:
        yield
    except OSError as fault:
        reason = fault.strerror or str(fault) or type(fault).__name__
        if fault.errno not in (*_FULL, errno.EIO):  # no room would help
            raise ResourceError(
                f"{fault.filename or folder} cannot be written ({reason}); check that you may write there, or name "
                "another folder."
            ) from fault
        raise ResourceError(
            f"{folder} cannot be written ({reason}); make room, then run the experiment again in the same folder. "
            "What was finished is kept."
        ) from fault


@contextlib.contextmanager
def cache_write_errors(folder: Path) -> Iterator[None]:
    """Say what to do where quipukit's cache has no room for vectors or an index."""
    try:
        yield
    except OSError as fault:
        if fault.errno not in _FULL:
            raise
        raise ResourceError(
            f"{cache_home()} cannot be written ({fault.strerror or fault}); make room there, or set QUIPUKIT_HOME to "
            f"another folder, then run the experiment again. What {folder} holds is kept."
        ) from fault
