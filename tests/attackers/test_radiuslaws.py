"""The law of RANTEXT in a large vocabulary: that of the mechanism itself, up to the width of a bin."""

import functools

import numpy as np
import pytest

import quipukit as qk
from quipukit.attackers import supports
from quipukit.attackers.bayes import Bayes
from quipukit.attackers.laws import Laws
from quipukit.attackers.logsites import LogSites
from quipukit.attackers.radiuslaws import Bins, RadiusLaw, RadiusSums
from quipukit.attackers.supports import SupportLaw
from quipukit.mechanisms.rantext import RANTEXT
from tests.attackers import toy

WORDS = 120
EPSILONS = [0.5, 1.5, 6.0, 20.0]


@functools.cache
def cloud() -> qk.Vectors:
    return qk.Vectors([f"w{i}" for i in range(WORDS)], np.random.default_rng(3).standard_normal((WORDS, 24)))


def channel(one: RANTEXT, inputs: list[str]) -> np.ndarray:
    """Return P(y | x), outputs x inputs, by the mechanism's own formula."""
    table = np.zeros((len(one.vectors), len(inputs)))
    for number, word in enumerate(inputs):
        law = one.word_law(word)
        table[law.rows, number] = law.probabilities
    return table


def of_law(one: RANTEXT, inputs: list[str]) -> np.ndarray:
    sites = LogSites.of(one, inputs)
    columns = np.array([sites.ids[sites.starts[number]] for number in range(len(inputs))], np.int64)
    law = RadiusLaw(sites, one, RadiusSums(sites))
    logs, violations = law.of_places(np.arange(WORDS), np.eye(WORDS), columns)
    return np.where(violations > 0, 0.0, np.exp(logs))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_it_is_the_law_of_the_mechanism_up_to_the_width_of_a_bin(epsilon):
    one, inputs = RANTEXT(epsilon=epsilon, vectors=cloud()), ["w0", "w7", "w119", "unknown"]
    rounding = Bins.of(one).rounding
    found, expected = of_law(one, inputs), channel(one, inputs)
    assert rounding < 0.01 and (expected > 0).all()
    # A weight is off by that factor at most, and so is the sum that it is divided by.
    assert np.abs(np.log(found / expected)).max() <= 2 * rounding
    assert found.sum(axis=0) == pytest.approx(np.ones(4), abs=1e-9)
    wrong = channel(RANTEXT(epsilon=1.5 * epsilon, vectors=cloud()), inputs)
    assert np.abs(np.log(found / wrong)).max() > 4 * rounding


def test_what_no_radius_reaches_is_counted_and_the_nearest_word_comes_out_where_none_is_near():
    """Two groups of words so far apart that a radius leads from one to the other with a probability below 1e-15."""
    places = np.concatenate([cloud().matrix[:60], cloud().matrix[60:] + 1000])
    far = RANTEXT(epsilon=20, vectors=qk.Vectors(cloud().words, places))
    sites = LogSites.of(far, ["w0", "unknown"])
    law = RadiusLaw(sites, far, RadiusSums(sites))
    columns = np.array([sites.ids[0], sites.anchor], np.int64)
    logs, violations = law.of_places(np.arange(WORDS), np.eye(WORDS), columns)
    expected = channel(far, ["w0", "unknown"])
    assert np.array_equal(violations > 0, expected == 0) and violations.any()
    possible = violations == 0
    assert np.exp(logs[possible]) == pytest.approx(expected[possible], rel=2 * Bins.of(far).rounding)
    assert expected[far.nearest_row(far.vectors.mean), 1] > 0.9


def test_sums_do_not_depend_on_what_else_is_asked_for():
    sites = LogSites.of(RANTEXT(epsilon=1, vectors=cloud()), ["w0 w1 w2", "unknown"])
    several = [RANTEXT(epsilon=epsilon, vectors=cloud()) for epsilon in EPSILONS]
    together = RadiusSums(sites)
    together.compute(several)
    for one in several:
        assert np.array_equal(RadiusSums(sites).of(one)[1], together.of(one)[1])


def test_bayes_takes_it_where_the_vocabulary_is_large_and_bins_are_narrow(monkeypatch):
    texts = list(cloud().words)
    one = RANTEXT(epsilon=6, vectors=cloud())
    assert type(Laws(texts, cloud()).law(one)) is SupportLaw
    monkeypatch.setattr(supports, "_MOST", 0)
    assert type(Laws(texts, cloud()).law(one)) is RadiusLaw
    # On a plane the smallest radius is a small part of the largest: no bins are narrow beside both.
    flat = RANTEXT(epsilon=30, vectors=toy.vectors())
    assert not RadiusLaw.fits(flat) and Laws(toy.WORDS, toy.vectors()).law(flat) is None


def test_its_first_guess_reaches_the_bayes_vulnerability(monkeypatch):
    """By the law of bins, as in a large vocabulary; a wrong epsilon does not reach it."""
    monkeypatch.setattr(supports, "_MOST", 0)
    places = qk.Vectors(toy.WORDS, np.random.default_rng(2).standard_normal((10, 24)))
    one, weights = RANTEXT(epsilon=6, vectors=places), toy.COUNTS / toy.COUNTS.sum()
    attacker = Bayes(vectors=places)
    attacker.prepare(toy.log())
    best = toy.vulnerability(one, weights)
    assert toy.first_guess(attacker, one, weights) == pytest.approx(best, rel=1e-6)
    assert toy.first_guess(attacker, one, weights, RANTEXT(epsilon=0.05, vectors=places)) < best - 0.005
