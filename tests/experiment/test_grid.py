"""Grids: which settings run, in which order, and which are refused."""

import pytest

from quipukit.errors import SpecError
from quipukit.experiment.grid import PAPER, PRESETS, REFERENCES, bind_grid, expand, preset
from quipukit.registry import mechanism_class
from quipukit.specs import spec
from quipukit.vectors.store import Vectors

PETS = Vectors(["cat", "dog", "fish"], [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])


def names(specs: object) -> list[str]:
    return [repr(one) for one in specs]  # type: ignore[attr-defined]


def test_a_mechanism_without_a_parameter_takes_its_grid() -> None:
    assert names(expand(["AEA"])) == ["AEA@3", "AEA@4", "AEA@5", "Identity", "Random"]
    assert len(expand(["CMP"])) == 10 + 2


def test_epsilons_take_the_grid_s_place_where_there_is_an_epsilon() -> None:
    assert names(expand(["TEM", "AEA", "CMP@7"], [1, 2])) == [
        *("TEM@1", "TEM@2", "AEA@3", "AEA@4", "AEA@5", "CMP@7", "Identity", "Random")
    ]


def test_epsilons_that_nobody_takes_are_refused() -> None:
    with pytest.raises(SpecError, match="no mechanism takes epsilons"):
        expand(["AEA", "CMP@5"], [1, 2])


def test_options_stay_with_every_setting() -> None:
    assert names(expand(["CusText(k=20)"], [1, 2]))[:2] == ["CusText(k=20)@1", "CusText(k=20)@2"]


def test_nothing_is_doubled() -> None:
    assert names(expand(["CMP@5", "cmp@5.0", "Identity", "CMP", "Random"], [5, 5])) == ["CMP@5", "Identity", "Random"]


def test_the_references_run_alone_where_nothing_is_named() -> None:
    assert names(expand(())) == list(REFERENCES)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(SpecError, match="CMQ"):
        expand(["CMQ"])


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_made_of_what_there_is(name: str) -> None:
    chosen = preset(name)
    assert all(mechanism_class(one) for one in chosen.mechanisms)
    assert expand(chosen.mechanisms, chosen.epsilons)
    assert chosen.n in (20, 50) and chosen.measures[0] == "nDCG@10"


def test_the_papers_are_as_published() -> None:
    assert PRESETS["quipu2025"].mechanisms == PAPER and len(PAPER) == 10
    assert len(expand(PAPER)) == 8 * 10 + 3 + len(mechanism_class("FEA").grid) + 2
    assert PRESETS["ecir2024"].epsilons == (1, 5, 10, 12.5, 15, 17.5, 20, 50) and PRESETS["ecir2024"].depth == 100


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(SpecError, match="there is no preset 'quipu2026'; there are quipu2025, ecir2024"):
        preset("quipu2026")


# --- binding ---


def test_the_first_refusal_ends_it() -> None:
    with pytest.raises(SpecError, match=r"^CMP@0 cannot be run: .*The rest runs with skip_invalid=True\.$"):
        bind_grid([spec("CMP@5"), spec("CMP@0"), spec("CMP@-1")], skip=False, vectors=PETS)


def test_what_is_refused_is_kept_with_its_reason() -> None:
    bound, refused = bind_grid([spec("CMP@0"), spec("CMP@5"), spec("TEM@0")], True, vectors=PETS)
    assert names(one.spec for one in bound) == ["CMP@5"]
    assert [one["spec"] for one in refused] == ["CMP@0", "TEM@0"]
    assert all("epsilon" in one["reason"] for one in refused)


def test_two_ways_to_write_a_setting_are_one() -> None:
    bound, refused = bind_grid([spec("CMP(oov=anchor)@5"), spec("CMP@5")], False, vectors=PETS)
    assert names(one.spec for one in bound) == ["CMP@5"] and refused == []


def test_references_alone_are_not_what_was_asked_for() -> None:
    with pytest.raises(SpecError, match="no setting is left to run"):
        bind_grid([spec("CMP@0"), spec("Identity"), spec("Random")], True, vectors=PETS)
