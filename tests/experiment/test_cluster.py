"""A cluster gives the result of one process, to the byte, whoever dies; and says so where it could not."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest

import quipukit as qk
from quipukit.errors import InputError, ResourceError
from quipukit.experiment import cluster, stages
from quipukit.experiment import worker as at_work
from quipukit.experiment.cluster import dask_help
from quipukit.obfuscation import obfuscate_with_notes
from quipukit.progress import Progress, ProgressListener
from quipukit.results import Result
from quipukit.storage import cache_home
from tests.experiment.moody import Words, set_mood
from tests.plugin_slot import ENCODERS

distributed = pytest.importorskip("distributed")

# Sockets of workers that were killed are closed by the collector, and tornado waits for nobody.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")

TOPICS = {
    "q1": "the captain's lantern in a grobnic storm",
    "q2": "frost on apple blossom",
    "q3": "bread recipe for a guest",
    "q4": "poem about the last lesson",
    "q5": "zorbal quintle",
}
LOG = [f"{word} and {other}" for word in " ".join(TOPICS.values()).split() for other in ("tree", "boat", "salt")]
SPECS = ("CMP@5", "CMP@10", "TEM@2")


def write_collection(folder: Path) -> Path:
    """Write documents, topics, judgments and vectors."""
    folder.mkdir(parents=True)
    documents = [f"d{number:02d}\t{LOG[number * 3]} beside {LOG[number * 2]}" for number in range(20)]
    words = list(dict.fromkeys(" ".join([*LOG, *TOPICS.values()]).replace("grobnic", "").split()))
    matrix = np.random.default_rng(1).normal(size=(len(words), 8)).round(3)
    vectors = [f"{word} {' '.join(map(str, row))}" for word, row in zip(words, matrix, strict=True)]
    content = {
        "docs.tsv": documents,
        "topics.tsv": [f"{qid}\t{text}" for qid, text in TOPICS.items()],
        "qrels.txt": [f"{qid} 0 d{number + place:02d} 1" for number, qid in enumerate(TOPICS) for place in (0, 7)],
        "vectors.txt": vectors,
    }
    for name, lines in content.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def run(folder: Path, out: Path | None = None, **changes: Any) -> Result:
    """Run an experiment that takes a second; nothing of it is found encoded."""
    shutil.rmtree(cache_home() / "encodings" / Words.fingerprint, ignore_errors=True)
    usual = {"specs": SPECS, "n": 3, "log": LOG, "vectors": folder / "vectors.txt", "encoder": Words()}
    return qk.evaluate(folder, out=out, systems=(("bm25", "bm25"),), depth=4, examples=2, **{**usual, **changes})


class Cluster:
    """A cluster that somebody else started, and what tests do to it."""

    def __init__(self, workers: int = 2) -> None:
        self.cluster = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", memory_limit=0
        )
        self.client = distributed.Client(self.cluster, set_as_default=False)

    @property
    def address(self) -> str:
        return str(self.cluster.scheduler_address)

    def pids(self) -> dict[str, int]:
        return dict(self.client.run(os.getpid))

    def close(self) -> None:
        self.client.close()
        self.cluster.close()


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.close()


@pytest.fixture
def there(shared: Cluster) -> Iterator[Cluster]:
    """The shared cluster with two workers in their usual mood."""
    shared.client.wait_for_workers(2, timeout=30)
    yield shared
    shared.client.wait_for_workers(2, timeout=30)
    shared.client.run(set_mood, "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_collection(tmp_path_factory.mktemp("small") / "collection")


def set_up(patch: pytest.MonkeyPatch) -> None:
    """Let no stage need a model, and make many small parts, so that both workers have several."""
    ENCODERS.install(patch, **{Words.name: Words})
    patch.setattr(stages, "SIMILARITY", Words.name)
    patch.setattr(cluster, "encoder_names", list)  # installed here, but not on the workers
    patch.setattr(cluster, "_LEAST_TEXTS", 4)
    patch.setattr(cluster, "_LEAST_QUERIES", 1)
    stages._fingerprint.cache_clear()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    set_up(monkeypatch)


@pytest.fixture(scope="module")
def alone(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, bytes]]:
    """The digest of the same experiment in one process, and the bytes of its pieces."""
    with pytest.MonkeyPatch.context() as patch:
        set_up(patch)
        out = tmp_path_factory.mktemp("alone") / "out"
        return run(folder, out).digest, pieces(out)


@pytest.fixture(scope="module")
def expected(alone: tuple[str, dict[str, bytes]]) -> str:
    return alone[0]


def pieces(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*.parquet")}


class At(ProgressListener):
    """Calls something once, when a stage first reports progress."""

    def __init__(self, stage: str, call: Callable[[], Any]) -> None:
        self._stage, self._call = stage, call
        self.called: list[Any] = []

    def stage(self, name: str, unit: str) -> Progress:
        def show(done: float, total: float) -> None:
            if name == self._stage and not self.called:
                self.called.append(done / total)
                self._call()

        return show


# --- the same result -----------------------------------------------------------------------------------------------


def test_workers_of_this_machine_give_the_result_of_one_process(
    folder: Path, expected: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = _children()
    found = run(folder, tmp_path / "out", help_from=dask_help(workers=2))
    assert found.digest == expected
    assert capfd.readouterr() == ("", "")
    assert _children() == before
    # What is finished needs nobody's help.
    assert run(folder, tmp_path / "out").digest == expected


def test_a_cluster_at_an_address_gives_the_result_of_one_process(
    folder: Path, alone: tuple[str, dict[str, bytes]], there: Cluster, tmp_path: Path
) -> None:
    digest = run(folder, tmp_path / "out", help_from=dask_help(there.address)).digest
    assert (digest, pieces(tmp_path / "out")) == alone


@pytest.mark.slow
def test_own_vectors_and_encoder_travel(folder: Path, there: Cluster) -> None:
    words = sorted({word for text in LOG for word in text.split()})
    own: dict[str, Any] = {
        "vectors": qk.Vectors(words, np.random.default_rng(3).normal(size=(len(words), 5)), compose=_compose),
        "specs": ["CMP(oov='subword')@5", "WBB@2", "AEA@3"],
        "seeds": 2,
        "noise": "independent",
    }
    expected = run(folder, **own).digest
    assert run(folder, help_from=dask_help(there.address), **own).digest == expected
    # Nothing of it stays with the workers.
    assert set(there.client.run(_handed).values()) == {0}


def _compose(word: str) -> "np.ndarray[Any, np.dtype[np.float64]]":
    return np.full(5, len(word) / 9)


def _handed() -> int:
    return len(at_work._handed)


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["common", "independent"])
def test_queries_may_be_divided_in_any_way(folder: Path, noise: Any) -> None:
    vectors = qk.load_vectors(folder / "vectors.txt")
    queries = pd.DataFrame({"qid": list(TOPICS), "query": list(TOPICS.values())})
    for names in (
        ["CMP@2", "CMP@9", "VickreyCMP@9"],
        ["Mahalanobis@5", "VickreyMhl@5"],
        ["TEM@2", "SanText@3"],
        ["CusText@5", "CusText@10"],
        ["WBB@2"],
        ["AEA@3"],
        ["FEA@12"],
        ["Random"],
    ):
        members = [qk.mechanism(name, vectors=vectors) for name in names]
        whole = obfuscate_with_notes(queries, members, 4, seed=5, noise=noise)
        parts = [
            obfuscate_with_notes(queries.iloc[part], members, 4, seed=5, noise=noise)
            for part in cluster._slices(len(queries), 1, 9)
        ]
        joined = cluster._joined(members, parts)
        pd.testing.assert_frame_equal(joined.table, whole.table)
        pd.testing.assert_frame_equal(joined.notes, whole.notes)
        assert joined.table.attrs == whole.table.attrs


@pytest.mark.slow
def test_minilm_encodes_on_a_worker_as_it_does_here(there: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_LEAST_TEXTS", 100)  # one worker: loading the model is what takes time
    texts = [f"number {number} of {'many ' * (number % 5)}texts" for number in range(70)]
    encoder = qk.load_encoder("minilm")
    with distributed.Client(there.address, set_as_default=False) as client:
        crew = cluster.Crew(client, there.address)
        assert crew.look() == 2
        remote = crew.encoder_for(encoder)
        assert (remote.dimension, remote.fingerprint, remote.variant("query")) == (384, encoder.fingerprint, "")
        found = remote.encode(texts)
    assert found.tobytes() == encoder.encode(texts).tobytes()


# --- the digest sees what is not the same --------------------------------------------------------------------------


def test_workers_with_rounded_vectors_give_another_digest(folder: Path, expected: str, there: Cluster) -> None:
    there.client.run(set_mood, "rounded")
    assert run(folder, help_from=dask_help(there.address)).digest != expected


@pytest.mark.slow
def test_workers_with_another_seed_give_another_digest(
    folder: Path, expected: str, there: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(terms: Any, specs: Any, queries: Any, n: int, seed: int, noise: Any) -> at_work.Part:
        return at_work.Part(terms, specs, queries, n, seed + 1, noise)

    monkeypatch.setattr(cluster, "Part", other)
    assert run(folder, help_from=dask_help(there.address)).digest != expected


def test_workers_that_differ_in_the_last_bits_are_told_of(folder: Path, there: Cluster) -> None:
    there.client.run(set_mood, "slow")  # both get something to do
    one = next(iter(there.pids()))
    there.client.run(set_mood, "nudged", workers=[one])
    with pytest.warns(UserWarning, match="differ in the last bits"):
        run(folder, help_from=dask_help(there.address))


# --- who dies ------------------------------------------------------------------------------------------------------


def test_a_killed_worker_changes_nothing(folder: Path, expected: str, there: Cluster) -> None:
    there.client.run(set_mood, "slow")
    before = there.pids()

    def kill_a_busy_one() -> None:
        busy = [address for address, tasks in there.client.processing().items() if tasks]
        os.kill(before[busy[0]], signal.SIGKILL)

    watch = At("encoding the log", kill_a_busy_one)
    found = run(folder, watch=watch, help_from=dask_help(there.address))
    assert watch.called and watch.called[0] < 1  # in mid-stage
    assert found.digest == expected
    there.client.wait_for_workers(2, timeout=30)
    assert len(set(there.pids().values()) & set(before.values())) == 1


def test_without_workers_it_stops_and_goes_on_later(
    folder: Path, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "PATIENCE", 1.5)
    own = Cluster(workers=1)
    try:
        own.client.run(set_mood, "slow")
        watch = At("encoding the log", lambda: own.cluster.scale(0))
        start = time.monotonic()
        with pytest.raises(ResourceError, match=r"no worker is left on tcp://.* What was finished is kept"):
            run(folder, tmp_path / "out", watch=watch, help_from=dask_help(own.address))
        assert time.monotonic() - start < 20
        # Nor does a run begin there.
        with pytest.raises(ResourceError, match="no worker is left"):
            run(folder, tmp_path / "out", help_from=dask_help(own.address))
    finally:
        own.close()
    assert run(folder, tmp_path / "out").digest == expected


def test_a_part_that_kills_its_workers_is_given_up() -> None:
    lost = cluster.Crew.__new__(cluster.Crew)
    lost.place = "tcp://host:8786"
    assert "died again and again" in str(lost._given_up("KilledWorker"))
    assert "3 times on tcp://host:8786 (CancelledError)" in str(lost._given_up("CancelledError"))


def test_ctrl_c_stops_quietly_and_leaves_nothing_behind(folder: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import signal, sys, time
            from pathlib import Path
            import pytest
            from tests.experiment import test_cluster
            from quipukit.experiment import cluster

            if __name__ == "__main__":
                # A job in the background of a shell ignores Ctrl-C, and so would this one: tests may run as such.
                signal.signal(signal.SIGINT, signal.default_int_handler)
                test_cluster.set_up(pytest.MonkeyPatch())
                watch = test_cluster.At("encoding the log", lambda: print("now", flush=True) or time.sleep(10))
                try:
                    test_cluster.run(Path(sys.argv[1]), watch=watch, help_from=cluster.dask_help(workers=1))
                except KeyboardInterrupt:
                    print("stopped")
            """
        )
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    running = subprocess.Popen(
        [sys.executable, str(script), str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    assert running.stdout is not None
    line = running.stdout.readline()
    workers = psutil.Process(running.pid).children(recursive=True)
    os.killpg(running.pid, signal.SIGINT)  # a terminal sends it to all of them
    out, err = running.communicate(timeout=30)
    assert (line, out, err, running.returncode) == ("now\n", "stopped\n", "", 0)
    assert workers
    assert psutil.wait_procs(workers, timeout=10)[1] == []


# --- who is refused ------------------------------------------------------------------------------------------------


def _pretend(what: str) -> None:
    from quipukit.experiment import worker

    kept = worker.__dict__.setdefault("_kept", {name: getattr(worker, name) for name in ("code", "software")})
    for name, function in kept.items():
        setattr(worker, name, function)
    if what == "code":
        worker.code = lambda: (("obfuscate", "other"), ("attack", "other"))
    if what == "software":
        worker.software = lambda: (*kept["software"](), ("torch", "0.1"))


@pytest.mark.parametrize(("what", "told"), [("code", "its code of quipukit"), ("software", "torch 0.1 there, ")])
def test_a_worker_with_something_else_is_refused(folder: Path, there: Cluster, what: str, told: str) -> None:
    one = next(iter(there.pids()))
    there.client.run(_pretend, what, workers=[one])
    try:
        with pytest.raises(InputError, match=rf"worker {one} cannot take part: {told}.*\. Install the same there"):
            run(folder, help_from=dask_help(there.address))
    finally:
        there.client.run(_pretend, "", workers=[one])


def test_other_vectors_under_the_same_path_are_refused(
    folder: Path, there: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = cluster.Crew._source_of_vectors

    def of_others(crew: cluster.Crew, vectors: Any, name: str | None) -> Any:
        source = told(crew, vectors, name)
        return at_work.Source(source.kind, source.name, "0" * 64, source.run)

    monkeypatch.setattr(cluster.Crew, "_source_of_vectors", of_others)
    with pytest.raises(InputError, match=r"cannot take part: the vectors .*vectors.txt there is not the same as here"):
        run(folder, help_from=dask_help(there.address))


def test_an_address_where_nobody_answers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_CONNECT", 0.5)
    for address in ("tcp://127.0.0.1:9", "nowhere", "tls://127.0.0.1:9", ""):
        with pytest.raises(InputError, match="no dask scheduler answers at"):
            run(folder, help_from=dask_help(address))


@pytest.mark.parametrize("given", [{}, {"workers": 0}, {"address": "tcp://host:1", "workers": 2}])
def test_help_that_cannot_be_meant(given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        dask_help(**given)


def test_without_the_package_the_fix_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ResourceError, match=r'pip install "quipukit\[dask\]"'):
        dask_help(workers=2)


# --- what is private -----------------------------------------------------------------------------------------------


def _leak(text: str) -> None:
    raise ValueError(f"cannot encode {text!r}")


def test_no_query_gets_into_a_log_of_a_worker(folder: Path, there: Cluster) -> None:
    secret = "zorbal quintle"
    there.client.run(set_mood, "failing")
    with pytest.raises(RuntimeError, match="ValueError: cannot encode"):
        run(folder, help_from=dask_help(there.address))
    assert secret not in _logs(there)
    # The same place shows what is not sealed.
    with pytest.raises(ValueError, match="cannot encode"):
        there.client.submit(_leak, secret, pure=False).result()
    assert secret in _logs(there)


def test_what_travels_shows_nothing() -> None:
    assert repr(at_work.Sealed(["secret"])) == "Sealed(...)"


def _logs(there: Cluster) -> str:
    return str(there.client.get_worker_logs()) + str(there.client.get_scheduler_logs())


# --- how work is divided -------------------------------------------------------------------------------------------


def test_texts_are_divided_by_length_and_none_is_forgotten() -> None:
    lengths = np.array([5, 450_000, 7, 350_000, 0, 1_000_000, *range(10, 40)])
    chunks = cluster._chunks(lengths, 8)
    assert sorted(np.concatenate(chunks)) == list(range(len(lengths)))
    assert [chunk.tolist() for chunk in chunks[:3]] == [[5], [1], [3, *range(35, 28, -1)]]
    assert cluster._chunks(np.array([], np.int64), 8) == []


def _threads() -> str | None:
    return os.environ.get("QUIPUKIT_THREADS")


def test_threads_of_a_worker_do_not_share_their_core(there: Cluster) -> None:
    at_home = os.environ.get("QUIPUKIT_THREADS")
    there.client.submit(at_work.check, at_work.Sealed(None), pure=False).result()
    assert "1" in there.client.run(_threads).values()
    assert os.environ.get("QUIPUKIT_THREADS") == at_home
    assert threading.active_count() < 50


def _children() -> int:
    # Python's own tracker of shared memory stays for the next one.
    found = psutil.Process().children(recursive=True)
    return len([child for child in found if "resource_tracker" not in " ".join(child.cmdline())])
