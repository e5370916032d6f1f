import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.attackers.base import KnownLog, Sent
from quipukit.attackers.style import Style
from quipukit.attackers.task import others_of
from quipukit.testing import check_attacker
from tests.attackers import small


def questions(count):
    return [f"what is {text}?" for text in small.queries(count, lengths=(2, 3), seed=11)]


def test_is_an_attacker():
    check_attacker(Style(vectors=small.vectors()))


def test_users_who_ask_questions_are_found_among_keywords():
    asked, log = questions(40), small.queries(2000)
    style = Style(vectors=small.vectors())
    style.prepare(KnownLog(sorted(log + asked), np.ones(len(log) + 40, np.int64)))
    scores = style.scores(Sent(("bab dad",), others=tuple(asked[:20])))
    hidden = [sorted(log + asked).index(text) for text in asked[20:]]
    assert (scores[hidden] > np.quantile(scores, 0.95)).mean() >= 0.9


def test_what_was_sent_teaches_nothing():
    style = Style(vectors=small.vectors())
    style.prepare(KnownLog(small.queries(100), np.ones(100, np.int64)))
    others = tuple(questions(10))
    assert (style.scores(Sent(("bab",), others=others)) == style.scores(Sent(("gug dad",), others=others))).all()
    assert not style.scores(Sent(("bab",))).any()


def test_nobody_learns_from_the_query_that_is_to_be_guessed():
    queries = {str(n): text for n, text in enumerate(["Cat food", "cat  food", *small.queries(60)])}
    others = others_of(queries)
    assert all(text.lower().split() != other.lower().split() for qid, text in queries.items() for other in others[qid])
    assert min(len(some) for some in others.values()) >= 30
    shuffled = dict(reversed(queries.items()))
    assert others_of(shuffled) == others


def test_in_the_harness_it_finds_the_kind_of_query_and_nothing_else():
    asked, log = questions(60), small.queries(3000)
    sent = pd.DataFrame(
        [(str(n), 0, "bab dad", "Noise", "scale", 1.0) for n in range(60)],
        columns=["qid", "variant", "query", "mechanism", "parameter", "value"],
    )
    queries = pd.DataFrame({"qid": [str(n) for n in range(60)], "query": asked})
    ranks = qk.attack(sent, queries, log, attackers=[Style(vectors=small.vectors())])
    assert ranks["log_rank"].median() <= 100  # of 3,060: among the questions
    assert ranks["log_rank"].median() >= 10  # but not which of them


def test_how_a_query_is_written_tells_nothing():
    plain = [*small.queries(60), "what is bab?", "2 bab"]
    odd = [*small.queries(60), "WHAT is bab\uff1f ", "\u00b2 bab"]  # the same queries: a wide question mark, a raised 2
    others = tuple(questions(10))
    scores = []
    for texts in (plain, odd):
        style = Style(vectors=small.vectors())
        style.prepare(KnownLog(texts, np.ones(len(texts), np.int64)))
        scores.append(style.scores(Sent(("bab",), others=others)).tolist())
    assert scores[0] == scores[1]


@pytest.mark.parametrize("texts", [[], ["", "what is"]])
def test_small_logs(texts):
    style = Style(vectors=small.vectors())
    style.prepare(KnownLog(texts, np.ones(len(texts), np.int64)))
    assert style.scores(Sent(("a",), others=("what is this?",))).shape == (len(texts),)


def test_log_odds_are_the_discriminant_made_smaller_and_nothing_where_examples_are_not_alike() -> None:
    """Users who ask questions are told from a log of keywords; users who ask for what the log holds are not."""
    keywords = [f"{one} {two}" for one in _THINGS for two in _THINGS if one != two]
    questions = [f"what is the {one} of a {two}" for one in _THINGS for two in _THINGS if one != two]
    log = KnownLog(sorted([*keywords, *questions[::9]]), np.ones(len(keywords) + len(questions[::9]), np.int64))
    style = Style()
    style.prepare(log)
    asked = style.log_odds(Sent((), others=tuple(questions[1::9])))
    is_question = np.array([text.startswith("what") for text in log.texts])
    assert asked[is_question].min() > asked[~is_question].max() > asked[~is_question].min()
    same = style.log_odds(Sent((), others=tuple(keywords[::9])))
    assert np.ptp(same) < 0.2 * np.ptp(asked)
    assert not style.log_odds(Sent(())).any()


_THINGS = ("cat", "dog", "tax", "loan", "piano", "song", "fever", "pain", "river", "city", "glass", "king", "bread")
