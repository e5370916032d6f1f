"""Memory that is used again is never that of an array which somebody still holds."""

import gc
import threading
import weakref

import numpy as np
import pandas as pd
import pytest

from quipukit.attackers import buffers as module
from quipukit.attackers.buffers import Buffers
from quipukit.attackers.log import QueryLog
from quipukit.attackers.panel import Panel
from quipukit.attackers.tokens import LogTokens
from tests.attackers import small
from tests.attackers.fakes import Overlap


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


def test_released_memory_is_freed_even_if_it_was_in_use():
    buffers = Buffers()
    used, unused = (buffers.empty((1000,)) for _ in range(2))
    loan = weakref.ref(used.base.base)
    used[:] = 7
    del unused
    buffers.release()
    assert (used == 7).all() and not buffers._unused
    del used
    assert loan() is None and not buffers._unused


def test_nothing_is_kept_once_ranks_and_guesses_are_there(monkeypatch):
    taken, own = [], Buffers.empty
    monkeypatch.setattr(Buffers, "empty", lambda self, *what: taken.append(what) or own(self, *what))
    log = QueryLog.of(small.queries(300))
    panel = Panel(("Words", "Positional", "Lexical", "MaxSim", "Style", "Fusion"), log, vectors=small.vectors())
    asked = pd.DataFrame({"qid": ["1", "2"], "query": list(log.texts[:2])})
    sent = small.noisy(asked["query"], small.vectors(), variants=4, scale=2.0)
    for score in (panel.ranks, panel.guesses):
        taken.clear()
        score(sent, asked)
        assert taken and not Buffers.of(panel._known.tokens)._unused


def test_an_attacker_that_looks_at_no_words_has_nothing_to_release():
    panel = Panel([Overlap()], QueryLog.of(["cat food", "dog"]))
    asked = pd.DataFrame({"qid": ["1"], "query": ["dog"]})
    panel.ranks(small.noisy(asked["query"], small.vectors(), variants=1, scale=0.0), asked)
    assert "tokens" not in panel._known._memo
