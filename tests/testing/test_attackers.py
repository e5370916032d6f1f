"""The check for authors of attackers: it passes what is in order, and each rule catches an attacker that breaks it."""

import inspect
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from quipukit.attackers.quia import QuIA
from quipukit.testing import check_attacker
from tests.attackers.fakes import Bag, Overlap


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))


class Prior(Overlap):
    """Common words, and among equals what is asked often."""

    name = "Prior"

    def prepare(self, log, progress=None):
        super().prepare(log)
        self.prior = np.log(log.counts) / 100

    def scores(self, sent):
        return super().scores(sent) + self.prior


@dataclass(kw_only=True, eq=False)
class Weighted(Overlap):
    """Knows the mechanism and its parameter, and has an option."""

    name, knows = "Weighted", "log+mechanism+epsilon"
    weight: float = 1.0

    def scores(self, sent):
        return super().scores(sent) * self.weight * sent.setting.value


@pytest.mark.parametrize(
    "attacker", [Overlap(), Prior(), Weighted(weight=2.0), QuIA(encoder=Bag())], ids=lambda one: one.name
)
def test_attackers_that_are_in_order_pass(attacker):
    check_attacker(attacker)


# --- twins, each wrong in one way ---


class Nameless(Overlap):
    summary = ""


class Omniscient(Overlap):
    knows = "everything"


class TooFew(Overlap):
    def scores(self, sent):
        return super().scores(sent)[:-1]


class Infinite(Overlap):
    def scores(self, sent):
        with np.errstate(divide="ignore"):
            return np.log(super().scores(sent))


class Fragile(Overlap):
    """Fails at an empty text."""

    def scores(self, sent):
        return super().scores(sent) / max(len(text.split()[0]) for text in sent.texts)


class Moody(Overlap):
    def scores(self, sent):
        return super().scores(sent) + np.random.default_rng().random(len(self.words))


class Remembering(Overlap):
    """What was sent before counts, too."""

    seen = ()

    def prepare(self, log, progress=None):
        super().prepare(log)
        self.seen = ()

    def scores(self, sent):
        self.seen += sent.texts
        return super().scores(type(sent)(self.seen))


class Growing(Overlap):
    """Keeps the log that it learned before."""

    times = 0

    def prepare(self, log, progress=None):
        super().prepare(log)
        self.times += 1

    def scores(self, sent):
        return super().scores(sent) * self.times


class Positional(Overlap):
    """Prefers the last rows, where a log is completed."""

    def scores(self, sent):
        return super().scores(sent) + np.linspace(0, 0.1, len(self.words))


class WrongVectors(QuIA):
    """Ranks by other vectors than its scores say."""

    def sent_vectors(self, batch):
        return -super().sent_vectors(batch)

    def scores(self, sent):
        return -super().scores(sent)


class NoRows(QuIA):
    @property
    def log_vectors(self):
        return super().log_vectors[:-1]


class BatchBound(QuIA):
    """A query's vector depends on the others of its batch."""

    def sent_vectors(self, batch):
        vectors = super().sent_vectors(batch)
        return vectors * len(batch)


class NeedsRows(Overlap):
    def scores(self, sent):
        return super().scores(sent) / len(self.words[0])


class Peeking(Overlap):
    """Looks for the originals in the frames of whoever called it."""

    def scores(self, sent):
        scores = super().scores(sent)
        frame = inspect.currentframe()
        while frame is not None:
            for value in list(frame.f_locals.values()):
                if isinstance(value, pd.DataFrame) and list(value.columns) == ["qid", "query"]:
                    told = [self.words.index(set(text.split())) for text in value["query"]]
                    return scores + 10 * (np.arange(len(scores)) == told[self.asked(sent)])
            frame = frame.f_back
        return scores

    def asked(self, sent):
        self.number = getattr(self, "number", -1) + 1
        return self.number


@pytest.mark.parametrize(
    ("attacker", "reason"),
    [
        (Nameless(), "must set 'summary'"),
        (Omniscient(), "must set 'knows' to one of"),
        (TooFew(), "239.* numbers for 240 rows"),
        (Infinite(), "not finite"),
        (Moody(), "on chance"),
        (Remembering(), "on what was asked before"),
        (Growing(), "learning the same log again"),
        (Positional(), "depends on the place"),
        (WrongVectors(encoder=Bag()), "not the cosines"),
        (NoRows(encoder=Bag()), "one row per row"),
        (BatchBound(encoder=Bag()), "depends on the batch"),
        (Peeking(), "which query is the original"),
    ],
    ids=lambda one: type(one).__name__ if not isinstance(one, str) else "",
)
def test_an_attacker_that_is_wrong_is_told_why(attacker, reason):
    with pytest.raises(AssertionError, match=reason):
        check_attacker(attacker)


@pytest.mark.parametrize("attacker", [Fragile(), NeedsRows()], ids=lambda one: type(one).__name__)
def test_an_attacker_that_unusual_texts_or_logs_break_does_not_pass(attacker):
    with pytest.raises((IndexError, ZeroDivisionError)):
        check_attacker(attacker)


# --- the two controls, on their own ---


class Told(Overlap):
    """Gets the originals through the back door, each by what is sent for it: in which order is not promised."""

    originals: dict[tuple[str, ...], str] = {}  # noqa: RUF012 - filled from outside, as a back door is

    def scores(self, sent):
        own = set(self.originals[tuple(sent.texts)].split())
        return np.array([len(words & own) for words in self.words], float)


@pytest.mark.parametrize("control", ["_check_noise", "_check_exchanged"])
def test_each_control_refutes_an_attacker_that_knows_the_originals(control, monkeypatch):
    from quipukit.testing import attackers

    run = getattr(attackers, control)
    run("Overlap", Overlap(), np.random.default_rng(3))
    drawn, obfuscated, asked = attackers._drawn, attackers._obfuscated, []

    def remembering(attacker, count, rng):
        asked[:], panel = drawn(attacker, count, rng)
        return list(asked), panel

    def telling(texts):
        Told.originals = dict(zip(map(tuple, texts), asked, strict=False))
        return obfuscated(texts)

    monkeypatch.setattr(attackers, "_drawn", remembering)
    monkeypatch.setattr(attackers, "_obfuscated", telling)
    monkeypatch.setattr(Told, "originals", {})
    with pytest.raises(AssertionError, match="it knows more than it may"):
        run("Told", Told(), np.random.default_rng(3))
