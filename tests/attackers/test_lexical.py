import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.attackers.base import KnownLog, Sent
from quipukit.attackers.lexical import Lexical
from quipukit.attackers.maxsim import MaxSim
from quipukit.errors import SpecError
from quipukit.testing import check_attacker
from tests.attackers import small


@pytest.mark.heavy
def test_are_attackers():
    check_attacker(Lexical())
    check_attacker(MaxSim(vectors=small.vectors()))


def test_the_score_is_the_cosine_of_tf_idf_vectors():
    log = ["bab dad", "bab gug", "dad dad", "the the"]
    attacker = Lexical()
    attacker.prepare(KnownLog(log, np.ones(4, np.int64)))
    scores = attacker.scores(Sent(("bab dad", "bab new")))
    idf = {word: np.log(5 / (sum(word in text.split() for text in log) + 0.5)) for word in ("bab", "dad", "gug", "the")}
    share = {"bab": 2 / 8, "dad": 3 / 8, "gug": 1 / 8, "the": 2 / 8}
    profile = {"bab": np.log1p(2 - 4 * share["bab"]) * idf["bab"], "dad": np.log1p(max(0, 1 - 4 * share["dad"]))}
    profile["dad"] *= idf["dad"]
    length = np.sqrt(sum(v**2 for v in profile.values()) + (np.log1p(1) * np.log(5 / 0.5)) ** 2)
    for text, score in zip(log, scores, strict=True):
        own = {word: text.split().count(word) * idf[word] for word in text.split()}
        product = sum(weight * profile.get(word, 0) for word, weight in own.items())
        assert score == pytest.approx(product / length / np.sqrt(sum(v**2 for v in own.values())))


def test_chance_words_are_subtracted():
    log = ["the cat"] + [f"the {word}" for word in small.WORDS[:200]]
    attacker = Lexical()
    attacker.prepare(KnownLog(log, np.ones(len(log), np.int64)))
    # Half of all words of the log are "the": half of what was sent is no evidence.
    scores = attacker.scores(Sent(("the bab", "the dad", "the cat", "the cat")))
    assert scores.argmax() == 0


@pytest.mark.parametrize("attacker", [Lexical(), MaxSim(vectors=small.vectors())])
def test_a_single_leak_is_found_among_noise_and_exchanged_sets_reveal_nothing(attacker):
    known, log = small.vectors(), small.queries(3000)
    texts = log[:60]
    sent = small.noisy(texts, known, variants=12, scale=30.0)
    originals = dict(zip(map(str, range(1, 61)), texts, strict=True))
    sent.loc[sent["variant"] == 3, "query"] = sent.loc[sent["variant"] == 3, "qid"].map(originals)
    asked = pd.DataFrame({"qid": list(originals), "query": texts})

    def found(table):
        risk = qk.risk(qk.attack(table, asked, log, attackers=[attacker]))
        return risk[risk["measure"] == "R@10"]["score"].mean()

    if isinstance(attacker, MaxSim):  # every noisy text is the nearest of some query too
        assert found(sent) >= 0.6
    assert found(small.exchanged(sent, texts)) <= 0.1


def test_maxsim_is_the_largest_cosine():
    known, log = small.vectors(), small.queries(300, lengths=(3,))
    attacker = MaxSim(vectors=known, dimension=24)
    attacker.prepare(KnownLog(log, np.ones(len(log), np.int64)))
    texts = ("bab dad gug", "bib dad gag")

    def direction(text):
        parts = np.array([known.vector(word) - known.mean for word in text.split()])
        total = (parts / np.linalg.norm(parts, axis=1, keepdims=True)).sum(axis=0)
        return total / np.linalg.norm(total)

    scores = attacker.scores(Sent(texts))
    for text, score in zip(log, scores, strict=True):
        assert score == pytest.approx(max(direction(text) @ direction(other) for other in texts), abs=1e-5)


def test_maxsim_refuses_no_dimension():
    with pytest.raises(SpecError, match="from 1 on"):
        MaxSim(vectors=small.vectors(), dimension=0)
