"""What becomes of a worker's fault on the coordinator's side."""

import contextlib
import warnings
from typing import Any

from quipukit import __version__
from quipukit.errors import InputError, ResourceError
from quipukit.executors.dask.payload import Answer


def error_of(answer: Answer) -> Exception:
    """Return the exception that a worker's fault raises here."""
    if answer.fault_kind == "requirements":
        return refusal(answer.worker, answer.fault)
    if answer.fault_kind == "input":
        return InputError(answer.fault)
    if answer.fault_kind == "resource":
        return ResourceError(f"worker {answer.worker}: {answer.fault}")
    error = RuntimeError(f"worker {answer.worker}: {answer.fault}")
    error.add_note(answer.trace)
    return error


def refusal(address: str, reason: str) -> InputError:
    """Return the exception for a worker that has something else than the coordinator."""
    return InputError(
        f"worker {address} cannot take part: {reason.rstrip('.')}. Install the same there as here "
        f'(pip install "quipukit[dask]=={__version__}", the same packages, models and vectors), start it again, then '
        "run the same command."
    )


def lost_work(place: str, reason: str, tries: int) -> ResourceError:
    """Return the exception for a part of the work that never came back."""
    if reason == "KilledWorker":
        return ResourceError(
            f"workers of {place} died again and again at the same part of the work; give them more memory "
            "(about 2 GB each), then run the same command. What was finished is kept."
        )
    return ResourceError(
        f"a part of the work was lost {tries} times on {place} ({reason}); look into the workers' logs, then run the "
        "same command. What was finished is kept."
    )


def no_workers(place: str, status: str, seconds: float) -> ResourceError:
    """Return the exception for a cluster that has had no worker for too long."""
    who, fix = (
        (f"no worker is left on {place}", "start workers there")
        if status == "running"
        else (f"the dask scheduler of {place} is gone", "start it and its workers again")
    )
    return ResourceError(f"{who} (for {seconds:.0f} s); {fix}, then run the same command. What was finished is kept.")


def first_line(fault: BaseException) -> str:
    """Return what an exception says, in one line."""
    return (str(fault).strip().splitlines() or [type(fault).__name__])[0]


def close_quietly(thing: Any, timeout: float) -> None:
    """Close a client or a cluster; one that is gone already is closed, too."""
    with contextlib.suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        thing.close(timeout=timeout)
