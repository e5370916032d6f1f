"""An adaptive grid in a whole experiment: a few queries of the log place the settings, and never the experiment's."""

import json
from pathlib import Path

import pytest

from quipukit.errors import SpecError
from quipukit.experiment import pilot
from quipukit.experiment.grid import to_place
from quipukit.progress import ProgressListener
from quipukit.registry import mechanism_class
from quipukit.results import Result
from quipukit.text import key
from tests.experiment import tiny


class Heard(ProgressListener):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


@pytest.fixture(scope="module")
def ran(place: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result, list[str]]:
    out, heard = tmp_path_factory.mktemp("adaptive") / "run", Heard()
    with pytest.MonkeyPatch.context() as patch:
        tiny.no_model(patch, cache)
        result = tiny.run(place, out, heard, specs=["TEM", "CMP@5", "AEA@3"])
    return out, result, heard.lines


def stop(*_):
    raise KeyboardInterrupt


def values(result: Result, mechanism: str) -> list[float]:
    return sorted(set(result.obfuscated.query("mechanism == @mechanism")["value"]))


def test_settings_are_placed_for_mechanisms_that_leave_them_open(ran):
    _, result, lines = ran
    placed = values(result, "TEM")
    assert 2 <= len(placed) <= 10 and placed != sorted(mechanism_class("TEM").grid)
    assert values(result, "CMP") == [5.0] and values(result, "AEA") == [3.0]
    assert [line for line in lines if line.startswith("settings of TEM: ")]


def test_it_is_measured_with_queries_that_are_not_those_of_the_experiment(ran, village, monkeypatch):
    out, *_ = ran
    seen: list[str] = []
    monkeypatch.setattr(pilot, "_QUERIES", 1000)
    real = pilot.Pilot

    class Watched(real):
        def __init__(self, plan, folder):
            super().__init__(plan, folder)
            seen.extend(self.queries["query"])
            raise KeyboardInterrupt

    monkeypatch.setattr(pilot, "Pilot", Watched)
    with pytest.raises(KeyboardInterrupt):
        tiny.run(village, out.parent / "watched", specs=["TEM"])
    # Two topics are in the log by themselves.
    assert len(seen) > 50 and not {key(text) for text in seen} & {key(text) for text in tiny.TOPICS.values()}


def test_the_same_call_measures_nothing_again_and_no_query_is_written_down(ran, village, monkeypatch):
    out, result, _ = ran
    content = (out / "grid.json").read_text(encoding="utf-8")
    assert set(json.loads(content)) == {"key", "points"}
    assert not any(text in content for text in [*tiny.TOPICS.values(), *tiny.log_queries()])

    def fail(self, specs):
        raise AssertionError("nothing is missing")

    monkeypatch.setattr(pilot.Pilot, "_measured", fail)
    again = tiny.run(village, out, specs=["TEM", "CMP@5", "AEA@3"])
    assert again.digest == result.digest


def test_what_was_measured_with_other_inputs_is_measured_again(ran, village, tmp_path, monkeypatch):
    out, *_ = ran
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "grid.json").write_text((out / "grid.json").read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(pilot, "_with_settings", stop)
    with pytest.raises(KeyboardInterrupt):
        tiny.run(village, tmp_path / "run", specs=["TEM"], n=2)
    keys = [json.loads((folder / "grid.json").read_text(encoding="utf-8"))["key"] for folder in (out, tmp_path / "run")]
    assert keys[0] != keys[1]


def test_resuming_keeps_the_settings(ran, village, tmp_path):
    from quipukit.experiment.begun import Begun

    out, result, _ = ran
    begun = Begun.load(out)
    assert begun is not None
    assert {one.value for one in begun.options.specs if one.name == "TEM"} == set(values(result, "TEM"))


def test_a_log_without_queries_to_try_leaves_the_fixed_grid(village, tmp_path, monkeypatch):
    heard, plans = Heard(), []

    def keep(plan, *_):
        plans.append(pilot.place(plan, *_))
        raise KeyboardInterrupt

    monkeypatch.setattr("quipukit.experiment.run.place", keep)
    with pytest.raises(KeyboardInterrupt):
        tiny.run(village, tmp_path / "run", heard, specs=["TEM"], log=["one", "two", "three words here"])
    assert [one.value for one in plans[0].settings if one.mechanism == "TEM"] == list(mechanism_class("TEM").grid)
    assert any("fixed grid" in line for line in heard.lines)


def test_which_mechanisms_are_placed():
    assert [str(one) for one in to_place(["CMP", "CusText(k=5)", "TEM@2", "AEA", "Random"], [], "adaptive")] == [
        "CMP",
        "CusText(k=5)",
    ]
    assert not to_place(["CMP"], [], "fixed") and not to_place(["CMP"], [1.0], "adaptive")
    with pytest.raises(SpecError, match="grid is 'adaptive' or 'fixed'"):
        to_place(["CMP"], [], "dense")
