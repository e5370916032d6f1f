"""The secret of this installation: what keys in caches are made with, so that a stolen cache confirms no guess.

Names of cached things are hashes of texts. With a plain hash, whoever has the cache can hash a guess and look whether
it is there; with a keyed one, only who has the key can. It lies outside of the cache, so that a copy of the cache does
not bring it along: in ``QUIPUKIT_SECRET_FILE``, or in ``quipukit/secret.key`` below the user's folder for settings.
"""

import contextlib
import functools
import hashlib
import os
import secrets
import stat
import tempfile
import threading
import warnings
from pathlib import Path

from quipukit.errors import InputError
from quipukit.storage import cache_home, cache_is_temporary, make_folder

FILE_VARIABLE = "QUIPUKIT_SECRET_FILE"
_BYTES = 32
_one_at_a_time = threading.Lock()  # two threads must not make two secrets where none can be kept


def keyed_hash(size: int, content: bytes = b"", key: bytes | None = None) -> "hashlib.blake2b":
    """Return a hash of some bytes, ``size`` bytes long; it can be updated.

    The key is the secret of this installation, unless another one is given.
    """
    return hashlib.blake2b(content, digest_size=size, key=installation_secret() if key is None else key)


def derived_secret(purpose: bytes) -> bytes:
    """Return a key for one purpose: whoever has it learns neither the installation's nor that of another purpose."""
    return keyed_hash(_BYTES, purpose).digest()


def installation_secret() -> bytes:
    """Return the key of this installation, made at the first use; only for this process where it cannot be kept."""
    place = _place()
    with _one_at_a_time:
        return _secret_of(place)


def _place() -> Path | None:
    chosen = os.environ.get(FILE_VARIABLE)
    try:
        settings = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
        path = Path(chosen).expanduser() if chosen else Path(settings) / "quipukit" / "secret.key"
        path, cache = path.resolve(), cache_home().resolve()
    except (OSError, RuntimeError):  # there is no home at all
        return None
    if path.is_relative_to(cache):
        raise InputError(
            f"the secret {path} would lie inside the cache {cache}, and be stolen with it; set {FILE_VARIABLE} to a "
            "file elsewhere."
        )
    return path


@functools.cache
def _secret_of(path: Path | None) -> bytes:
    if path is not None:
        with contextlib.suppress(OSError):
            content = _read(path) or _make(path)
            return hashlib.blake2b(content, digest_size=_BYTES).digest()
    if not cache_is_temporary():  # which has been said, and leaves nothing to later runs anyway
        warnings.warn(
            f"the secret of this installation cannot be kept in {path or 'a home folder'}, so what is cached now is of "
            f"no use to later runs; set {FILE_VARIABLE} to a file that can be written.",
            stacklevel=4,
        )
    return secrets.token_bytes(_BYTES)


def _read(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            content, mode = file.read(), os.fstat(file.fileno()).st_mode
    except FileNotFoundError:
        return None
    if len(content) < _BYTES // 2:
        raise InputError(
            f"{path} holds no secret (only {len(content)} bytes); delete it, and a new one is made. What is cached is "
            "then made again."
        )
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        warnings.warn(f"others may read the secret {path}; run `chmod 600 {path}`.", stacklevel=5)
    return content


def _make(path: Path) -> bytes:
    """Write a new secret, complete or not at all; of several processes that try at once, one wins."""
    make_folder(path.parent)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(_BYTES))
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(name, path)
    finally:
        os.unlink(name)
    return path.read_bytes()
