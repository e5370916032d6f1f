"""A small world for attackers of words: vectors at random, a log of queries over them, and noise around the words."""

import numpy as np
import pandas as pd

from quipukit.vectors.store import Vectors

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "bdglnrst"]


def vectors(dimension=24, seed=3):
    return Vectors(WORDS, np.random.default_rng(seed).normal(size=(len(WORDS), dimension)))


def queries(count, lengths=(2, 3, 4, 5), seed=5):
    rng = np.random.default_rng(seed)
    made = {" ".join(rng.choice(WORDS, rng.choice(lengths))): None for _ in range(count)}
    return list(made)


def noisy(texts, known, variants=20, scale=1.0, seed=7):
    """Return an Obfuscated table: every word is moved by noise and replaced by the nearest one."""
    rng = np.random.default_rng(seed)
    half = (known.matrix.astype(float) ** 2).sum(axis=1) / 2
    rows = []
    for number, text in enumerate(texts, 1):
        points = np.array([known.vector(word) for word in text.split()])
        for variant in range(variants):
            moved = points + scale * rng.normal(size=points.shape)
            words = [known.words[row] for row in (moved @ known.matrix.T - half).argmax(axis=1)]
            rows.append((str(number), variant, " ".join(words), "Noise", "scale", scale))
    return pd.DataFrame(rows, columns=["qid", "variant", "query", "mechanism", "parameter", "value"])


def exchanged(obfuscated, texts):
    """Return the same table with the sets given to other queries of equal length: nobody may find anything."""
    lengths = {str(number): len(text.split()) for number, text in enumerate(texts, 1)}
    of_length = {}
    for qid, length in lengths.items():
        of_length.setdefault(length, []).append(qid)
    other = {qid: qids[(i + 1) % len(qids)] for qids in of_length.values() for i, qid in enumerate(qids)}
    return obfuscated.assign(qid=obfuscated["qid"].map(other))
