"""Encoders by name: the built-in one, static word vectors, plugins, and any model of Hugging Face or on disk.

A plugin adds its own through the entry-point group ``quipukit.encoders``: the entry's name is the encoder's name,
its value the class, or anything else that gives an encoder when called without arguments.
"""

import functools
import inspect
import os
from collections.abc import Mapping
from typing import Any

from quipukit.encoders.base import Encoder
from quipukit.encoders.half import SUFFIX, HalfPrecision
from quipukit.encoders.sentence import MINILM, SentenceEncoder
from quipukit.errors import InputError, ResourceError
from quipukit.executors.shared import loaded_by
from quipukit.plugins import Loader, fold, plugins

GROUP = "quipukit.encoders"
STATIC = "static"

# The published model and the one in the package are the same file, so its name finds it without a download.
_MINILM_NAMES = (MINILM, "default", "all-minilm-l6-v2", "sentence-transformers/all-minilm-l6-v2")


def load_encoder(encoder: str | Encoder = MINILM, **options: Any) -> Encoder:
    """Return an encoder: ``minilm``, a plugin's, or a model by its name on Hugging Face or its folder.

    ``static:VECTORS`` is a weighted sum of word vectors: ``static:default`` (or ``static``), or any others that
    `load_vectors` takes. ``options`` change how vectors are made; see ``SentenceEncoder`` and ``StaticEncoder``.
    ``NAME@float16`` rounds its vectors, so that they take half the space on disk. An encoder is returned as it is.

    >>> load_encoder("minilm")
    SentenceEncoder('minilm', 384, cosine)
    """
    if isinstance(encoder, Encoder):
        return encoder
    name = encoder.strip()
    if name.casefold().endswith(SUFFIX):
        return HalfPrecision(load_encoder(name[: -len(SUFFIX)], **options))
    if not name:
        raise InputError(f"the name of the encoder is empty; {MINILM!r} is built in.")
    if name.casefold() in _MINILM_NAMES:
        return SentenceEncoder.minilm(**options)
    if name in _plugins():
        return _from_plugin(name, options)
    vectors = static_vectors(name)
    if vectors is not None:
        return _static(vectors, options)
    if ("@" in name or ":" in name) and not os.path.exists(name):
        # Not quoted: it may be an address with a password.
        raise InputError(
            "the name of an encoder holds no '@' and no ':'; name a model of Hugging Face, or an existing folder."
        )
    return SentenceEncoder(name, **options)


def encoder_names() -> list[str]:
    """Return the encoders that have a name of their own: the built-in ones, then those of plugins."""
    return [MINILM, STATIC, *sorted(_plugins())]


def static_vectors(name: str) -> str | None:
    """Return the word vectors that the name of a static encoder names; nothing for other encoders.

    >>> static_vectors("static"), static_vectors("Static:glove.txt"), static_vectors("minilm")
    ('default', 'glove.txt', None)
    """
    kind, _, vectors = name.strip().partition(":")
    return vectors or "default" if kind.casefold() == STATIC else None


def _static(vectors: str, options: dict[str, Any]) -> Encoder:
    from quipukit.encoders.static import StaticEncoder

    if ("@" in vectors or ":" in vectors) and not os.path.exists(vectors):
        # Not quoted, as below.
        raise InputError(
            "after 'static:' comes the name of word vectors or an existing file; `quipukit list` has them."
        )
    fields = set(inspect.signature(StaticEncoder).parameters) - {"vectors"}
    wrong = sorted(set(options) - fields)
    if wrong:
        raise InputError(f"a static encoder has no option {wrong[0]!r}; there are {', '.join(sorted(fields))}.")
    return StaticEncoder(vectors, **options)


def _from_plugin(name: str, options: dict[str, Any]) -> Encoder:
    try:
        encoder = _plugins()[name]()(**options)
    except ImportError as fault:
        raise ResourceError(f"the plugin of encoder {name!r} cannot be loaded ({fault}).") from None
    if not isinstance(encoder, Encoder):
        raise ResourceError(f"the plugin {name!r} gives no encoder; it must inherit quipukit.encoders.base.Encoder.")
    return loaded_by(encoder, functools.partial(load_encoder, name, **options))


def _plugins() -> Mapping[str, Loader]:
    return plugins(GROUP, (*((fold(name), MINILM) for name in _MINILM_NAMES), (fold(STATIC), STATIC)))
