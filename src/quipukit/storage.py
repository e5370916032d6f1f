"""Where quipukit keeps files, and how it writes them: complete or not at all, and open to their owner alone.

Results, caches and reports hold queries or what can be inferred from them. Every file is therefore created with mode
0600 and every folder with 0700, regardless of the umask; an existing folder keeps its mode.
"""

import atexit
import contextlib
import fcntl
import functools
import hashlib
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from quipukit.terminal import say

_TEMPORARY = ".temporary"  # marks a cache that is removed at the end


def cache_home() -> Path:
    """Return the folder for everything that quipukit keeps: QUIPUKIT_HOME, or the user's cache folder.

    Where that cannot be written, as in a container with a read-only home, it is a temporary folder, which goes with
    the process.
    """
    chosen = os.environ.get("QUIPUKIT_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "quipukit"
    place = Path(os.path.expanduser(chosen))  # which leaves "~" alone where there is no home at all
    return place if _can_be_written(place) else _temporary_home(place)


def cache_is_temporary() -> bool:
    """Return whether the cache is deleted with this process, or with the one that started it."""
    return (cache_home() / _TEMPORARY).is_file()


def _can_be_written(place: Path) -> bool:
    """Return whether a folder can be written, or created: without creating it, because it may not be needed."""
    nearest = next(folder for folder in (place, *place.absolute().parents) if os.path.exists(folder))
    return str(place)[0] != "~" and nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)


def _temporary_home(place: Path) -> Path:
    """Return a folder of our own that is removed at the end; what is ready at ``place`` can be used from it."""
    made = Path(tempfile.mkdtemp(prefix="quipukit-"))  # private: mkdtemp makes folders with mode 0700
    (made / _TEMPORARY).touch(0o600)
    _remove_at_the_end(made)
    for kind in ("vectors", "bm25"):  # which are only read once they are built
        (made / kind).mkdir()
        with contextlib.suppress(OSError):
            for built in (place / kind).iterdir():
                (made / kind / built.name).symlink_to(built.absolute())
    # The rest of this process, and the processes that it starts, share the folder and say nothing more.
    os.environ["QUIPUKIT_HOME"] = str(made)
    os.environ.setdefault("MPLCONFIGDIR", str(made / "matplotlib"))  # or Matplotlib complains in lines of its own
    say(
        f"quipukit: {place} cannot be written, so a temporary cache is used and removed at the end; set QUIPUKIT_HOME "
        "to a folder that can be."
    )
    return made


def _remove_at_the_end(made: Path) -> None:
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # and not a process that was forked from it
            shutil.rmtree(made, ignore_errors=True)

    def end(number: int, _: object) -> None:
        remove()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    atexit.register(remove)
    # Python does not end in order on SIGTERM, as schedulers and containers send it. A handler of the user's stays.
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, end)


def make_folder(path: Path) -> None:
    """Create a folder and those above it that are missing, open to their owner alone."""
    # pathlib's own way gives the mode to the last folder only.
    for folder in reversed([path, *path.parents]):
        if not folder.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Give a temporary path beside ``path``; what was written there takes its place only if nothing went wrong."""
    make_folder(path.parent)
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        draft.chmod(0o600)  # as mkstemp made it, unless the writer replaced the file
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Give a temporary folder beside ``path``; it takes the place of ``path`` only if nothing went wrong."""
    make_folder(path.parent)
    draft = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        yield draft
        for made in draft.rglob("*"):
            if not made.is_symlink():  # whose target may be anywhere
                made.chmod(made.stat().st_mode & 0o700)  # what may be run stays so
        if path.exists():
            # Renamed, then removed: a process with open files keeps them, and none sees half a folder.
            with contextlib.suppress(FileNotFoundError):
                path.rename(Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent)) / "old")
        draft.rename(path)
    finally:
        for rest in path.parent.glob(f".{path.name}-*/old"):
            shutil.rmtree(rest.parent, ignore_errors=True)
        shutil.rmtree(draft, ignore_errors=True)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one thread of one process at a time make what belongs at ``path``; the others wait and find it made."""
    locks = cache_home() / "locks"
    make_folder(locks)
    name = locks / hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:24]
    lock = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        # The lock is the file's, and goes with it: a killed process leaves none behind.
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def file_stamp(path: Path) -> list[str | int]:
    """Return what changes whenever a file is written to, without reading it."""
    state = path.stat()
    # The time of the last change of the entry cannot be set back, as that of the content can (cp -p, rsync -t).
    return [str(path.resolve()), state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino]


def known_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, which is read once in a process unless it changes."""
    return _known_sha256(path, *file_stamp(path))


@functools.lru_cache(256)
def _known_sha256(path: Path, *stamp: str | int) -> str:
    return sha256(path)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, of which no more than a little is held at a time."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
