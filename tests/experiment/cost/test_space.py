"""Memory and disk: estimated beforehand, warned of, and a run that cannot end is not begun."""

import shutil
from pathlib import Path

import pytest

from quipukit.errors import ResourceError
from quipukit.experiment.cost import space as module
from quipukit.experiment.cost.estimate import estimate
from quipukit.experiment.cost.space import Space, check_disk, shortages, size
from tests.experiment import tiny
from tests.experiment.conftest import SMALL, Whole
from tests.experiment.cost.test_estimate import options


def machine(patch: pytest.MonkeyPatch, *, memory: float = 1e15, disk: float = 1e15) -> None:
    patch.setattr(module, "free_memory", lambda: memory)
    patch.setattr(module, "free_disk", lambda folder: disk)


def test_settings_beyond_what_is_held_need_no_more_memory(
    village: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, many = (options(village, specs=tiny.SPECS[:count]) for count in (1, 3))
    assert estimate(few, tmp_path).space.memory < estimate(many, tmp_path).space.memory
    monkeypatch.setattr(module, "HELD_ROWS", 1)  # twice the rows of a cell are less than all rows of three cells
    monkeypatch.setattr(module, "MOST_PAIRS", 1)
    two, three = (options(village, specs=tiny.SPECS[:count]) for count in (2, 3))
    assert estimate(two, tmp_path).space.memory == estimate(three, tmp_path).space.memory


class Heard(tiny.ProgressListener):
    """Keeps the lines for the user."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


def test_more_of_anything_needs_more(village: Path, whole: Whole, tmp_path: Path) -> None:
    few, many = (estimate(options(village, n=n), tmp_path).space for n in ((3,), (300,)))
    assert few.memory < many.memory and few.folder < many.folder and few.cache == many.cache
    lines = tmp_path / "log.txt"
    tiny.write_lines(lines, (f"{text} {number}" for number in range(50) for text in tiny.log_queries()))
    longer = estimate(options(village, log=str(lines)), tmp_path).space
    assert longer.memory > few.memory and longer.cache > few.cache
    assert estimate(options(village), whole.folder).space.folder < few.folder  # whose vectors are there


def test_a_finished_run_grows_by_what_is_added_to_it(village: Path, whole: Whole, tmp_path: Path) -> None:
    folder = shutil.copytree(whole.folder, tmp_path / "run")
    shutil.rmtree(folder / "report", ignore_errors=True)
    more = options(village, specs=(*tiny.SPECS, "TEM@3", "Identity", "Random"))
    fresh, unreported = (estimate(more, place).space.folder for place in (tmp_path / "fresh", folder))
    (folder / "report").mkdir()
    reported = estimate(more, folder).space.folder
    assert reported < unreported < fresh
    assert reported < 1e6 < 6e6 < unreported  # a report is replaced
    assert estimate(options(village), folder).space.folder == 0


def test_what_attackers_keep_needs_memory(village: Path, tmp_path: Path) -> None:
    def memory(*attackers: str, **changes: object) -> float:
        return estimate(options(village, attackers=attackers, **changes), tmp_path).space.memory

    lines = tmp_path / "log.txt"
    tiny.write_lines(lines, (f"{text} {number}" for number in range(50) for text in tiny.log_queries()))
    vectors, words, law = (memory(one, log=str(lines)) for one in ("QuIA", "Lexical", "Bayes"))
    assert vectors < words and vectors < law
    assert memory("QuIA") < memory("QuIA", "Lexical") < memory("QuIA", "Lexical", "Bayes")


def test_a_model_needs_memory_whoever_uses_it(village: Path, tmp_path: Path) -> None:
    def memory(encoder: str, reranker: str) -> float:
        chosen = options(village, encoder=encoder, systems=(("bm25", reranker),))
        return estimate(chosen, tmp_path).space.memory

    neither, one, both = memory("static", "static"), memory("static", "minilm"), memory("minilm", "minilm")
    assert one > neither + 3e8
    assert both == pytest.approx(one, rel=0.01)  # one model serves both


def test_what_is_short_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need = Space(memory=4e9, folder=3e9, cache=1e9)
    machine(monkeypatch)
    assert shortages(need, tmp_path) == []
    machine(monkeypatch, memory=3e9, disk=3.5e9)
    memory, disk = shortages(need, tmp_path)
    assert "may need 4.0 GB of memory, and 3.0 GB are free: take fewer" in memory
    assert f"may need 4.0 GB of disk, and 3.5 GB are free in {tmp_path}" in disk  # the cache is on the same disk
    check_disk(need, tmp_path)  # it may be enough: the estimate is right to a factor of two
    machine(monkeypatch, disk=1.9e9)
    with pytest.raises(ResourceError, match=r"4\.0 GB of disk, and 1\.9 GB are free in .*make room"):
        check_disk(need, tmp_path)


def test_a_run_warns_before_it_exceeds_the_memory(
    village: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(monkeypatch, memory=1e6)
    heard = Heard()
    tiny.run(village, tmp_path / "run", heard, **SMALL)
    (line,) = [line for line in heard.lines if "memory" in line]
    assert line.startswith("warning: it may need") and "1 MB are free" in line
    assert "warning: it may need" in estimate(options(village)).caption()


def test_a_run_that_does_not_fit_on_the_disk_is_not_begun(
    village: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        machine(patch, disk=1000)
        with pytest.raises(ResourceError, match="are free in"):
            tiny.run(village, tmp_path / "run", **SMALL)
    assert not list(tmp_path.glob("run/artifacts/*/*.parquet"))
    assert tiny.run(village, tmp_path / "run", **SMALL).judged  # nothing stands in the way once there is room


@pytest.mark.parametrize(("bytes_", "words"), [(0, "1 MB"), (2.4e6, "2 MB"), (9.94e9, "9.9 GB"), (1.2e10, "12 GB")])
def test_sizes_are_written_as_people_say_them(bytes_: float, words: str) -> None:
    assert size(bytes_) == words
