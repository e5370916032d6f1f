"""The memory of an experiment: it does not grow with the number of its settings, and the benchmark measures it."""

import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit import obfuscation
from quipukit.encoders.base import Encoder, Kind, Piece
from quipukit.experiment import artifacts, plan
from quipukit.experiment.stages import retrieve, text_similarity
from quipukit.progress import Progress, ProgressListener
from quipukit.results import rows
from tests.experiment import tiny
from tests.plugin_slot import ENCODERS

streaming = pytest.importorskip("benchmarks.streaming", reason="a source distribution has no benchmarks")
generated = pytest.importorskip("benchmarks.generated", reason="a source distribution has no benchmarks")

pytestmark = pytest.mark.slow  # tests/experiment/test_streaming.py counts what stages are given, in seconds


class Peaks(ProgressListener):
    """Notes how much every stage held at most, beyond what was there when it began."""

    def __init__(self) -> None:
        self.stages: dict[str, int] = {}
        self._name, self._before = "", 0

    def stage(self, name: str, unit: str) -> Progress:
        self.end()
        self._name, self._before = name, tracemalloc.get_traced_memory()[0]
        return lambda done, total: None

    def end(self) -> None:
        held = tracemalloc.get_traced_memory()[1] - self._before
        self.stages[self._name] = max(held, self.stages.get(self._name, 0))
        tracemalloc.reset_peak()


class Letters(Encoder):
    """How often some letters come: no model, and no time."""

    name, dimension, fingerprint = "letters", 3, "letters"

    def pieces(self, texts: Sequence[str], kind: Kind) -> Iterator[Piece]:
        yield np.arange(len(texts)), np.array([[text.count(one) for one in "aei"] for text in texts], np.float32)


class Unjudged(streaming.Asked):
    """Generated passages that nobody has judged: utility is not measured."""

    def qrels(self) -> pd.DataFrame:
        return super().qrels().iloc[:0]


def peaks(settings: int, out: Path) -> dict[str, int]:
    """Return what the stages of an experiment with so many settings hold at most."""
    listener = Peaks()
    tracemalloc.start()
    try:
        qk.evaluate(
            Unjudged(300, 40),
            [f"CMP@{1 + number / 10}" for number in range(settings)],
            20,
            out=out,
            log=streaming.made_queries(100, seed=2),
            attackers="QuIA",
            encoder="letters",
            vectors=out.parent / "vectors.txt",
            systems=(("bm25", "bm25"),),
            depth=10,
            growth=False,
            progress=listener,
        )
        listener.end()
    finally:
        tracemalloc.stop()
    return listener.stages


def test_memory_does_not_grow_with_the_number_of_settings(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With limits that lie below what there is; where nothing limits them, the same stages hold much more."""
    monkeypatch.setenv("QUIPUKIT_HOME", str(cache))
    ENCODERS.install(monkeypatch, letters=Letters)
    tiny.write_lines(
        tmp_path / "vectors.txt",
        (f"{generated.word(streaming.FIRST + number)} {number} 1 {-number}" for number in range(500)),
    )
    monkeypatch.setattr(text_similarity, "SIMILARITY", "letters")
    peaks(1, tmp_path / "first")  # what is loaded or compiled once
    free = peaks(10, tmp_path / "free")
    monkeypatch.setattr(obfuscation, "_MOST_TEXTS", 400)
    monkeypatch.setattr(plan, "MOST_ROWS", 800)
    monkeypatch.setattr(artifacts, "KEPT_ROWS", 800)
    monkeypatch.setattr(artifacts, "GROUP_ROWS", 200)
    monkeypatch.setattr(retrieve, "_MOST_POOLED", 4000)
    monkeypatch.setattr(retrieve, "_MOST_KEPT", 4000)
    monkeypatch.setattr(rows, "HELD_ROWS", 10)
    few, many = peaks(3, tmp_path / "few"), peaks(10, tmp_path / "many")
    for stage in ("obfuscating", "searching (bm25)", "encoding obfuscated queries", "ranking the log"):
        assert many[stage] < 1.3 * few[stage], stage
        assert many[stage] < 0.75 * free[stage], stage


def test_the_benchmark_runs(capfd: pytest.CaptureFixture[str]) -> None:
    lines = {line.what: line.value for line in streaming.measured(60, 4, 5, 500, 100)}
    assert 0 < lines["all: peak memory without mapped files (GB)"] < lines["all: peak memory (GB)"] < 1
    assert "searching (bm25): peak memory (GB)" in lines
    assert "60 queries x 20 settings x 4 variants, depth 5: 4,800 obfuscated queries" in capfd.readouterr().out
