"""Work is divided so that nothing is forgotten, and results arrive with the number of their item."""

from collections.abc import Iterator

import pytest

from quipukit.executors import Local
from quipukit.executors.base import current_worker, slices


@pytest.mark.parametrize("count", [0, 1, 4, 10, 2500])
@pytest.mark.parametrize("parts", [1, 3, 40])
@pytest.mark.parametrize(("least", "most"), [(1, None), (4, None), (4, 1024), (1, 7)])
def test_slices_cover_everything_once(count: int, parts: int, least: int, most: int | None) -> None:
    divided = slices(count, parts, least, most)
    assert [number for part in divided for number in range(part.start, part.stop)] == list(range(count))
    sizes = [part.stop - part.start for part in divided]
    assert max(sizes, default=0) - min(sizes, default=0) <= 1
    assert max(sizes, default=0) <= (most or count)
    assert len(divided) <= max(parts, -(-count // (most or max(1, count))))


def test_a_local_executor_takes_items_one_at_a_time() -> None:
    taken = []

    def items() -> Iterator[int]:
        for number in range(3):
            taken.append(number)
            yield number

    with Local() as executor:
        results = executor.map(lambda number: number + 1, items())
        assert next(results) == (0, 1)
        assert taken == [0]
        assert list(results) == [(1, 2), (2, 3)]
        assert (executor.slots, executor.parts(), executor.in_process) == (1, 1, True)


def test_a_local_executor_runs_in_this_process() -> None:
    assert current_worker() == "this process"
