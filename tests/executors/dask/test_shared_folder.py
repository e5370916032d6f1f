"""Workers that share a folder write and read vectors there: the same results, and no vector passes the coordinator."""

import os
import pickle
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from quipukit.attackers.bestparts import best_rows_by
from quipukit.attackers.ranks import best_rows
from quipukit.attackers.sharedrows import Reading, SharedRows, reading
from quipukit.attackers.texts import Texts
from quipukit.attackers.vectorlog import VectorLog
from quipukit.encoders.distributed import distributed_store
from quipukit.errors import InputError
from quipukit.executors import Dask
from quipukit.executors.dask import pool, worker
from quipukit.executors.dask.payload import Answer
from quipukit.storage import cache_home
from tests.executors import small_job
from tests.executors.dask.conftest import Cluster
from tests.executors.moody import Words, set_mood
from tests.executors.small_job import LOG

pytestmark = pytest.mark.serial


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    return tmp_path / "shared"


def segments(folder: Path) -> set[Path]:
    return set(folder.rglob("*.rows"))


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Everything that workers answer."""
    results: list[Any] = []
    read = pool.WorkerPool._answer

    def noted(self: pool.WorkerPool, future: Any) -> tuple[Answer | None, str]:
        answer, lost = read(self, future)
        results.append(None if answer is None else answer.result)
        return answer, lost

    monkeypatch.setattr(pool.WorkerPool, "_answer", noted)
    return results


def test_the_result_is_that_of_one_process(folder: Path, expected: str, cluster: Cluster, shared: Path) -> None:
    executor = Dask(cluster.address, shared=shared)
    assert small_job.run(folder, executor) == expected
    written = segments(shared)
    assert written and not (cache_home() / "encodings" / Words.fingerprint).exists()
    # What is there is not encoded again.
    cluster.client.run(set_mood, "failing")
    store = distributed_store(Words(), executor).shared
    assert store.missing(LOG) == 0 and store.ensure(LOG).shape == (len(LOG), Words.dimension)
    assert segments(shared) == written


def test_vectors_do_not_pass_the_coordinator(cluster: Cluster, shared: Path, answered: list[Any]) -> None:
    vectors = distributed_store(Words(), Dask(cluster.address, shared=shared)).shared.ensure(LOG)
    assert len(answered) > 3 and not any(isinstance(part, np.ndarray) for one in answered for part in parts(one))
    # The twin: without the folder they do.
    answered.clear()
    assert np.array_equal(distributed_store(Words(), Dask(cluster.address)).get(LOG), vectors[:])
    assert any(isinstance(part, np.ndarray) for one in answered for part in parts(one))


def test_a_log_that_lies_in_a_file_is_handed_out_as_it_lies_there(cluster: Cluster, shared: Path) -> None:
    texts = [*LOG, "caf\u00e9"]
    executor = Dask(cluster.address, shared=shared)
    store = distributed_store(Words(), executor).shared
    store.ensure(texts[1::3])  # so that some are not handed out
    assert np.array_equal(store.ensure(Texts.of(texts))[:], Words().encode(texts))
    written = segments(shared)
    assert store.missing(texts) == 0 and np.array_equal(store.ensure(texts)[:], Words().encode(texts))
    assert segments(shared) == written  # as texts they have the same keys


def parts(thing: Any) -> list[Any]:
    return [*vars(thing).values()] if hasattr(thing, "__dict__") else list(thing) if isinstance(thing, tuple) else []


def test_rows_of_the_log_are_read_by_the_workers(cluster: Cluster, shared: Path) -> None:
    """Every part of the log travels by the names of its files, and the ranks are those of one process."""
    rng = np.random.default_rng(2)
    with Dask(cluster.address, shared=shared) as executor:
        store = distributed_store(Words(), executor)
        vectors = store.shared.ensure(LOG[:-3])
        rows = np.concatenate([vectors.rows, store.ensure(LOG[-3:]).rows])
        order = rng.permutation(len(LOG))
        encodings = store.view(rows[order])  # as attackers see it
        places = np.argsort(order)
        targets = np.array([0, 5, len(LOG) - 1, 17])
        own = store.view(rows)[targets].astype(np.float64)
        points = own / 4 + rng.standard_normal(own.shape)

        attacker: Any = SimpleNamespace(log_vectors=encodings)
        log = VectorLog(attacker, places)
        alone, there = (log.counts(points, targets, None, one) for one in (None, executor))
        assert np.array_equal(there, alone) and there[0].any()
        turns = rng.permutation(len(LOG))
        points[3] = 0  # all rows are level, and their turns decide
        unshared = Reading(log.read)
        expected = best_rows(points, log.read, turns, 5)
        for rows, scores in (
            log.best(points, turns, 5, None),
            log.best(points, turns, 5, executor),
            best_rows_by(executor, points, unshared, turns, 5),
        ):
            assert np.array_equal(rows, expected[0]) and np.array_equal(scores, expected[1])
        way = reading(encodings, places, log.read, executor).read
        assert isinstance(way, SharedRows) and way(0, 1).tobytes() not in pickle.dumps(way.referred(0, 30))
        assert reading(np.zeros((3, 2)), places, log.read, executor).read == log.read


def test_a_killed_worker_loses_nothing(folder: Path, expected: str, cluster: Cluster, shared: Path) -> None:
    cluster.client.run(set_mood, "slow")
    before = cluster.pids()
    kept: list[set[Path]] = []

    def kill_a_busy_one() -> None:
        kept.append(segments(shared))
        busy = [address for address, tasks in cluster.client.processing().items() if tasks]
        os.kill(before[busy[0]], signal.SIGKILL)

    stages = small_job.Once("encoding the log", kill_a_busy_one)
    assert small_job.run(folder, Dask(cluster.address, shared=shared), stages) == expected
    assert stages.called and stages.called[0] < 1 and kept[0] and kept[0] <= segments(shared)


def test_no_name_and_no_file_shows_a_text_or_a_key(cluster: Cluster, shared: Path) -> None:
    executor = Dask(cluster.address, shared=shared)
    store = distributed_store(Words(), executor, shared.parent / "run")
    store.shared.ensure(LOG)
    store.ensure(["a query of the user's own"])
    assert executor.shared is not None
    names = " ".join(str(path.relative_to(shared)) for path in shared.rglob("*"))
    content = b"".join(path.read_bytes() for path in shared.rglob("*") if path.is_file())
    for secret in (executor.shared.key, b"user's own", b"lantern"):
        assert secret not in content and secret.hex() not in names
    assert "own" not in names and cluster.logs().find("user's own") < 0
    # Its vector is not among the public ones.
    assert (
        store.shared.missing(["a query of the user's own"]) == 1 and store.missing(["a query of the user's own"]) == 0
    )


def test_a_worker_that_has_another_folder_is_refused(shared: Path) -> None:
    shared.mkdir()
    (shared / ".probe-x").write_text("other")
    with pytest.raises(InputError, match="has another folder under"):
        worker.check_folder((shared, ".probe-x", "token"))
    with pytest.raises(InputError, match=r"cannot use the shared folder .*mount it there"):
        worker.check_folder((shared / "nowhere", ".probe-x", "token"))
    worker.check_folder((shared, ".probe-x", "other"))
    assert [path.name for path in shared.iterdir()] == [".probe-x"]
