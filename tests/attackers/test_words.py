"""Words and Positional, and `attackers.lengths`, on a small world, where what they must find is known."""

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.attackers.base import KnownLog, Sent
from quipukit.attackers.lengths import costs_by_length
from quipukit.attackers.maxsim import MaxSim
from quipukit.attackers.positional import Positional
from quipukit.attackers.words import Words
from quipukit.attackers.wordspace import Slots
from quipukit.testing import check_attacker
from tests.attackers import small
from tests.examples import slowly

ATTACKERS = (Words, Positional)


def risk(attackers, obfuscated, texts, log):
    asked = pd.DataFrame({"qid": [str(n) for n in range(1, len(texts) + 1)], "query": texts})
    found = qk.risk(qk.attack(obfuscated, asked, log, attackers=attackers))
    return found.groupby(["attacker", "measure"])["score"].mean()


@pytest.mark.parametrize("cls", ATTACKERS)
@pytest.mark.parametrize("whiten", [True, *slowly(False)])
def test_is_an_attacker(cls, whiten):
    check_attacker(cls(vectors=small.vectors(), whiten=whiten))


@pytest.mark.parametrize("cls", ATTACKERS)
def test_noise_that_averages_out_hides_nothing_and_exchanged_sets_reveal_nothing(cls):
    known, log = small.vectors(), small.queries(2000)
    texts = log[:60]
    sent = small.noisy(texts, known, variants=20, scale=2.0)
    attacker = cls(vectors=known)
    assert risk([attacker], sent, texts, log)[cls.name, "R@10"] >= 0.9
    # Ten of some 500 queries of equal length would be .02 by chance; 60 queries: at most .10 with p > .999
    assert risk([attacker], small.exchanged(sent, texts), texts, log)[cls.name, "R@10"] <= 0.10


@pytest.mark.heavy
def test_more_variants_give_more_away():
    known, log = small.vectors(), small.queries(2000)
    sent = small.noisy(log[:60], known, variants=30, scale=4.0)
    few = risk([Positional(vectors=known)], sent[sent["variant"] < 2], log[:60], log)["Positional", "RR"]
    many = risk([Positional(vectors=known)], sent, log[:60], log)["Positional", "RR"]
    assert many > few + 0.2


@pytest.mark.parametrize("cls", ATTACKERS)
@pytest.mark.parametrize("change", ["longer", *slowly("shorter")])
def test_a_count_that_is_off_by_one_is_tolerated(cls, change):
    known, log = small.vectors(), small.queries(2000, lengths=(4, 5))
    texts = [text for text in log if len(text.split()) == 5][:30]
    heard = [" ".join(text.split()[:-1]) if change == "shorter" else f"{text} {text.split()[0]}" for text in texts]
    sent = small.noisy(heard, known, variants=10, scale=0.3)
    assert risk([cls(vectors=known)], sent, texts, log)[cls.name, "R@10"] >= 0.9


def test_an_unknown_word_that_was_sent_unchanged_is_found():
    known = small.vectors()
    log = [f"bab zzyx{i}" for i in range(50)]
    sent = Sent(("bab zzyx7", "dib zzyx7"))
    attacker = Positional(vectors=known)
    attacker.prepare(KnownLog(log, np.ones(50, np.int64)))
    assert attacker.scores(sent).argmax() == 7


def test_positional_is_the_mean_of_cosines():
    known = small.vectors()
    log = small.queries(50, lengths=(3,))
    attacker = Positional(vectors=known)
    attacker.prepare(KnownLog(log, np.ones(len(log), np.int64)))
    scores = attacker.scores(Sent(("bab dal gub", "beb dad gub")))

    def direction(word):
        vector = known.vector(word) - known.mean
        return vector / np.linalg.norm(vector)

    places = [("bab", "beb"), ("dal", "dad"), ("gub", "gub")]
    means = [(direction(a) + direction(b)) / 2 for a, b in places]
    for text, score in zip(log, scores, strict=True):
        cosines = [m @ direction(w) / np.linalg.norm(m) for m, w in zip(means, text.split(), strict=True)]
        assert score == pytest.approx(np.mean(cosines), abs=1e-5)


def test_the_number_of_words_costs_only_where_it_is_agreed():
    lengths = np.arange(5, dtype=np.int32)
    assert costs_by_length(Slots.of(Sent(("a b", "c d", "e"))), 4)[lengths].tolist() == [2.2, 0.1, 0, 0.1, 2.2]
    assert not costs_by_length(Slots.of(Sent(("a b", "c", "d e f"))), 4)[lengths].any()


@pytest.mark.parametrize("cls", ATTACKERS)
@pytest.mark.parametrize("texts", [("",), ("qqq www",), ("bab", "bab dad", "bab dad gag gug")])
def test_odd_texts_are_scored(cls, texts):
    attacker = cls(vectors=small.vectors())
    attacker.prepare(KnownLog(["bab", "bab dad", "www"], np.ones(3, np.int64)))
    assert np.isfinite(attacker.scores(Sent(texts))).all()


@pytest.mark.parametrize("cls", [Words, MaxSim])
@pytest.mark.parametrize("unknown", [" zzyx", *slowly("")])
def test_queries_with_the_same_words_in_another_order_tie(cls, unknown):
    known = small.vectors()
    words = small.WORDS[:6]
    # Far apart in a log (attackers get it in alphabetical order), where products add up in another order. An unknown
    # word is like no other.
    same = [" ".join(words[:4]) + unknown, " ".join(words[3::-1]) + unknown.replace("y", "a")]
    others = [text for text in small.queries(700) if sorted(text.split()) != sorted(words[:4])]
    for place in range(0, 60, 7):
        log = [*same, *others[place:]]
        queries = pd.DataFrame({"qid": ["1"], "query": [same[0]]})
        sent = qk.obfuscate(queries, "Identity", n=2)
        (rank,) = qk.attack(sent, queries, log, attackers=[cls(vectors=known)])["log_rank"]
        assert rank == 1.5, place
