"""What runs on a worker: it meets requirements, loads shared resources once, and calls functions.

A task never raises: dask would write the message of the exception into the worker's log. What went wrong is part of
the answer.
"""

import functools
import os
import pickle
import secrets
import threading
import traceback
from pathlib import Path
from typing import Any

from quipukit.errors import InputError, QuipukitError
from quipukit.executors.base import WORKER
from quipukit.executors.dask.payload import Answer, FaultKind, Redacted, Reference, Task, load_call
from quipukit.executors.dask.requirements import WorkerRequirements

_lock = threading.RLock()  # threads of one process load and check one after the other

# By the key of a reference: the pickled resource that a run has sent, and what was made of it or loaded.
_received: dict[tuple[str, int], bytes] = {}
_loaded: dict[tuple[str, int], Any] = {}


class Disagreement(InputError):
    """This worker does not have what the coordinator has."""


def run(order: Redacted) -> Redacted:
    """Carry out a task, and return the answer to it."""
    # Each of a worker's threads runs a task, so that a task is to use one thread; who set it otherwise knows why.
    os.environ.setdefault("QUIPUKIT_THREADS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    worker = _address()
    before = WORKER.set(worker)
    try:
        return _redacted(Answer(worker, _result(pickle.loads(order.content))))
    except Exception as fault:
        return _redacted(_fault_answer(worker, fault))
    finally:
        WORKER.reset(before)


def _result(task: Task) -> Any:
    with _lock:
        differing = _differences(task.requirements)
    if differing:
        raise Disagreement("; ".join(differing))
    if task.call is None:
        return None
    try:
        function, item = load_call(task.call, resolve)
    except QuipukitError:
        raise
    except Exception as fault:
        raise Disagreement(f"it cannot read its task ({type(fault).__name__}: {fault})") from fault
    return function(item)


def _fault_answer(worker: str, fault: Exception) -> Answer:
    kinds: tuple[tuple[type[Exception], FaultKind], ...] = (
        (Disagreement, "requirements"),
        (InputError, "input"),
        (QuipukitError, "resource"),
    )
    for cls, kind in kinds:
        if isinstance(fault, cls):
            return Answer(worker, fault=str(fault), fault_kind=kind)
    trace = "".join(traceback.format_exception(fault))
    return Answer(worker, fault=f"{type(fault).__name__}: {fault}", fault_kind="other", trace=trace)


def _redacted(answer: Answer) -> Redacted:
    return Redacted(pickle.dumps(answer, protocol=5))


def _address() -> str:
    from distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:
        return "this process"


@functools.lru_cache(maxsize=64)
def _differences(requirements: WorkerRequirements) -> tuple[str, ...]:
    return requirements.differences()


def check_folder(item: tuple[Path, str, str]) -> None:
    """See that a shared folder is the one that the coordinator writes to, and that this worker can write there."""
    folder, probe, token = item
    own = folder / f"{probe}-{secrets.token_hex(8)}"
    try:
        same = (folder / probe).read_text(encoding="ascii") == token
        own.touch(0o600)
        own.unlink()
    except OSError as fault:
        raise InputError(
            f"worker {WORKER.get()} cannot use the shared folder {folder} ({fault.strerror or type(fault).__name__}); "
            "mount it there under the same path, for writing, or run without it."
        ) from fault
    if not same:
        raise InputError(f"worker {WORKER.get()} has another folder under {folder}; mount the same one everywhere.")


# --- shared resources ---------------------------------------------------------------------------------------------


def receive(key: tuple[str, int], content: bytes) -> None:
    """Keep a pickled resource that a run sends to this worker."""
    with _lock:
        _received[key] = content


def forget(key: tuple[str, int]) -> None:
    """Drop a resource that a run has sent to this worker, or that was loaded for it."""
    with _lock:
        _received.pop(key, None)
        _loaded.pop(key, None)


def resolve(reference: Reference) -> Any:
    """Return the resource that a reference stands for, loaded once and checked to be the one that is meant."""
    with _lock:
        if reference.key not in _loaded:
            try:
                resource = _made(reference)
            except QuipukitError as fault:
                raise Disagreement(str(fault)) from fault
            except Exception as fault:
                raise Disagreement(f"{reference} cannot be loaded ({type(fault).__name__}: {fault})") from fault
            _loaded[reference.key] = _checked(resource, reference)
        return _loaded[reference.key]


def can_load(reference: Reference) -> bool:
    """Return whether this worker has a resource by itself, and load it then.

    One that is here under the same name with other content is an error, and raises.
    """
    with _lock:
        if reference.key not in _loaded:
            try:
                resource = _made(reference)
            except Exception:
                return False
            _loaded[reference.key] = _checked(resource, reference)
    return True


def _made(reference: Reference) -> Any:
    if reference.origin is not None:
        return reference.origin()
    if reference.key not in _received:
        raise Disagreement(f"{reference} of this run did not reach it")
    return pickle.loads(_received[reference.key])


def _checked(resource: Any, reference: Reference) -> Any:
    if resource.content_id != reference.content_id:
        raise Disagreement(f"{reference} there is not the same as here")
    return resource
