"""A changed input is noticed and costs exactly what depends on it: artifacts saved again are counted by stage."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quipukit.errors import InputError
from quipukit.experiment.options import EXTENDABLE, Options
from quipukit.experiment.stages import base
from quipukit.experiment.stages.obfuscate import Obfuscate
from quipukit.results import Result
from quipukit.source_hash import source_hash
from tests.experiment import tiny
from tests.experiment.conftest import Whole

CELLS, SYSTEMS = tiny.CELLS, len(tiny.SYSTEMS)
# CMP at two settings, TEM and Random are bound to the vectors; AEA and Identity are not.
WITH_VECTORS = 3  # CMP, TEM and Random

Saved = Callable[[], dict[str, int]]


def everything(cells: int) -> dict[str, int]:
    one_each = dict.fromkeys(("notes", "obfuscated", "first_guesses", "ranks", "text_similarity", "guesses"), cells)
    return one_each | dict.fromkeys(("pool", "utility", "ceiling", "need"), cells * SYSTEMS)


@pytest.fixture
def changed(village: Path, tmp_path: Path) -> Path:
    """A copy of the collection, to be changed; experiments know it by its name, and results by its last part."""
    return Path(shutil.copytree(village, tmp_path / "copy" / "village"))


def run_in(finished: Path, changed: Path, **changes: Any) -> Any:
    """Go on in a finished folder as if its collection had been changed in place."""
    begun = json.loads((finished / "experiment.json").read_text(encoding="utf-8"))
    for name, file in (("collection", ""), ("log", "log.txt"), ("vectors", "vectors.txt")):
        begun["options"][name] = str(changed / file)
    del begun["check"]  # changed by hand
    (finished / "experiment.json").write_text(json.dumps(begun), encoding="utf-8")
    return tiny.run(changed, finished, **changes)


def change_topic(folder: Path) -> None:
    tiny.write_topics(folder, tiny.TOPICS | {"q3": "bread recipe for a captain"})


def change_judgment(folder: Path) -> None:
    (qid, docno, _), *rest = tiny.judgments()
    tiny.write_judgments(folder, [(qid, docno, 1), *rest])


def change_log(folder: Path) -> None:
    tiny.write_lines(folder / "log.txt", [*tiny.log_queries(), "the captain and his lantern"])


def change_vectors(folder: Path) -> None:
    tiny.write_vectors(folder / "vectors.txt", seed=2)


def change_document(folder: Path) -> None:
    texts = tiny.documents() | {"harbour-00": "the captain and his lantern in the storm"}
    tiny.write_lines(folder / "docs.tsv", (f"{docno}\t{text}" for docno, text in texts.items()))


@pytest.mark.parametrize(
    ("change", "again"),
    [
        # Random too: another text under the same id has noise of its own.
        (change_topic, everything(CELLS)),
        pytest.param(
            change_judgment,
            dict.fromkeys(("utility", "ceiling", "need"), CELLS * SYSTEMS),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            change_log,
            {"first_guesses": CELLS, "ranks": CELLS, "guesses": CELLS, "need": CELLS},
            marks=pytest.mark.slow,
        ),
        # Random looks at the words alone: the same texts again, and what follows stands.
        (
            change_vectors,
            everything(WITH_VECTORS - 1) | dict.fromkeys(("notes", "obfuscated", "text_similarity"), WITH_VECTORS),
        ),
        (
            change_document,
            dict.fromkeys(("pool", "utility", "ceiling", "need"), CELLS * SYSTEMS),
        ),
    ],
)
def test_a_changed_input_costs_what_depends_on_it(
    whole: Whole,
    finished: Path,
    changed: Path,
    tmp_path: Path,
    saved: Saved,
    change: Callable[[Path], None],
    again: dict[str, int],
) -> None:
    change(changed)
    result = run_in(finished, changed)
    counts = saved()
    if change is change_document:
        nothing_is_stale(result, finished, changed, tmp_path)
    # Risks depend on the ranks, and on nothing else: how many of them change is a matter of luck.
    assert counts.pop("risk", 0) <= counts.get("ranks", 0)
    assert counts == again
    assert result.digest != whole.result.digest


@pytest.mark.slow
@pytest.mark.parametrize("change", [change_topic, change_judgment, change_log, change_vectors])
def test_a_changed_input_leaves_nothing_stale(
    finished: Path, changed: Path, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    change(changed)
    nothing_is_stale(run_in(finished, changed), finished, changed, tmp_path)


def nothing_is_stale(result: Result, finished: Path, changed: Path, tmp_path: Path) -> None:
    """Compare a result, and its folder, with those of a run that never saw the old input."""
    assert result.digest == tiny.run(changed, tmp_path / "fresh").digest
    assert tiny.result_files(finished) == tiny.result_files(tmp_path / "fresh")


@pytest.mark.slow
def test_an_input_that_is_changed_back_costs_nothing(
    whole: Whole, finished: Path, changed: Path, village: Path, saved: Saved
) -> None:
    change_judgment(changed)
    run_in(finished, changed)
    shutil.copy(village / "qrels.txt", changed / "qrels.txt")
    saved()
    assert run_in(finished, changed).digest == whole.result.digest
    assert saved() == {}


def test_an_input_that_moved_costs_nothing(whole: Whole, finished: Path, changed: Path, saved: Saved) -> None:
    assert run_in(finished, changed).digest == whole.result.digest
    assert saved() == {}


@pytest.mark.parametrize(
    ("role", "again"),
    [
        (
            "attacker",
            {"first_guesses": CELLS, "ranks": CELLS, "guesses": CELLS, "need": CELLS},
        ),  # the same ranks again: the risks stand
        ("user", {"utility": CELLS, "ceiling": CELLS, "need": CELLS}),  # a guess is re-ranked by the user's model
        pytest.param("meaning", {"text_similarity": CELLS, "need": CELLS}, marks=pytest.mark.slow),
    ],
)
def test_another_model_under_the_same_name_is_noticed(
    village: Path,
    cache: Path,
    finished: Path,
    saved: Saved,
    monkeypatch: pytest.MonkeyPatch,
    role: str,
    again: dict[str, int],
) -> None:
    tiny.no_model(monkeypatch, cache, **{role: 2})
    tiny.run(village, finished)
    assert saved() == again


@pytest.mark.slow
def test_another_model_of_the_search_system_is_noticed(
    village: Path, cache: Path, tmp_path: Path, saved: Saved, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = {"out": tmp_path / "out", "specs": ["AEA@3"], "systems": tiny.BOTH}
    tiny.run(village, **two)
    saved()
    tiny.no_model(monkeypatch, cache, searcher=2)
    tiny.run(village, **two)
    # Of one system: its pools turn out the same, and so nothing is measured again but what the originals find.
    assert saved() == {"pool": 3, "ceiling": 3}


@pytest.mark.parametrize(
    ("stage", "again"),
    [
        ("obfuscate", {"notes": CELLS, "obfuscated": CELLS}),  # the same texts again: what follows stands
        (
            "attack",
            {"first_guesses": CELLS, "ranks": CELLS, "guesses": CELLS, "need": CELLS},
        ),  # the same ranks again: the risks stand
        pytest.param("risk", {"risk": CELLS}, marks=pytest.mark.slow),
        pytest.param("guesses", {"guesses": CELLS}, marks=pytest.mark.slow),
        pytest.param("retrieve", dict.fromkeys(("pool", "ceiling"), CELLS * SYSTEMS), marks=pytest.mark.slow),
        pytest.param("utility", dict.fromkeys(("utility", "ceiling"), CELLS * SYSTEMS), marks=pytest.mark.slow),
        pytest.param("ceiling", {"ceiling": CELLS * SYSTEMS}, marks=pytest.mark.slow),
        pytest.param("need", {"need": CELLS * SYSTEMS}, marks=pytest.mark.slow),
        pytest.param("text_similarity", {"text_similarity": CELLS}, marks=pytest.mark.slow),
    ],
)
def test_other_code_costs_the_stage_that_runs_it(
    village: Path,
    whole: Whole,
    finished: Path,
    saved: Saved,
    monkeypatch: pytest.MonkeyPatch,
    stage: str,
    again: dict[str, int],
) -> None:
    changed = f"quipukit.experiment.stages.{stage}"
    monkeypatch.setattr(base, "source_hash", lambda module: source_hash(module) + "+" * (module == changed))
    assert tiny.run(village, finished).digest == whole.result.digest
    assert saved() == again


# --- another experiment ---


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 8},
        {"topics": 3},
        {"depth": 5},
        {"k": 5},
        {"noise": "independent"},
        {"measures": ("SetR",)},
        {"log_sample": 20},
        {"inject": False},
        {"examples": 1},
        {"encoder": "user"},
        {"systems": tiny.BOTH},
        {"log": "other.txt"},
        {"qrels": "other.txt"},
        {"queries": "other.tsv"},
        {"vectors": "other.txt"},
        {"pool": "other.txt"},
        {"collection": "wordnet"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_choice_is_another_experiment(
    village: Path, finished: Path, saved: Saved, change: dict[str, Any]
) -> None:
    before = tiny.result_files(finished), (finished / "experiment.json").read_bytes()
    with pytest.raises(InputError) as caught:
        tiny.run(village, finished, **change)
    message = str(caught.value)
    assert f"holds another experiment ({next(iter(change))}: " in message
    assert "name another folder, or resume that one" in message
    assert saved() == {}
    assert (tiny.result_files(finished), (finished / "experiment.json").read_bytes()) == before


def test_every_choice_is_looked_at() -> None:
    compared = {"seed", "topics", "depth", "k", "noise", "measures", "log_sample", "inject", "examples"}
    named = {
        "encoder",
        "systems",
        "log",
        "qrels",
        "queries",
        "vectors",
        "vocabulary_filter",
        "pool",
        "partition",
        "collection",
        "obfuscated",
    }
    assert set(Options.__dataclass_fields__) == compared | named | set(EXTENDABLE)


def test_objects_may_change_as_files_may(village: Path, tmp_path: Path, saved: Saved) -> None:
    choices = {"specs": ["AEA@3"], "systems": (("bm25", "bm25"),), "out": tmp_path / "out"}
    tiny.run(village, log=["bread", "frost on apple blossom"], **choices)
    saved()
    tiny.run(village, log=["bread", "butter", "frost on apple blossom"], **choices)
    counts = saved()
    assert counts["ranks"] == counts["guesses"] == counts["need"] == 3
    assert set(counts) == {"first_guesses", "ranks", "risk", "guesses", "need"}


def test_attackers_that_know_the_mechanism_depend_on_its_law(
    village: Path, tmp_path: Path, saved: Saved, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run() -> None:
        tiny.run(village, tmp_path / "out", specs=["TEM@2"], attackers=["Words", "Bayes"])

    run()
    saved()
    run()
    assert saved() == {}
    # The same texts come out, but the mechanism that the attacker knows is not the same.
    monkeypatch.setattr(Obfuscate, "law", lambda self, cell: "another")
    run()
    counts = saved()
    # With the two references; what Words found stands.
    assert counts["ranks"] == counts["guesses"] == 3 and not {"obfuscated", "pool", "utility"} & set(counts)
