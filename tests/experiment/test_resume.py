"""kill -9 at any moment, run again: the result is that of a run that nobody disturbed, byte for byte."""

import errno
import os
import random
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import quipukit as qk
from quipukit import progress
from quipukit.errors import FileError, InputError, ResourceError
from quipukit.experiment import artifacts, begun
from quipukit.experiment.folder import run_lock
from quipukit.experiment.run import resume
from quipukit.results import TABLES, Result
from tests.experiment import killing, tiny
from tests.experiment.conftest import SMALL, Whole, slowly, undisturbed

# experiment.json; eleven artifacts per cell, each with its record; the tables, their checksums, manifest, timings.
FILES = 2 * 11 * tiny.CELLS
WRITES = 1 + FILES + len(TABLES) + 3
MANIFEST = 1 + FILES + len(TABLES) + 1

_rng = random.Random(2025)
# One of each quarter of the run: what is written first, in the middle and last.
FOUR = [
    (_rng.randrange(part * WRITES // 4, (part + 1) * WRITES // 4), _rng.choice(killing.MOMENTS)) for part in range(4)
]
MANY = [(number, killing.MOMENTS[(number + number // 4) % 4]) for number in range(WRITES)]


def marks(folder: Path) -> dict[str, tuple[int, int]]:
    """Return which finished artifact is which file: one that is written again is another file."""
    found = {}
    for path in folder.glob("artifacts/*/*.parquet"):
        if path.with_suffix(".json").is_file():  # without a record it is not finished
            found[str(path.relative_to(folder))] = (path.stat().st_ino, path.stat().st_mtime_ns)
    return found


def _with(name: str, second: dict[str, str]) -> str:
    """Return the name of an artifact that is made after this one, or its own."""
    folder, table, file = name.split("/")
    return f"{folder}/{second.get(table, table)}/{file}"


def go_on(village: Path, out: Path, whole: Whole) -> None:
    """Run to the end; nothing is lost, nothing is done twice, nothing is left over, and nothing differs."""
    before = marks(out)
    # Notes and obfuscated queries are made together, and so are first guesses and ranks: the first of two alone is no
    # finished work.
    second = {"notes": "obfuscated", "first_guesses": "ranks"}
    before = {name: mark for name, mark in before.items() if _with(name, second) in before}
    result = tiny.run(village, out)
    after = marks(out)
    assert {name: after.get(name) for name in before} == before, "a finished artifact was made again"
    assert set(after) == whole.artifacts
    assert result.digest == whole.result.digest == Result.load(out).digest
    assert tiny.result_files(out) == whole.files
    assert tiny.drafts(out) == []


# --- kill -9 ---


@pytest.mark.parametrize(
    ("number", "moment"), [*(pytest.param(*one, marks=pytest.mark.slow) for one in FOUR[:3]), FOUR[3]]
)
def test_killed_at_four_random_writes(
    village: Path, cache: Path, whole: Whole, tmp_path: Path, number: int, moment: str
) -> None:
    assert killing.killed(village, tmp_path / "out", cache, number, moment)
    done = len(marks(tmp_path / "out"))
    assert done == min(FILES // 2, max(0, number - 1 + (moment == "after")) // 2)
    go_on(village, tmp_path / "out", whole)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "moment"), MANY)
def test_killed_at_every_write(
    village: Path, cache: Path, whole: Whole, tmp_path: Path, number: int, moment: str
) -> None:
    assert killing.killed(village, tmp_path / "out", cache, number, moment)
    go_on(village, tmp_path / "out", whole)


@pytest.mark.parametrize("moment", ["half", *slowly("before", "written", "after")])
def test_killed_while_the_folder_is_claimed(
    village: Path, cache: Path, whole: Whole, tmp_path: Path, moment: str
) -> None:
    assert killing.killed(village, tmp_path / "out", cache, 0, moment)
    go_on(village, tmp_path / "out", whole)


@pytest.mark.slow
@pytest.mark.parametrize("number", [15, 22, 31, 35, 40, 46])
def test_killed_with_two_systems(village: Path, cache: Path, tmp_path: Path, number: int) -> None:
    undisturbed = tiny.run(village, tmp_path / "whole", systems=tiny.BOTH)
    assert killing.killed(village, tmp_path / "out", cache, number, "half", systems=tiny.BOTH)
    assert tiny.run(village, tmp_path / "out", systems=tiny.BOTH).digest == undisturbed.digest
    assert tiny.result_files(tmp_path / "out") == tiny.result_files(tmp_path / "whole")


@pytest.mark.slow
def test_killed_again_and_again(village: Path, cache: Path, whole: Whole, tmp_path: Path) -> None:
    out, rounds = tmp_path / "out", 0
    # Each round gets some writes further: the first is experiment.json, and the last are the tables of the result,
    # which are written in one go.
    while killing.killed(village, out, cache, len(TABLES) + 6, killing.MOMENTS[rounds % 4]):
        rounds += 1
        assert rounds < 10
    assert rounds >= 3
    go_on(village, out, whole)


@pytest.mark.parametrize("seed", slowly(*range(1, 22)))
def test_killed_at_any_time(
    village: Path, whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    cold = tmp_path / "cache"  # index, vectors and encodings are made anew, so that a kill may hit them, too
    # A run takes one to some seconds; one that is over before it is killed is the easy case.
    killing.killed_after(random.Random(seed).uniform(0.1, 2.5), village, tmp_path / "out", cold)
    monkeypatch.setenv("QUIPUKIT_HOME", str(cold))
    (tmp_path / "out").mkdir(exist_ok=True)
    go_on(village, tmp_path / "out", whole)


def _loaded(folder: Path) -> str:
    """Return the digest of the result in a folder, or that there is none."""
    try:
        return Result.load(folder).digest
    except FileError as fault:
        return "nothing" if "--resume" in str(fault) else str(fault)


@pytest.fixture(scope="module")
def before_the_last(place: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """A finished run without the last of the mechanisms."""
    return undisturbed(place, cache, tmp_path_factory.mktemp("runs") / "smaller", specs=tiny.SPECS[:-1])


@pytest.fixture
def smaller(before_the_last: Whole, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(before_the_last.folder, tmp_path / "out"))


@pytest.mark.parametrize("number", [MANIFEST - len(TABLES) + 3, *slowly(MANIFEST - 1)])
def test_killed_while_a_larger_result_takes_the_place_of_a_smaller_one(
    village: Path, cache: Path, whole: Whole, before_the_last: Whole, smaller: Path, number: int
) -> None:
    missing = 2 * 9  # the files of the cell that is new
    assert killing.killed(village, smaller, cache, number - FILES + missing, "after")
    # Whoever reads the folder now gets a whole result or an error, never some tables of one and some of the other.
    assert _loaded(smaller) in (before_the_last.result.digest, whole.result.digest, "nothing")
    go_on(village, smaller, whole)


@pytest.mark.slow
def test_resume_needs_nothing_but_the_folder(village: Path, cache: Path, whole: Whole, tmp_path: Path) -> None:
    assert killing.killed(village, tmp_path / "out", cache, 30)
    assert resume(tmp_path / "out").digest == whole.result.digest
    assert tiny.result_files(tmp_path / "out") == whole.files


# --- the comparison itself can fail ---


def test_another_seed_is_another_result(village: Path, small: Whole, tmp_path: Path) -> None:
    other = tiny.run(village, tmp_path / "out", **SMALL, seed=8)
    assert other.digest != small.result.digest
    differing = {name for name, content in tiny.result_files(tmp_path / "out").items() if content != small.files[name]}
    assert {"obfuscated.parquet", "ranks.parquet", "scores.parquet", "manifest.json"} <= differing


STAGES = (
    "notes",
    "obfuscated",
    "pool",
    "utility",
    "ceiling",
    "first_guesses",
    "ranks",
    "risk",
    "text_similarity",
    "guesses",
    "need",
)


@pytest.mark.parametrize("chosen", [STAGES, *slowly(*((stage,) for stage in STAGES))], ids="+".join)
def test_truncated_artifacts_are_made_again_and_nothing_else(
    village: Path, whole: Whole, finished: Path, saved: Callable[[], dict[str, int]], chosen: tuple[str, ...]
) -> None:
    for stage in chosen:
        artifact = sorted(finished.glob(f"artifacts/{stage}/*.parquet"))[2]
        os.truncate(artifact, artifact.stat().st_size * 2 // 3)
    assert tiny.run(village, finished).digest == whole.result.digest
    together = ({"notes", "obfuscated"}, {"first_guesses", "ranks"})
    made = {*chosen}.union(*(pair for pair in together if pair & {*chosen}))
    assert saved() == dict.fromkeys(made, 1)
    assert tiny.result_files(finished) == whole.files


@pytest.mark.slow
def test_a_lost_artifact_is_made_again_and_nothing_else(
    village: Path, whole: Whole, finished: Path, saved: Callable[[], dict[str, int]]
) -> None:
    sorted(finished.glob("artifacts/ranks/*.parquet"))[0].unlink()
    tiny.run(village, finished)
    assert saved() == {"first_guesses": 1, "ranks": 1}
    assert tiny.result_files(finished) == whole.files


def test_a_damaged_result_is_put_together_again(village: Path, whole: Whole, finished: Path) -> None:
    for name in ("scores.parquet", "manifest.json"):
        os.truncate(finished / name, 40)
    with pytest.raises(FileError, match="--resume"):
        Result.load(finished)
    tiny.run(village, finished)
    assert tiny.result_files(finished) == whole.files


def test_damaged_timings_cost_no_result(village: Path, whole: Whole, finished: Path) -> None:
    (finished / "timings.json").write_text("[[", encoding="utf-8")
    assert tiny.run(village, finished).digest == whole.result.digest


def test_a_finished_run_that_is_run_again_does_nothing(
    village: Path, whole: Whole, finished: Path, saved: Callable[[], dict[str, int]]
) -> None:
    assert tiny.run(village, finished).digest == whole.result.digest
    assert saved() == {}
    assert tiny.result_files(finished) == whole.files


# --- two at once ---


def test_a_second_run_in_the_folder_says_so_and_stops(village: Path, whole: Whole, finished: Path) -> None:
    before = {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()}
    with run_lock(finished), pytest.raises(InputError, match=r"another run is using .*finished; wait for it"):
        tiny.run(village, finished, specs=["CMP@5"])
    assert {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()} == before
    assert tiny.run(village, finished).digest == whole.result.digest


def test_a_run_of_another_process_is_seen(village: Path, cache: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = killing.start(village, out, cache, killing.NEVER, "", {})
    try:
        deadline = time.monotonic() + 60
        while not (out / "experiment.json").is_file():
            assert process.is_alive() and time.monotonic() < deadline
            time.sleep(0.001)
        # It is stopped where it is: the lock must hold as long as the process exists.
        killing.freeze(process)
        assert not (out / "manifest.json").exists()
        with pytest.raises(InputError, match="another run is using"):
            tiny.run(village, out)
    finally:
        process.kill()
        process.join()
    with run_lock(out):
        pass  # and no longer than that


# --- a full disk ---


def full(number: int) -> Callable[[Path], Any]:
    """Return a ``atomic_write`` that finds the disk full at its call number ``number``, and ever after."""
    calls = iter(range(10_000))

    def atomic_write(path: Path) -> Any:
        if next(calls) >= number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return killing.storage.atomic_write(path)

    return atomic_write


@pytest.mark.parametrize("number", [MANIFEST - 2, *slowly(0, 7, 33, MANIFEST, WRITES - 1)])
def test_a_full_disk_stops_cleanly_and_the_run_goes_on_after(
    village: Path, whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        stand_in = full(number)
        for module in (begun, artifacts, killing.files, progress):
            patch.setattr(module, "atomic_write", stand_in)
        with pytest.raises(ResourceError) as caught:
            tiny.run(village, out)
    message = str(caught.value)
    assert "No space left on device" in message and "make room" in message
    assert "run the experiment again in the same folder" in message
    assert len(marks(out)) == min(FILES // 2, max(0, number - 1) // 2)
    go_on(village, out, whole)


@pytest.mark.parametrize("limit", slowly(100, 500, 2_000, 6_000, 20_000, 50_000))
def test_files_that_may_not_grow_stop_a_run_cleanly(
    village: Path, whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    out, cold = tmp_path / "out", tmp_path / "cache"
    outcome = killing.limited(village, out, cold, limit)
    # Word vectors have words of their own for it: their store finds its own file too short.
    assert re.match(r"ResourceError: .*File too large.*make room|VectorsError: .*load the vectors again", outcome)
    monkeypatch.setenv("QUIPUKIT_HOME", str(cold))
    out.mkdir(exist_ok=True)
    go_on(village, out, whole)


# --- more mechanisms ---


def test_a_further_mechanism_costs_its_own_cells(
    village: Path, whole: Whole, before_the_last: Whole, smaller: Path, saved: Callable[[], dict[str, int]]
) -> None:
    assert len(before_the_last.artifacts) == len(STAGES) * (tiny.CELLS - 1)
    assert tiny.run(village, smaller).digest == whole.result.digest
    assert saved() == dict.fromkeys(STAGES, 1)
    assert tiny.result_files(smaller) == whole.files


@pytest.mark.slow
def test_a_mechanism_less_leaves_the_others(village: Path, whole: Whole, finished: Path) -> None:
    fewer = tiny.run(village, finished, specs=["AEA@3"])
    assert fewer.mechanisms == ["AEA", "Identity", "Random"]
    assert tiny.result_files(finished) != whole.files
    assert tiny.run(village, finished).digest == whole.result.digest
    assert tiny.result_files(finished) == whole.files


@pytest.mark.slow
def test_another_home_gives_the_same_bytes(
    village: Path, whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path / "home"))
    moved = Path(shutil.copytree(village, tmp_path / "elsewhere" / "village"))
    assert qk.evaluate(**tiny.choices(moved), out=tmp_path / "out").digest == whole.result.digest
    assert tiny.result_files(tmp_path / "out") == whole.files


# --- other inputs under the same names ---


@pytest.fixture
def two_places(village: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two directories with a collection of the same name; the second has another query."""
    here, there = (Path(shutil.copytree(village, tmp_path / name / "village")).parent for name in ("here", "there"))
    tiny.write_topics(there / "village", tiny.TOPICS | {"q3": "bread recipe for a captain"})
    return here, there


def by_name(out: Path) -> Result:
    return tiny.run(Path("village"), out, specs=["Random"])


def test_resume_from_another_directory_finds_its_own_inputs(
    two_places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = two_places
    monkeypatch.chdir(here)
    begun = by_name(here / "runs" / "out")
    monkeypatch.chdir(there)
    assert resume("../here/runs/out").digest == begun.digest
    assert Path.cwd() == there
    # The whole project moved: nothing in it names a place on the machine.
    assert str(here.parent) not in (here / "runs" / "out" / "experiment.json").read_text()
    moved = here.rename(here.parent / "moved")
    assert resume(moved / "runs" / "out").digest == begun.digest


def test_other_inputs_under_the_same_names_are_refused(
    two_places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = two_places
    monkeypatch.chdir(here)
    begun = by_name(here / "out")
    monkeypatch.chdir(there)
    with pytest.raises(InputError, match=r"begun in another directory, .* something else \(queries, log\)"):
        by_name(here / "out")
    with pytest.raises(InputError, match=r"begun with other inputs.*\(queries, log\)"):
        resume(shutil.copytree(here / "out", there / "out"))
    assert Result.load(here / "out").digest == Result.load(there / "out").digest == begun.digest
    monkeypatch.chdir(here)
    tiny.write_topics(here / "village", tiny.TOPICS | {"q1": "the old captain"})
    with pytest.raises(InputError, match="changed since"):
        resume(here / "out")
    assert by_name(here / "out").digest != begun.digest, "the same command takes the inputs as they are"
