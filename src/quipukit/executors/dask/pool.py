"""The workers of a cluster: who is there, what each must have, and how work reaches them."""

import contextlib
import math
import pickle
import secrets
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quipukit.errors import InputError
from quipukit.executors.base import AHEAD
from quipukit.executors.dask import faults, worker
from quipukit.executors.dask.cluster import CONNECT, load_distributed
from quipukit.executors.dask.payload import Answer, Redacted, Reference, Task, dump_call
from quipukit.executors.dask.requirements import WorkerRequirements
from quipukit.executors.dask.sharing import Sharing

# Seconds without any worker, or without the scheduler, after which a run stops; a queue may need a while to start one.
PATIENCE = 60.0
_POLL = 1.0
# A task is tried so often: workers may die of something else, but also of the task itself.
_TRIES = 3


@dataclass
class _Sent:
    """A task that the cluster has."""

    number: int
    order: Redacted
    tries: int = 1


class WorkerPool:
    """The workers that a client reaches.

    Dask starts a task again whose worker has died (``allowed-failures`` times). It has no answer to the rest, which is
    done here: it takes all tasks at once, and with them all texts into the scheduler's memory; it waits forever for
    workers where none is left; and it drops tasks together with a scheduler that is restarted.
    """

    def __init__(self, client: Any, place: str) -> None:
        """Take the workers of a client; messages call the cluster ``place``."""
        self.client = client
        self.place = place
        self._threads = 1
        self._polled = -math.inf
        self._anybody = False
        self._seen = time.monotonic()  # when there was a worker last
        self._sharing = Sharing(client, uuid.uuid4().hex, self._all_can_load)

    @property
    def slots(self) -> int:
        """Return how many threads the workers had together when they were counted last."""
        return self._threads

    # --- agreement ---

    def verify(self) -> None:
        """Wait for workers, and refuse those that have other software than this process.

        Those that come later are checked with their first task.
        """
        order = _order(Task(WorkerRequirements.of_this_process()))
        wish = None
        while not self.poll():
            # A cluster that grows with its work starts no worker without some.
            wish = wish or self.client.submit(worker.run, order, pure=False)
            time.sleep(0.1)
        self._ask_all(order)

    def verify_folder(self, folder: Path) -> None:
        """Refuse workers that do not see a file which this process writes to a folder, or cannot write there."""
        token = secrets.token_hex(16)
        probe = folder / f".probe-{token}"
        try:
            probe.write_text(token, encoding="ascii")
            self._ask_all(self._order_for(worker.check_folder, (folder, probe.name, token)))
        except OSError as fault:
            raise InputError(
                f"the shared folder {folder} cannot be written ({fault.strerror}); name another.", argument="shared"
            ) from fault
        finally:
            probe.unlink(missing_ok=True)

    def release(self) -> None:
        """Take back what the workers were given."""
        self._sharing.release()

    def _all_can_load(self, reference: Reference) -> bool:
        return all(self._ask_all(self._order_for(worker.can_load, reference)))

    def _ask_all(self, order: Redacted) -> list[Any]:
        """Give a task to every worker, and return the results of those that stay."""
        waiting = {
            self.client.submit(worker.run, order, workers=[address], pure=False): address for address in self._workers()
        }
        results = []
        while waiting:
            for future in self._finished_or_gone(waiting):
                address = waiting.pop(future)
                if future.status == "error":  # it cannot even read the task: it lacks this package, for instance
                    fault = future.exception()
                    while fault.__cause__ is not None:
                        fault = fault.__cause__
                    raise faults.refusal(address, faults.first_line(fault))
                if future.status == "finished":
                    answer, _ = self._answer(future)
                    if answer is not None and answer.fault_kind:
                        raise faults.error_of(answer)
                    results += [] if answer is None else [answer.result]
        return results

    def _finished_or_gone(self, waiting: dict[Any, str]) -> list[Any]:
        self._wait(list(waiting))
        there = self._workers() if self.poll() else {}
        return [future for future, address in waiting.items() if future.done() or address not in there]

    # --- work ---

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Have a function called on items, and yield (number of the item, result) as the results arrive."""
        coming = enumerate(items)
        waiting: dict[Any, _Sent] = {}
        self._seen = time.monotonic()  # no worker is needed while there is nothing to do

        def send(sent: _Sent) -> None:
            # Never pure: the name of a pure task is a hash over its content, which an onlooker could guess at.
            waiting[self.client.submit(worker.run, sent.order, pure=False)] = sent

        try:
            while True:
                # A window of tasks, not all of them: few texts lie in the scheduler's memory.
                while len(waiting) < AHEAD * self._threads and (new := next(coming, None)):
                    send(_Sent(new[0], self._order_for(function, new[1])))
                if not waiting:
                    return
                for future in self._finished(waiting):
                    sent = waiting.pop(future)
                    answer, lost = self._answer(future)
                    if answer is None or answer.fault_kind == "other":
                        if sent.tries == _TRIES:
                            raise (
                                faults.lost_work(self.place, lost, _TRIES)
                                if answer is None
                                else faults.error_of(answer)
                            )
                        # Not by dask's own `retries`: a task never raises, lest a log tell its exception.
                        send(_Sent(sent.number, sent.order, sent.tries + 1))
                    elif answer.fault_kind:
                        raise faults.error_of(answer)
                    else:
                        yield sent.number, answer.result
        finally:
            if waiting:
                with contextlib.suppress(Exception):
                    self.client.cancel(list(waiting), force=True)

    def _order_for(self, function: Callable[[Any], Any], item: Any) -> Redacted:
        try:
            call, classes = dump_call(function, item, self._sharing.refer)
        except (TypeError, AttributeError, pickle.PicklingError) as fault:
            raise InputError(
                f"something of this run cannot be sent to the workers ({faults.first_line(fault)}); define it in a "
                "module, without open files, locks or lambdas, or run without workers."
            ) from fault
        return _order(Task(WorkerRequirements.of_this_process(classes), call))

    def _finished(self, waiting: Iterable[Any]) -> list[Any]:
        """Wait until some of the futures are finished, or have failed; stop if no worker is left to finish them."""
        futures = list(waiting)
        while True:
            self._wait(futures)
            finished = [future for future in futures if future.done()]
            if self.poll() and finished:
                return finished
            if finished:
                time.sleep(0.1)  # they were dropped together with the last worker or the scheduler: wait for others

    def _wait(self, futures: list[Any]) -> None:
        """Wait until one of the futures is finished, or for a moment."""
        # Not `as_completed`: it cannot be left and taken up again, and workers are counted between two looks.
        with contextlib.suppress(TimeoutError, CancelledError), self.client.as_current():
            load_distributed().wait(futures, timeout=_POLL, return_when="FIRST_COMPLETED")

    def _answer(self, future: Any) -> tuple[Answer | None, str]:
        """Return what a future brought, or what became of it."""
        try:
            # The worker that holds it may die meanwhile; dask then computes it again, or this gives up on it.
            return pickle.loads(future.result(timeout=PATIENCE).content), ""
        except Exception as fault:  # KilledWorker, CancelledError, a worker that cannot read a task ...
            return None, type(fault).__name__

    # --- who is there ---

    def poll(self) -> int:
        """Return how many threads the workers have together; raise where there were none for too long."""
        now = time.monotonic()
        if now - self._polled >= _POLL:
            self._polled = now
            threads = 0
            with contextlib.suppress(Exception):  # if the connection fails in any way, no worker is seen
                threads = sum(self._workers().values())
            if threads:
                self._seen, self._threads = now, threads
            elif now - self._seen > PATIENCE or self.client.status in ("closed", "closing"):
                raise faults.no_workers(self.place, self.client.status, now - self._seen)
            self._anybody = bool(threads)
        return self._threads if self._anybody else 0

    def _workers(self) -> dict[str, int]:
        threads: dict[str, int] = self.client.sync(self.client.scheduler.ncores, callback_timeout=CONNECT)
        return threads


def _order(task: Task) -> Redacted:
    return Redacted(pickle.dumps(task, protocol=5))
