"""Memory that is used again is never that of an array which somebody still holds."""

import gc
import threading

import numpy as np
import pytest

from quipukit.attackers.buffers import Buffers
from quipukit.attackers.tokens import LogTokens


def address(array):
    return array.__array_interface__["data"][0]


def test_dropped_memory_is_used_again_for_the_same_number_of_bytes():
    buffers = Buffers()
    first = buffers.empty((8, 1000))
    place = address(first)
    other = buffers.empty((8, 1000))
    assert address(other) != place and first.shape == (8, 1000) and first.dtype == np.float64
    del first
    assert address(again := buffers.empty((16, 1000), np.float32)) == place
    assert again.dtype == np.float32 and again.flags.writeable and again.flags.c_contiguous
    assert address(buffers.empty((8, 999))) not in {place, address(other)}


@pytest.mark.parametrize(
    "view",
    [
        lambda array: array[3],
        lambda array: array[2:5][:, ::2].T,
        lambda array: array.ravel().view(np.int64),
        lambda array: np.frombuffer(memoryview(array).cast("B")),
        lambda array: list(array)[1],
        lambda array: np.asarray(array, np.float64)[...],
    ],
)
def test_memory_stays_as_long_as_any_view_of_it(view):
    buffers = Buffers()
    array = buffers.empty((8, 1000))
    array[:] = np.arange(8000).reshape(8, 1000)
    kept, place = view(array), address(array)
    wanted = kept.copy()
    del array
    gc.collect()
    for _ in range(3):
        buffers.empty((8, 1000))[:] = -1
    np.testing.assert_array_equal(kept, wanted)
    assert place not in {address(one) for one in [buffers.empty((8, 1000)) for _ in range(3)]}
    del kept
    assert place in {address(one) for one in [buffers.empty((8, 1000)) for _ in range(9)]}


def test_threads_never_share_memory():
    buffers, wrong = Buffers(), []

    def work(number):
        for _ in range(300):
            own = buffers.empty((5000,), np.int64)
            own[:] = number
            if (own != number).any():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong


def test_attackers_of_one_log_share_them_and_an_empty_array_is_none_of_memory():
    tokens = LogTokens.of(["cat food", "food"])
    assert Buffers.of(tokens) is Buffers.of(tokens) is not Buffers.of(LogTokens.of(["cat food"]))
    assert Buffers.of(tokens).empty((3, 0)).shape == (3, 0)
