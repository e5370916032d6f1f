"""Results do not change: digests of experiments and of every public function are those that were frozen.

Where one differs, the failure names the table and the column. If the change is meant, list and explain it in
CHANGELOG.md and run ``python -m tests.frozen.update``.
"""

from collections.abc import Iterator

import pandas as pd
import pytest

import quipukit as qk
from tests.frozen import cases as all_cases
from tests.frozen.adapters import legacy_points
from tests.frozen.cases import ALL, HEAVY, ON_CLUSTER, QUICK, SAVED, SLOW, Cases, frozen, prepared
from tests.frozen.digest import differences, table_digest


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cases]:
    """The cases, each experiment run once."""
    with prepared(tmp_path_factory.mktemp("frozen")) as made:
        yield made


_MARKED = [
    pytest.param(name, marks=mark)
    for mark, names in ((pytest.mark.heavy, HEAVY), (pytest.mark.slow, SLOW))
    for name in names
]


@pytest.mark.parametrize("name", [*QUICK, *_MARKED])
def test_results_are_those_that_were_frozen(cases: Cases, name: str) -> None:
    told = differences(frozen()["digests"][name], cases.digests(name))
    assert not told, "\n".join(told)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # sockets of workers, closed by the collector
def test_a_cluster_gives_what_one_process_gives(cases: Cases) -> None:
    pytest.importorskip("distributed")
    told = differences(frozen()["digests"][ON_CLUSTER], cases.digests_on_dask(workers=2))
    assert not told, "\n".join(told)


def test_every_frozen_case_is_still_computed() -> None:
    assert set(frozen()["digests"]) == set(ALL)


def test_public_names_stay() -> None:
    names = frozen()["public names"]
    assert len(names) > 50
    assert [name for name in names if not hasattr(qk, name)] == []


def test_a_saved_result_is_small_and_has_no_cache() -> None:
    sizes = {path.name: path.stat().st_size for path in SAVED.iterdir()}
    assert "manifest.json" in sizes and sum(sizes.values()) < 100_000


# --- the digests themselves: what they see, and what they let pass ---


@pytest.mark.heavy
def test_another_seed_is_seen(cases: Cases) -> None:
    from tests.frozen.experiments import EXPERIMENTS, arguments, evaluated, tables_of

    name = "no judgements"
    changed = arguments(cases.folder, **EXPERIMENTS[name](cases.folder)) | {"seed": 8}
    told = differences(frozen()["digests"][name], all_cases.digests_of(tables_of(evaluated(changed))))
    assert any(line.startswith("obfuscated.query: ") for line in told)
    assert not any(line.startswith("queries.") for line in told)


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ("text", ["a", "c"]),
        ("text", ["ab", ""]),
        ("whole", [1, 3]),
        ("number", [0.1, 0.2 + 1e-8]),
        ("number", [0.2, 0.1]),
        ("number", [0.1, float("nan")]),
    ],
)
def test_a_change_is_told_with_its_column(column: str, cells: list[object]) -> None:
    frame = pd.DataFrame({"text": ["a", "b"], "whole": [1, 2], "number": [0.1, 0.2]})
    before, now = ({"t": table_digest(one)} for one in (frame, frame.assign(**{column: cells})))
    assert [line.partition(":")[0] for line in differences(before, now)] == [f"t.{column}"]


def test_what_is_missing_is_told_and_what_is_added_is_not() -> None:
    frame = pd.DataFrame({"text": ["a", "b"], "number": [0.1, 0.2]})
    before = {"t": table_digest(frame)}
    assert differences(before, {"t": table_digest(frame.assign(persona="lazy")), "u": table_digest(frame)}) == []
    assert differences(before, {"t": table_digest(frame[["text"]])}) == ["t.number: is missing"]
    assert differences(before, {}) == ["t: is missing"]
    assert "t: 1 rows instead of 2" in differences(before, {"t": table_digest(frame[:1])})


@pytest.mark.parametrize("number", [1 / 3, 0.1, 2.0**-13, 123456.7895, 1e-17, 0.0, -0.0001220703125])
def test_the_last_bits_of_a_number_do_not_count(number: float) -> None:
    near = [number * (1 + 4e-16), number * (1 - 4e-16), number + 1e-16]
    digests = {table_digest(pd.DataFrame({"number": [one]}))["columns"]["number"] for one in (number, *near)}
    assert len(digests) == 1


def test_points_of_later_versions_are_brought_into_the_old_shape() -> None:
    old = pd.DataFrame({"attacker": ["lazy", "Bayes active@20"], "risk": [0.5, 0.25]})
    new = pd.DataFrame({"attacker": ["QuIA", "Bayes"], "persona": ["lazy", "active@20"], "risk": [0.5, 0.25]})
    pd.testing.assert_frame_equal(legacy_points(new), old)
    assert legacy_points(old) is old
