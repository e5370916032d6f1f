"""The check for authors of encoders."""

from typing import get_args

import numpy as np

from quipukit.encoders.base import Encoder, Kind, Similarity
from quipukit.testing.base import require

_TEXTS = [
    "how does a tumor grow",
    "",
    " \t ",
    "the company's (best) 'land'?",
    "заявление развод 離婚",
    "a longer text, which fills another batch, and another, and one more: " * 8,
    "cats",
]


def check_encoder(encoder: Encoder) -> None:
    """Raise AssertionError, with the reason, where an encoder breaks what every encoder must keep.

    It has a name, a dimension, a fingerprint and a similarity; it gives every text a finite vector of its own, the same
    no matter which other texts come with it, and in which order; any text is accepted.
    """
    name = getattr(encoder, "name", "")
    require(isinstance(name, str) and bool(name), f"{type(encoder).__name__}: it must set a name")
    for attribute in ("dimension", "fingerprint"):
        require(bool(getattr(encoder, attribute, None)), f"{name}: it must set {attribute!r}")
    require(isinstance(encoder.fingerprint, str), f"{name}: the fingerprint must be a string")
    require(encoder.similarity in get_args(Similarity), f"{name}: similarity must be one of {get_args(Similarity)}")
    for kind in get_args(Kind):
        _check_kind(encoder, kind)


def _check_kind(encoder: Encoder, kind: Kind) -> None:
    name, count = encoder.name, len(_TEXTS)
    places = np.concatenate([np.asarray(positions) for positions, _ in encoder.checked_pieces(_TEXTS, kind)])
    require(sorted(places.tolist()) == list(range(count)), f"{name}: pieces must give every position once")
    rows = encoder.encode(_TEXTS, kind)
    require(rows.shape == (count, encoder.dimension), f"{name}: {rows.shape} for {count} texts of {encoder.dimension}")
    require(not _equal(rows[0], rows[-1]), f"{name}: different texts have the same vector")
    backwards = encoder.encode(_TEXTS[::-1], kind)[::-1]
    require(_equal(rows, backwards), f"{name}: a vector depends on the order of the texts")
    for text, row in zip(_TEXTS, rows, strict=True):
        require(_equal(encoder.encode([text], kind)[0], row), f"{name}: a vector depends on the texts beside it")


def _equal(one: "np.ndarray[tuple[int, ...], np.dtype[np.float32]]", other: object) -> bool:
    # As near as single precision comes: sums over another batch are added up in another order.
    return bool(np.allclose(one, np.asarray(other), rtol=1e-4, atol=1e-6))
