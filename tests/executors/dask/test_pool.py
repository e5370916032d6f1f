"""Who dies, who joins late, who has something else, and what logs may tell."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from quipukit.errors import InputError, ResourceError
from quipukit.executors import Dask
from quipukit.executors.dask import pool
from tests.executors import small_job
from tests.executors.dask.conftest import Cluster
from tests.executors.moody import set_mood

pytestmark = pytest.mark.serial


def test_a_killed_worker_changes_nothing(folder: Path, expected: str, cluster: Cluster) -> None:
    cluster.client.run(set_mood, "slow")
    before = cluster.pids()

    def kill_a_busy_one() -> None:
        busy = [address for address, tasks in cluster.client.processing().items() if tasks]
        os.kill(before[busy[0]], signal.SIGKILL)

    stages = small_job.Once("encoding the log", kill_a_busy_one)
    assert small_job.run(folder, Dask(cluster.address), stages) == expected
    assert stages.called and stages.called[0] < 1  # in mid-stage
    cluster.client.wait_for_workers(2, timeout=30)
    assert len(set(cluster.pids().values()) & set(before.values())) == 1


def test_without_workers_it_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "PATIENCE", 0.5)
    own = Cluster(workers=1)
    try:
        start = time.monotonic()
        with Dask(own.address) as executor:
            results = executor.map(time.sleep, [0.05] * 400)
            next(results)
            own.cluster.scale(0)
            with pytest.raises(ResourceError, match=r"no worker is left on tcp://.* What was finished is kept"):
                list(results)
        assert time.monotonic() - start < 20
        # Nor does a run begin there.
        with pytest.raises(ResourceError, match="no worker is left"), Dask(own.address):
            pass
    finally:
        own.close()


@pytest.mark.slow
def test_workers_that_join_late_take_part_with_what_is_shared(folder: Path, expected: str) -> None:
    own = Cluster(workers=1)
    try:
        own.client.run(set_mood, "slow")

        def join() -> None:
            own.cluster.scale(3)
            own.client.wait_for_workers(3, timeout=30)

        assert small_job.run(folder, Dask(own.address), small_job.Once("encoding the log", join)) == expected
        assert min(own.client.run(_done).values()) > 0
    finally:
        own.close()


def _done(dask_worker: object) -> int:
    return len(dask_worker.state.log)  # type: ignore[attr-defined]


def test_few_tasks_lie_in_the_scheduler(cluster: Cluster) -> None:
    taken = []

    def items() -> Iterator[int]:
        for number in range(50):
            taken.append(number)
            yield number

    with Dask(cluster.address) as executor:
        results = executor.map(abs, items())
        next(results)
        assert len(taken) <= 8  # three for each of two threads, and what was taken to replace the first
        results.close()  # type: ignore[attr-defined]
    assert len(taken) < 50


@pytest.fixture
def other_worker(cluster: Cluster) -> Iterator[str]:
    """One worker, which is back to itself afterwards."""
    one = next(iter(cluster.pids()))
    yield one
    cluster.client.run(_pretend, "", workers=[one])


def _pretend(what: str) -> None:
    from quipukit.executors.dask import requirements, worker

    kept = requirements.__dict__.setdefault("_kept", {name: getattr(requirements, name) for name in _PRETENDED})
    for name, function in kept.items():
        setattr(requirements, name, function)
    if what == "code":
        requirements.package_hash = lambda: "other"
    if what == "software":
        requirements.software = lambda: (*kept["software"](), ("torch", "0.1"))
    worker._differences.cache_clear()


_PRETENDED = ("package_hash", "software")


@pytest.mark.parametrize(("what", "told"), [("code", "its code of quipukit"), ("software", "torch 0.1 there, ")])
def test_a_worker_with_something_else_is_refused(cluster: Cluster, other_worker: str, what: str, told: str) -> None:
    cluster.client.run(_pretend, what, workers=[other_worker])
    refused = rf"worker {other_worker} cannot take part: {told}.*\. Install the same there"
    with pytest.raises(InputError, match=refused), Dask(cluster.address):
        pass


def test_a_worker_that_changes_after_the_start_is_refused(cluster: Cluster, other_worker: str) -> None:
    with Dask(cluster.address) as executor:
        cluster.client.run(_pretend, "code", workers=[other_worker])
        with pytest.raises(InputError, match=f"worker {other_worker} cannot take part: its code of quipukit"):
            list(executor.map(time.sleep, [0.05] * 30))


def test_no_query_gets_into_a_log(folder: Path, cluster: Cluster) -> None:
    secret = "zorbal quintle"
    cluster.client.run(set_mood, "failing")
    with pytest.raises(RuntimeError, match="ValueError: cannot encode"):
        small_job.run(folder, Dask(cluster.address))
    assert secret not in cluster.logs()
    # The same place shows what is not redacted.
    with pytest.raises(ValueError, match="cannot encode"):
        cluster.client.submit(_leak, secret, pure=False).result()
    assert secret in cluster.logs()


def _leak(text: str) -> None:
    raise ValueError(f"cannot encode {text!r}")


def test_tasks_show_nothing_to_the_scheduler(cluster: Cluster) -> None:
    with Dask(cluster.address) as executor:
        results = executor.map(_wait_and_return, ["zorbal quintle"] * 3)
        next(results)
        tasks = str(cluster.client.run_on_scheduler(_tasks))
        list(results)
    assert "run-" in tasks
    assert "zorbal" not in tasks


def _wait_and_return(text: str) -> str:
    time.sleep(0.2)
    return text


def _tasks(dask_scheduler: object) -> str:
    states = dask_scheduler.tasks.values()  # type: ignore[attr-defined]
    return "; ".join(f"{state!r} {state.run_spec!r}" for state in states)


def test_an_item_that_cannot_travel_is_told_of(cluster: Cluster) -> None:
    with Dask(cluster.address) as executor, pytest.raises(InputError, match="cannot be sent to the workers"):
        list(executor.map(abs, [(number for number in "12")]))


def _threads() -> str | None:
    return os.environ.get("QUIPUKIT_THREADS")


def test_threads_of_a_worker_do_not_share_their_core(cluster: Cluster) -> None:
    at_home = os.environ.get("QUIPUKIT_THREADS")
    with Dask(cluster.address) as executor:
        list(executor.map(abs, [1, 2]))
    assert set(cluster.client.run(_threads).values()) == {"1"}
    assert os.environ.get("QUIPUKIT_THREADS") == at_home
