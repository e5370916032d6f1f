"""Inputs that once cost many times what an ordinary one does: how many times is it now?"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from benchmarks.table import Line, Target, show

QUESTION = "what do odd inputs cost, beside ordinary ones of the same size?"
ROUNDS = 3

Work = Callable[[], Any]


@dataclass(frozen=True)
class Case:
    """An odd input beside an ordinary one, how many times its cost it may be, and how many times it was."""

    make: Callable[[bool], tuple[Work, Work]]
    limit: float
    before: str

    def ratio(self, quick: bool) -> float:
        """Return the odd input's processor time over the ordinary one's, the best of some rounds by turns."""
        ordinary, odd = self.make(quick)
        ordinary(), odd()  # compiled and loaded
        best = [float("inf"), float("inf")]
        for _ in range(ROUNDS):
            for place, work in enumerate((ordinary, odd)):
                start = time.process_time()
                work()
                best[place] = min(best[place], time.process_time() - start)
        return best[1] / best[0]


def run(quick: bool) -> list[Line]:
    """Measure every case."""
    lines = [
        Line(name, (case.before,), case.ratio(quick), Target(case.limit, at_most=True)) for name, case in CASES.items()
    ]
    show(("odd input, times the cost of an ordinary one", "before", "now"), lines)
    return lines


@cache
def _vectors(count: int = 5000, dimension: int = 100) -> Any:
    from quipukit.vectors.store import Vectors

    words = _lemmas()[:count]
    return Vectors(words, np.random.default_rng(5).standard_normal((len(words), dimension)))


@cache
def _lemmas() -> list[str]:
    from quipukit.lexical import is_stop_word
    from quipukit.wordnet.database import load_wordnet

    known = [word for word in load_wordnet().lemmas("n") if word.isalpha() and word.isascii() and len(word) > 3]
    return [word for word in known if not is_stop_word(word)][::7]


def _long_query(spec: str) -> Callable[[bool], tuple[Work, Work]]:
    """One query of many words beside as many words in short queries."""

    def make(quick: bool) -> tuple[Work, Work]:
        from quipukit.obfuscation import mechanism, obfuscate

        length = 240 if quick else 800
        words = _lemmas()[:length]
        bound = mechanism(spec, vectors=_vectors() if spec.startswith("WBB") else None)
        short = [" ".join(words[start : start + 4]) for start in range(0, length, 4)]
        return lambda: obfuscate(short, bound, 1, seed=1), lambda: obfuscate([" ".join(words)], bound, 1, seed=1)

    return make


def _long_token(quick: bool) -> tuple[Work, Work]:
    """One token of many letters beside as many letters in words."""
    from quipukit.vectors.default_pack import model_folder, split, word_pieces

    length = 3000 if quick else 12_000
    pieces = word_pieces(model_folder())[0]
    return (
        lambda: [split("xqzj" * 5, pieces) for _ in range(length // 20)],
        lambda: split("xqzj" * (length // 4), pieces),
    )


def _search(change: Callable[[Any], None], epsilons: int) -> Callable[[bool], tuple[Work, Work]]:
    def make(quick: bool) -> tuple[Work, Work]:
        from quipukit.obfuscation import bind, obfuscate
        from quipukit.vectors.store import Vectors

        ordinary = _vectors() if quick else _vectors(8000, 300)
        matrix = ordinary.matrix.copy()
        change(matrix)
        odd = Vectors(ordinary.words, matrix)
        words = ordinary.words[:64]
        asked = [" ".join(words[start : start + 4]) for start in range(0, len(words), 4)]
        specs = [f"CMP@{epsilon}" for epsilon in np.linspace(5, 50, epsilons)]

        def work(vectors: Any) -> Work:
            bound = bind(specs, vectors=vectors)
            return lambda: obfuscate(asked, bound, 10, seed=1, noise="common")

        return work(ordinary), work(odd)

    return make


def _outlier(matrix: Any) -> None:
    matrix[777] *= 300


def _twins(matrix: Any) -> None:
    matrix[40:240] = matrix[40]


def _gaussian(quick: bool) -> tuple[Work, Work]:
    """Ten settings beside one: the rows of distances to an unknown word's points are shared."""
    from quipukit.obfuscation import bind, obfuscate

    def work(count: int) -> Work:
        specs = [f"SanText(oov=gaussian)@{epsilon}" for epsilon in range(5, 5 + count)]
        bound = bind(specs, vectors=_vectors())
        return lambda: obfuscate(["qqzzxv", "zzqqvx"], bound, 10 if quick else 50, seed=1, noise="common")

    return work(1), work(10)


def _sweep(quick: bool) -> tuple[Work, Work]:
    """Ten settings beside one: in common mode they share their streams."""
    from quipukit.obfuscation import bind, obfuscate

    asked = [" ".join(_lemmas()[start : start + 3]) for start in range(0, 60, 3)]

    def work(count: int) -> Work:
        bound = bind([f"CusText@{epsilon}" for epsilon in range(5, 5 + count)], vectors=_vectors())
        return lambda: obfuscate(asked, bound, 50 if quick else 200, seed=1, noise="common")

    return work(1), work(10)


def _ties(quick: bool) -> tuple[Work, Work]:
    """A log in which every query is the same one."""
    from quipukit.attackers.ranks import count_better

    size, dimension = (8_000, 256) if quick else (50_000, 384)
    log = np.random.default_rng(3).standard_normal((size, dimension), np.float32)
    tied = np.repeat(log[:1], size, axis=0)
    centroids = np.random.default_rng(4).standard_normal((256, dimension))

    def work(rows: Any) -> Work:
        own = rows[:256].astype(np.float64)
        return lambda: count_better(centroids, np.arange(256), lambda start, stop: rows[start:stop], size, own)

    return work(log), work(tied)


# What it was is the ratio of --quick, with the code before each was removed.
CASES = {
    "AEA, one query of 800 words / short ones": Case(_long_query("AEA@3"), 4, "24"),
    "WBB published, one query of 800 words / short ones": Case(_long_query("WBB(mode='published')@10"), 1.3, "1.5"),
    "oov='subword', one token of 12,000 letters / words of 20": Case(_long_token, 6, "290"),
    "one outlier row, CMP at one epsilon": Case(_search(_outlier, 1), 3, "9.3"),
    "one outlier row, CMP at ten epsilons": Case(_search(_outlier, 10), 5, "46"),
    "200 equal rows, CMP at one epsilon": Case(_search(_twins, 1), 2.5, "4.1"),
    "200 equal rows, CMP at ten epsilons": Case(_search(_twins, 10), 6, "18"),
    "SanText, gaussian unknowns, ten settings / one": Case(_gaussian, 3.5, "6.5"),
    "CusText, sweep of ten settings / one": Case(_sweep, 5, "8.2"),
    "a log of equal queries": Case(_ties, 8, "12"),
}
