"""Does the memory of an experiment depend on how many settings, variants and documents it has?

A whole experiment with the number of queries of MS MARCO's development set, on generated text, in a process of its own:
static encoders throughout, that of the similarity of texts too, and QuIA alone. Peaks are the largest resident set of
each stage, and contain the pages of mapped files, which the system could take back at any time.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.data import CACHE, ROOT, Skipped, memory, watched
from benchmarks.generated import Passages, word
from benchmarks.table import Line, Target, show
from quipukit.collections.base import Document
from quipukit.progress import Progress, ProgressListener

QUESTION = "does an experiment with 6,980 queries, 20 settings and 50 variants fit into 4 GB?"
GIGABYTES = Target(4.0, at_most=True)
QUERIES, VARIANTS, DEPTH, DOCUMENTS, LOG = 6_980, 50, 10, 20_000, 50_000
VOCABULARY, DIMENSION, FIRST = 2_000, 50, 300  # words of middling frequency
_EPSILONS = (1, 2, 5, 8, 10, 12, 15, 20, 50)
# With Identity and Random 20 settings.
SPECS = [f"{name}@{epsilon}" for name in ("CMP", "VickreyCMP") for epsilon in _EPSILONS]
HOME, VECTORS = CACHE / "streaming", "vectors.txt"


def run(quick: bool) -> list[Line]:
    """Run the experiment in a fresh process, so that the peak is its own."""
    sizes = (300, 10, DEPTH, 2_000, 1_000) if quick else (QUERIES, VARIANTS, DEPTH, DOCUMENTS, LOG)
    return measured(*sizes)


def measured(queries: int, variants: int, depth: int, documents: int, log: int) -> list[Line]:
    """Run an experiment of a size, and print what each stage took."""
    shutil.rmtree(HOME, ignore_errors=True)
    sizes = (queries, variants, depth, documents, log)
    try:
        command = [sys.executable, "-m", "benchmarks.streaming", *map(str, sizes)]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise Skipped("the experiment's process failed; its message is above")
        told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    finally:
        shutil.rmtree(HOME, ignore_errors=True)
    print(
        f"{queries:,} queries x {told['settings']} settings x {variants} variants, depth {depth}: "
        f"{told['rows']:,} obfuscated queries, {told['pooled']:,} pooled documents; "
        f"{documents:,} documents, a log of {log:,}"
    )
    lines = [
        *(
            Line(f"{name}: peak memory (GB)", (f"{seconds:,.0f} s",), peak / 1e9)
            for name, seconds, peak in told["stages"]
        ),
        Line("all: peak memory (GB)", (f"{told['seconds']:,.0f} s",), told["peak"] / 1e9, GIGABYTES),
        Line("all: peak memory without mapped files (GB)", ("",), told["anonymous"] / 1e9),
        Line("all: disk (GB)", ("",), told["disk"] / 1e9),
    ]
    show(("what", "time", "value"), lines)
    return lines


# --- what runs in a process of its own ------------------------------------------------------------------------------


class Asked(Passages):
    """Generated passages, of which each of the first answers a query of its own."""

    def __init__(self, size: int, queries: int) -> None:
        super().__init__(size)
        self.asked, self.name = made_queries(queries, seed=1), f"asked-{size}-{queries}"

    @property
    def fingerprint(self) -> str:
        """Return a hash over what the passages are made from."""
        return f"{super().fingerprint[:32]}{len(self.asked):032x}"

    def documents(self) -> Iterator[Document]:
        """Make the passages."""
        for number, (docno, text) in enumerate(super().documents()):
            yield docno, f"{self.asked[number]} {text}" if number < len(self.asked) else text

    def queries(self) -> Any:
        """Return the queries."""
        import pandas as pd

        return pd.DataFrame({"qid": [str(number) for number in range(len(self.asked))], "query": self.asked})

    def qrels(self) -> Any:
        """Return the passage that answers each query."""
        import pandas as pd

        numbers = [str(number) for number in range(min(self.size, len(self.asked)))]
        return pd.DataFrame({"qid": numbers, "docno": numbers, "relevance": 1})


def made_queries(count: int, seed: int) -> list[str]:
    """Return queries of three to seven words of the vocabulary."""
    import numpy as np

    rng = np.random.default_rng([seed, 7])
    return [" ".join(word(FIRST + int(one)) for one in rng.integers(0, VOCABULARY, 3 + n % 5)) for n in range(count)]


class Peaks(ProgressListener):
    """Notes the time and the peak memory of every stage."""

    def __init__(self) -> None:
        self.stages: dict[str, tuple[float, float]] = {}
        self._open = ("start", time.perf_counter())
        self.peak = 0.0

    def stage(self, name: str, unit: str) -> Progress:
        """End the stage before, and begin another."""
        self.end()
        name = name.replace(f"static:{HOME / VECTORS}", "static")
        self._open = (name, time.perf_counter())
        print(name, file=sys.stderr, flush=True)
        return lambda done, total: None

    def end(self) -> None:
        """Note what the open stage took, and begin to look for the next peak."""
        (name, start), peak = self._open, memory()["peak"]
        seconds, before = self.stages.get(name, (0.0, 0.0))
        self.stages[name] = seconds + time.perf_counter() - start, max(before, peak)
        self.peak = max(self.peak, peak)
        Path("/proc/self/clear_refs").write_text("5")


def job(queries: int, variants: int, depth: int, documents: int, log: int) -> dict[str, Any]:
    """Run the experiment."""
    import numpy as np

    import quipukit as qk
    from quipukit.experiment.stages import text_similarity

    matrix = np.random.default_rng(0).standard_normal((VOCABULARY, DIMENSION)).astype(np.float32)
    words = [word(FIRST + number) for number in range(VOCABULARY)]
    path = HOME / VECTORS
    lines = (f"{one} {' '.join(map(str, row))}\n" for one, row in zip(words, matrix.tolist(), strict=True))
    path.write_text("".join(lines), encoding="utf-8")
    encoder = f"static:{path}"
    text_similarity.SIMILARITY = encoder  # the model that defines it would take days for millions of texts
    peaks, start = Peaks(), time.perf_counter()
    with watched() as anonymous:
        result = qk.evaluate(
            Asked(documents, queries),
            SPECS,
            variants,
            log=made_queries(log, seed=2),
            out=HOME / "run",
            attackers="QuIA",
            encoder=encoder,
            vectors=path,
            retriever="bm25",
            reranker=encoder,
            depth=depth,
            progress=peaks,
        )
        _ = result.digest
        _ = result.sent_for(result.queries["qid"][:5])
        peaks.end()
    return {
        "seconds": time.perf_counter() - start,
        "settings": len(result.settings),
        "rows": round(result.settings["variants"].sum() * queries),
        "pooled": round(result.settings["pooled"].sum() * queries),
        "stages": [(name, *took) for name, took in peaks.stages.items()],
        "peak": peaks.peak,
        "anonymous": anonymous(),
        "disk": sum(file.stat().st_size for file in HOME.rglob("*") if file.is_file()),
    }


if __name__ == "__main__":
    os.environ["QUIPUKIT_HOME"] = str(HOME)
    HOME.mkdir(parents=True)
    print(json.dumps(job(*map(int, sys.argv[1:]))))
