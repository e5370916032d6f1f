"""Attackers that score on workers find what they find here, and this process learns no log for them."""

import numpy as np
import pandas as pd
import pytest

from quipukit.attackers import spread
from quipukit.attackers.log import QueryLog
from quipukit.attackers.panel import Panel
from quipukit.attackers.registry import attacker
from quipukit.attackers.spread import SharedLog, is_spread
from quipukit.attackers.task import Task
from quipukit.executors import Local
from quipukit.plugins import temporarily_installed
from tests.attackers.fakes import Overlap
from tests.executors.travelling import Travelling

WORDS = ("zebra", "apple", "fish", "cat", "dog", "pie", "crossing", "recipe", "tree")
RNG = np.random.default_rng(5)
LOG = QueryLog.of([" ".join(RNG.choice(WORDS, RNG.integers(1, 5))) for _ in range(300)])
QUERIES = pd.DataFrame(
    {"qid": [str(n) for n in range(30)], "query": [LOG.texts[n] for n in range(29)] + ["unheard of"]}
)


class Named(Overlap):
    """One that a spec names, and that counts how often it learns a log."""

    name, summary = "Named", "counts common words"
    learned = 0

    def prepare(self, log, progress=None):
        type(self).learned += 1
        super().prepare(log)


@pytest.fixture(autouse=True)
def installed():
    Named.learned = 0
    with temporarily_installed("quipukit.attackers", Named=Named):
        yield


def task(log=LOG):
    rng = np.random.default_rng(1)
    rows = [
        {"qid": qid, "variant": number, "query": " ".join(rng.permutation(text.split()))}
        for qid, text in QUERIES.itertuples(index=False)
        for number in range(2)
    ]
    sent = pd.DataFrame(rows).assign(mechanism="M", parameter="epsilon", value=1.0)
    return Task.of(sent, QUERIES, log)


@pytest.mark.parametrize("known", ["with the originals", "without one"])
def test_ranks_and_guesses_are_the_same(known):
    log = LOG.completed(QUERIES["query"].tolist()) if known == "with the originals" else LOG
    here = Panel(["Lexical", "Named"], log).ranks_and_guesses(task(log))
    executor = Travelling()
    there = Panel(["Lexical", "Named"], log).ranks_and_guesses(task(log), executor=executor)
    assert executor.items >= 2
    for own, other in zip(here, there, strict=True):
        pd.testing.assert_frame_equal(own, other)


def test_a_log_is_learned_once_by_a_worker_and_not_here():
    panel, executor = Panel(["Named"], LOG), Travelling()
    with executor:
        panel.prepare(executor=executor)
        assert Named.learned == 0
        panel.ranks_of(task(), executor=executor)
    assert executor.items > 1 and Named.learned == 1


def test_who_learned_the_log_here_scores_here():
    panel = Panel(["Named"], LOG)
    panel.prepare()
    executor = Travelling()
    panel.ranks_of(task(), executor=executor)
    assert (executor.items, Named.learned) == (0, 1)


def test_only_those_that_a_worker_can_make_are_spread(monkeypatch):
    named = attacker("Named")
    assert is_spread(named, 10, Travelling())
    assert not is_spread(named, 10, Local()) and not is_spread(named, 10, None)
    assert not is_spread(Named(), 10, Travelling()), "an object may hold what cannot travel"
    assert not is_spread(attacker("QuIA", encoder="static"), 10, Travelling()), "its cosines are compared in parts"
    assert not is_spread(attacker("Bayes"), 10, Travelling()), "it needs the mechanisms"
    monkeypatch.setattr(spread, "MOST_ROWS", 9)
    assert not is_spread(named, 10, Travelling())


def test_another_log_is_another_resource():
    counts = np.ones(2, np.int64)
    prints = {
        SharedLog(*one).fingerprint for one in ((["a", "b"], counts), (["ab", ""], counts), (["a", "b"], 2 * counts))
    }
    assert len(prints) == 3
