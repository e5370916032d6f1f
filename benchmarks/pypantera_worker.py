"""Runs inside pyPANTERA's own environment: obfuscates what it is told to and says how long that took.

One JSON object a line on standard input, one on standard output. Imports nothing of quipukit.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from src.EmbeddingPerturbationMechanism.cmp import CMP
from src.EmbeddingPerturbationMechanism.mahalanobis import Mahalanobis
from src.EmbeddingPerturbationMechanism.vickrey import VickreyCMP, VickreyMhl
from src.utils.vocab import Vocab

MECHANISMS = {"CMP": CMP, "Mahalanobis": Mahalanobis, "VickreyCMP": VickreyCMP, "VickreyMhl": VickreyMhl}


def main(folder: Path) -> None:
    """Answer requests until the input ends."""
    matrix = np.load(folder / "matrix.npy")
    words = json.loads((folder / "words.json").read_text(encoding="utf-8"))
    embeddings = dict(zip(words, matrix, strict=True))

    def share(self: Vocab, _path: str) -> None:
        # Its own reader of text files loses the lines at the borders of its chunks, and this is not what is timed:
        # hand over the very vectors that the other side uses, in the form that the reader would give them.
        self.embeddings = embeddings

    Vocab.loadParallel = share
    made = {}
    for line in sys.stdin:
        request = json.loads(line)
        name = request["mechanism"]
        if name not in made:
            made[name] = MECHANISMS[name]({"embPath": "", "epsilon": 1.0, "lam": 1.0, "t": 0.75})
        mechanism = made[name]
        taken, count = 0.0, 0
        for epsilon, query in request["work"]:
            mechanism.epsilon = epsilon
            data = pd.DataFrame({"id": ["q"], "text": [query]})
            start = time.perf_counter()
            found = mechanism.obfuscateText(data, 1)
            taken += time.perf_counter() - start
            count += len(found["obfuscatedText"][0][0].split())
        print(json.dumps({"seconds": taken, "words": count}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
