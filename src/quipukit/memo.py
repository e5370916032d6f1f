"""Memo: a query that is asked again sends the same variants again.

N variants of a query spend N times epsilon, and so do the next N of the same query: an attacker who can tell that they
belong together adds them up. A memo is state of the user's side and part of no mechanism. With it a repeated query
reveals that it was repeated, and nothing else.
"""

import json
import os
import stat
import threading
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quipukit.errors import FileError, InputError
from quipukit.guarantees import Guarantee
from quipukit.mechanisms.base import Mechanism, check_count
from quipukit.obfuscation import mechanism as bind
from quipukit.secret import keyed_hash
from quipukit.specs import Spec
from quipukit.storage import atomic_write, locked
from quipukit.text import key

if TYPE_CHECKING:
    from quipukit.vectors.store import Vectors

_VERSION = 1
_BYTES = 32


class Memo:
    """Variants of queries by a mechanism, drawn once for each query and sent again whenever it is asked again.

    With ``file`` they are kept on disk, for their owner alone (mode 0600). The file holds no query: variants are found
    by a hash of the query under the secret of this installation (`quipukit.secret`), so that whoever gets the file
    alone can confirm no guess by it. What it does show is what the search system has seen: the variants, those of each
    query together.

    Two texts are the same query if `quipukit.key` says so. Without ``rng`` variants are drawn from OS entropy.

    >>> memo = Memo("Random", n=2)
    >>> memo.obfuscate("a cat") == memo.obfuscate("A  cat")
    True
    """

    def __init__(
        self,
        mechanism: "str | Spec | Mechanism",
        n: int = 50,
        file: "str | os.PathLike[str] | None" = None,
        *,
        vectors: "Vectors | None" = None,
    ) -> None:
        """Bind the mechanism, and read what the file holds, if there is one."""
        self.mechanism = bind(mechanism, vectors)
        self.n = check_count(n)
        self._file = None if file is None else Path(file)
        self._known: dict[str, list[str]] = {}
        self._lock = threading.Lock()
        self._read()

    def __len__(self) -> int:
        return len(self._known)

    @property
    def guarantee(self) -> Guarantee:
        """Return what is promised about a query for all that is ever sent for it, however often it is asked."""
        return self.mechanism.guarantee.composed(self.n)

    def obfuscate(self, query: str, rng: np.random.Generator | None = None) -> list[str]:
        """Return the variants of a query: those that were drawn when it was first asked.

        They are on disk before they are returned: what cannot be remembered is not sent.
        """
        if not isinstance(query, str):
            raise InputError(f"a query must be a text (found {type(query).__name__}); pass one string.")
        name = keyed_hash(_BYTES, b"memo\0" + key(query).encode("utf-8", "surrogatepass")).hexdigest()
        with self._lock, nullcontext() if self._file is None else locked(self._file):
            if name not in self._known:
                self._read()  # another process may have drawn them
            if name not in self._known:
                variants = self.mechanism.obfuscate(query, self.n, rng)
                self._write({**self._known, name: variants})
                self._known[name] = variants
            return list(self._known[name])

    # --- the file ---

    @property
    def _head(self) -> dict[str, Any]:
        """Return what must agree for variants to be of use: of another setting they would promise something else."""
        vectors = self.mechanism.vocabulary
        return {
            "version": _VERSION,
            "mechanism": repr(self.mechanism.spec),
            "vectors": "" if vectors is None else vectors.fingerprint,
            "n": self.n,
            "secret": keyed_hash(_BYTES, b"memo").hexdigest(),
        }

    def _read(self) -> None:
        if self._file is None:
            return
        try:
            with self._file.open("rb") as file:
                content, mode = file.read(), os.fstat(file.fileno()).st_mode
        except FileNotFoundError:
            return
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            warnings.warn(f"others may read the memo {self._file}; run `chmod 600 {self._file}`.", stacklevel=3)
        try:
            stored = json.loads(content)
            variants = stored.pop("variants")
            sound = all(
                isinstance(name, str) and all(isinstance(text, str) for text in v) for name, v in variants.items()
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            sound, stored = False, {}
        if not sound:
            raise FileError(
                f"{self._file} is no memo, or it is damaged; delete it, or name another file. Queries that were asked "
                "before then send new variants."
            )
        for name, value in self._head.items():
            if stored.get(name) != value:
                raise FileError(f"{self._file} {_DIFFERS[name].format(stored.get(name), value)}")
        self._known = variants

    def _write(self, known: dict[str, list[str]]) -> None:
        if self._file is not None:
            with atomic_write(self._file) as draft:
                draft.write_text(json.dumps({**self._head, "variants": known}), encoding="utf-8")


_DIFFERS = {
    "version": "was written by another version of quipukit ({}, and this one reads {}); name another file.",
    "mechanism": "holds variants of {}, and {} is asked for; name a file of its own for each setting.",
    "vectors": "holds variants made with other word vectors; name a file of its own for each.",
    "n": "holds {} variants of each query, and {} are asked for; name a file of its own for each number.",
    "secret": "was made under another secret of this installation, so that no query can be found in it: bring back "
    "the secret (see QUIPUKIT_SECRET_FILE), or name another file.",
}
