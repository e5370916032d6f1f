"""What the coordinator of a cluster does itself, by the unit: processor time; by the clock what threads share.

A scheduler and a worker with four threads, each a process of its own, do the rest, which is not counted; nor is the
hundredth of a core that this process takes while it waits. Vectors go through a shared folder.
"""

import contextlib
import functools
import hashlib
import itertools
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import glove

DIMENSION = 384
_TOPICS, _SPECS, _DEPTH, _VARIANTS = 10, ("CMP@5", "CMP@10", "CMP@20"), 100, 50


def best(task: Callable[[], Any], rounds: int) -> float:
    """Return the least processor time of some rounds."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        task()
        times.append(time.process_time() - start)
    return min(times)


def busy(task: Callable[[], Any], rounds: int, idle: float) -> float:
    """Return the least processor time of some rounds, without what waiting for the worker costs (`waiting`)."""
    times = []
    for _ in range(rounds):
        start, clock = time.process_time(), time.perf_counter()
        task()
        times.append(time.process_time() - start - idle * (time.perf_counter() - clock))
    return max(0.0, min(times))


@contextlib.contextmanager
def cluster(shared: Path) -> "Iterator[tuple[Any, Callable[[], float]]]":
    """Start a scheduler and a worker, each in a process of its own; give the executor, and the scheduler's seconds.

    As on a cluster: what the scheduler computes is no work of the coordinator, and both work at the same time.
    """
    from quipukit.executors import Dask

    dask = Path(sys.executable).with_name("dask")
    with contextlib.ExitStack() as stack:

        def start(*arguments: str) -> "subprocess.Popen[bytes]":
            process = subprocess.Popen([dask, *arguments], stderr=subprocess.DEVNULL)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            return process

        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        scheduler = start("scheduler", "--no-dashboard", "--host", f"tcp://{address}")
        _until(lambda: _answers(address))
        start(
            "worker", f"tcp://{address}", "--nthreads", "4", "--no-dashboard", "--local-directory", str(shared.parent)
        )

        def spent() -> float:
            fields = Path(f"/proc/{scheduler.pid}/stat").read_text().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        with Dask(f"tcp://{address}", shared=shared) as executor:
            yield executor, spent


def _answers(address: str) -> bool:
    host, port = address.split(":")
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 1):
        return True
    return False


def _until(true: Callable[[], bool], seconds: float = 60) -> None:
    limit = time.perf_counter() + seconds
    while not true() and time.perf_counter() < limit:
        time.sleep(0.1)


def waiting(executor: Any, seconds: float) -> float:
    """Return what share of a core this process takes while a worker is at work: its own loops, and the scheduler's."""
    list(executor.map(abs, range(3)))
    start, clock = time.process_time(), time.perf_counter()
    list(executor.map(time.sleep, [seconds]))
    return (time.process_time() - start) / (time.perf_counter() - clock)


def log(quick: bool) -> dict[str, float]:
    """Measure a row of a long log: read, completed with the originals, hashed, and put into alphabetical order.

    By the clock, for threads share it: with two of them, which any machine has.
    """
    from quipukit.attackers import scratch, texts
    from quipukit.attackers.log import read_log
    from quipukit.attackers.panel import Panel
    from quipukit.experiment.plan import log_fingerprint

    size = 20_000 if quick else 1_000_000
    if quick:  # as a long log is treated
        scratch.LONG, texts._RUN = 1000, 1000
    encoder = zeros()
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "log.txt"
        file.write_text("".join(f"{text}\n" for text in log_texts(size)), encoding="utf-8")

        def read() -> None:
            entries = read_log(file).completed(["a query that the log does not have"])
            log_fingerprint(entries)
            Panel(["QuIA"], entries, encoder=encoder)

        os.environ["QUIPUKIT_THREADS"] = "2"
        seconds, busy = zip(*(_timed(read) for _ in range(1 if quick else 4)), strict=True)
        return {
            "per row of the log, read and put into order by two threads": min(seconds) / size,
            "per row of the log, read and put into order: processor time": min(busy) / size,
        }


def _timed(task: Callable[[], Any]) -> tuple[float, float]:
    """Return how long a task takes by the clock, and its processor time."""
    start, clock = time.process_time(), time.perf_counter()
    task()
    return time.perf_counter() - clock, time.process_time() - start


def sharing(quick: bool) -> dict[str, float]:
    """Measure a text that is looked up, handed out and written by a worker; and a row of the log that it ranks."""
    from quipukit.attackers.bestparts import best_rows_by
    from quipukit.attackers.ranks import count_better
    from quipukit.attackers.sharedrows import reading
    from quipukit.attackers.texts import Texts
    from quipukit.encoders.distributed import distributed_store

    size, rounds = (10_000, 1) if quick else (100_000, 2)
    texts = list(log_texts(size))
    places, targets = np.arange(size), np.arange(100)
    with tempfile.TemporaryDirectory() as place, cluster(Path(place) / "shared") as (executor, scheduler):
        store = distributed_store(zeros(), executor)
        idle = waiting(executor, 0.5 if quick else 5)
        # Where the texts of a long log are; each time others, of which no vector is there.
        logs = iter([Texts.of(f"{text} {own}" for text in texts) for own in range(rounds + 1)])

        def write() -> None:
            store.shared.ensure(next(logs), "query")

        write()
        seconds = {"per text handed out, its vector written by a worker": busy(write, rounds, idle) / size}
        vectors = store.shared.ensure([f"{text} 0" for text in texts], "query")
        own = np.random.default_rng(1).standard_normal((len(targets), DIMENSION))

        def rank(rows: int) -> None:
            some = vectors.chosen(slice(rows))
            way = reading(some, places[:rows], lambda start, stop: some[start:stop], executor)
            count_better(own, way.numbers(targets), way.read, rows, own, executor=executor)
            best_rows_by(executor, own, way, places[:rows], 1)

        rank(size)
        few, many = (busy(lambda rows=rows: rank(rows), rounds + 1, idle) for rows in (size // 2, size))
        # What one row more costs: tasks, which do not grow with the rows, are counted apart.
        seconds["per row of the log that a worker reads and ranks"] = max(0.0, many - few) / (size - size // 2)
        few = 20 if quick else 300
        list(executor.map(abs, range(few)))
        before = scheduler()
        seconds["per task"] = busy(lambda: list(executor.map(abs, range(few))), rounds, idle) / few
        seconds["per task, of the scheduler"] = (scheduler() - before) / (few * rounds)
        return seconds


def stages(quick: bool) -> dict[str, float]:
    """Measure the stages of an experiment on the built-in collection: searching, measuring, comparing texts.

    With few variants and with many: what one more costs, and what an experiment costs whatever its size.
    """
    from quipukit.collections.load import load_collection
    from quipukit.experiment.stages import text_similarity
    from quipukit.retrieval.bm25 import BM25

    # Built before, as that of 8.8 million passages would be; and held, so that all rounds find it opened.
    index = BM25.of(load_collection("wordnet"))
    text_similarity.similarity_encoder = lambda attacking: attacking  # what a model costs its worker is known already
    with tempfile.TemporaryDirectory() as place, cluster(Path(place) / "shared") as (executor, _):
        idle = waiting(executor, 0.5 if quick else 5)
        _staged(Path(place) / "warm", 2, executor, idle)
        sizes, rounds = ((2, 3), 1) if quick else ((10, _VARIANTS), 4)
        few, many = (_least(Path(place) / str(n), n, rounds, executor, idle) for n in sizes)
        wide = _least(Path(place) / "wide", sizes[0], rounds, executor, idle, topics=4 * _TOPICS)
        # Long: tasks of few texts are no fewer than those of many, and would be most of what one more text costs.
        long = _least(Path(place) / "long", sizes[1], rounds, executor, idle, 40 * _TOPICS, ("attack",))
    del index
    further = {"need": wide, "attack": long}
    slopes = {
        (stage, unit): max(0.0, (larger[stage] - few[stage]) / (larger[unit] - few[unit]))
        for stage, unit in _UNITS.items()
        for larger in [further.get(stage, many)]
    }
    fixed = sum(max(0.0, few[stage] - slope * few[unit]) for (stage, unit), slope in slopes.items())
    return {
        "per pooled document, found by workers, its pool saved": slopes["retrieve", "pooled"],
        "per query and document, scored by BM25 and remembered": slopes["scoring", "pairs"],
        "per pooled document, its score known, and measured by workers": slopes["utility", "pooled"],
        "per obfuscated query, attacked by QuIA": slopes["attack", "sent"],
        "per obfuscated query, compared by workers": slopes["text_similarity", "sent"],
        "per pooled document, in the consensus": slopes["consensus", "pooled"],
        "per query and setting, its guess searched for": slopes["need", "guesses"],
        "pooled documents per answer": many["pooled"] / (many["sent"] * _DEPTH),
        "seconds of these stages, per experiment": fixed,
    }


# What each stage grows with.
_UNITS = {
    "retrieve": "pooled",
    "scoring": "pairs",
    "utility": "pooled",
    "attack": "sent",
    "text_similarity": "sent",
    "need": "guesses",
    "consensus": "pooled",
}


def _least(
    folder: Path,
    n: int,
    rounds: int,
    executor: Any,
    idle: float,
    topics: int = _TOPICS,
    names: Sequence[str] = tuple(_UNITS),
) -> dict[str, float]:
    """Return the least of some rounds, for each stage: what is left is small, and easily disturbed."""
    seen = [_staged(folder / str(number), n, executor, idle, topics, names) for number in range(rounds)]
    return {what: min(one[what] for one in seen) for what in seen[0]}


def _staged(
    folder: Path, n: int, executor: Any, idle: float, topics: int = _TOPICS, names: Sequence[str] = tuple(_UNITS)
) -> dict[str, float]:
    """Run the stages of an experiment; return how long the coordinator computed for each, and how much there was."""
    from quipukit.experiment.artifacts import Artifacts
    from quipukit.experiment.grid import expand
    from quipukit.experiment.inputs import Objects, resolve
    from quipukit.experiment.options import Options
    from quipukit.experiment.pipeline import Pipeline
    from quipukit.experiment.stages.base import Context
    from quipukit.progress import ProgressListener, StageTimer

    options = Options(
        specs=tuple(expand(_SPECS, (), ())),
        n=n,
        topics=topics,
        depth=_DEPTH,
        systems=(("bm25", "bm25"),),
        attackers="QuIA",
        log_sample=1000,
        growth=False,
    )
    plan = resolve(options, Objects(encoder=zeros(), vectors=glove()))
    pipeline = Pipeline(Context(plan, Artifacts(folder), StageTimer(ProgressListener()), executor))
    pipeline.obfuscate.run()
    spent: dict[str, float] = {"sent": sum(map(pipeline.obfuscate.variants, plan.cells))}
    spent["guesses"] = len(plan.queries) * len(plan.cells)
    for name in names:
        if name == "utility":
            # Twice: at first every document is scored, then each of them is known, as it is to most of 88 settings.
            stage, scorer = pipeline.utility, pipeline.utility.scorer(0)
            measure = functools.partial(_exhausted, stage._measured, stage.cells, scorer)
            first, again = busy(measure, 1, idle), busy(measure, 1, idle)
            spent["scoring"], spent["utility"] = first - again, again
            spent["pairs"] = sum(map(len, scorer._scores.values()))
            stage.run()
        elif name == "consensus":
            pipeline.need._fused.clear()
            spent[name] = busy(pipeline.need.run, 1, idle)  # nothing else of it is left to do
        elif name != "scoring":
            spent[name] = busy(getattr(pipeline, name).run, 1, idle)
    if "retrieve" in names:
        spent["pooled"] = sum(pipeline.retrieve.documents_pooled(cell) * len(plan.queries) for cell in plan.cells)
    return spent


def _exhausted(function: Callable[..., Iterator[Any]], *arguments: Any) -> None:
    for _ in function(*arguments):
        pass


def scoring(quick: bool) -> dict[str, float]:
    """Measure a pooled document that is scored by its vector, as the user's re-ranker does."""
    from quipukit.encoders.base import similarities

    rows = np.random.default_rng(1).standard_normal((2000 if quick else 50_000, DIMENSION), np.float32)
    return {
        "per document scored by its vector": best(
            lambda: similarities(rows[0], rows[np.arange(len(rows))], "cosine"), 3
        )
        / len(rows)
    }


def zeros() -> Any:
    """Return an encoder that costs nothing itself."""
    from quipukit.encoders.base import Encoder

    class Zeros(Encoder):
        """Its vectors are not zero, so that they can be compared; but they are all the same."""

        name, dimension, fingerprint = "zeros", DIMENSION, hashlib.sha256(b"zeros").hexdigest()

        def pieces(self, texts: Sequence[str], kind: str) -> Iterator[Any]:
            yield np.arange(len(texts)), np.ones((len(texts), DIMENSION), np.float32)

    return Zeros()


def log_texts(count: int) -> Iterator[str]:
    """Iterate over distinct texts of the length that queries have."""
    from quipukit.collections.wordnet_glosses import WordNetGlosses

    whole = WordNetGlosses().query_log()
    some = [whole[place * len(whole) // 20_000] for place in range(20_000)]
    for number, text in enumerate(itertools.islice(itertools.cycle(some), count)):
        yield f"{text} {number}"
