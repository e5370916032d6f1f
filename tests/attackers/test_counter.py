"""Counting where a target stands: once for scores that are handed out again, and again for all others."""

import gc

import numpy as np
import pytest

from quipukit.attackers import counter as module
from quipukit.attackers.counter import Counter
from quipukit.attackers.ties import best, count, count_and_best, extremes
from quipukit.errors import InputError
from tests.attackers.fakes import Overlap

TURNS = np.random.default_rng(2).permutation(1000)


def fixed(scores):
    scores.flags.writeable = False
    return scores


@pytest.fixture
def looks(monkeypatch):
    """The scores that were looked through."""
    seen, own = [], module.checked_scores
    monkeypatch.setattr(
        module, "checked_scores", lambda who, scores, rows: seen.append(scores) or own(who, scores, rows)
    )
    return seen


@pytest.mark.parametrize("values", [5, 900, 10**9])
@pytest.mark.parametrize("few", [1, 4096])
def test_one_pass_finds_what_two_find(monkeypatch, values, few):
    monkeypatch.setattr("quipukit.attackers.ties._FEW", few)
    rng = np.random.default_rng(values)
    for scale, shift in ((1.0, 0.0), (1e-15, 0.0), (1.0, 1e4)):
        scores = scale * rng.integers(-values, values, 1000) / values + shift
        scores[::3] *= 1 + 1e-15  # equal but for the last bit
        limits = extremes(scores)
        for place in (0, int(scores.argmax()), int(scores.argmin())):
            wanted = (*count(scores, place), int(best(scores, TURNS, 1)[0]))
            assert count_and_best(scores, place, TURNS, limits) == wanted


def test_scores_that_cannot_change_are_counted_once_per_target(looks):
    counter, scores = Counter(TURNS), fixed(np.arange(1000.0))
    first = [counter.counted(Overlap(), scores, place, 1000) for place in (5, 7, 5)]
    assert first == [(994, 0, 999), (992, 0, 999), (994, 0, 999)]
    assert len(looks) == 2


def test_scores_that_can_change_are_counted_again(looks):
    counter, scores = Counter(None), np.arange(1000.0)
    assert counter.counted(Overlap(), scores, 5, 1000) == (994, 0, -1)
    scores[:] = -scores
    assert counter.counted(Overlap(), scores, 5, 1000) == (5, 0, -1)
    view = fixed(scores[:])  # which cannot be written, but what it shows can
    assert counter.counted(Overlap(), view, 5, 1000) == (5, 0, -1)
    scores[:] = -scores
    assert counter.counted(Overlap(), view, 5, 1000) == (994, 0, -1)
    assert len(looks) == 4


def test_scores_that_are_gone_are_forgotten():
    counter = Counter(None)
    for sign in (1, -1, 1, -1):  # their place in memory is likely to be taken by the next
        found = counter.counted(Overlap(), fixed(sign * np.arange(1000.0)), 5, 1000)
        assert found == ((994, 0, -1) if sign > 0 else (5, 0, -1))
    gc.collect()
    assert not counter._known


def test_what_is_no_score_is_refused():
    for scores in (np.zeros(3), np.full(1000, np.nan), fixed(np.full(1000, np.inf))):
        with pytest.raises(InputError, match="no finite score for each of the 1,000 rows"):
            Counter(TURNS).counted(Overlap(), scores, 0, 1000)
