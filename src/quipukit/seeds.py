"""Where randomness comes from: one generator per stream, and the stream's key is its identity.

An experiment names a root seed; each variant of each query then has a stream of its own whose key is SHA-256
over (root seed, mode, spec or noise family, query id, query text, variant). Nothing depends on the order of the work,
the batch size or the number of threads, and the first n variants are the same for any N. The text is part of the
key because ids repeat: two collections that both have a query "1" must not share noise, or what was sent for one tells
about the other. For real use there is no seed: every variant has a cryptographic generator (ChaCha20) with a key of 256
fresh bits of OS entropy, so that what was sent tells nothing about the noise of anything else.
"""

import hashlib
import json
import secrets
from typing import Literal

import numpy as np

Noise = Literal["independent", "common"]


def stream(root: int | None, mode: Noise, owner: str, qid: str, text: str, variant: int) -> np.random.Generator:
    """Return the generator of one variant of one query.

    ``owner`` is the full spec with its value in ``independent`` mode and the noise family in ``common`` mode.
    With ``root=None`` the rest is ignored and the generator is a cryptographic one, with a key from the OS.

    >>> same = [stream(7, "independent", "CMP@10", "q1", "a cat", 0).random() for _ in range(2)]
    >>> same[0] == same[1]
    True
    """
    return fresh() if root is None else keyed(root, mode, owner, qid, text, variant)


def keyed(*identity: str | int) -> np.random.Generator:
    """Return the generator of an identity: equal identities have equal generators, all others unrelated ones."""
    # JSON keeps the fields apart: ("a", "b1") and ("ab", "1") must not meet in one key.
    return _generator(hashlib.sha256(json.dumps(identity).encode()).digest())


def fresh() -> np.random.Generator:
    """Return a cryptographic generator, ChaCha20 with a key of 256 bits of OS entropy."""
    from quipukit.chacha import KEY_BYTES, ChaCha20

    return np.random.Generator(ChaCha20(secrets.token_bytes(KEY_BYTES)))


def _generator(entropy: bytes) -> np.random.Generator:
    # A pool of eight words keeps all 256 bits; NumPy's default pool of four would fold them to 128.
    sequence = np.random.SeedSequence(int.from_bytes(entropy, "little"), pool_size=8)
    return np.random.Generator(np.random.PCG64DXSM(sequence))
