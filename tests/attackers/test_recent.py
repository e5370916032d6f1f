import numpy as np
import pandas as pd

import quipukit as qk
from quipukit.attackers.base import Sent
from quipukit.attackers.positional import Positional
from quipukit.attackers.recent import TOGETHER, Recent, at_once, held
from tests.attackers import small


def sets(count):
    return [Sent((f"text {number}",)) for number in range(count)]


def test_what_is_at_hand_is_not_computed_again():
    asked = []

    def compute(batch):
        for sent in batch:
            asked.append(sent.texts)
            yield np.array([float(sent.texts[0].split()[1])])

    recent = Recent(TOGETHER)
    first = [scores.item() for scores in recent.scores(sets(3), compute)]
    again = [scores.item() for scores in recent.scores(sets(5), compute)]
    assert first == [0, 1, 2] and again == [0, 1, 2, 3, 4]
    assert len(asked) == 5


def test_it_keeps_no_more_than_are_scored_at_once():
    recent, computed = Recent(TOGETHER), []

    def compute(batch):
        computed.extend(batch)
        return (np.zeros(1) for _ in batch)

    many = sets(TOGETHER + 10)
    list(recent.scores(many, compute))
    list(recent.scores(many[:10], compute))
    assert len(computed) == TOGETHER + 20


def test_what_is_kept_cannot_be_changed():
    recent = Recent(1)
    (scores,) = recent.scores(sets(1), lambda batch: (np.zeros(1) for _ in batch))
    assert not scores.flags.writeable


def test_a_long_log_is_scored_for_few_sets_at_a_time():
    assert at_once(181_963) == TOGETHER
    assert (at_once(5_000_000), held(5_000_000)) == (8, 2)
    assert (at_once(100_000_000), held(100_000_000)) == (4, 2)  # so that both cores have work


class Backwards(Positional):
    """Takes the least likely for the most likely."""

    name, summary = "Backwards", "the opposite of Positional"

    def _several(self, parts):
        return (-scores for scores in super()._several(parts))


def test_a_subclass_does_not_get_the_scores_of_its_base():
    known, log = small.vectors(), small.queries(200)
    sent = small.noisy(log[:5], known, variants=5, scale=0.1)
    asked = pd.DataFrame({"qid": [str(n) for n in range(1, 6)], "query": log[:5]})
    ranks = qk.attack(sent, asked, log, attackers=[Positional(vectors=known), Backwards(vectors=known)])
    found = ranks.groupby("attacker")["log_rank"].mean()
    assert found["Positional"] < 5 and found["Backwards"] > 190
