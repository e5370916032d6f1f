"""Word vectors in memory, and their memory-mapped form on disk."""

import contextlib
import functools
import hashlib
import json
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quipukit.errors import VectorsError
from quipukit.executors.shared import Shared
from quipukit.storage import atomic_folder, atomic_write, sha256
from quipukit.text import key
from quipukit.vectors.wordfilter import WordFilter

_T = TypeVar("_T")

FORMAT = 2
_NORM_RANGE = (1e-12, 1e12)  # beyond it float32 products would overflow or vanish


class Vectors(Shared):
    """Words and their vectors: a read-only float32 matrix, one row per word, in a fixed public order.

    >>> import numpy as np
    >>> pets = Vectors(["cat", "dog"], np.eye(2))
    >>> pets.dimension, pets.row("dog"), "fish" in pets
    (2, 1, False)
    """

    kind = "vectors"

    def __init__(
        self,
        words: Iterable[str],
        matrix: ArrayLike,
        *,
        name: str = "custom",
        meta: Mapping[str, Any] | None = None,
        compose: Callable[[str], NDArray[np.float64] | None] | None = None,
        folder: Path | None = None,
    ) -> None:
        """Check and keep words and matrix.

        ``compose`` gives a vector to a word outside the vocabulary (policy ``oov="subword"``), where the embedding
        can. ``folder`` is the store's own folder, in which derived tables may be kept.
        """
        self.words: Sequence[str] = list(words)
        self.matrix: NDArray[np.float32] = _as_matrix(matrix, len(self.words))
        # Half the squared norm of every row.
        self.half_norms: NDArray[np.float64] = np.concatenate(
            [np.einsum("ij,ij->i", block, block, dtype=np.float64) / 2 for block in self.blocks()]
        )
        _check_norms(self.half_norms)
        self.name = name
        self.meta = dict(meta or {})
        self.compose = compose
        self.folder = folder
        if len(self._index) != len(self.words):
            twice = next(word for row, word in enumerate(self.words) if self._index[word] != row)
            raise VectorsError(f"the word {twice!r} occurs twice in the vectors; keep one of its rows.")
        self._memo: dict[Hashable, Any] = {}
        self._turns: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        # Without what was derived, and without the stated fingerprint: what arrives is checked and hashed again.
        return (_rebuilt, (list(self.words), np.asarray(self.matrix), self.name, self.compose))

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.row(word) >= 0

    def __repr__(self) -> str:
        return f"Vectors({self.name!r}, {len(self):,} words x {self.dimension})"

    @property
    def dimension(self) -> int:
        """Return the number of coordinates of a vector."""
        return int(self.matrix.shape[1])

    def row(self, word: str) -> int:
        """Return the row of a word, or -1 where the vocabulary does not have it.

        The word as it is written comes first, then one that differs from it in case alone: queries are case-folded
        before their words are looked up.
        """
        row = self._index.get(word)
        return self._folded.get(word, -1) if row is None else row

    def vector(self, word: str) -> NDArray[np.float64]:
        """Return the vector of a word of the vocabulary."""
        row = self.row(word)
        if row < 0:
            raise KeyError(word)
        return self.matrix[row].astype(np.float64)

    @functools.cached_property
    def _index(self) -> dict[str, int]:
        # Reversed, so that the first of two equal words wins and the constructor can name it.
        return {word: row for row, word in reversed(list(enumerate(self.words)))}

    @functools.cached_property
    def _folded(self) -> dict[str, int]:
        """Words as the tokenizers write them, where that is not how the vocabulary does; the first row wins."""
        rows: dict[str, int] = {}
        for row, word in enumerate(self.words):
            if not word.isascii() or word != word.lower():
                for form in (key(word), word.lower()):
                    rows.setdefault(form, row)
        return rows

    @functools.cached_property
    def mean(self) -> NDArray[np.float64]:
        """Return the mean row: the public place of every word outside the vocabulary."""
        total: NDArray[np.float64] = sum(
            (block.sum(axis=0, dtype=np.float64) for block in self.blocks()), np.zeros(self.dimension)
        )
        return total / len(self)

    @functools.cached_property
    def covariance(self) -> NDArray[np.float64]:
        """Return the covariance of the rows (divisor: the number of words)."""
        total = np.zeros((self.dimension, self.dimension))
        for block in self.blocks():
            centerd = block.astype(np.float64) - self.mean
            total += centerd.T @ centerd
        return total / len(self)

    @functools.cached_property
    def fingerprint(self) -> str:
        """Return a hash over words and matrix: equal for equal vectors, wherever they came from."""
        if "fingerprint" in self.meta:
            return str(self.meta["fingerprint"])
        digest = hashlib.sha256("\n".join(self.words).encode())
        for block in self.blocks():
            digest.update(np.ascontiguousarray(block).data)
        return digest.hexdigest()

    @property
    def content_id(self) -> str:
        """Return the fingerprint, and by what words outside the vocabulary are composed: both decide what is sent."""
        return f"{self.fingerprint} {getattr(self.compose, '__qualname__', self.compose)}"

    def cosines(self, point: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the cosine of a point with every row; 0 where one of them has norm 0."""
        from quipukit.vectors.nearest import products

        lengths = np.sqrt(2 * self.half_norms) * np.linalg.norm(point)
        return np.clip(
            np.divide(products(self.matrix, point), lengths, out=np.zeros(len(self)), where=lengths > 0), -1, 1
        )

    def blocks(self, size: int = 16_384) -> Iterable[NDArray[np.float32]]:
        """Iterate over the matrix in blocks of rows, so that nothing the size of the matrix is copied."""
        return (self.matrix[start : start + size] for start in range(0, len(self), size))

    def derived(self, key: Hashable, build: Callable[[], _T]) -> _T:
        """Return something computed from these vectors, computing it once."""
        with self._lock:
            turn = self._turns.setdefault(key, threading.Lock())
        with turn:  # one lock a key: threads that need different things do not wait for each other
            if key not in self._memo:
                self._memo[key] = build()
            value: _T = self._memo[key]
            return value

    def derived_on_disk(self, file: str, build: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """Return an array computed from these vectors, kept beside them where they are stored on disk."""
        folder = self.folder
        if folder is None:
            return self.derived(file, build)

        def load_or_build() -> NDArray[Any]:
            path, check = folder / f"{file}.npy", folder / f"{file}.sha256"
            with contextlib.suppress(OSError, ValueError):
                # Checked like everything that is stored: a damaged file is built again, never used.
                if sha256(path) == check.read_text(encoding="ascii"):
                    stored: NDArray[Any] = np.load(path)
                    return stored
            array = build()
            with contextlib.suppress(OSError):  # a cache that cannot be written is no reason to stop
                with atomic_write(path) as draft:
                    np.save(draft, array)
                with atomic_write(check) as draft:
                    draft.write_text(sha256(path), encoding="ascii")
            return array

        return self.derived(file, load_or_build)

    def restrict(self, words: Iterable[str]) -> "Vectors":
        """Keep only the given words (a public list, never one made from queries), in this vocabulary's order."""
        allowed = set(words)
        rows = [row for row, word in enumerate(self.words) if word in allowed]
        if not rows:
            raise VectorsError("none of the given words is in the vocabulary; check their case and spelling.")
        return self._of_rows(rows, f"{self.name} restricted")

    def without(self, words: WordFilter) -> "Vectors":
        """Leave out the words that a public filter removes; these vectors themselves where it removes none."""
        rows = [row for row, word in enumerate(self.words) if not words.removes(word)]
        removed = len(self) - len(rows)
        if not removed:
            return self
        if not rows:
            raise VectorsError(f"the vocabulary filter {words.name} leaves no word of {self.name!r}; shorten it.")
        return self._of_rows(rows, f"{self.name} without {removed:,} words ({words.name})")

    def _of_rows(self, rows: list[int], name: str) -> "Vectors":
        return Vectors([self.words[row] for row in rows], self.matrix[rows], name=name, compose=self.compose)


def _rebuilt(
    words: list[str],
    matrix: NDArray[np.float32],
    name: str,
    compose: Callable[[str], NDArray[np.float64] | None] | None,
) -> Vectors:
    return Vectors(words, matrix, name=name, compose=compose)


def _as_matrix(matrix: ArrayLike, count: int) -> NDArray[np.float32]:
    given = np.asarray(matrix)
    with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite, and is refused below
        array = np.ascontiguousarray(given, dtype=np.float32)
    if array.flags.writeable and np.shares_memory(array, given):
        array = array.copy()  # what the caller writes later must not reach norms and groups computed before
    if array.ndim != 2 or len(array) != count:
        raise VectorsError(f"{count} words need a matrix of {count} rows (found shape {array.shape}).")
    if array.size == 0:
        raise VectorsError("the vectors are empty; give at least one word and one coordinate.")
    array.flags.writeable = False
    return array


def _check_norms(half_norms: NDArray[np.float64]) -> None:
    if not np.isfinite(half_norms).all():
        row = int(np.flatnonzero(~np.isfinite(half_norms))[0])
        raise VectorsError(f"row {row} of the vectors holds NaN or infinity; remove it.")
    largest, (low, high) = float(np.sqrt(2 * half_norms.max())), _NORM_RANGE
    if largest and not low <= largest <= high:
        raise VectorsError(f"the longest vector has norm {largest:.3g}; rescale them into [{low:g}, {high:g}].")


# --- on disk ----------------------------------------------------------------------------------------------------


def stored_files(folder: Path) -> list[Path]:
    """Return the files that make up stored vectors, as far as they are there."""
    return [folder / name for name in ("meta.json", "words.json", "matrix.npy") if (folder / name).is_file()]


def save(vectors: Vectors, folder: Path) -> None:
    """Write vectors as a folder, complete or not at all (a temporary folder, then one rename)."""
    with atomic_folder(folder) as draft:
        np.save(draft / "matrix.npy", vectors.matrix)
        (draft / "words.json").write_text(json.dumps(list(vectors.words), ensure_ascii=False), encoding="utf-8")
        meta = {
            **vectors.meta,
            "format": FORMAT,
            "name": vectors.name,
            "words": len(vectors),
            "dimension": vectors.dimension,
            "fingerprint": vectors.fingerprint,
            "sha256": {file: sha256(draft / file) for file in ("matrix.npy", "words.json")},
        }
        meta["check"] = _check(meta)
        (draft / "meta.json").write_text(json.dumps(meta, indent=1), encoding="utf-8")


def _check(meta: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(meta, sort_keys=True).encode()).hexdigest()


def load(folder: Path) -> Vectors:
    """Map stored vectors into memory; every byte is checked against its checksum first."""
    try:
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        if meta["format"] != FORMAT:
            raise VectorsError(f"{folder} was written by another version; delete it and load the vectors again.")
        if meta.pop("check", None) != _check(meta):
            raise VectorsError(f"{folder / 'meta.json'} is damaged; delete {folder} and load the vectors again.")
        for file, expected in meta["sha256"].items():
            if sha256(folder / file) != expected:
                raise VectorsError(f"{folder / file} is damaged; delete {folder} and load the vectors again.")
        words = json.loads((folder / "words.json").read_text(encoding="utf-8"))
        matrix = np.load(folder / "matrix.npy", mmap_mode="r")
        return Vectors(words, matrix, name=meta["name"], meta=meta, folder=folder)
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise VectorsError(f"{folder} cannot be read ({fault}); delete it and load the vectors again.") from fault
