"""How much faster than pyPANTERA is an obfuscated word, with the same vectors, queries and mechanisms?

pyPANTERA lives in an environment of its own and runs there as a process that is asked in turn with quipukit. It
treats every variant of every query separately, so its time per word depends neither on their number nor on epsilon:
one variant of two queries is what it does in each of three rounds.
quipukit makes 50 variants of all of them, the number that an experiment uses; the lines for one variant show what ten
queries at once cost without that. Loading and preparing is left out on both sides.
"""

import json
import subprocess
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.data import CACHE, GRID, Skipped, glove, median, random_vectors, seconds, topics
from benchmarks.table import Line, Target, number, show

QUESTION = "how much faster than pyPANTERA, per obfuscated word?"
PEER = "pypantera==1.0.2"
# What its four mechanisms import; the rest of what it declares is for training embeddings and for its scripts.
PEER_NEEDS = ("numpy", "pandas", "scipy")
PEER_QUERIES = 2
MECHANISMS = ("CMP", "Mahalanobis", "VickreyCMP", "VickreyMhl")
ONE, SWEEP, INTERACTIVE = Target(300), Target(1500), Target(50)


def run(quick: bool) -> list[Line]:
    """Measure with random vectors, and with GloVe where it is to be had."""
    python = _peer_environment()
    lines = _compare(python, random_vectors(5_000 if quick else 50_000), quick)
    try:
        real = glove()
    except Skipped as reason:
        print(f"GloVe skipped: {reason}")
        return lines
    return lines + _compare(python, real, quick)


def _peer_environment() -> Path:
    folder = CACHE / "benchmarks" / "pypantera"
    python = folder / "bin" / "python"
    stamp = folder / "installed"
    if not stamp.is_file():
        print(f"installing {PEER} into an environment of its own", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        for wanted in (["--no-deps", PEER], list(PEER_NEEDS)):
            done = subprocess.run(
                [python, "-m", "pip", "install", "--quiet", *wanted], capture_output=True, text=True, check=False
            )
            if done.returncode:
                reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
                raise Skipped(f"{wanted[-1]} could not be installed ({reason})")
        stamp.touch()
    return python


class Peer:
    """The other library, in a process of its own."""

    def __init__(self, python: Path, vectors: Any) -> None:
        import numpy as np

        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        np.save(folder / "matrix.npy", np.asarray(vectors.matrix))
        (folder / "words.json").write_text(json.dumps(list(vectors.words)), encoding="utf-8")
        worker = Path(__file__).with_name("pypantera_worker.py")
        self._process = subprocess.Popen(
            [python, worker, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def seconds_per_word(self, mechanism: str, work: list[tuple[float, str]]) -> float:
        """Obfuscate each query once at its epsilon and return the time per obfuscated word."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps({"mechanism": mechanism, "work": work}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline() or "null")
        if answer is None:
            raise Skipped("pyPANTERA's process ended; its message is above")
        return float(answer["seconds"] / answer["words"])

    def close(self) -> None:
        """End the process and remove its files."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()
        self._folder.cleanup()


@dataclass(frozen=True)
class Job:
    """Something that both sides do: at which epsilons, with how many variants here, and what is expected of it."""

    what: str
    epsilons: tuple[float, ...]
    variants: int
    noise: str  # or "interactive": one query at a time, with noise from the operating system
    target: Target | None


def _jobs(quick: bool) -> list[Job]:
    many = 10 if quick else 50
    return [
        Job("one epsilon, independent", (10.0,), many, "independent", None if quick else ONE),
        Job("ten epsilons, common", GRID, many, "common", None if quick else SWEEP),
        Job("one epsilon, one variant", (10.0,), 1, "independent", None),
        Job("one query, as it is typed", (10.0,), 1, "interactive", INTERACTIVE),
    ]


def _compare(python: Path, vectors: Any, quick: bool) -> list[Line]:
    size = f"{len(vectors):,} x {vectors.dimension}"
    queries = topics(vectors, 1 if quick else len(GRID))
    rounds = 1 if quick else 3
    peer = Peer(python, vectors)
    times: dict[tuple[str, Job], list[tuple[float, float]]] = {}
    try:
        for mechanism in MECHANISMS:
            # Once for nothing: both sides prepare what they keep.
            peer.seconds_per_word(mechanism, [(10.0, "warm")])
            _ours(vectors, queries, mechanism, Job("", GRID[:2], 1, "common", None), 0)
            _ours(vectors, queries, mechanism, Job("", GRID[:1], 1, "common", None), 0)
            for turn in range(rounds):
                own = list(queries.values())[turn::rounds][:PEER_QUERIES]
                theirs = peer.seconds_per_word(mechanism, [(10.0, text) for text in own])
                for job in _jobs(quick):
                    times.setdefault((mechanism, job), []).append(
                        (theirs, _ours(vectors, queries, mechanism, job, turn))
                    )
    finally:
        peer.close()
    lines = []
    for (mechanism, job), rounds in times.items():
        ratios = [theirs / ours for theirs, ours in rounds]
        cells = (
            number(1 / median([theirs for theirs, _ in rounds])),
            number(1 / median([ours for _, ours in rounds])),
            number(min(ratios)),
        )
        lines.append(Line(f"{size} {mechanism}, {job.what}", cells, median(ratios), job.target))
    show(("vectors, mechanism, job", "pyPANTERA words/s", "quipukit words/s", "lowest ratio", "ratio"), lines)
    return lines


def _ours(vectors: Any, queries: dict[str, str], mechanism: str, job: Job, seed: int) -> float:
    import quipukit as qk

    tables = []

    if job.noise == "interactive":
        bound = qk.mechanism(f"{mechanism}@{job.epsilons[0]:g}", vectors=vectors)
        text = next(iter(queries.values()))
        sent: list[str] = []
        taken = median([seconds(lambda: sent.append(bound.obfuscate(text)[0])) for _ in range(15)])
        return taken / len(sent[0].split())

    def work() -> None:
        specs = [f"{mechanism}@{epsilon:g}" for epsilon in job.epsilons]
        tables.append(qk.obfuscate(queries, specs, job.variants, vectors=vectors, seed=seed, noise=job.noise))

    taken = seconds(work)
    return taken / int(tables[0]["query"].str.split().str.len().sum())
