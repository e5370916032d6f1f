"""A folder of runs: every setting its own file, every query that was asked in the index, nothing of anybody else."""

import json

import pandas as pd
import pytest

from quipukit.cli.run_folder import INDEX, asked_queries, find_runs, refuse_strangers, run_names, write_runs
from quipukit.errors import FileError, InputError

SETTINGS = [("CMP", "epsilon", 5.0), ("CMP", "epsilon", 10.0)]
RUN = pd.DataFrame(
    {
        "qid": ["1", "2"],
        "docno": ["a", "b"],
        "score": [1.0, 2.0],
        "rank": [0, 0],
        "mechanism": "CMP",
        "parameter": "epsilon",
        "value": 5.0,
    }
)


@pytest.fixture
def folder(tmp_path):
    write_runs(RUN, tmp_path, run_names(SETTINGS), ["1", "2", "3"])
    return tmp_path


def test_a_setting_that_found_nothing_has_a_file_and_is_named(tmp_path):
    assert write_runs(RUN, tmp_path, run_names(SETTINGS), ["1"]) == ["CMP@10"]
    assert (tmp_path / "CMP@10.trec").read_text() == ""


def test_queries_that_were_asked_are_known_until_the_run_changes(folder):
    run = folder / "CMP@5.trec"
    assert asked_queries(run) == ["1", "2", "3"]
    run.write_text(run.read_text() + "4 Q0 c 1 1.0 x\n")
    assert asked_queries(run) is None


def test_a_damaged_index_is_refused(folder):
    (folder / INDEX).write_text(json.dumps({"runs": []}))
    with pytest.raises(FileError, match=r"runs\.json is damaged"):
        asked_queries(folder / "CMP@5.trec")


def test_runs_of_something_else_are_not_mixed_in(folder):
    refuse_strangers(folder, ["CMP@5", "CMP@10"])
    with pytest.raises(InputError, match=r"runs of something else \(CMP@10\.trec"):
        refuse_strangers(folder, ["CMP@5"])


def test_runs_of_equal_names_are_told_apart_by_their_folders(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    write_runs(RUN, other, run_names(SETTINGS[:1]), ["1"])
    names = find_runs([folder, other])
    assert {name.split("/")[-1] for name in names} == {"CMP@5", "CMP@10"} and len(names) == 3
    assert find_runs([folder, folder / "CMP@5.trec"]).keys() == {"CMP@5", "CMP@10"}, "one file, named twice"
    with pytest.raises(InputError, match="holds no run"):
        find_runs([tmp_path_factory.mktemp("empty")])


@pytest.mark.parametrize("mechanism", ["", "  ", "x" * 300])
def test_what_makes_no_file_name_is_refused_beforehand(mechanism):
    with pytest.raises(InputError, match="setting number 1: the mechanism has no name, or one that is too long"):
        run_names([(mechanism, "", 0.0)])
