"""Several sets of texts per pass over a long log: each gets the scores that it would get alone."""

import numpy as np
import pandas as pd
import pytest

from quipukit.attackers import ahead, guessing, scorer
from quipukit.attackers.ahead import Ahead, sets_ahead
from quipukit.attackers.base import Sent
from quipukit.attackers.log import QueryLog
from quipukit.attackers.panel import Panel
from quipukit.attackers.task import Task
from quipukit.attackers.words import Words
from tests.attackers import small

AGNOSTIC = ("Words", "Positional", "Lexical", "MaxSim", "Style", "Fusion")


def sets(*numbers):
    return [Sent((f"text {number}",)) for number in numbers]


class Multiply:
    """Counts how often a set was multiplied."""

    def __init__(self):
        self.asked = []

    def __call__(self, batch):
        self.asked += [sent.texts[0] for sent in batch]
        return [np.array([[float(sent.texts[0].split()[1])]], np.float32) for sent in batch]


def test_what_was_expected_is_multiplied_once():
    products, multiply = Ahead(), Multiply()
    products.fill(sets(1, 2, 3, 2), multiply)
    products.fill(sets(2, 3), multiply)
    assert [one.item() for one in products.products(sets(3, 9, 1), multiply)] == [3, 9, 1]
    assert multiply.asked == ["text 1", "text 2", "text 3", "text 9"]


def test_what_is_expected_next_takes_the_place_of_what_was():
    products, multiply = Ahead(), Multiply()
    products.fill(sets(1), multiply)
    products.fill(sets(2), multiply)
    assert [one.item() for one in products.products(sets(1, 2), multiply)] == [1, 2]
    assert multiply.asked == ["text 1", "text 2", "text 1"]


def test_the_products_that_wait_take_bounded_memory():
    assert sets_ahead(1000) == 32
    assert sets_ahead(5_000_000) * 5_000_000 * 4 <= 200_000_000
    assert sets_ahead(10**9) == 1


@pytest.fixture(scope="module")
def world():
    known, log = small.vectors(), QueryLog.of(small.queries(700))
    asked = pd.DataFrame({"qid": [str(n) for n in range(1, 12)], "query": list(log.texts[:11])})
    sent = [small.noisy(asked["query"], known, variants=6, scale=scale) for scale in (1.0, 3.0)]
    return known, log, pd.concat(sent, ignore_index=True), asked


def ranked(world, **limits):
    known, log, sent, asked = world
    with pytest.MonkeyPatch.context() as changes:
        for name, value in limits.items():
            changes.setattr(ahead if name == "sets_ahead" else scorer, name, lambda rows, value=value: value)
        return Panel(AGNOSTIC, log, vectors=known).ranks_and_guesses(Task.of(sent, asked, log))


@pytest.mark.parametrize("limits", [(1, 1), (1, 5), (2, 5), (4, 13), (3, 64)])
def test_ranks_and_guesses_do_not_depend_on_how_many_sets_are_scored_at_once(world, limits):
    usual = ranked(world)
    for found, wanted in zip(ranked(world, at_once=limits[0], sets_ahead=limits[1]), usual, strict=True):
        pd.testing.assert_frame_equal(found, wanted, check_exact=True)


def test_the_sums_of_the_log_are_read_once_for_all_that_is_expected(world, monkeypatch):
    from quipukit.attackers import words

    read, own = [], words.tiled_products
    monkeypatch.setattr(words, "tiled_products", lambda points, rows: read.append(len(points)) or own(points, rows))
    ranked(world, at_once=2, sets_ahead=9)
    assert [count for count in read if count] == [8, 8, 6]  # 22 sets; Fusion asks for none of its own


def test_the_sums_of_the_log_are_read_once_for_guesses_too(world, monkeypatch):
    from quipukit.attackers import words

    known, log, sent, asked = world
    usual = Panel(AGNOSTIC, log, vectors=known).guesses(sent, asked, 5)
    read, own = [], words.tiled_products
    monkeypatch.setattr(words, "tiled_products", lambda points, rows: read.append(len(points)) or own(points, rows))
    monkeypatch.setattr(guessing, "at_once", lambda rows: 2)
    monkeypatch.setattr(ahead, "sets_ahead", lambda rows: 9)
    found = Panel(AGNOSTIC, log, vectors=known).guesses(sent, asked, 5)
    assert [count for count in read if count] == [8, 8, 6]
    pd.testing.assert_frame_equal(found, usual, check_exact=True)


def test_scores_after_expecting_are_those_of_one_set_alone(world):
    known, log, sent, _ = world
    batch = [Sent(tuple(texts)) for _, texts in sent.groupby(["value", "qid"])["query"]]
    expecting, alone = (Words(vectors=known) for _ in range(2))
    for one in (expecting, alone):
        one.prepare(Panel(["Words"], log, vectors=known)._known.copied())
    expecting.expect(batch)
    for one, scores in zip(batch, expecting.scores_of(batch), strict=True):
        np.testing.assert_array_equal(scores, alone.scores(one))
