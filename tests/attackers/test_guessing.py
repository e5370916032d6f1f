"""Guesses of several attackers together are those of each alone; none scores a set of texts twice."""

import numpy as np
import pandas as pd
import pytest

from quipukit.attackers import guessing
from quipukit.attackers.guessing import best_of_several, guess_table
from quipukit.attackers.log import QueryLog
from quipukit.attackers.panel import Panel
from quipukit.attackers.task import Task
from quipukit.errors import InputError, QuipukitError
from tests.attackers.fakes import Overlap

LOG = QueryLog.of(["cat food", "apple tart", "zebra fish", "dog", "apple pie", "a cat and a dog"])
QUERIES = pd.DataFrame({"qid": ["1", "2"], "query": ["cat food", "apple pie"]})


class Counting(Overlap):
    """Keeps what it is asked."""

    name, summary = "Counting", "counts"

    def __init__(self):
        self.asked = []

    def scores(self, sent):
        self.asked.append(sent.texts)
        return super().scores(sent)


def sent():
    texts = {("1", 1.0): "cat", ("2", 1.0): "a red apple", ("1", 2.0): "cat", ("2", 2.0): "pie", ("1", 3.0): "food cat"}
    rows = [{"qid": qid, "variant": 0, "query": text, "value": value} for (qid, value), text in texts.items()]
    return pd.DataFrame(rows).assign(mechanism="M", parameter="epsilon")


def test_together_they_guess_what_each_guesses_alone():
    both = Panel([Overlap(), "Lexical"], LOG).guesses(sent(), QUERIES, 3)
    alone = [Panel([one], LOG).guesses(sent(), QUERIES, 3) for one in (Overlap(), "Lexical")]
    pd.testing.assert_frame_equal(both, pd.concat(alone, ignore_index=True))


def test_equal_sets_are_scored_once_and_progress_reaches_its_end():
    own, told = Counting(), []
    panel = Panel([own], LOG)
    found = panel.guesses(sent(), QUERIES, 2, progress=lambda done, total: told.append((done, total)))
    assert sorted(panel.attackers[0].asked) == [("a red apple",), ("cat",), ("food cat",), ("pie",)]
    assert told[-1] == (4, 4)
    of = dict(iter(found.groupby(["qid", "value"])["query"]))
    assert of["1", 1.0].tolist() == of["1", 2.0].tolist() != of["2", 2.0].tolist()


@pytest.mark.parametrize("top", [0, -1])
def test_fewer_than_one_guess_is_refused(top):
    with pytest.raises(InputError, match="one guess at least"):
        Panel(["Lexical"], LOG).guesses(sent(), QUERIES, top)


def test_an_attacker_that_fails_to_expect_is_named():
    class Failing(Counting):
        name = "Failing"

        def expect(self, batch):
            raise ValueError("no")

    with pytest.raises(QuipukitError, match="Failing"):
        Panel([Failing()], LOG).guesses(sent(), QUERIES, 2)


def test_sets_are_put_back_into_their_order(monkeypatch):
    monkeypatch.setattr(guessing, "at_once", lambda rows: 2)
    task = Task.of(sent(), QUERIES, LOG)
    seen = task.sent_to(Overlap())

    def best(_attacker, some):
        return np.array([[len(one.texts[0])] for one in some]), np.zeros((len(some), 1))

    ((rows, scores),) = best_of_several([(Overlap(), seen)], len(LOG), best, None)
    assert rows[:, 0].tolist() == [len(one.texts[0]) for one in seen]
    table = guess_table(Overlap(), task, QueryLog.of([str(n) for n in range(20)]), rows, scores)
    assert table["query"].tolist() == [str(len(one.texts[0])) for one in seen]
