"""What an attacker is: its name, its options, and what it offers unasked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.attackers.base import Attacker, Floats, KnownLog, Sent, option_fields, resource_names
from quipukit.attackers.bayes import Bayes
from quipukit.attackers.fusion import Fusion
from quipukit.attackers.lexical import Lexical
from quipukit.attackers.maxsim import MaxSim
from quipukit.attackers.positional import Positional
from quipukit.attackers.quia import QuIA
from quipukit.attackers.support import Support
from quipukit.attackers.words import Words
from quipukit.encoders.base import Encoder
from quipukit.encoders.load import load_encoder
from quipukit.specs import Spec
from tests.attackers import toy
from tests.attackers.fakes import Bag, Overlap


@dataclass(kw_only=True, eq=False)
class Chosen(Overlap):
    name = "Chosen"
    depth: int = 3
    mode: str = "mean"
    encoder: Encoder = field(default_factory=Bag)
    state: list[int] = field(init=False, default_factory=list)


def test_the_name_is_the_options_that_are_not_usual() -> None:
    assert repr(Chosen().spec) == "Chosen" and repr(Overlap().spec) == "Overlap"
    assert repr(Chosen(mode="max", encoder=Bag()).spec) == "Chosen(mode='max')"
    made = Chosen()
    made.written = Spec("Chosen", (("encoder", "bag"),))
    assert repr(made.spec) == "Chosen(encoder='bag')"


def test_options_are_fields_that_are_no_resources() -> None:
    assert [one.name for one in option_fields(Chosen)] == ["depth", "mode"] and resource_names(Chosen) == ["encoder"]
    assert option_fields(Overlap) == [] and resource_names(Overlap) == []


def test_an_attacker_offers_no_vectors_unless_it_says_so() -> None:
    attacker = Overlap()
    attacker.prepare(KnownLog(["a"], np.ones(1, np.int64)))
    assert attacker.log_vectors is None and attacker.sent_vectors([Sent(("a",))]) is None
    assert attacker.knows == "log"


def test_scores_and_prepare_are_required() -> None:
    class Half(Attacker):
        name, summary = "Half", "prepares"

        def prepare(self, log, progress=None):
            pass

    with pytest.raises(TypeError, match="scores"):
        Half()  # type: ignore[abstract]


def turned(kind: type[Attacker]) -> type[Attacker]:
    """Return an attacker that ranks the log from the other end, and says so in nothing but `scores`."""

    def scores(self: Attacker, sent: Sent) -> Floats:
        return -kind.scores(self, sent)

    return type(f"Turned{kind.__name__}", (kind,), {"name": f"Turned{kind.__name__}", "scores": scores})


@pytest.mark.parametrize("kind", [Words, Positional, Lexical, MaxSim, Fusion, Bayes, Support, QuIA])
def test_what_a_subclass_changes_counts(kind: type[Attacker]) -> None:
    """Faster ways to the scores of the class that it extends were taken instead."""
    vectors = toy.vectors()
    made = {"encoder": load_encoder("static:default")} if kind is QuIA else {"vectors": vectors}
    made = {} if kind is Lexical else made
    mechanism = qk.mechanism("CusText(k=3)@3", vectors=vectors)
    sent = qk.obfuscate(toy.WORDS, mechanism, n=3, seed=1)
    queries = pd.DataFrame({"qid": [str(number + 1) for number in range(len(toy.WORDS))], "query": toy.WORDS})
    both = [
        qk.attack(sent, queries, toy.WORDS, attackers=[one(**made)], mechanisms=[mechanism])
        for one in (kind, turned(kind))
    ]
    before, after = (table.set_index("qid")["log_rank"] for table in both)
    assert (before + after == len(toy.WORDS) + 1).all() and (before != after).any()


def test_a_subclass_that_scores_many_at_once_scores_one_alike() -> None:
    class Lengths(Words):
        name, summary = "Lengths", "the longer, the likelier"

        def scores_of(self, batch: Sequence[Sent]) -> Iterator[Floats]:
            return iter([np.arange(3.0)] * len(batch))

    attacker = Lengths(vectors=toy.vectors())
    assert attacker.scores(Sent(("a",))).tolist() == [0, 1, 2]
