"""The threads in which torch runs: one core each, and nothing changed for anybody else."""

import threading
import time

import pytest

from quipukit.encoders.network import Workers

pytestmark = pytest.mark.heavy


@pytest.fixture(name="torch")
def _torch():
    """Not on top: whoever collects all tests would wait for it."""
    return pytest.importorskip("torch")


def test_every_thread_runs_torch_on_one_core_and_the_setting_is_put_back(torch):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        workers = Workers(3)
        together = threading.Barrier(3)

        def look(_):
            together.wait(timeout=30)  # or one thread could answer for all
            return threading.current_thread().name, torch.get_num_threads()

        seen = [future.result() for future in [workers.submit(look, number) for number in range(3)]]
        assert len({name for name, _ in seen}) == 3 and {threads for _, threads in seen} == {1}
        assert torch.get_num_threads() == 2
        workers.stop()
    finally:
        torch.set_num_threads(before)


def test_stopping_drops_what_has_not_begun(torch):
    workers = Workers(1)
    begun, end = threading.Event(), threading.Event()

    def work():
        begun.set()
        end.wait(30)

    first, second = workers.submit(work), workers.submit(work)
    begun.wait(30)
    stopping = threading.Thread(target=workers.stop)
    stopping.start()
    while not second.cancelled():
        assert stopping.is_alive()
        time.sleep(0.001)
    end.set()
    stopping.join(30)
    assert first.done() and not first.cancelled() and second.cancelled()
