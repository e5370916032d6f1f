"""Support rules out what cannot be, and nothing else."""

import itertools

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.attackers.base import KnownLog, KnownSetting, Sent
from quipukit.attackers.support import Support
from quipukit.testing import check_attacker
from tests.attackers import small, toy
from tests.examples import slowly

PLACES = toy.vectors()
SPECS = ["CusText(k=3)@2", "CusText(k=4, mapping='topk')@2", "CusText(k=4, mapping='topk', similarity='cosine')@2",
         "WBB(k=1, n=4, all_tokens=True)@5", "WBB(k=2, n=3, measure='euclidean', all_tokens=True)@5",
         "WBB(k=1, n=4, measure='product', mode='published', all_tokens=True)@5"]  # fmt: skip


def prepared(log=None):
    attacker = Support(vectors=PLACES)
    attacker.prepare(log or toy.log())
    return attacker


@pytest.mark.parametrize("spec", SPECS)
def test_words_are_ranked_by_what_cannot_have_come_from_them(spec):
    one = qk.mechanism(spec, vectors=PLACES)
    possible = toy.probability(one) > 0
    attacker = prepared()
    for texts in (["bee"], ["bee", "bee", "cat"], ["ant", "gnu", "hen", "jay"]):
        impossible = sum((~possible[:, toy.WORDS.index(text)]).astype(int) for text in texts)
        found = toy.scores(attacker, one, texts)
        for a in range(10):
            for b in range(10):
                assert (found[a] > found[b]) == (impossible[a] < impossible[b])


def test_violated_positions_and_observations_both_count():
    one = qk.mechanism("CusText(k=2)@2", vectors=PLACES)
    a, b = next(pair for pair in itertools.combinations(toy.WORDS, 2) if np.isinf(one.log_prob(*pair)))
    log = KnownLog([f"{a} {a}", f"{a} {b}", f"{b} {a}", a], np.ones(4, np.int64))
    found = toy.scores(prepared(log), one, [f"{a} {a}"] * 4 + [f"{a} {b}"])
    assert np.argsort(-found).tolist() == [0, 1, 2, 3]


def test_other_mechanisms_tell_it_nothing():
    found = toy.scores(prepared(), qk.mechanism("SanText@3", vectors=PLACES), ["bee"])
    assert np.ptp(found) == 0
    with pytest.warns(UserWarning, match=r"Support knows no law for Elsewhere \(1\)"):
        assert np.ptp(prepared().scores(Sent(("bee",), KnownSetting("Elsewhere", "k")))) == 0


@pytest.mark.parametrize("spec", ["CusText(mapping='topk')@1", *slowly("WBB(all_tokens=True)@1")])
def test_after_thirty_texts_few_words_are_left_and_exchanged_sets_reveal_nothing(spec):
    known, log = small.vectors(), small.queries(2000)
    one = qk.mechanism(spec, vectors=known)
    texts = log[:60]
    asked = pd.DataFrame({"qid": [str(number) for number in range(1, 61)], "query": texts})
    sent = qk.obfuscate(asked, one, n=30, seed=3)

    def found(obfuscated):
        ranks = qk.attack(obfuscated, asked, log, attackers=[Support(vectors=PLACES)], mechanisms=[one])
        return qk.risk(ranks).query("measure == 'R@10'")["score"].mean()

    assert found(sent) >= 0.95
    # Ten of some 500 queries of equal length would be .02 by chance; 60 queries: at most .10 with p > .999
    assert found(small.exchanged(sent, texts)) <= 0.10


def test_it_is_an_attacker():
    check_attacker(Support(vectors=small.vectors()))
