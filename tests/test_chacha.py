"""ChaCha20: the vectors of RFC 8439, the interface to NumPy, and that real use draws from it."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

from quipukit.chacha import ChaCha20, encipher
from quipukit.mechanisms.base import RootSeed
from quipukit.seeds import fresh, keyed
from tests.stat_checks import assert_ks, refuted

KEY = bytes(range(32))


def block(key: bytes, counter: int, nonce: bytes) -> str:
    words = np.frombuffer(b"expand 32-byte k" + key + counter.to_bytes(4, "little") + nonce, "<u4").copy()
    out = np.empty(16, np.uint32)
    encipher(words, out)
    return out.astype("<u4").tobytes().hex()


def test_the_block_function_is_that_of_the_rfc():
    # RFC 8439, section 2.3.2, and appendix A.1, test vectors 1 to 5.
    assert block(KEY, 1, bytes.fromhex("000000090000004a00000000")) == (
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
    )
    zero = bytes(32)
    assert block(zero, 0, bytes(12)) == (
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
    )
    assert block(zero, 1, bytes(12)).startswith("9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed")
    assert block(bytes(31) + b"\x01", 1, bytes(12)).startswith("3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160")
    assert block(b"\x00\xff" + bytes(30), 2, bytes(12)).startswith("72d54dfbf12ec44b362692df94137f328fea8da73990265e")
    assert block(zero, 0, bytes(11) + b"\x02").startswith("c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b")


def test_a_generator_gives_the_key_stream_block_after_block():
    stream = b"".join(bytes.fromhex(block(KEY, counter, bytes(12))) for counter in range(9))
    assert np.random.Generator(ChaCha20(KEY)).bytes(len(stream)) == stream
    words = np.frombuffer(stream, "<u8")
    assert ChaCha20(KEY).random_raw(len(words)).tolist() == words.tolist()
    # A number of [0, 1) takes the upper 53 bits of a word.
    assert np.random.Generator(ChaCha20(KEY)).random(len(words)).tolist() == [int(w >> 11) / 2**53 for w in words]


def test_the_counter_carries_into_its_upper_half():
    one = ChaCha20(KEY)
    one._words[12] = 2**32 - 1
    drawn = np.random.Generator(one).bytes(128)
    assert drawn[:64].hex() == block(KEY, 2**32 - 1, bytes(12))
    assert drawn[64:].hex() == block(KEY, 0, b"\x01" + bytes(11))


@pytest.mark.statistical
def test_the_samplers_of_numpy_follow_their_laws():
    from scipy.stats import gamma, norm

    rng = np.random.Generator(ChaCha20(KEY))
    normals = rng.standard_normal(200_000)
    assert_ks(normals, norm.cdf)  # false alarms: 1e-6
    assert refuted(assert_ks, normals, norm(scale=1.05).cdf)
    assert_ks(rng.standard_gamma(384, 100_000), gamma(384).cdf)
    small = rng.integers(0, 6, 60_000, dtype=np.uint32)  # through the 32-bit function
    assert abs(np.bincount(small, minlength=6) - 10_000).max() < 6 * np.sqrt(60_000 * 5 / 36)


def test_real_use_draws_from_it_and_a_seed_does_not():
    assert isinstance(fresh().bit_generator, ChaCha20)
    assert isinstance(RootSeed(None).stream("CMP@10", "q", "a cat", 0).bit_generator, ChaCha20)
    assert type(keyed(7).bit_generator) is np.random.PCG64DXSM
    assert type(RootSeed(7).stream("CMP@10", "q", "a cat", 0).bit_generator) is np.random.PCG64DXSM


def test_a_key_is_used_once():
    one = np.random.Generator(ChaCha20(KEY))
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="same noise twice"):
            copied(one.bit_generator)
    for copied in (copy.deepcopy, pickle.dumps):  # a shallow copy draws from the same state: nothing repeats
        with pytest.raises(TypeError, match="same noise twice"):
            copied(one)
    with pytest.raises(TypeError, match="a key, not a seed"):
        one.bit_generator.seed_seq.generate_state(4)
    with pytest.raises(ValueError, match="32 bytes"):
        ChaCha20(b"short")
    with pytest.raises(TypeError):
        one.spawn(2)


def test_a_forked_process_gets_other_noise():
    one, other = np.random.Generator(ChaCha20(KEY)), fresh()
    one.bytes(100)
    code = (
        "import os, sys, numpy as np\n"
        "from quipukit.chacha import ChaCha20\n"
        "rng = np.random.Generator(ChaCha20(bytes(range(32))))\n"
        "rng.bytes(100)\n"
        "read, write = os.pipe()\n"
        "if not os.fork():\n"
        "    os.write(write, rng.bytes(64)); os._exit(0)\n"
        "os.wait()\n"
        "print(rng.bytes(64).hex(), os.read(read, 64).hex())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    parent, child = done.stdout.split()
    assert parent == one.bytes(64).hex() and len(child) == len(parent) and child != parent
    assert other.bytes(64).hex() not in (parent, child)


def test_generators_outlive_the_names_of_their_parts():
    # The state is memory that NumPy knows by its address alone: it must live as long as the generator does.
    several = [np.random.Generator(ChaCha20(bytes([n]) * 32)) for n in range(100)]
    np.ones(100_000)  # something else takes what was freed
    for n, one in enumerate(several):
        assert one.bytes(64).hex() == block(bytes([n]) * 32, 0, bytes(12))


def test_threads_share_a_generator_without_repeating_numbers():
    from concurrent.futures import ThreadPoolExecutor

    rng = np.random.Generator(ChaCha20(KEY))
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda _: rng.integers(0, 2**64, 5_000, dtype=np.uint64), range(8)))
    assert len(set(np.concatenate(parts).tolist())) == 40_000
