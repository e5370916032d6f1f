"""What an attacker is: its name, its options, and what it offers unasked."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from quipukit.attackers.base import Attacker, KnownLog, Sent, option_fields, resource_names
from quipukit.encoders.base import Encoder
from quipukit.specs import Spec
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
