"""A rehearsal: do some of an experiment's work in a process of its own, while the experiment itself begins.

Numba compiles a kernel when it is first called, which takes some 25 seconds for all that an experiment calls, on one
core; it keeps the result on disk. So a second process runs the experiment in miniature, in seconds but for the
compiler. Whatever it has compiled when the experiment gets there is read from disk. `make` does this in its set-up;
then the second process makes vectors and an index instead, while the first one makes the log.
"""

import contextlib
import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

_WORDS = "oak elm fir ash yew bay fig nut pod sap bud leaf root seed stem bark wood twig moss fern"


@contextlib.contextmanager
def rehearsed() -> Iterator[None]:
    """Let a second process compile kernels or, where they are compiled, index, if there is a core for it."""
    from quipukit.threads import workers

    if workers() < 2:
        yield
    elif _compiled():
        with _beside():
            yield
    else:
        # A home of its own: what it encodes and divides is of no use to anybody. The kernels are kept elsewhere.
        with (
            tempfile.TemporaryDirectory() as folder,
            _beside(folder, QUIPUKIT_HOME=folder, QUIPUKIT_THREADS="1"),
        ):
            yield


@contextlib.contextmanager
def _beside(*arguments: str, **environment: str) -> Iterator[None]:
    """Run this module in a process of its own, which ends with what is done here."""
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, *arguments],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def _compiled() -> bool:
    """Return whether the kernel that an experiment calls last has been compiled before, or would not be kept."""
    from quipukit.attackers import fusion

    kernel = fusion._binned
    place = kernel.stats.cache_path
    return place is None or any(Path(place).glob(f"fusion.{kernel.py_func.__name__}-*.nbi"))


def prepare() -> None:
    """Make static vectors and the index of the built-in collection; who needs them meanwhile waits for them."""
    from quipukit.collections.load import load_collection
    from quipukit.encoders.load import load_encoder
    from quipukit.retrieval.bm25 import BM25

    load_encoder("static")
    BM25.of(load_collection("wordnet"))


def rehearse(folder: Path) -> None:
    """Run an experiment with made-up words: what it calls has the types of a real one, and no size."""
    import numpy as np

    from quipukit.encoders.static import StaticEncoder
    from quipukit.experiment.run import evaluate
    from quipukit.vectors.store import Vectors

    words = _WORDS.split()
    texts = [f"{one} {words[(3 * place + step) % len(words)]}" for step in (1, 2) for place, one in enumerate(words)]
    # Logs beyond some thousands of queries are read in parts, of which all but the first have kernels of their own.
    log = [*texts, *itertools.islice(map(" ".join, itertools.permutations(words, 3)), 4_200)]
    vectors = Vectors(words, np.random.default_rng(0).standard_normal((len(words), 16)).astype(np.float32))
    (folder / "docs.tsv").write_text("".join(f"{docno}\t{text}\n" for docno, text in enumerate(texts)))
    (folder / "topics.tsv").write_text(f"1\t{texts[0]}\n2\t{texts[7]}\n")
    (folder / "qrels.txt").write_text("1 0 0 1\n2 0 7 1\n")
    evaluate(
        folder,
        ["CMP@5", "CMP@9", "TEM@1"],
        n=2,
        log=log,
        encoder=StaticEncoder(vectors, corpus=texts),
        vectors=vectors,
        reranker="bm25",
        growth=False,
        progress=False,
    )


if __name__ == "__main__":
    rehearse(Path(sys.argv[1])) if sys.argv[1:] else prepare()
