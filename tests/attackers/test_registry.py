"""Attackers by name, with options and resources, and those of plugins."""

import importlib
import inspect
import pkgutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit import attackers
from quipukit.attackers.base import Attacker
from quipukit.attackers.quia import QuIA
from quipukit.attackers.registry import ATTACKERS, attacker, attacker_spec, built_in_attackers, with_other_vectors
from quipukit.errors import InputError, ResourceError, SpecError
from quipukit.plugins import temporarily_installed
from quipukit.testing import check_attacker
from quipukit.vectors.sources import install
from tests.attackers.fakes import Bag, Overlap


@dataclass(kw_only=True, eq=False)
class Mine(Overlap):
    name = "Mine"
    weight: float = 1.0
    vectors: qk.Vectors | None = None


def test_a_spec_is_a_value_that_reads_back() -> None:
    assert repr(attacker_spec("quia")) == "QuIA" and "QuIA" in ATTACKERS.names
    assert repr(attacker_spec("Q-u-I-A( encoder = minilm )")) == "QuIA(encoder='minilm')"
    assert attacker_spec(attacker_spec("QuIA(encoder='minilm')")) == attacker_spec("QuIA(encoder=minilm)")


def test_resources_are_no_part_of_the_name_unless_the_spec_names_them() -> None:
    given = qk.attacker("QuIA", encoder=Bag())
    assert isinstance(given, QuIA) and given.encoder.name == "bag" and repr(given.spec) == "QuIA"
    named = qk.attacker("QuIA(encoder=minilm)", encoder=Bag())
    assert isinstance(named, QuIA) and named.encoder.name == "minilm"
    assert repr(named.spec) == "QuIA(encoder='minilm')"
    assert repr(QuIA(encoder=Bag()).spec) == "QuIA"
    assert qk.attacker(given) is given


def test_a_plugin_is_found_by_name_with_its_options() -> None:
    with temporarily_installed("quipukit.attackers", Mine=Mine):
        made = qk.attacker("mine(weight=2)", encoder=Bag())
        assert isinstance(made, Mine) and made.weight == 2 and made.vectors is None
        assert repr(made.spec) == "Mine(weight=2)" and repr(Mine(weight=2).spec) == "Mine(weight=2)"
        pets = qk.Vectors(["cat", "dog"], np.eye(2))
        assert getattr(qk.attacker("Mine", vectors=pets), "vectors", None) is pets
        assert "Mine" in ATTACKERS.names
    assert "Mine" not in ATTACKERS.names


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("QuIB", "no attacker 'QuIB'; did you mean QuIA"),
        ("QuIA@10", "an attacker has no '@'; write QuIA"),
        ("QuIA(k=1)", r"QuIA has no option 'k' \(it has encoder\)"),
        ("QuIA(encoder=minilm, encoder=minilm)", "options are written as|sets an option twice"),
        ("two words", "not an attacker; write it as QuIA"),
    ],
)
def test_what_is_no_attacker_is_refused_with_the_fix(spec: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        qk.attacker(spec)


def test_a_plugin_that_is_no_attacker_is_named() -> None:
    with (
        temporarily_installed("quipukit.attackers", Wrong=Bag),
        pytest.raises(ResourceError, match="'Wrong' is no att"),
    ):
        qk.attacker("Wrong")


class Unnamed(Attacker):
    """Says nothing about itself."""

    def prepare(self, log, progress=None):
        self.size = len(log)

    def scores(self, sent):
        return np.zeros(self.size)


def made(**attributes: object) -> Attacker:
    kind = type("Made", (Unnamed,), {"name": "Made", "summary": "does nothing", **attributes})
    return kind()


@pytest.mark.parametrize(
    ("attacker", "words"),
    [
        (Unnamed(), "the attacker class Unnamed must set 'name', a text that is not empty .found nothing"),
        (made(name=""), "Made must set 'name', a text that is not empty .found ''"),
        (made(name=7), "must set 'name', a text that is not empty .found 7"),
        (made(summary=None), "must set 'summary', a text that is not empty .found nothing"),
        (made(summary=" "), "must set 'summary', a text that is not empty .found ' '"),
        (made(knows="everything"), "must set 'knows' to one of 'log', 'log.mechanism', .* .found 'everything'"),
    ],
    ids=["no name", "empty name", "number", "no summary", "blank summary", "knows too much"],
)
def test_an_attacker_that_does_not_say_what_it_is_is_refused_with_the_fix(attacker: Attacker, words: str) -> None:
    queries = pd.DataFrame({"qid": ["1"], "query": ["a cat"]})
    with pytest.raises(InputError, match=words):
        qk.attack(qk.obfuscate(queries, "Identity", n=1), queries, ["a cat", "a dog"], attackers=[attacker])
    with pytest.raises(InputError, match=words):
        qk.evaluate("wordnet", "CMP@5", attackers=attacker)
    with pytest.raises(AssertionError, match=words):
        check_attacker(attacker)
    with (
        temporarily_installed("quipukit.attackers", Made=type(attacker)),
        pytest.raises(ResourceError, match=f"the plugin 'Made' is not complete: .*{words}"),
    ):
        qk.attacker("Made")


def test_an_attacker_may_name_itself_when_it_is_made() -> None:
    one = made()
    one.name = "Second"  # type: ignore[misc]
    assert repr(qk.attacker(one).spec) == "Second"


def test_every_attacker_of_the_package_is_found_and_nothing_else() -> None:
    modules = [
        importlib.import_module(f"quipukit.attackers.{one.name}") for one in pkgutil.iter_modules(attackers.__path__)
    ]
    classes = {
        thing.name: f"{thing.__module__}:{thing.__name__}"
        for module in modules
        for thing in vars(module).values()
        if isinstance(thing, type) and issubclass(thing, Attacker) and not inspect.isabstract(thing)
    }
    assert built_in_attackers() == classes and "QuIA" in classes


def test_a_new_attacker_is_its_own_file(tmp_path: Path) -> None:
    (tmp_path / "letters.py").write_text("class Letters(Attacker):\n    name = 'Letters'\n", encoding="utf-8")
    assert built_in_attackers(tmp_path) == {"Letters": "quipukit.attackers.letters:Letters"}


def test_other_vectors_on_this_machine_are_tried_too(tmp_path, monkeypatch):
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path / "home"))
    assert with_other_vectors(["panel"]) == ["panel"]
    file = tmp_path / "theirs.txt"
    file.write_text("".join(f"{word} {row} 1 2\n" for row, word in enumerate(["cat", "dog", "food"])))
    install(file)
    assert with_other_vectors(["panel", "Bayes"]) == ["panel", "Bayes", "Positional(vectors='theirs')"]
    assert with_other_vectors(["QuIA"]) == ["QuIA"]
    made = attacker("Positional(vectors='theirs')")
    assert (made.spec, made.vectors.name) == (attacker_spec("Positional(vectors='theirs')"), "theirs")
