"""How long texts are, in tokens: estimated from a sample of them, without a tokenizer."""

import math
from collections.abc import Iterable, Sequence
from itertools import islice

from quipukit.encoders.base import Encoder
from quipukit.encoders.sentence import SentenceEncoder

# English words are cut into pieces of some four letters; blanks count as letters here, and two marks stand around.
_LETTERS, _MARKS = 4.4, 2
_SAMPLE, _EVERY = 1000, 4
# A batch of a transformer holds texts of one length, filled up to a multiple of eight: rows that are added for each
# length, and how many lengths there are for each token of the mean.
_ADDED, _LENGTHS = 5.0, 1.5


def mean_tokens(texts: Iterable[str], encoder: Encoder) -> float:
    """Return the mean number of tokens that an encoder reads of texts: of long ones the beginning, as it does.

    >>> from quipukit.encoders.load import load_encoder
    >>> round(mean_tokens(["how does a tumor grow", "x" * 10_000], load_encoder("minilm")))
    131
    """
    most = encoder.recipe.max_length if isinstance(encoder, SentenceEncoder) else None
    counts = [_MARKS + len(text) / _LETTERS for text in texts]
    cut = counts if most is None else [min(count, most) for count in counts]
    return sum(cut) / len(cut) if cut else 0.0


def filled(count: float, tokens: float, rounds: int = 1) -> float:
    """Return how many rows a transformer computes for texts that come in some rounds: batches of few are filled up.

    >>> round(filled(48, 33)), round(filled(1_000_000, 33)), round(filled(500, 33, rounds=10))
    (202, 1000248, 2074)
    """
    if not count or not tokens:
        return count
    lengths = _LENGTHS * tokens
    return count + rounds * _ADDED * lengths * -math.expm1(-count / rounds / lengths)


def spread(texts: Sequence[str], count: int = _SAMPLE) -> list[str]:
    """Return a sample of texts, spread evenly over them."""
    step = max(1, len(texts) // count)
    return [texts[place] for place in range(0, len(texts), step)][:count]


def first(texts: Iterable[str], count: int = _SAMPLE) -> list[str]:
    """Return one in four of the first texts of a stream, which nobody wants to read to its end for an estimate."""
    return list(islice(texts, 0, count * _EVERY, _EVERY))
