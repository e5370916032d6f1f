"""Where quipukit keeps files, and how it writes them: complete or not at all, and open to their owner alone.

Results, caches and reports hold queries or what can be told from them. Every file is therefore created with mode 0600
and every folder with 0700, whatever the umask; a folder that was there before stays as it is.
"""

import contextlib
import fcntl
import hashlib
import mmap
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


def cache_home() -> Path:
    """Return the folder for everything that quipukit keeps: QUIPUKIT_HOME, or the user's cache folder."""
    chosen = os.environ.get("QUIPUKIT_HOME")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quipukit"


def make_folder(path: Path) -> None:
    """Create a folder and those above it that are missing, open to their owner alone."""
    # pathlib's own way gives the mode to the last folder only.
    for folder in reversed([path, *path.parents]):
        if not folder.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Give a temporary path beside ``path``; what was written there takes its place only if nothing went wrong."""
    make_folder(path.parent)
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        draft.chmod(0o600)  # as mkstemp made it, unless the writer made the file anew
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Give a temporary folder beside ``path``; it takes the place of ``path`` only if nothing went wrong."""
    make_folder(path.parent)
    draft = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        yield draft
        for made in draft.rglob("*"):
            made.chmod(0o700 if made.is_dir() else 0o600)
        if path.exists():
            # Renamed away, then removed: whoever has its files open keeps them, and nobody sees half a folder.
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


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        if path.stat().st_size == 0:  # an empty file cannot be mapped
            return hashlib.sha256().hexdigest()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return hashlib.sha256(content).hexdigest()
