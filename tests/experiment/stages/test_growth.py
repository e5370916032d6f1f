"""Risk after fewer variants, as an experiment measures it: at a few settings, and resumed like all else."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import quipukit as qk
from quipukit.experiment.cost import estimate
from quipukit.experiment.options import Options
from quipukit.experiment.stages.growth import chosen_settings
from quipukit.frames import SETTING
from quipukit.results import Result
from quipukit.settings import Setting
from tests.experiment import tiny

CHOICES = {"specs": ("CMP@5",), "n": (1, 3), "seeds": 2, "attackers": ("QuIA", "Words"), "growth": True}
CELLS = 2  # one setting, two attackers


@pytest.fixture(scope="module")
def grown(place: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """A run with growth: two N, two seeds and two attackers."""
    folder = tmp_path_factory.mktemp("runs") / "grown"
    with pytest.MonkeyPatch.context() as patch:
        tiny.no_model(patch, cache)
        return folder, tiny.run(place, folder, **CHOICES)


@pytest.fixture
def again(grown: tuple[Path, Result], tmp_path: Path) -> Path:
    return Path(shutil.copytree(grown[0], tmp_path / "again"))


def test_the_table_covers_the_largest_n_the_first_seed_and_no_reference(grown: tuple[Path, Result]) -> None:
    growth = grown[1].growth
    assert set(growth["mechanism"]) == {"CMP"} and set(growth["seed"]) == {7} and set(growth["n"]) == {3}
    assert set(growth["seen"]) == {1, 2, 3} and set(growth["attacker"]) == {"QuIA", "Words"}
    assert len(growth) == 2 * 3 * len(tiny.TOPICS)
    assert grown[1].at(1).growth.empty and "n" not in grown[1].at(3).growth


def test_all_variants_have_the_ranks_of_the_attack_and_fewer_those_of_a_report(
    grown: tuple[Path, Result], village: Path
) -> None:
    result = grown[1].at(3)
    whole = result.growth[result.growth["seen"] == 3].drop(columns="seen")
    keys = ["seed", *SETTING, "attacker", "qid"]
    both = whole.merge(result.ranks, on=keys, suffixes=("", "_attack"))
    assert len(both) == len(whole) == 2 * len(tiny.TOPICS)
    assert (both["better"] == both["better_attack"]).all() and (both["tied"] == both["tied_attack"]).all()
    # By the public function, with the same words and log.
    sent = result.obfuscated[(result.obfuscated["seed"] == 7) & (result.obfuscated["mechanism"] == "CMP")]
    report = qk.attack_report(
        sent.drop(columns="seed"),
        result.queries,
        village / "log.txt",
        attackers=["Words"],
        vectors=qk.load_vectors(village / "vectors.txt"),
    )
    expected = report.growth()
    own = result.growth[(result.growth["mechanism"] == "CMP") & (result.growth["attacker"] == "Words")]
    columns = ["seen", "qid", "better", "tied"]
    pd.testing.assert_frame_equal(
        own[columns].sort_values(columns).reset_index(drop=True),
        expected[columns].sort_values(columns).reset_index(drop=True),
    )


def test_it_is_saved_and_loaded(grown: tuple[Path, Result]) -> None:
    read = Result.load(grown[0])
    pd.testing.assert_frame_equal(read.growth, grown[1].growth)
    assert read.digest == grown[1].digest


def test_it_is_not_computed_twice_and_can_be_left_out_and_added(
    again: Path, village: Path, saved: Callable[[], dict[str, int]]
) -> None:
    before = tiny.result_files(again)
    result = tiny.run(village, again, **{**CHOICES, "growth": False})
    assert result.growth.empty and saved() == {}
    assert Result.load(again).growth.empty, "of a sweep too"
    lost, *kept = (again / "artifacts" / "growth").glob("*.parquet")
    lost.unlink()
    tiny.run(village, again, **CHOICES)
    assert len(kept) == CELLS - 1 and saved() == {"growth": 1} and tiny.result_files(again) == before


def test_its_cost_is_counted_until_it_is_done(again: Path, village: Path) -> None:
    choices = {name: str(one) if isinstance(one, Path) else one for name, one in tiny.choices(village).items()}
    options = Options(**{**choices, **CHOICES, "specs": ("CMP@5", "Identity", "Random")})
    steps = {step.stage: step.amount for step in estimate(options).steps}
    assert steps["rank it after fewer variants"] == CELLS * 2 * len(tiny.TOPICS) * 83  # after one and after two
    done = {step.stage: step.amount for step in estimate(options, again).steps}
    assert done["rank it after fewer variants"] == 0
    for more in ({"n": (1,)}, {"growth": False}):  # one variant leaves nothing to draw
        steps = {step.stage: step.amount for step in estimate(replace(options, **more)).steps}
        assert steps["rank it after fewer variants"] == 0


def settings(*values: float, n: int = 50) -> list[Setting]:
    return [Setting("CMP", "epsilon", value, n, "embedding perturbation") for value in values]


def chosen(*values: float) -> list[float]:
    return [one.value for one in chosen_settings(settings(*values))]


def test_a_few_settings_are_chosen() -> None:
    assert chosen(5) == [5] and chosen(1, 5, 50) == [1, 5, 50] and chosen(1, 5, 20, 50) == [1, 20, 50]
    assert chosen(50, 1, 5, 20, 10) == [5, 10, 20], "the order of the plan does not matter"
    assert chosen(1, 5, 10, 12.5, 15, 17.5, 20, 25, 30, 50) == [10, 15, 25]
    mixed = [*settings(5), Setting("Random", "", 0.0, 50, "reference"), *settings(9, n=1), *settings(7, n=20)]
    assert [one.value for one in chosen_settings(mixed)] == [5, 7]
    assert [one.value for one in chosen_settings(mixed, n=20)] == [7]
