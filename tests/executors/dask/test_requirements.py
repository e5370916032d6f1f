"""A worker is compared in its libraries, in the source of this package and in the classes that plugins bring."""

import dataclasses

from quipukit.executors.dask.requirements import ClassSource, WorkerRequirements, package_hash, software
from tests.executors.moody import Words

HERE = WorkerRequirements.of_this_process([Words])


def test_this_process_meets_its_own_requirements() -> None:
    assert HERE.differences() == ()
    assert hash(HERE) == hash(WorkerRequirements.of_this_process([Words]))


def test_other_and_missing_libraries_are_named() -> None:
    numpy = dict(software())["numpy"]
    other = [(name, "0.1" if name == "numpy" else version) for name, version in software()]
    assert dataclasses.replace(HERE, software=tuple(other)).differences() == (f"numpy {numpy} there, 0.1 here",)
    without = tuple(pair for pair in software() if pair[0] != "numpy")
    assert dataclasses.replace(HERE, software=without).differences() == (f"numpy {numpy} there, missing here",)
    more = (*software(), ("nothing", "1"))
    assert dataclasses.replace(HERE, software=more).differences() == ("nothing missing there, 1 here",)


def test_of_python_two_numbers_count() -> None:
    assert dict(software())["python"].count(".") == 1


def test_other_source_is_refused() -> None:
    assert dataclasses.replace(HERE, source="other").differences() == ("its code of quipukit is not the one here",)
    assert len(package_hash()) == 64


def test_classes_are_compared_by_their_file() -> None:
    here = ClassSource.of(Words)
    assert (here.module, here.qualname, here.name) == ("tests.executors.moody", "Words", "moody words")
    assert here.difference() == ""
    assert dataclasses.replace(here, source="0").difference() == "its code of moody words is not the one here"
    gone = dataclasses.replace(here, module="tests.executors.nowhere")
    assert gone.difference() == "it does not have moody words (module tests.executors.nowhere)"
    assert "does not have" in dataclasses.replace(here, qualname="Nothing").difference()
