import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

import quipukit as qk
from quipukit.attackers.fusion import Fusion, log_chances
from quipukit.testing import check_attacker
from tests.attackers import small


def test_is_an_attacker():
    check_attacker(Fusion(vectors=small.vectors()))


@pytest.mark.parametrize("size", [0, 1, 5, 1000, 2048])
def test_ranks_are_those_of_sorting(size):
    scores = np.random.default_rng(size).normal(size=size).round(2)
    assert np.exp(log_chances(scores)) * size == pytest.approx(rankdata(-scores))


def test_ranks_of_many_are_exact_at_the_top_and_nearly_so_below():
    scores = np.random.default_rng(1).normal(size=100_000)
    found, exact = np.exp(log_chances(scores)) * len(scores), rankdata(-scores)
    top = exact <= 2000
    assert found[top] == pytest.approx(exact[top])
    assert np.abs(found / exact - 1).max() < 0.05


@pytest.mark.parametrize("scores", [[1e308, -1e308, 0.0], [5e-324, 0.0], [3.0] * 3000, [-1e308] * 4 + [1.0]])
def test_scores_of_any_size_have_a_rank(scores):
    found = np.exp(log_chances(np.array(scores))) * len(scores)
    assert found == pytest.approx(rankdata(-np.array(scores)))


def test_many_that_are_nearly_equal_are_still_ranked_at_the_top():
    scores = np.append(np.linspace(1.0, 1.0001, 5000), -1e6)
    assert np.exp(log_chances(scores[::-1])) * 5001 == pytest.approx(rankdata(-scores[::-1]))


def test_it_finds_what_members_find_together():
    known, log = small.vectors(), small.queries(3000)
    texts = log[:80]
    sent = small.noisy(texts, known, variants=10, scale=4.0)
    asked = pd.DataFrame({"qid": [str(n) for n in range(1, 81)], "query": texts})
    attackers = ["Words", "Positional", "Lexical", "Fusion"]
    found = qk.risk(qk.attack(sent, asked, log, attackers=attackers, vectors=known))
    rr = found[found["measure"] == "RR"].groupby("attacker")["score"].mean()
    assert rr["Fusion"] > 0.2 and rr["Fusion"] >= rr[["Words", "Lexical"]].max()
    exchanged = qk.risk(qk.attack(small.exchanged(sent, texts), asked, log, attackers=["Fusion"], vectors=known))
    assert exchanged[exchanged["measure"] == "R@10"]["score"].mean() <= 0.1
