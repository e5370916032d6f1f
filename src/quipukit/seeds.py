"""Where randomness comes from: one generator per stream, and the stream's key is its identity.

An experiment names a root seed; each variant of each query then has a stream of its own whose key is SHA-256
over (root seed, mode, spec or noise family, query id, variant). Nothing depends on the order of the work, the
batch size or the number of threads, and the first n variants are the same whatever N is. For real use there is
no seed: every variant gets 256 fresh bits of the operating system.
"""

import hashlib
import json
import secrets
from typing import Literal

import numpy as np

Noise = Literal["independent", "common"]


def stream(root: int | None, mode: Noise, owner: str, qid: str, variant: int) -> np.random.Generator:
    """Return the generator of one variant of one query.

    ``owner`` is the full spec with its value in ``independent`` mode and the noise family in ``common`` mode.
    With ``root=None`` the rest is ignored and the operating system provides the entropy.

    >>> stream(7, "independent", "CMP@10", "q1", 0).random() == stream(7, "independent", "CMP@10", "q1", 0).random()
    True
    """
    if root is None:
        return fresh()
    # JSON keeps the fields apart: ("a", "b1") and ("ab", "1") must not meet in one key.
    identity = json.dumps([root, mode, owner, qid, variant]).encode()
    return _generator(hashlib.sha256(identity).digest())


def fresh() -> np.random.Generator:
    """Return a generator seeded with 256 bits of the operating system."""
    return _generator(secrets.token_bytes(32))


def _generator(entropy: bytes) -> np.random.Generator:
    # A pool of eight words keeps all 256 bits; NumPy's default pool of four would fold them to 128.
    sequence = np.random.SeedSequence(int.from_bytes(entropy, "little"), pool_size=8)
    return np.random.Generator(np.random.PCG64DXSM(sequence))
