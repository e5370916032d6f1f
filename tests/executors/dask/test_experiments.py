"""A whole experiment gives the same result and the same files on workers, and goes on where they were lost."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import quipukit as qk
from quipukit.attackers.registry import PANEL
from quipukit.errors import ResourceError
from quipukit.executors import Dask
from quipukit.executors.dask import pool
from quipukit.experiment.stages import text_similarity
from quipukit.plugins import temporarily_installed
from quipukit.progress import Progress, ProgressListener
from quipukit.results import Result
from tests.executors import small_job
from tests.executors.dask.conftest import Cluster
from tests.executors.moody import Words, set_mood

pytestmark = pytest.mark.serial


def run(folder: Path, out: Path | None = None, **changes: Any) -> Result:
    """Run an experiment that takes a second; nothing of it is found encoded."""
    small_job.forget_encodings()
    usual = {"specs": ["CMP@5"], "n": 3, "log": small_job.LOG, "vectors": folder / "vectors.txt"}
    own = {"encoder": Words(), "systems": (("bm25", "bm25"),), "depth": 4, "examples": 2, "attackers": ["QuIA"]}
    return qk.evaluate(folder, out=out, **{**usual, **own, **changes})


@pytest.fixture(scope="module", autouse=True)
def no_model() -> Iterator[None]:
    """Let no stage need a model."""
    with pytest.MonkeyPatch.context() as patch, temporarily_installed("quipukit.encoders", moody=Words):
        patch.setattr(text_similarity, "SIMILARITY", "moody")
        yield


@pytest.fixture(scope="module")
def alone_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the experiment ran in one process."""
    return tmp_path_factory.mktemp("alone") / "out"


@pytest.fixture(scope="module")
def alone(folder: Path, alone_out: Path) -> tuple[str, dict[str, bytes]]:
    """The digest of the experiment in one process, and the bytes of its files."""
    return run(folder, alone_out).digest, files(alone_out)


def files(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*.parquet")}


class At(ProgressListener):
    """Calls something once, when a stage first reports progress."""

    def __init__(self, stage: str, call: Callable[[], Any]) -> None:
        self._stages = small_job.Once(stage, call)

    @property
    def called(self) -> list[float]:
        """Return where the stage was."""
        return self._stages.called

    def stage(self, name: str, unit: str) -> Progress:
        return self._stages(name)


def test_workers_give_the_result_and_the_files_of_one_process(
    folder: Path, alone: tuple[str, dict[str, bytes]], cluster: Cluster, tmp_path: Path
) -> None:
    digest = run(folder, tmp_path / "out", executor=Dask(cluster.address)).digest
    assert (digest, files(tmp_path / "out")) == alone
    # What is finished needs no worker.
    assert run(folder, tmp_path / "out").digest == alone[0]


def test_workers_that_share_a_folder_give_the_same_and_leave_nothing_private(
    folder: Path, alone: tuple[str, dict[str, bytes]], cluster: Cluster, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    digest = run(folder, tmp_path / "out", executor=Dask(cluster.address, shared=shared)).digest
    assert (digest, files(tmp_path / "out")) == alone
    assert list((shared / "encodings").rglob("*.rows"))  # of the log
    assert not list((shared / "private").iterdir())  # of what was sent


@pytest.mark.parametrize("stage", ["searching (bm25)", "measuring utility"])
def test_a_worker_that_is_killed_in_mid_stage_changes_nothing(
    folder: Path, alone: tuple[str, dict[str, bytes]], cluster: Cluster, tmp_path: Path, stage: str
) -> None:
    before = cluster.pids()
    listener = At(stage, lambda: os.kill(next(iter(before.values())), signal.SIGKILL))
    digest = run(folder, tmp_path / "out", progress=listener, executor=Dask(cluster.address)).digest
    assert listener.called and (digest, files(tmp_path / "out")) == alone
    cluster.client.wait_for_workers(2, timeout=30)
    assert set(cluster.pids().values()) != set(before.values())


@pytest.mark.slow
def test_seeds_and_mechanisms_of_all_kinds(folder: Path, cluster: Cluster) -> None:
    own: dict[str, Any] = {"specs": ["CMP@5", "WBB@2", "AEA@3"], "seeds": 2, "noise": "independent", "attackers": PANEL}
    assert run(folder, executor=Dask(cluster.address), **own).digest == run(folder, **own).digest


@pytest.mark.slow
def test_a_run_that_lost_its_workers_goes_on_without_them(
    folder: Path, alone: tuple[str, dict[str, bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "PATIENCE", 1.5)
    own = Cluster(workers=1)
    try:
        own.client.run(set_mood, "slow")
        listener = At("encoding the log", lambda: own.cluster.scale(0))
        with pytest.raises(ResourceError, match="no worker is left"):
            run(folder, tmp_path / "out", progress=listener, executor=Dask(own.address))
    finally:
        own.close()
    assert run(folder, tmp_path / "out").digest == alone[0]


def test_the_former_name_of_the_argument_warns(
    folder: Path, alone: tuple[str, dict[str, bytes]], alone_out: Path
) -> None:
    with pytest.warns(DeprecationWarning, match="executor"):
        assert run(folder, alone_out, help_from=qk.Local()).digest == alone[0]
