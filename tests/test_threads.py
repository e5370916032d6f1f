"""Worker threads: as many as the process may use, results in order, one level of parallelism."""

import os
import sys
import threading
import types

import numpy as np
import pytest
import threadpoolctl

from quipukit.threads import in_threads, iter_in_threads, workers


def test_the_environment_chooses_and_nonsense_is_ignored(monkeypatch):
    monkeypatch.delenv("QUIPUKIT_THREADS", raising=False)
    usual = workers()
    assert 1 <= usual <= (os.cpu_count() or 1)
    monkeypatch.setenv("QUIPUKIT_THREADS", "7")
    assert workers() == 7
    for wrong in ("", "0", "-2", "many", "1.5"):
        monkeypatch.setenv("QUIPUKIT_THREADS", wrong)
        assert workers() == usual


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system knows no affinity")
def test_cores_that_the_process_may_not_use_do_not_count(monkeypatch):
    monkeypatch.delenv("QUIPUKIT_THREADS", raising=False)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert workers() == 1
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize("count", ["1", "3"])
def test_results_come_in_the_order_of_the_items(monkeypatch, count):
    monkeypatch.setenv("QUIPUKIT_THREADS", count)
    names = set()

    def square(item):
        names.add(threading.current_thread().name)
        return item * item

    assert in_threads(square, range(100)) == [item * item for item in range(100)]
    assert (threading.current_thread().name in names) == (count == "1"), "one thread needs no pool"


def test_the_blas_keeps_to_one_thread_inside_and_not_afterwards(monkeypatch):
    monkeypatch.setenv("QUIPUKIT_THREADS", "2")

    def of_the_blas(_=None):
        return {library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"}

    np.ones(2) @ np.ones(2)  # NumPy and its BLAS are loaded
    before = of_the_blas()
    assert before, "NumPy has no BLAS that could be limited; the test has lost its object"
    assert in_threads(of_the_blas, range(4)) == [{1}] * 4
    assert of_the_blas() == before


def test_many_calls_look_for_libraries_once_and_again_after_an_import(monkeypatch):
    made = []
    controller = threadpoolctl.ThreadpoolController
    monkeypatch.setattr(threadpoolctl, "ThreadpoolController", lambda: made.append(1) or controller())
    monkeypatch.setitem(sys.modules, "a_module_of_this_test", types.ModuleType("a_module_of_this_test"))
    for _ in range(5):
        in_threads(abs, [1])
    assert len(made) == 1
    monkeypatch.setitem(sys.modules, "another_one", types.ModuleType("another_one"))
    in_threads(abs, [1])
    assert len(made) == 2


def test_a_failure_in_a_thread_is_the_callers(monkeypatch):
    monkeypatch.setenv("QUIPUKIT_THREADS", "2")
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda item: 1 / item, [1, 0, 1])


def test_results_that_are_iterated_over_come_in_order_and_few_at_a_time():
    made = []
    results = iter_in_threads(lambda item: made.append(item) or 10 * item, range(7), held=3)
    assert next(results) == 0
    assert sorted(made) == [0, 1, 2]
    assert list(results) == [10, 20, 30, 40, 50, 60]
    assert list(iter_in_threads(str, [])) == []
