"""ChaCha20 (RFC 8439) as a bit generator for NumPy: what real use draws its noise from.

NumPy's own generators are statistical: who sees enough of their output can compute the rest. The words that a mechanism
sends are such output, if a coarse one. ChaCha20 with a key that nobody knows cannot be told from random bits by any
known attack; it is what operating systems themselves hand out.

The samplers (normal, Gamma, permutations) are NumPy's, reached through the interface that it documents for other
generators (`bitgen_t` in numpy/random/bitgen.h): four functions and a pointer to their state.
"""

import ctypes
import os
import secrets
import weakref
from typing import Any, NoReturn

import numpy as np
from numpy.random.bit_generator import ISeedSequence

from quipukit.jit import numba

KEY_BYTES = 32

_BLOCK = 16  # words of one block
_BLOCKS = 4  # computed at a time: most variants need fewer than 32 numbers
_PLACE = _BLOCK  # where the state says which word is next: it follows the block that is enciphered
_FIRST = _BLOCK + 1
_END = _FIRST + _BLOCKS * _BLOCK
_CONSTANTS = np.frombuffer(b"expand 32-byte k", "<u4")
_STATE = numba.types.CPointer(numba.types.uint32)  # type: ignore[no-untyped-call]


@numba.njit(cache=True, inline="always")
def _rotated(word, by):  # type: ignore[no-untyped-def]
    return np.uint32(word << by) | np.uint32(word >> (np.uint32(32) - by))


@numba.njit(cache=True, inline="always")
def _quarter(a, b, c, d):  # type: ignore[no-untyped-def]
    # numba adds two 32-bit words in 64 bits; the casts take the sum modulo 2^32 that is meant.
    a = np.uint32(a + b)
    d = _rotated(d ^ a, np.uint32(16))
    c = np.uint32(c + d)
    b = _rotated(b ^ c, np.uint32(12))
    a = np.uint32(a + b)
    d = _rotated(d ^ a, np.uint32(8))
    c = np.uint32(c + d)
    b = _rotated(b ^ c, np.uint32(7))
    return a, b, c, d


@numba.njit(cache=True)
def encipher(block, out):  # type: ignore[no-untyped-def]
    """Write the key stream of a block: constants, key, counter and nonce, as sixteen words (RFC 8439, section 2.3)."""
    x0, x1, x2, x3, x4, x5, x6, x7 = block[0], block[1], block[2], block[3], block[4], block[5], block[6], block[7]
    x8, x9, x10, x11 = block[8], block[9], block[10], block[11]
    x12, x13, x14, x15 = block[12], block[13], block[14], block[15]
    for _ in range(10):
        x0, x4, x8, x12 = _quarter(x0, x4, x8, x12)
        x1, x5, x9, x13 = _quarter(x1, x5, x9, x13)
        x2, x6, x10, x14 = _quarter(x2, x6, x10, x14)
        x3, x7, x11, x15 = _quarter(x3, x7, x11, x15)
        x0, x5, x10, x15 = _quarter(x0, x5, x10, x15)
        x1, x6, x11, x12 = _quarter(x1, x6, x11, x12)
        x2, x7, x8, x13 = _quarter(x2, x7, x8, x13)
        x3, x4, x9, x14 = _quarter(x3, x4, x9, x14)
    out[0], out[1], out[2], out[3] = x0 + block[0], x1 + block[1], x2 + block[2], x3 + block[3]
    out[4], out[5], out[6], out[7] = x4 + block[4], x5 + block[5], x6 + block[6], x7 + block[7]
    out[8], out[9], out[10], out[11] = x8 + block[8], x9 + block[9], x10 + block[10], x11 + block[11]
    out[12], out[13], out[14], out[15] = x12 + block[12], x13 + block[13], x14 + block[14], x15 + block[15]


@numba.njit(cache=True)
def _refill(state):  # type: ignore[no-untyped-def]
    for block in range(_BLOCKS):
        start = _FIRST + block * _BLOCK
        encipher(state[:_BLOCK], state[start : start + _BLOCK])
        # The counter has 64 bits, as in Bernstein's own version: 32 of them would repeat after 256 GB.
        state[12] += np.uint32(1)
        if state[12] == 0:
            state[13] += np.uint32(1)
    state[_PLACE] = _FIRST


@numba.njit(cache=True)
def _two_words(state):  # type: ignore[no-untyped-def]
    if state[_PLACE] + np.uint32(1) >= _END:
        _refill(state)
    place = state[_PLACE]
    state[_PLACE] += np.uint32(2)
    return np.uint64(state[place]) | (np.uint64(state[place + np.uint32(1)]) << np.uint64(32))


@numba.cfunc(numba.types.uint64(_STATE), cache=True)
def _next_uint64(pointer):  # type: ignore[no-untyped-def]
    return _two_words(numba.carray(pointer, (_END,)))  # type: ignore[attr-defined]


@numba.cfunc(numba.types.float64(_STATE), cache=True)
def _next_double(pointer):  # type: ignore[no-untyped-def]
    bits = _two_words(numba.carray(pointer, (_END,)))  # type: ignore[attr-defined]
    return np.float64(bits >> np.uint64(11)) * 2.0**-53


@numba.cfunc(numba.types.uint32(_STATE), cache=True)
def _next_uint32(pointer):  # type: ignore[no-untyped-def]
    state = numba.carray(pointer, (_END,))  # type: ignore[attr-defined]
    if state[_PLACE] >= _END:
        _refill(state)
    word = state[state[_PLACE]]
    state[_PLACE] += np.uint32(1)
    return word


class _Interface(ctypes.Structure):
    """``bitgen_t``, as NumPy documents it."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("state", "next_uint64", "next_uint32", "next_double", "next_raw")]


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


class _NoSeed(ISeedSequence):
    """What stands in the place of NumPy's seeds: a key is given, not derived."""

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NoReturn:
        raise TypeError("a ChaCha20 generator has a key, not a seed")


class ChaCha20(np.random.BitGenerator):
    """A bit generator with a key of 32 bytes; it can be neither copied nor stored, so that no noise is used twice.

    In a process that was forked it gets a new key from the OS: parent and child must not go on with the same noise.

    >>> np.random.Generator(ChaCha20(bytes(32))).bytes(4).hex()  # RFC 8439, appendix A.1, test vector 1
    '76b8e0ad'
    """

    def __init__(self, key: bytes) -> None:
        """Take the key; counter and nonce start at 0, for a key is used once."""
        if len(key) != KEY_BYTES:
            raise ValueError(f"a key has {KEY_BYTES} bytes (found {len(key)})")
        super().__init__(_NO_SEED)  # type: ignore[arg-type]
        self._words = np.zeros(_END, np.uint32)
        self._start(key)
        _living.add(self)
        interface = _Interface.from_address(_pointer(self.capsule, b"BitGenerator"))
        interface.state = self._words.ctypes.data
        interface.next_uint64 = interface.next_raw = _next_uint64.address
        interface.next_uint32, interface.next_double = _next_uint32.address, _next_double.address

    def _start(self, key: bytes) -> None:
        self._words[:] = 0
        self._words[:4] = _CONSTANTS
        self._words[4:12] = np.frombuffer(key, "<u4")
        self._words[_PLACE] = _END

    def __reduce__(self) -> NoReturn:
        raise TypeError("a ChaCha20 generator is not copied: two of one key would give the same noise twice")


_NO_SEED = _NoSeed()
_living: "weakref.WeakSet[ChaCha20]" = weakref.WeakSet()


def _new_keys() -> None:
    for one in list(_living):
        one._start(secrets.token_bytes(KEY_BYTES))


os.register_at_fork(after_in_child=_new_keys)
