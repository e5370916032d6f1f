"""Estimates of the law of a mechanism that adds noise, against probabilities that are known."""

import numpy as np
import pytest

import quipukit as qk
from quipukit.attackers.base import KnownLog
from quipukit.attackers.bayes import Bayes
from quipukit.attackers.cells import Cells, rescored
from quipukit.attackers.logsites import LogSites
from quipukit.errors import SpecError
from quipukit.mechanisms.noisyrantext import NoisyRANTEXT
from quipukit.mechanisms.perturbation import draw_noise
from tests.attackers import toy

LINE = qk.Vectors(["a", "b", "c"], [[0.0], [1.0], [3.0]])
DRAWS = 40_000


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("spec", "law"), [("CMP@1", (0.696735, 0.235598, 0.067668)), ("VickreyCMP@1", (0.444324, 0.492695, 0.062981))]
)
def test_the_cells_of_a_line_have_their_exact_probabilities(spec, law):
    one = qk.mechanism(spec, vectors=LINE)
    sites = LogSites.of(one, ["a"])
    found = Cells(sites, one, DRAWS).log_likelihood(np.arange(3), np.eye(3), np.array([0]))[:, 0]
    # Five standard errors of a share of 40,000 draws are .0125 at most: false alarms below 1e-5.
    assert np.exp(found) == pytest.approx(law, abs=0.0125)


@pytest.mark.statistical
def test_lists_around_noisy_points_have_their_exact_probabilities():
    """Against a sum over a fine grid of noise; five standard errors of 40,000 draws: false alarms below 1e-5."""
    one = qk.mechanism("NoisyRANTEXT(k=2)@2", vectors=LINE)
    found = Cells(LogSites.of(one, ["a"]), one, DRAWS).log_likelihood(np.arange(3), np.eye(3), np.array([0]))[:, 0]
    places, noise = np.array([0.0, 1.0, 3.0]), np.linspace(-40, 40, 400_001)

    def law(epsilon):
        lists = np.argsort(np.abs(places - noise[:, None]), axis=1, kind="stable")[:, :2]
        weights = np.exp(-epsilon / 4 * places[lists])
        density = np.exp(-epsilon / 2 * np.abs(noise))
        weights *= (density / density.sum() / weights.sum(axis=1))[:, None]
        return np.bincount(lists.ravel(), weights.ravel())

    assert np.exp(found) == pytest.approx(law(2.0), abs=0.0125)
    assert np.abs(np.exp(found) - law(3.0)).max() > 0.03  # a wrong twin


@pytest.mark.parametrize("spec", ["CMP@2", "NoisyRANTEXT(k=2)@4"])
def test_estimates_are_near_the_bayes_vulnerability(spec):
    """Of a law that is itself simulated, 20,000 times for each word; the stand-in alone is not so near."""
    places = toy.vectors()
    one = qk.mechanism(spec, vectors=places)
    law = np.array([simulated(one, word, 20_000) for word in toy.WORDS])
    prior = np.full(10, 0.1)
    best = (prior[:, None] * law).max(axis=0).sum()
    attacker = Bayes(vectors=places, prior="uniform", cells=10_000)
    attacker.prepare(toy.log())
    guesses = [int(np.argmax(toy.scores(attacker, one, [word]))) for word in toy.WORDS]
    assert sum(prior[guess] * law[guess, number] for number, guess in enumerate(guesses)) >= best - 0.01
    # A wrong twin: who believes in another mechanism does worse.
    other = qk.mechanism("CMP@0.05", vectors=places)
    guesses = [int(np.argmax(toy.scores(attacker, other, [word]))) for word in toy.WORDS]
    assert sum(prior[guess] * law[guess, number] for number, guess in enumerate(guesses)) < best - 0.01


def simulated(one, word, count):
    drawn = draw_noise(np.random.default_rng(9), count, one.vectors.dimension)
    points = np.repeat(one.vectors.vector(word)[None].astype(np.float64), count, axis=0)
    if isinstance(one, NoisyRANTEXT):
        rows = one.choose(points, drawn)
    else:
        noisy = points + drawn.radii[:, None] / one.epsilon * drawn.directions
        rows = np.linalg.norm(noisy[:, None] - one.vectors.matrix, axis=2).argmin(axis=1)
    return np.bincount(rows, minlength=len(one.vectors)) / count


def test_what_no_draw_reaches_has_the_floor():
    one = qk.mechanism("CMP@1000", vectors=LINE)
    cells = Cells(LogSites.of(one, ["a"]), one, 100)
    found = cells.log_likelihood(np.array([0, 2]), np.eye(2), np.array([0]))
    assert cells.reached(0).tolist() == [0]
    assert np.exp(found[:, 0]) == pytest.approx([1.0, 1 / 103])


def test_the_best_candidates_are_ranked_by_the_estimates():
    one = qk.mechanism("CMP@2", vectors=LINE)
    attacker = Bayes(vectors=LINE, cells=DRAWS, prior="uniform")
    attacker.prepare(KnownLog(["a", "b", "c", "a b"], np.ones(4, np.int64)))
    found = toy.scores(attacker, one, ["a"] * 5 + ["b"] * 5)
    sites = LogSites.of(one, ["a", "b", "c"])
    law = Cells(sites, one, DRAWS).log_likelihood(np.array([0, 1]), np.array([[5.0, 5.0]]), np.arange(3))[0]
    assert found[:3] - found[0] == pytest.approx(law - law[0]) and found[3] < found[:3].min()


def test_rescored_queries_come_first():
    assert rescored(np.array([3.0, 1.0, 2.0]), np.array([0, 2]), np.array([-9.0, -7.0])).argsort().tolist() == [1, 0, 2]
    assert np.isfinite(rescored(np.array([3.0]), np.array([0]), np.array([-9.0]))).all()


@pytest.mark.parametrize("options", [{"cells": -1}, {"cells": 2.5}, {"cells": 9, "epsilon": "unknown"}])
def test_options_are_checked(options):
    with pytest.raises(SpecError, match="Bayes: cells"):
        Bayes(vectors=LINE, **options)
