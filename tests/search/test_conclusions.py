"""What an engine could conclude: guesses of attackers from a log."""

import gc
import weakref

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.attackers.panel import Panel
from quipukit.attackers.tokens import LogTokens
from quipukit.covers.describe import Description
from quipukit.covers.make import make_partition
from quipukit.covers.pool import QueryPool
from quipukit.mechanisms.cover import Cover
from quipukit.search.conclusions import INFORMED, QUICK, conclusions

LOG = qk.read_log(["how does a tumor grow", "income tax return", "cat food for kittens", "flights to rome", "dog food"])
SECRET = "zebra crossing in utrecht"


def test_who_sends_the_query_with_little_noise_is_found_out() -> None:
    texts = ["how does a tumors grow", "how did a tumor grows"]
    concluded = conclusions(texts, LOG)
    assert [one.attacker for one in concluded.attackers] == list(QUICK)
    assert all(one.guesses[0] == "how does a tumor grow" and len(one.guesses) == 5 for one in concluded.attackers)
    assert concluded.log_size == 5 and not concluded.added and all(one.rank is None for one in concluded.attackers)


def test_nothing_sent_tells_nothing() -> None:
    concluded = conclusions([], LOG, query="dog food")
    assert all(one.guesses == () and one.rank is None and not one.found for one in concluded.attackers)


def test_attackers_and_the_number_of_guesses_can_be_chosen() -> None:
    (words,) = conclusions(["dogs food"], LOG, attackers=["Words"], guesses=1).attackers
    assert (words.attacker, words.guesses) == ("Words", ("dog food",))


def test_the_true_query_is_marked_and_added_where_the_log_lacks_it() -> None:
    known = conclusions(["dogs food", "dog foods"], LOG, query="Dog  Food")
    assert not known.added and all(one.hits[0] and one.rank == 1 for one in known.attackers)
    added = conclusions([SECRET, "zebra in utrecht"], LOG, query=SECRET)
    assert added.added and added.log_size == 5
    assert all(one.guesses[0] == SECRET and one.hits[0] and one.rank == 1 for one in added.attackers)
    missed = conclusions(["how does a tumor grow"] * 2, LOG, query="dog food", guesses=1)
    assert all(one.rank is not None and one.rank > 1 and not one.found for one in missed.attackers)


def test_what_was_added_is_not_kept() -> None:
    conclusions([SECRET], LOG, query=SECRET)
    again = conclusions([SECRET], LOG)
    assert again.log_size == 5 and all(SECRET not in one.guesses for one in again.attackers)


def some_log(count: int = 400) -> list[str]:
    words = ["cat", "dog", "tumor", "tax", "income", "rome", "flight", "food", "grow", "cheap", "lawyer", "nurse"]
    rng = np.random.default_rng(3)
    return list(dict.fromkeys(" ".join(rng.choice(words, rng.integers(2, 6))) for _ in range(count)))


@pytest.mark.parametrize("query", ["cheap flight to rome for a nurse", "tax lawyer", "zebrafish qqzzxx tumor"])
def test_an_added_query_ranks_as_if_the_attackers_had_learned_it_with_the_rest(query: str) -> None:
    """To learn a whole log again for one more query takes seconds; what is done instead gives the same ranks."""
    log = qk.read_log(some_log())
    mechanism = qk.mechanism("CMP@7")
    for _ in range(5):
        texts = mechanism.obfuscate(query, 4)
        concluded = conclusions(texts, log, query=query)
        sent = pd.DataFrame({"qid": "q", "variant": range(4), "query": texts, "mechanism": "CMP"})
        panel = Panel(QUICK, log.completed([query]))
        ranks = panel.ranks(sent.assign(parameter="epsilon", value=7.0), pd.DataFrame({"qid": ["q"], "query": [query]}))
        expected = ranks.set_index("attacker")["log_rank"]
        assert {one.attacker: one.rank for one in concluded.attackers} == {name: expected[name] for name in QUICK}


def test_words_of_one_more_row_are_those_of_the_whole() -> None:
    texts = some_log(50)
    whole, grown = LogTokens.of([*texts, "a new word, a cat"]), LogTokens.of(texts).with_row("a new word, a cat")
    assert whole.words == grown.words and whole.ids.tolist() == grown.ids.tolist()
    assert whole.starts.tolist() == grown.starts.tolist()
    assert whole.frequencies.tolist() == grown.frequencies.tolist()
    assert LogTokens.of(texts).with_row("").starts.tolist() == LogTokens.of([*texts, ""]).starts.tolist()


def small_cover() -> Cover:
    pool = QueryPool.of(["cat food", "dog food", "income tax", "tax return"])
    return Cover(k=2, cover=make_partition(pool, 2, Description("static:default")))


def test_who_knows_the_cover_guesses_within_the_group() -> None:
    cover = small_cover()
    log = qk.read_log([*cover.cover.pool.texts, "flights to rome"])
    bayes, *_ = conclusions(cover.obfuscate("income tax"), log, cover, query="income tax").attackers
    assert bayes.attacker == INFORMED and set(bayes.guesses[:2]) == {"income tax", "tax return"} and bayes.rank == 1.5
    # One that is not in the pool is in a group all the same: a third that could have been it.
    bayes, *_ = conclusions(cover.obfuscate("income taxes"), log, cover, query="income taxes").attackers
    assert bayes.rank is not None and 1 <= bayes.rank <= 3


def test_a_log_is_let_go() -> None:
    log = qk.read_log(some_log(20))
    gone = weakref.ref(log)
    conclusions(["cat"], log)
    del log
    for number in range(2):  # two others take its place
        conclusions(["cat"], qk.read_log(some_log(20 + number)))
    gc.collect()
    assert gone() is None
