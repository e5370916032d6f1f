"""Estimates of the law of a mechanism that adds noise, against probabilities that are known."""

import numpy as np
import pytest

import quipukit as qk
from quipukit.attackers.base import KnownLog
from quipukit.attackers.bayes import Bayes
from quipukit.attackers.cells import Cells, rescored
from quipukit.attackers.logsites import LogSites
from quipukit.errors import SpecError
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
