"""Progress: parts make a whole, stages are timed, and timings never stop an experiment."""

import json

import pytest

from quipukit.progress import ProgressListener, StageTimer, StageTiming, part_of


class Recorder(ProgressListener):
    def __init__(self):
        self.seen = []

    def stage(self, name, unit):
        return lambda done, total: self.seen.append((name, unit, done, total))


def test_parts_add_up_to_the_whole():
    seen = []
    for before, size in ((0, 3), (3, 1)):
        progress = part_of(lambda done, total: seen.append((done, total)), before, size, 4)
        for done in (0, 5, 10):
            progress(done, 10)
    assert seen == [(0, 4), (1.5, 4), (3, 4), (3, 4), (3.5, 4), (4, 4)]


def test_a_part_of_nothing_and_a_part_that_nobody_hears():
    seen = []
    part_of(lambda done, total: seen.append((done, total)), 1, 2, 4)(0, 0)
    assert seen == [(1, 4)]
    assert part_of(None, 0, 1, 1) is None


def test_a_stage_that_runs_again_adds_to_its_timing():
    listener = Recorder()
    timer = StageTimer(listener)
    for done in (3, 2):
        with timer.stage("attack", "queries") as progress:
            progress(done, 5)
    assert listener.seen == [("attack", "queries", 3, 5), ("attack", "queries", 2, 5)]
    assert timer.timings["attack"].amount == 5 and timer.timings["attack"].seconds >= 0


def test_a_stage_that_fails_is_timed_too():
    timer = StageTimer(ProgressListener())
    with pytest.raises(ZeroDivisionError), timer.stage("attack"):
        raise ZeroDivisionError
    assert set(timer.timings) == {"attack"}


def test_timings_are_added_to_those_of_earlier_runs(tmp_path):
    path = tmp_path / "timings.json"
    path.write_text("damaged")
    for amount in (1, 2):
        StageTimer(ProgressListener(), {"x": StageTiming("x", "cells", 2.0, amount)}).save(path)
    assert [run[0]["amount"] for run in json.loads(path.read_text())] == [1, 2]


def test_a_rate_of_no_time_is_zero():
    assert StageTiming("x", "cells", 2.0, 8.0).rate == 4 and StageTiming("x", "cells").rate == 0


def test_a_stage_that_is_not_needed_does_not_begin():
    listener = Recorder()
    timer = StageTimer(listener)
    with timer.stage_if_needed("indexing", "documents"):
        pass
    assert timer.timings == {}
    with timer.stage_if_needed("indexing", "documents") as progress:
        progress(0, 5)
        progress(5, 5)
    assert listener.seen == [("indexing", "documents", 0, 5), ("indexing", "documents", 5, 5)]
    assert timer.timings["indexing"].amount == 5
