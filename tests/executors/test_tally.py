"""Progress adds up over threads and parts, and is told only where somebody listens."""

import pickle
from concurrent.futures import ThreadPoolExecutor

from quipukit.executors.tally import Tally


def test_threads_add_up_and_no_more_than_the_total_is_reported() -> None:
    told: list[tuple[float, float]] = []
    tally = Tally(lambda done, total: told.append((done, total)), 100)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(tally.add, [1.5] * 60))
    assert told[-1] == (90, 100)
    tally.add(30)
    assert told[-1] == (100, 100)


def test_what_was_counted_in_the_parts_is_not_counted_again() -> None:
    told: list[float] = []
    tally = Tally(lambda done, total: told.append(done), 10)
    tally.add(4)
    tally.reach(3)
    tally.reach(6)
    assert told == [4, 4, 6]


def test_a_copy_is_silent() -> None:
    told: list[float] = []
    copy = pickle.loads(pickle.dumps(Tally(lambda done, total: told.append(done), 10)))
    copy.add(1)
    copy.reach(2)
    assert told == []
