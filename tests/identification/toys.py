"""A small vocabulary, a small log and a few settings, so that files are simulated in a second."""

import numpy as np
import pandas as pd

import quipukit as qk
from quipukit.vectors.store import Vectors

SIZE = 300
SETTINGS = ("CMP@2", "CMP@50", "CusText@1", "SanText@0.5", "Identity")


def vectors() -> Vectors:
    rng = np.random.default_rng(5)
    centers = 4 * rng.standard_normal((30, 12))
    words = [f"{letter}{other}w" for letter in "abcdefghijklmnopqrst" for other in "abcdefghijklmno"]
    return Vectors(words, centers[np.arange(SIZE) % 30] + 0.7 * rng.standard_normal((SIZE, 12)), name="toy")


def log(size: int = 250) -> list[str]:
    rng = np.random.default_rng(6)
    words = vectors().words
    return [" ".join(words[row] for row in rng.integers(SIZE, size=rng.integers(2, 6))) for _ in range(size)]


def files(n: int = 20, queries: int = 15, seed: int = 8) -> pd.DataFrame:
    """Files of every setting, of queries that no world has."""
    asked = {f"q{at}": text for at, text in enumerate(log()[-queries:])}
    return qk.obfuscate(asked, list(SETTINGS), n, vectors=vectors(), seed=seed)
