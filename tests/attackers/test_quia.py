"""QuIA: the cosine with the centroid of what was sent."""

import numpy as np
import pytest

from quipukit.attackers.base import KnownLog, Sent
from quipukit.attackers.quia import QuIA
from quipukit.testing import check_attacker
from tests.attackers.fakes import Bag

TEXTS = ["cat food", "dog food", "", "tax return"]


@pytest.fixture
def quia() -> QuIA:
    attacker = QuIA(encoder=Bag())
    attacker.prepare(KnownLog(TEXTS, np.ones(4, np.int64)))
    return attacker


def test_scores_are_cosines_with_the_centroid(quia: QuIA) -> None:
    sent = ("cat toys", "dog toys", "cat toys")
    center = Bag().encode(list(sent)).astype(float).mean(axis=0)
    rows = Bag().encode(TEXTS).astype(float)
    with np.errstate(invalid="ignore"):
        cosines = rows @ center / np.linalg.norm(rows, axis=1) / np.linalg.norm(center)
    assert quia.scores(Sent(sent)) == pytest.approx(np.nan_to_num(cosines), abs=1e-12)
    assert quia.scores(Sent(sent))[2] == 0 and quia.scores(Sent(("",))).tolist() == [0] * 4


def test_equal_texts_count_as_often_as_they_were_sent(quia: QuIA) -> None:
    once, twice = (quia.scores(Sent(sent)) for sent in (("cat", "dog"), ("cat", "dog", "dog")))
    assert twice[1] > once[1] and twice[0] < once[0]


@pytest.mark.heavy
def test_it_keeps_what_every_attacker_keeps(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    check_attacker(QuIA(encoder=Bag()))
