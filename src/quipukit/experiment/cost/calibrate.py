"""Rates for the machine at hand: three probes, each of which takes a second or so.

No constant is right for all machines. A product of matrices tells how quick arithmetic is, with the cores that there
are and the work that they have beside this; a little Python how quick everything else is; and where many texts are to
be encoded by a transformer, some of them are encoded.
"""

import functools
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quipukit.encoders.base import Encoder
from quipukit.encoders.half import unrounded
from quipukit.encoders.static import StaticEncoder
from quipukit.experiment.cost.lengths import filled
from quipukit.experiment.cost.rates import Rates

# Where there is other work, a few rounds are as quick as the moment is: twice as slow, or not slowed down at all.
_ROUNDS, _PRODUCTS = 30, 10
# Rates that follow arithmetic, and those that follow Python; what is not named stays as it is.
_ARITHMETIC = ("word", "pair", "pair_words", "pair_law", "law", "transformer_text", "transformer_token")
_PYTHON = (
    *("start", "transformer_start", "setting", "index_word", "search", "search_document", "static_text"),
    *("static_token", "learned", "cell", "attacked", "guessed", "report", "report_attacker", "report_setting"),
)
# Texts of which some are encoded: to load a model for fewer would take longer than they do.
_MANY_TEXTS = 3000
_SOME = 48


@functools.cache  # once per process
def calibrated(rates: Rates) -> Rates:
    """Return rates scaled by how quick this machine is now, compared with the one that they were measured on."""
    # In this order: threads that have multiplied matrices keep the cores busy for some time, waiting for more.
    python = python_seconds() / rates.python
    arithmetic = product_seconds() / rates.product
    scaled = {name: getattr(rates, name) * arithmetic for name in _ARITHMETIC}
    return replace(rates, **scaled, **{name: getattr(rates, name) * python for name in _PYTHON})


def with_encoder(rates: Rates, encoder: Encoder, texts: Sequence[str], tokens: float, count: float) -> Rates:
    """Return rates at which an encoder encodes some of the texts that are to be encoded, where these are many.

    ``tokens`` is how long one is, in the mean.
    """
    if count < _MANY_TEXTS or not texts or isinstance(unrounded(encoder), StaticEncoder):
        return rates
    step = max(1, len(texts) // _SOME)
    some = list(dict.fromkeys(texts[::step]))[:_SOME]
    encoder.encode(some[:2])  # loads the model
    # Few texts fill no batch: what they take says less about many than their number does.
    seconds = median_seconds(lambda: encoder.encode(some), 3) / filled(len(some), tokens)
    scale = seconds / (rates.transformer_text + rates.transformer_token * tokens)
    return replace(
        rates, transformer_text=rates.transformer_text * scale, transformer_token=rates.transformer_token * scale
    )


def product_seconds() -> float:
    """Return how long a product of 3.2 GFlop takes, on all cores."""
    left, right = np.ones((512, 384), np.float32), np.ones((384, 8192), np.float32)
    return median_seconds(lambda: left @ right, _PRODUCTS)


def python_seconds() -> float:
    """Return how long it takes to make some texts, and to sort them."""
    return median_seconds(lambda: sorted({str(number * 7919 % 100_003): number for number in range(30_000)}))


def median_seconds(task: Callable[[], Any], rounds: int = _ROUNDS) -> float:
    """Return the median time of some rounds, by the clock: other work on the machine counts, for it will go on."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return statistics.median(times)
