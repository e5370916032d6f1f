"""Scores on any scale: what differs by rounding ties, and nothing else does."""

import numpy as np
import pandas as pd
import pytest

from quipukit.attackers.log import QueryLog
from quipukit.attackers.panel import Panel
from quipukit.attackers.ties import _rounded, best, extremes, tolerance
from tests.attackers.fakes import Overlap

LOG = QueryLog.of(["a", "b", "c", "d"])
ASKED = pd.DataFrame({"qid": ["1"], "query": ["b"]})
SENT = pd.DataFrame(
    [{"qid": "1", "variant": 0, "query": "x", "mechanism": "CMP", "parameter": "epsilon", "value": 1.0}]
)


class Fixed(Overlap):
    """Gives the queries a, b, c and d these scores; b is the original."""

    name = "Fixed"

    def __init__(self, *given: float) -> None:
        self.given = np.array(given)

    def scores(self, sent):
        return self.given


SUM = 0.1 + 0.2  # 0.30000000000000004


@pytest.mark.parametrize(
    ("given", "better", "tied"),
    [
        ((3e-15, 2e-15, 1e-15, 2e-15 * (1 + 1e-13)), 1, 1),  # probabilities, all tiny
        ((0.9, 2e-15, 1e-15, 0.0), 1, 0),  # the same below one large one
        ((0.9, 0.0, 0.0, 1e-300), 2, 1),
        ((-10000.0, -10001.0, -10001.0 - 1e-10, -10002.0), 1, 1),  # log-likelihoods: their last bit is 2e-12
        ((-10000.0, -10001.0, -10001.0 + 1e-6, -10002.0), 2, 0),
        ((SUM, 0.3, 0.4, 0.2), 1, 1),  # sums in another order
        ((SUM * 1e-15, 0.3e-15, 0.4e-15, 0.2e-15), 1, 1),
        ((SUM - 0.3, 0.0, 0.5, -0.5), 1, 1),  # sums that cancel
        ((1e-15 * (SUM - 0.3), 0.0, 0.5e-15, -0.5e-15), 1, 1),
        ((-1.7e308, 1.0, 1.0 + 1e-9, -2.0), 1, 0),  # a row that is called impossible
        ((-1.7e308, -1.0, -1.0 + 1e-9, -2.0), 1, 0),
        ((-1.7e308, 1.7e308, 1.7e308, 0.0), 0, 1),
        ((0.0, 0.0, 0.0, 0.0), 0, 3),
    ],
)
def test_ranks_and_guesses_are_those_of_the_scale_of_the_scores(given, better: int, tied: int) -> None:
    panel = Panel([Fixed(*given)], LOG)
    (row,) = panel.ranks(SENT, ASKED).to_dict("records")
    assert (row["better"], row["tied"]) == (better, tied)
    guesses = panel.guesses(SENT, ASKED, 4)["query"].tolist()
    ahead = [text for text in "acd" if guesses.index(text) < guesses.index("b")]
    assert better <= len(ahead) <= better + tied


def test_equal_scores_are_guessed_in_any_order_but_that_of_the_log() -> None:
    logs = (LOG, QueryLog.of(LOG.texts[::-1]))
    first, second = (
        Panel([Fixed(0.3e-15, SUM * 1e-15, 0.3e-15, 0.4e-15)], log).guesses(SENT, ASKED, 4)["query"].tolist()
        for log in logs
    )
    assert first == second and first[0] == "d" and set(first[1:]) == set("abc")


def test_the_order_of_rows_does_not_change_what_is_equal() -> None:
    scores = np.array([3e-15, -2.0, 0.5, 1e-15])
    assert tolerance(scores, 0.5) == tolerance(scores[::-1], 0.5) == 1e-12
    limits = extremes(scores)
    assert _rounded(scores, limits).tolist() == _rounded(scores[::-1], limits)[::-1].tolist() == [0.0, -2.0, 0.5, 0.0]
    assert tolerance(np.array([]), 0.0) == 0.0


@pytest.mark.parametrize("scale", [1.0, 1e-15, -1e4])
def test_the_best_are_the_first_of_all_in_order(scale: float) -> None:
    rng = np.random.default_rng(3)
    scores = scale + rng.integers(-3, 4, 500) * abs(scale) / 7
    scores[::2] *= 1 + 1e-15  # equal but for the last bit
    turns = rng.permutation(500)
    every = np.lexsort((turns, -_rounded(scores, extremes(scores))))
    for top in (1, 7, 80, 500, 600):
        assert best(scores, turns, top).tolist() == every[:top].tolist()
