"""A cluster that somebody else started, shared by the tests of this folder."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.executors import small_job
from tests.executors.moody import set_mood

distributed = pytest.importorskip("distributed")


class Cluster:
    """A cluster on this machine, and what tests do to it."""

    def __init__(self, workers: int = 2) -> None:
        self.workers = workers
        self._start()

    def _start(self) -> None:
        self.cluster = distributed.LocalCluster(
            n_workers=self.workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            memory_limit=0,
        )
        self.client = distributed.Client(self.cluster, set_as_default=False)

    def make_whole(self) -> None:
        """Wait for all workers, in their usual mood; begin anew where dask has not replaced one that was killed."""
        try:
            self.client.wait_for_workers(self.workers, timeout=20)
            self.client.run(set_mood, "")
        except (TimeoutError, distributed.exceptions.WorkerStartTimeoutError):
            self.close()
            self._start()
            self.client.wait_for_workers(self.workers, timeout=60)

    @property
    def address(self) -> str:
        return str(self.cluster.scheduler_address)

    def pids(self) -> dict[str, int]:
        return dict(self.client.run(os.getpid))

    def logs(self) -> str:
        return str(self.client.get_worker_logs()) + str(self.client.get_scheduler_logs())

    def close(self) -> None:
        self.client.close()
        self.cluster.close()


@pytest.fixture(scope="session")
def shared_cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.close()


@pytest.fixture
def cluster(shared_cluster: Cluster) -> Iterator[Cluster]:
    """The shared cluster with two workers in their usual mood."""
    shared_cluster.make_whole()
    yield shared_cluster
    shared_cluster.make_whole()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_job.write_collection(tmp_path_factory.mktemp("small") / "collection")


@pytest.fixture(autouse=True)
def finely(monkeypatch: pytest.MonkeyPatch) -> None:
    small_job.divide_finely(monkeypatch)


@pytest.fixture(scope="session")
def expected(folder: Path) -> str:
    """The digest of the small job in one process."""
    return small_job.run(folder)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            # Sockets of workers that were killed are closed by the collector, and tornado waits for nobody.
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))
