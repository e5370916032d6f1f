"""Sets of texts that were sent before are not scored again, and sets of any lengths are scored side by side."""

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.attackers import scorer
from quipukit.attackers.base import Sent
from quipukit.attackers.lexical import Lexical
from quipukit.attackers.log import QueryLog
from quipukit.attackers.panel import Panel
from quipukit.attackers.positional import Positional
from quipukit.attackers.several import in_spans
from quipukit.attackers.task import Task
from tests.attackers import small
from tests.attackers.fakes import Overlap

LOG = QueryLog.of(small.queries(300))
ASKED = pd.DataFrame({"qid": ["1", "2", "3"], "query": list(LOG.texts[:3])})


class Counting(Overlap):
    """Notes what it was asked."""

    name = "Counting"

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    def scores(self, sent: Sent):
        self.asked.append(sent.texts)
        return super().scores(sent)


def same(settings: int) -> pd.DataFrame:
    table = qk.obfuscate(ASKED, "Identity", n=3, seed=1)
    return pd.concat([table.assign(mechanism=f"M{number}") for number in range(settings)], ignore_index=True)


def counting(log: QueryLog = LOG) -> tuple[Panel, Counting]:
    panel = Panel([Counting()], log)
    return panel, panel.attackers[0]  # type: ignore[return-value]


def test_what_several_settings_send_is_scored_once() -> None:
    panel, attacker = counting()
    ranks = panel.ranks(same(4), ASKED)
    assert len(ranks) == 12 and len(attacker.asked) == 3
    alone = counting()[0].ranks(same(1), ASKED)
    for number in range(4):
        own = ranks[ranks["mechanism"] == f"M{number}"]
        assert own["log_rank"].tolist() == alone["log_rank"].tolist()


def test_it_is_known_when_it_is_sent_later() -> None:
    panel, attacker = counting()
    first = panel.ranks(same(1), ASKED)
    again = panel.ranks(same(2), ASKED)
    assert len(attacker.asked) == 3
    assert again["log_rank"].tolist() == first["log_rank"].tolist() * 2
    panel.ranks_and_guesses(Task.of(same(1), ASKED, LOG))  # first guesses are something else
    assert len(attacker.asked) == 6


def test_the_same_texts_for_another_query_are_another_question() -> None:
    panel, attacker = counting()
    table = same(1)
    table["query"] = LOG.texts[0]
    ranks = panel.ranks(table, ASKED).set_index("qid")["log_rank"]
    assert len(attacker.asked) == 3
    assert ranks["1"] == 1 and ranks["2"] > 1 and ranks["3"] > 1


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorer, "_REMEMBERED", 2)
    panel, attacker = counting()
    panel.ranks(same(2), ASKED)
    panel.ranks(same(1), ASKED)
    assert len(attacker.asked) == 4  # the first of three is forgotten


@pytest.mark.parametrize("kind", [Positional, Lexical])
def test_sets_that_are_scored_side_by_side_have_the_scores_of_each_alone(kind) -> None:
    known = small.vectors()
    options = {"vectors": known} if kind is Positional else {}
    texts = [
        *("bab", "bab beb", "dal dad gub", "zzz bab", "", "zzz yyy"),
        *(" ".join(small.WORDS[number : number + 1 + number % 6]) for number in range(40)),
    ]
    batch = [Sent((text, text, *texts[:number])) for number, text in enumerate(texts)]
    one, other = kind(**options), kind(**options)
    for attacker in (one, other):
        attacker.prepare(Panel([kind(**options)], QueryLog.of([*LOG.texts, "zzz", "bab zzz yyy"]))._known.copied())
    together = [scores.copy() for scores in one.scores_of(batch)]
    for asked, scores in zip(reversed(batch), reversed(together), strict=True):
        np.testing.assert_array_equal(scores, other.scores(asked))


@pytest.mark.parametrize("rows", [0, 1, 32_768, 70_000])
def test_threads_do_every_row_once(rows: int) -> None:
    seen = np.zeros(rows, int)

    def work(first: int, last: int) -> None:
        seen[first:last] += 1

    in_spans(work, rows)
    assert (seen == 1).all()
