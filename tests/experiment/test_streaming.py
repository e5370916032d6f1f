"""Experiments that are too large to be held: worked on in parts, with the result that they have in one piece."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from quipukit import obfuscation
from quipukit.attackers.panel import Panel
from quipukit.experiment import artifacts, plan
from quipukit.experiment.stages import ceiling, need, retrieve, utility
from quipukit.results import Result, rows
from quipukit.retrieval.remembered import RememberedScores
from tests.experiment import killing, tiny
from tests.experiment.conftest import Whole, slowly

# All stages: two systems, two seeds, attackers of every kind, fewer variants, sessions.
ALL: dict[str, Any] = {
    "specs": ("CMP@5", "CMP@8", "AEA@3"),
    "systems": tiny.BOTH,
    "seeds": 2,
    "attackers": ("QuIA", "Words", "Bayes"),
    "growth": True,
    "sessions": "planted",
}


def tighten(patch: pytest.MonkeyPatch) -> None:
    """Let every limit of what is held at once be far below what the tiny experiment has."""
    patch.setattr(obfuscation, "_MOST_TEXTS", 8)
    patch.setattr(plan, "MOST_ROWS", 20)
    patch.setattr(retrieve, "_MOST_POOLED", 20)
    patch.setattr(retrieve, "_MOST_KEPT", 10)
    patch.setattr(utility, "MOST_PAIRS", 25)
    patch.setattr(utility, "_MOST_OPEN", 3)
    patch.setattr(ceiling, "MOST_PAIRS", 25)
    patch.setattr(need, "_MOST_DOCUMENTS_HELD", 12)
    patch.setattr(artifacts, "GROUP_ROWS", 4)
    patch.setattr(rows, "HELD_ROWS", 10)


@pytest.mark.parametrize("changes", [ALL, *slowly({}, {"n": (2, 3)})])
def test_a_result_does_not_depend_on_what_is_held_at_once(
    village: Path, tmp_path: Path, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = tiny.run(village, tmp_path / "at once", **changes)
    tighten(monkeypatch)
    in_parts = tiny.run(village, tmp_path / "in parts", **changes)
    assert isinstance(vars(in_parts)["obfuscated"], rows.Rows)
    assert in_parts.digest == at_once.digest
    assert tiny.result_files(tmp_path / "in parts") == tiny.result_files(tmp_path / "at once")
    assert tiny.drafts(tmp_path / "in parts") == []
    assert isinstance(vars(in_parts)["obfuscated"], rows.Rows)  # nobody has asked for all of it
    pd.testing.assert_frame_equal(in_parts.obfuscated, at_once.obfuscated, check_exact=True)


def test_a_run_without_a_folder_keeps_all_of_its_result(village: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = tiny.run(village)
    tighten(monkeypatch)
    in_parts = tiny.run(village)
    pd.testing.assert_frame_equal(in_parts.obfuscated, at_once.obfuscated, check_exact=True)
    assert in_parts.digest == at_once.digest


def tight_child(collection: Path, out: Path, cache: Path, fatal: int, moment: str) -> None:
    patch = pytest.MonkeyPatch()
    tighten(patch)
    killing.child(collection, out, cache, fatal, moment, {})


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("number", "moment"),
    [
        (9, "after"),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in ((4, "half"), (23, "written"), (41, "before"))),
    ],
)
def test_a_kill_among_parts_loses_nothing_that_was_finished(
    village: Path, whole: Whole, cache: Path, tmp_path: Path, number: int, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    process = killing.start(village, out, cache, number, moment, target=tight_child)
    process.join(120)
    assert process.exitcode == -signal.SIGKILL
    tighten(monkeypatch)
    result = tiny.run(village, out)
    assert result.digest == whole.result.digest == Result.load(out).digest
    assert tiny.result_files(out) == whole.files
    assert tiny.drafts(out) == []


# --- memory ---


def test_no_stage_is_given_more_than_its_limit(village: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query is never divided: it may have more by itself."""
    tighten(monkeypatch)
    given: dict[str, list[int]] = {}

    def noted(owner: Any, name: str, size: Callable[..., int]) -> None:
        original = getattr(owner, name)

        def called(*arguments: Any, **options: Any) -> Any:
            given.setdefault(name, []).append(size(*arguments))
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, called)

    noted(obfuscation, "_obfuscate_part", lambda part: len(part.members) * len(part.queries) * part.n)
    noted(retrieve, "fused_pool", lambda sent, rankings: sum(len(rankings[text].docnos) for text in sent["query"]))
    noted(RememberedScores, "score_many", lambda self, batches, *_: sum(len(docnos) for _, docnos in batches))
    noted(Panel, "ranks_and_guesses", lambda self, task, *_: sum(map(len, task.texts)))
    noted(Panel, "encode", lambda self, texts, *_: len(texts))
    tiny.run(village, tmp_path / "out", specs=[f"CMP@{epsilon}" for epsilon in range(1, 8)])
    variants, documents = 3 * len(tiny.TOPICS), 3 * 4  # of a cell, and of a query in it
    assert max(given["_obfuscate_part"]) <= max(8, 7 * 3) and len(given["_obfuscate_part"]) >= 5
    assert max(given["fused_pool"]) <= max(20, documents) and len(given["fused_pool"]) >= 9 * 3
    assert max(given["score_many"]) <= max(25, 9 * documents)
    assert max(given["ranks_and_guesses"]) <= max(20, variants) and max(given["encode"]) <= max(20, variants)
