"""Rates follow the machine: a slower one takes longer, by as much as its probes say."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from quipukit.encoders.base import Encoder, Kind, Piece
from quipukit.experiment.cost import calibrate
from quipukit.experiment.cost.calibrate import calibrated, median_seconds, with_encoder
from quipukit.experiment.cost.lengths import filled
from quipukit.experiment.cost.rates import TWO_CORES


def test_rates_are_scaled_by_what_the_probes_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "product_seconds", lambda: 3 * TWO_CORES.product)
    monkeypatch.setattr(calibrate, "python_seconds", lambda: 2 * TWO_CORES.python)
    calibrated.cache_clear()
    try:
        slower = calibrated(TWO_CORES)
    finally:
        calibrated.cache_clear()
    assert slower.pair == 3 * TWO_CORES.pair and slower.transformer_token == 3 * TWO_CORES.transformer_token
    assert slower.report == 2 * TWO_CORES.report and slower.start == 2 * TWO_CORES.start
    assert (slower.sessions, slower.python) == (TWO_CORES.sessions, TWO_CORES.python)


def test_every_rate_is_scaled_or_is_none() -> None:
    named = {*calibrate._ARITHMETIC, *calibrate._PYTHON}
    assert set(vars(TWO_CORES)) - named == {"sessions", "product", "python"}


class Slow(Encoder):
    """Counts what it encodes."""

    name, dimension, fingerprint = "slow", 384, "slow"

    def __init__(self) -> None:
        self.texts = 0

    def pieces(self, texts: Sequence[str], kind: Kind) -> Iterator[Piece]:
        self.texts += len(texts)
        yield np.arange(len(texts)), np.ones((len(texts), 384), np.float32)


def test_where_many_texts_are_to_be_encoded_some_are(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, texts = Slow(), [f"text {number}" for number in range(1000)]
    assert with_encoder(TWO_CORES, encoder, texts, 10, 100) is TWO_CORES and encoder.texts == 0
    rows = filled(48, 10)
    monkeypatch.setattr(calibrate, "median_seconds", lambda task, rounds: task() is None or rows * 0.5)
    rates = with_encoder(TWO_CORES, encoder, texts, 10, 1_000_000)
    assert 0 < encoder.texts < 200
    assert rates.transformer_text + 10 * rates.transformer_token == pytest.approx(0.5)
    assert rates.word == TWO_CORES.word


def test_the_median_is_not_moved_by_one_slow_round() -> None:
    slow = iter([200_000, *[10] * 4])
    assert median_seconds(lambda: sum(range(next(slow))), 5) < 1e-3
