"""Memory that is used again is never that of an array which somebody still holds."""

import gc
import threading

import numpy as np
import pandas as pd
import pytest

from quipukit.attackers import buffers as module
from quipukit.attackers.buffers import Buffers
from quipukit.attackers.log import QueryLog
from quipukit.attackers.panel import Panel
from quipukit.attackers.tokens import LogTokens
from tests.attackers import small


@pytest.fixture(autouse=True)
def keep_small_arrays_too(monkeypatch):
    monkeypatch.setattr(module, "_LARGE", 0)


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
        lambda array: array.base.base[8:],  # the loan itself
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


def test_attackers_of_one_log_share_them_and_an_array_may_have_no_elements():
    tokens = LogTokens.of(["cat food", "food"])
    assert Buffers.of(tokens) is Buffers.of(tokens) is not Buffers.of(LogTokens.of(["cat food"]))
    assert Buffers.of(tokens).empty((3, 0)).shape == (3, 0)


def test_arrays_that_the_c_library_keeps_by_itself_are_left_to_it(monkeypatch):
    monkeypatch.setattr(module, "_LARGE", 8 * 1000)
    buffers = Buffers()
    below, above = buffers.empty((999,)), buffers.empty((1000,))
    assert below.base is None and above.base is not None


def test_what_is_kept_does_not_grow_with_the_numbers_of_sets_that_are_asked_for():
    log, kept = QueryLog.of(small.queries(300)), []
    panel = Panel(("Words", "Positional", "Lexical", "MaxSim", "Style", "Fusion"), log, vectors=small.vectors())
    asked = pd.DataFrame({"qid": [str(n) for n in range(31)], "query": list(log.texts[:31])})
    sent = small.noisy(asked["query"], small.vectors(), variants=4, scale=2.0)
    for count in (31, 1, 17, 30, 2, 9, 25, 31):
        qids = asked["qid"].iloc[:count]
        panel.guesses(sent[sent["qid"].isin(qids)], asked.iloc[:count], 3)
        unused = Buffers.of(panel._known.tokens)._unused
        kept.append((len(unused), sum(size * len(memory) for size, memory in unused.items())))
    assert {sizes for sizes, _ in kept} == {kept[0][0]} and max(size for _, size in kept) <= 1.5 * kept[0][1]
