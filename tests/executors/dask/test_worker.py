"""A task never raises: its answer says what happened. Resources are loaded once, checked, and dropped at the end."""

import functools
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import quipukit as qk
from quipukit.errors import InputError, ResourceError
from quipukit.executors.base import current_worker
from quipukit.executors.dask import faults, worker
from quipukit.executors.dask.payload import Answer, Redacted, Reference, Task, dump_call
from quipukit.executors.dask.requirements import WorkerRequirements

VECTORS = qk.Vectors(["cat", "dog"], np.eye(2))
KEY = ("run of a test", 1)


def answer_to(function: Callable[[Any], Any], item: Any, **changes: Any) -> Answer:
    call, _ = dump_call(function, item, refer)
    requirements = WorkerRequirements.of_this_process()
    task = Task(**{"requirements": requirements, "call": call, **changes})
    answer: Answer = pickle.loads(worker.run(Redacted(pickle.dumps(task))).content)
    return answer


def refer(resource: Any) -> Reference:
    return Reference(*KEY, resource.kind, "", resource.content_id, None)


@pytest.fixture
def sent() -> Iterator[None]:
    worker.receive(KEY, pickle.dumps(VECTORS))
    yield
    worker.forget(KEY)


def raise_(fault: Exception) -> None:
    raise fault


def test_a_result_comes_back() -> None:
    assert answer_to(sorted, [2, 1]) == Answer("this process", [1, 2])
    assert answer_to(_who, None).result == "this process"


def _who(_: None) -> str:
    return current_worker()


@pytest.mark.parametrize(
    ("fault", "kind", "error"),
    [
        (InputError("wrong"), "input", InputError),
        (ResourceError("missing"), "resource", ResourceError),
        (ValueError("a query"), "other", RuntimeError),
    ],
)
def test_what_went_wrong_is_part_of_the_answer(fault: Exception, kind: str, error: type[Exception]) -> None:
    answer = answer_to(raise_, fault)
    assert (answer.result, answer.fault_kind) == (None, kind)
    assert str(fault) in answer.fault
    assert type(faults.error_of(answer)) is error
    assert ("raise fault" in answer.trace) == (kind == "other")


def test_a_result_that_cannot_travel_is_a_fault_too() -> None:
    assert answer_to(iter_, "ab").fault_kind == "other"


def iter_(text: str) -> Iterator[str]:
    return (letter for letter in text)


def test_requirements_come_first() -> None:
    answer = answer_to(raise_, ValueError(), requirements=WorkerRequirements((("numpy", "0"),), ""))
    assert answer.fault_kind == "requirements"
    assert "cannot take part: numpy 2" in str(faults.error_of(answer))
    assert answer_to(raise_, ValueError(), call=None).fault_kind == ""


def test_a_task_that_cannot_be_read_is_refused() -> None:
    answer = answer_to(sorted, [], call=b"no pickle")
    assert answer.fault_kind == "requirements"
    assert "cannot read its task" in answer.fault


@pytest.mark.usefixtures("sent")
def test_what_was_sent_is_made_once_and_dropped() -> None:
    first, second = (answer_to(_memory, VECTORS).result for _ in range(2))
    assert first == second != id(VECTORS)
    worker.forget(KEY)
    answer = answer_to(_memory, VECTORS)
    assert answer.fault == "the vectors of this run did not reach it"
    assert answer.fault_kind == "requirements"


def _memory(thing: Any) -> int:
    return id(thing)


@pytest.mark.usefixtures("sent")
def test_something_else_than_was_meant_is_refused() -> None:
    other = Reference(*KEY, "vectors", "my.txt", "0" * 64, None)
    with pytest.raises(worker.Disagreement, match=r"the vectors my\.txt there is not the same as here"):
        worker.resolve(other)


def test_what_is_here_by_name_is_loaded_by_it() -> None:
    here = Reference("another run", 1, "WordNet", "", qk.load_wordnet().content_id, qk.load_wordnet)
    missing = Reference("another run", 2, "vectors", "x", "0", functools.partial(qk.load_vectors, "/nowhere/x.txt"))
    other = Reference("another run", 3, "WordNet", "", "0", qk.load_wordnet)
    try:
        assert worker.can_load(here)
        assert worker.resolve(here) is qk.load_wordnet()
        assert not worker.can_load(missing)
        with pytest.raises(worker.Disagreement, match="there are no vectors"):
            worker.resolve(missing)
        with pytest.raises(worker.Disagreement, match="not the same as here"):
            worker.can_load(other)
    finally:
        worker.forget(here.key)
