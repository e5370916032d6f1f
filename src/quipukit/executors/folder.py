"""A folder that the workers of an executor share, so that large results need not pass through this process."""

import contextlib
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from quipukit.errors import InputError
from quipukit.secret import derived_secret, keyed_hash
from quipukit.storage import make_folder

_IDENTITY = "folder.id"
_BYTES = 16


@dataclass(frozen=True)
class SharedFolder:
    """A folder under one path on all machines, and the key under which texts are named in it.

    The key is of this folder alone, and does not lie in it: it is derived from the secret of the installation that uses
    the folder, which no worker gets, and travels with the tasks. So a copy of the folder confirms no guess, nor does it
    show which of its entries a cache elsewhere has.
    """

    path: Path
    key: bytes = field(repr=False)

    @classmethod
    def open(cls, path: "str | os.PathLike[str]") -> "SharedFolder":
        """Take a folder, making it where it is not there."""
        place = Path(path).expanduser().absolute()
        try:
            make_folder(place)
            identity = _identity(place / _IDENTITY)
        except OSError as fault:
            raise InputError(
                f"the shared folder {place} cannot be used ({fault.strerror or type(fault).__name__}); name one that "
                "this process and all workers can write, under the same path.",
                argument="shared",
            ) from fault
        return cls(place, derived_secret(b"shared folder " + identity))

    @property
    def public(self) -> Path:
        """Return where vectors of public texts lie: they serve every run."""
        return self.path / "encodings"

    def private(self, name: bytes) -> Path:
        """Return where the vectors of one run's own texts lie, under a name that says nothing about the run."""
        return self.path / "private" / keyed_hash(16, b"run " + name, self.key).hexdigest()


def _identity(path: Path) -> bytes:
    """Return what tells this folder from others; made at first, complete, and once."""
    if not path.exists():
        draft = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
        draft.write_text(secrets.token_hex(_BYTES), encoding="ascii")
        draft.chmod(0o600)
        try:
            with contextlib.suppress(FileExistsError):  # another process was first
                os.link(draft, path)
        finally:
            draft.unlink()
    return path.read_bytes()
