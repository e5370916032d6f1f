"""Workers give the result of one process, to the byte; what cannot be meant is refused at once."""

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

import quipukit as qk
from quipukit.errors import InputError, ResourceError
from quipukit.executors import Dask
from quipukit.executors.base import current_worker
from quipukit.executors.dask import worker
from tests.executors import small_job
from tests.executors.dask.conftest import Cluster, distributed
from tests.executors.moody import set_mood
from tests.executors.small_job import LOG

pytestmark = pytest.mark.serial


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_processes_of_this_machine_give_the_result_of_one_process(
    folder: Path, expected: str, capfd: pytest.CaptureFixture[str], workers: int
) -> None:
    before = _children()
    with Dask(workers=workers) as executor:
        assert executor.slots == workers
        assert small_job.run(folder, executor) == expected
        # They listen on this machine alone, and have a folder of their own.
        processes = dict(executor.map(_process, [0.3] * 2 * workers)).values()
        assert {address.partition("127.0.0.1:")[0] for address, _ in processes} == {"tcp://"}
        folders = [Path(place) for _, place in processes]
        assert all("quipukit-dask-" in str(place) and place.is_dir() for place in folders)
        assert len(_children()) >= len(before) + workers
    assert not any(place.exists() for place in folders)
    assert capfd.readouterr() == ("", "")
    assert _children() == before


def _process(seconds: float) -> tuple[str, str]:
    time.sleep(seconds)
    return current_worker(), str(distributed.get_worker().local_directory)


def test_a_cluster_at_an_address_gives_the_result_of_one_process(folder: Path, expected: str, cluster: Cluster) -> None:
    with Dask(cluster.address) as executor:
        assert small_job.run(folder, executor) == expected
    # Nothing of it stays with the workers.
    assert set(cluster.client.run(_kept).values()) == {0}


def test_an_executor_that_is_not_open_is_opened_for_a_call(cluster: Cluster) -> None:
    executor = Dask(cluster.address)
    assert sorted(executor.map(abs, [-1, 2])) == [(0, 1), (1, 2)]
    with executor, executor:  # opened twice, and closed by the outer one
        assert list(executor.map(abs, [-3])) == [(0, 3)]
        with executor:
            pass
        assert list(executor.map(abs, [-4])) == [(0, 4)]


def test_the_digest_sees_workers_with_rounded_vectors(folder: Path, expected: str, cluster: Cluster) -> None:
    cluster.client.run(set_mood, "rounded")
    assert small_job.run(folder, Dask(cluster.address)) != expected


def test_own_vectors_travel(folder: Path, cluster: Cluster) -> None:
    words = sorted({word for text in LOG for word in text.split()})
    own: dict[str, Any] = {
        "vectors": qk.Vectors(words, np.random.default_rng(3).normal(size=(len(words), 5)), compose=_compose),
        "specs": ["CMP(oov='subword')@5", "Random"],
        "noise": "common",
    }
    assert small_job.run(folder, Dask(cluster.address), **own) == small_job.run(folder, **own)


def _compose(word: str) -> "np.ndarray[Any, np.dtype[np.float64]]":
    return np.full(5, len(word) / 9)


def _kept() -> int:
    return len(worker._received) + len(worker._loaded)


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["common", "independent"])
def test_mechanisms_of_every_kind_give_the_same_on_workers(folder: Path, cluster: Cluster, noise: Any) -> None:
    names = ["CMP@2", "CMP@9", "VickreyCMP@9", "Mahalanobis@5", "VickreyMhl@5", "TEM@2", "SanText@3", "CusText@5"]
    own: dict[str, Any] = {"specs": [*names, "CusText@10", "WBB@2", "AEA@3", "FEA@12", "Random"], "noise": noise}
    assert small_job.run(folder, Dask(cluster.address), **own) == small_job.run(folder, **own)


@pytest.mark.parametrize("given", [{}, {"workers": 0}, {"address": "tcp://host:1", "workers": 2}])
def test_workers_that_cannot_be_meant(given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Dask(**given)


def test_without_the_package_the_fix_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ResourceError, match=r'pip install "quipukit\[dask\]"'):
        Dask(workers=2)


def _children() -> list[int]:
    # Python's own tracker of shared memory stays for the next one.
    children = psutil.Process().children(recursive=True)
    return sorted(child.pid for child in children if "resource_tracker" not in " ".join(child.cmdline()))
