"""Threads of their own."""

import asyncio
import threading
import time

import pytest

from quipukit.web.work import Workers


def test_no_more_threads_work_than_allowed_and_all_is_done_in_order() -> None:
    busy, most, lock = 0, 0, threading.Lock()

    def job(number: int) -> int:
        nonlocal busy, most
        with lock:
            busy += 1
            most = max(most, busy)
        time.sleep(0.01)
        with lock:
            busy -= 1
        return number

    async def all_of_them() -> list[int]:
        workers = Workers(3, "test")
        return await asyncio.gather(*(workers.run(lambda number=number: job(number)) for number in range(30)))  # type: ignore[misc]

    assert asyncio.run(all_of_them()) == list(range(30)) and 1 < most <= 3


def test_what_fails_is_told_and_the_thread_goes_on() -> None:
    async def fail_and_go_on() -> int:
        workers = Workers(1, "test")
        with pytest.raises(ZeroDivisionError):
            await workers.run(lambda: 1 // 0)
        return await workers.run(lambda: 7)

    assert asyncio.run(fail_and_go_on()) == 7


def test_the_loop_is_not_held_up_and_who_has_left_is_not_worked_for() -> None:
    done: list[str] = []

    async def leave() -> float:
        workers, gate = Workers(1, "test"), threading.Event()
        first = asyncio.create_task(workers.run(gate.wait))
        await asyncio.sleep(0)
        second = asyncio.create_task(workers.run(lambda: done.append("second")))
        await asyncio.sleep(0.01)
        second.cancel()
        await asyncio.sleep(0)
        begin = time.perf_counter()
        gate.set()
        await first
        await workers.run(lambda: done.append("third"))
        return time.perf_counter() - begin

    asyncio.run(leave())
    assert done == ["third"]


def test_an_answer_for_a_loop_that_has_ended_is_dropped() -> None:
    workers, gate = Workers(1, "test"), threading.Event()

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(workers.run(gate.wait), 0.01)

    asyncio.run(give_up())
    gate.set()
    assert asyncio.run(workers.run(lambda: 7)) == 7
