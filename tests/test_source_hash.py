"""Hashes of source: other code is noticed, other words are not, and no module that a stage reaches is forgotten."""

import ast
import copyreg
import importlib
import sys
from pathlib import Path

import pytest

import quipukit
from quipukit.mechanisms.base import Mechanism
from quipukit.mechanisms.cmp import CMP
from quipukit.mechanisms.tem import TEM
from quipukit.source_hash import files_of, object_hash, reached_modules, source_hash, syntax

PACKAGE = Path(quipukit.__file__).parent
STAGES = ("obfuscate", "retrieve", "utility", "ceiling", "attack", "risk", "guesses", "text_similarity")


def reached(stage: str) -> set[str]:
    return {name.removeprefix("quipukit.") for name in reached_modules(f"quipukit.experiment.stages.{stage}")}


@pytest.mark.parametrize(
    ("stage", "some"),
    [
        ("obfuscate", {"obfuscation", "mechanisms.base", "seeds", "specs"}),
        ("retrieve", {"retrieval.pool", "retrieval.bm25", "retrieval.dense", "retrieval.http", "bm25.index"}),
        ("utility", {"retrieval.rerank", "retrieval.dense", "measures.utility", "encoders.sentence"}),
        ("attack", {"attackers.panel", "attackers.ranks", "encoders.store", "numeric"}),
        ("risk", {"measures.risk"}),
        ("text_similarity", {"measures.similarity", "text"}),
    ],
)
def test_a_stage_reaches_what_it_calls(stage: str, some: set[str]) -> None:
    assert some <= reached(stage)


def test_a_change_in_one_stage_leaves_the_others_alone() -> None:
    for stage in STAGES:
        others = {f"experiment.stages.{other}" for other in STAGES if other != stage}
        assert not others & reached(stage), stage


@pytest.mark.parametrize(
    ("stage", "elsewhere"),
    [
        ("risk", {"retrieval", "encoders", "mechanisms", "vectors"}),
        ("attack", {"retrieval", "mechanisms", "measures"}),
        ("utility", {"attackers", "mechanisms"}),
        ("retrieve", {"attackers", "measures"}),
    ],
)
def test_a_stage_does_not_depend_on_what_it_does_not_call(stage: str, elsewhere: set[str]) -> None:
    assert {name for name in reached(stage) if name.split(".")[0] in elsewhere} == set()


def test_a_mechanism_s_own_file_counts_for_that_mechanism_alone() -> None:
    # The key of an artifact covers the stage and the mechanism's class.
    for mechanism in ("fea", "aea", "cmp", "tem"):
        assert {f"quipukit.mechanisms.{mechanism}", "quipukit.text"} <= set(
            reached_modules(f"quipukit.mechanisms.{mechanism}")
        )
    own = {f"mechanisms.{file.stem}" for file in (PACKAGE / "mechanisms").glob("*.py")} - {"mechanisms.base"}
    assert not own & reached("obfuscate")
    assert not [name for name in reached("obfuscate") if name.startswith(("bm25", "wordnet"))]


def test_infrastructure_does_not_count() -> None:
    everything = set().union(*map(reached, STAGES))
    assert not {"storage", "errors", "progress", "experiment.artifacts", "executors.local"} & everything


def test_a_list_of_words_counts_as_code() -> None:
    assert PACKAGE / "vectors" / "offensive.txt" in files_of("quipukit.vectors.wordfilter")


def test_hashes_differ_and_stay() -> None:
    hashes = {stage: source_hash(f"quipukit.experiment.stages.{stage}") for stage in STAGES}
    assert len(set(hashes.values())) == len(STAGES)
    assert hashes == {stage: source_hash.__wrapped__(f"quipukit.experiment.stages.{stage}") for stage in STAGES}


# --- what counts as other code ---


SOURCE = '''"""A module."""

import os


class Thing:
    """A thing."""

    size: int = 3

    def double(self) -> int:
        """Return twice the size."""
        return 2 * self.size  # twice
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""A module."""', '"""Another sentence."""'),
        ("  # twice", "  # two times"),
        ('        """Return twice the size."""\n', ""),
        ("2 * self.size", "(2   *   self.size)"),
        ("\n\n\nclass", "\n# a remark\nclass"),
    ],
)
def test_words_and_layout_do_not_count(old: str, new: str) -> None:
    assert old in SOURCE
    assert syntax(SOURCE.replace(old, new)) == syntax(SOURCE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2 * self", "3 * self"),
        ("= 3", "= 4"),
        ("double", "twice"),
        ("import os", "import sys"),
        ("-> int", "-> float"),
    ],
)
def test_anything_else_does(old: str, new: str) -> None:
    assert old in SOURCE
    assert syntax(SOURCE.replace(old, new)) != syntax(SOURCE)


def test_a_text_that_is_used_counts() -> None:
    assert syntax("def f():\n    return 'a'") != syntax("def f():\n    return 'b'")
    assert syntax("x = 'a'") != syntax("x = 'b'")


def test_a_body_of_words_alone_can_be_read() -> None:
    assert syntax('class Empty:\n    """Nothing."""') == syntax('class Empty:\n    """Not a thing."""')


# --- classes ---


def test_each_mechanism_has_a_hash_of_its_own_file() -> None:
    assert object_hash(CMP) == source_hash("quipukit.mechanisms.cmp") != object_hash(TEM)


def test_a_plugin_s_class_stands_for_its_file() -> None:
    class Mine(Mechanism):
        pass

    class Other(Mechanism):
        pass

    assert object_hash(Mine) == object_hash(Other) != ""


def test_a_class_without_a_file_has_no_hash() -> None:
    assert object_hash(type("Typed", (), {"__module__": "nowhere"})) == ""


def test_what_a_plugin_imports_from_its_own_folder_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    hashes = []
    for number, weight in enumerate((1, 1, -1)):
        folder = tmp_path / f"case{number}"
        folder.mkdir()
        monkeypatch.syspath_prepend(folder)
        (folder / "plugin_helper.py").write_text(f"WEIGHT = {weight}\n", encoding="utf-8")
        (folder / "plugin_base.py").write_text("class Base:\n    pass\n", encoding="utf-8")
        source = (
            "from plugin_base import Base\nfrom plugin_helper import WEIGHT\n\n\nclass Mine(Base):\n    w = WEIGHT\n"
        )
        (folder / "plugin_mine.py").write_text(source, encoding="utf-8")
        for name in ("plugin_mine", "plugin_helper", "plugin_base"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        hashes.append(object_hash(importlib.import_module("plugin_mine").Mine))
    for name in ("plugin_mine", "plugin_helper", "plugin_base"):
        sys.modules.pop(name, None)
    assert hashes[0] == hashes[1] != hashes[2]


def test_of_pythons_own_code_only_its_file_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """What pickle keeps of a plain object names copyreg; its neighbors are the whole standard library."""
    parsed: list[str] = []
    parse = ast.parse
    object_hash.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(ast, "parse", lambda *source: parsed.append(source[0]) or parse(*source))
        hashed = object_hash(copyreg.__newobj__)
    assert hashed and len(parsed) <= 1
