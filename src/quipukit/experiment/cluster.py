"""Help from other processes and machines: obfuscation and encoding, which cost the most, run on dask.distributed.

The coordinator hands out work in small parts and saves what comes back as it comes; no shared file system is needed.
A worker that dies costs the parts that it was at. What runs on the workers stands in `quipukit.experiment.worker`.
"""

import asyncio
import contextlib
import functools
import importlib
import logging
import math
import signal
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import resource_tracker
from typing import Any, Literal

import numpy as np
import pandas as pd

from quipukit import __version__
from quipukit.encoders.base import Encoder, Kind, Piece, Similarity
from quipukit.encoders.load import encoder_names, load_encoder
from quipukit.encoders.sentence import SentenceEncoder
from quipukit.errors import InputError, QuipukitError, ResourceError
from quipukit.experiment import worker
from quipukit.experiment.inputs import Inputs
from quipukit.experiment.stages import run_here
from quipukit.experiment.worker import Answer, Chunk, Part, Sealed, Source, Terms
from quipukit.frames import NOTES, OBFUSCATED, Table
from quipukit.mechanisms.base import Mechanism
from quipukit.obfuscation import Obfuscation
from quipukit.vectors.sources import load_vectors
from quipukit.vectors.store import Vectors

# From the inputs to what `Stages` is to use in place of its own: how to obfuscate groups, which encoder to take.
Help = Callable[[Inputs], contextlib.AbstractContextManager[dict[str, Any]]]

# Seconds without any worker, or without the scheduler, after which a run stops; a queue may need a while to start one.
PATIENCE = 60.0
_CONNECT = 10.0
_LOOK = 1.0
# A part is tried so often: workers may die of something else, but also of the part itself.
_TRIES = 3
# Parts in the hands of the cluster for each of its threads: none of them waits, and few texts lie in its memory.
_AHEAD = 3
# A chunk of texts is some seconds of work, for little is to be lost and much to be seen; batches fill all the same.
_MOST_TEXTS, _LEAST_TEXTS, _MOST_LETTERS = 2048, 64, 600_000
_LEAST_QUERIES = 4
_LOGGERS = ("distributed", "tornado", "asyncio")

Task = Callable[[Sealed], Sealed]


@contextlib.contextmanager
def no_help(inputs: Inputs) -> Iterator[dict[str, Any]]:
    """Do everything in this process."""
    yield {"run_groups": run_here}


def dask_help(address: str | None = None, workers: int | None = None) -> Help:
    """Take the workers of a dask cluster: of the one at an address, or of as many processes of this machine.

    The result is the same, to the byte, as without help, where all machines are of one kind. A script that asks for
    processes must guard its own start with ``if __name__ == "__main__":``.
    """
    if (address is None) == (workers is None):
        raise InputError("give the address of a dask scheduler or a number of workers, one of the two.")
    if workers is not None and workers < 1:
        raise InputError(f"workers must be a whole number of at least 1 (found {workers!r}).")
    _distributed()  # a missing package is told at once, not after the inputs are loaded

    @contextlib.contextmanager
    def helping(inputs: Inputs) -> Iterator[dict[str, Any]]:
        with contextlib.ExitStack() as stack:
            stack.enter_context(_quiet())
            place = stack.enter_context(_local_cluster(workers)) if workers is not None else str(address)
            client = stack.enter_context(_client(place))
            crew = Crew(client, "this machine" if workers is not None else place)
            stack.callback(crew.leave)
            crew.meet(inputs)
            yield {"run_groups": crew.run_groups, "encoder_for": crew.encoder_for}

    return helping


# --- the crew -------------------------------------------------------------------------------------------------------


@dataclass
class _Sent:
    """A part in the hands of the cluster."""

    number: int
    order: Sealed
    tries: int = 1


class Crew:
    """The workers of a cluster, and this run's agreement with them."""

    def __init__(self, client: Any, place: str) -> None:
        """Take the workers that a client reaches."""
        self.client = client
        self.place = place
        self.run_name = uuid.uuid4().hex
        self.terms = Terms(self.run_name, worker.software(), worker.code(), ())
        self._threads = 1
        self._looked = -math.inf
        self._anybody = False
        self._seen = time.monotonic()  # when there was a worker last
        self._plugins: list[str] = []
        self._probes: dict[str, dict[str, str]] = {}

    def meet(self, inputs: Inputs) -> None:
        """Tell the workers what the run needs, and refuse those that have something else."""
        wish = None
        while not self.look():
            # A cluster that grows with its work starts no worker without some.
            wish = wish or self.client.submit(worker.check, Sealed(self.terms), pure=False)
            time.sleep(0.1)
        self._check_all()  # first of all, that they have this package: what follows is written in its terms
        bound = [setting.bound for setting in inputs.settings if setting.bound is not None]
        wordnet = next(filter(None, (getattr(one, "wordnet", None) for one in bound)), None)
        vectors = inputs.vectors
        self.terms = Terms(
            self.run_name,
            worker.software(),
            worker.code(),
            worker.mechanisms(sorted({one.name for one in bound})),
            wordnet="" if wordnet is None else wordnet.fingerprint,
            vectors=None if vectors is None else self._source_of_vectors(vectors, inputs.options.vectors),
            encoder=self._source_of_encoder(inputs.encoder),
        )
        self._check_all()

    def leave(self) -> None:
        """Take back what the workers were handed."""
        for name in self._plugins:
            with contextlib.suppress(Exception):  # a cluster that is gone has forgotten it, too
                self.client.unregister_worker_plugin(name)

    # --- what stages use ---

    def run_groups(
        self,
        queries: pd.DataFrame,
        groups: Sequence[list[Mechanism]],
        n: int,
        seed: int,
        noise: Any,
        tell: Callable[[float], None],
    ) -> Iterator[tuple[list[Mechanism], Obfuscation]]:
        """Obfuscate with groups of mechanisms, the queries divided so that all workers are busy."""
        slices = _slices(len(queries), len(groups), self._threads)
        places = [(group, slice_) for group in range(len(groups)) for slice_ in range(len(slices))]
        orders = (
            Part(
                self.terms,
                tuple(repr(member.spec) for member in groups[group]),
                queries.iloc[slices[slice_]],
                n,
                seed,
                noise,
            )
            for group, slice_ in places
        )
        parts: dict[int, dict[int, Obfuscation]] = {}
        done = 0.0
        for number, answer in self.run(worker.obfuscate_part, orders):
            group, slice_ = places[number]
            parts.setdefault(group, {})[slice_] = answer.content
            done += len(groups[group]) / len(slices)
            tell(done)
            if len(parts[group]) == len(slices):
                yield groups[group], _joined(groups[group], [part for _, part in sorted(parts.pop(group).items())])

    def encoder_for(self, encoder: Encoder) -> Encoder:
        """Return an encoder that has its texts encoded by the workers."""
        return ClusterEncoder(encoder, self, self._source_of_encoder(encoder))

    def chunks(self, texts: Sequence[str]) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
        """Divide texts into chunks for the workers, the longest first, by positions."""
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        most = max(_LEAST_TEXTS, min(_MOST_TEXTS, -(-len(texts) // (_AHEAD * self._threads))))
        return _chunks(lengths, most)

    # --- work ---

    def run(self, task: Task, orders: Iterable[Any]) -> Iterator[tuple[int, Answer]]:
        """Have orders carried out, and yield (number of the order, answer) as the answers come."""
        coming = enumerate(orders)
        waiting: dict[Any, _Sent] = {}
        self._seen = time.monotonic()  # while there was nothing to do, nobody had to be there

        def send(sent: _Sent) -> None:
            # Never pure: the name of a pure task is a hash over its content, which an onlooker could guess at.
            waiting[self.client.submit(task, sent.order, pure=False)] = sent

        try:
            while True:
                for number, order in coming:
                    send(_Sent(number, Sealed(order)))
                    if len(waiting) >= _AHEAD * self._threads:
                        break
                if not waiting:
                    return
                for future in self._finished(waiting):
                    sent = waiting.pop(future)
                    answer, lost = self._answer(future)
                    if answer is None or answer.fault_kind == "other":
                        if sent.tries == _TRIES:
                            raise self._given_up(lost) if answer is None else _error(answer)
                        send(_Sent(sent.number, sent.order, sent.tries + 1))
                    elif answer.fault_kind:
                        raise _error(answer)
                    else:
                        yield sent.number, answer
        finally:
            if waiting:
                with contextlib.suppress(Exception):
                    self.client.cancel(list(waiting), force=True)

    def _finished(self, waiting: Iterable[Any]) -> list[Any]:
        """Wait until some of the futures are finished, whatever the end; stop where nobody is left to finish them."""
        futures = list(waiting)
        while True:
            self._wait(futures)
            finished = [future for future in futures if future.done()]
            if self.look() and finished:
                return finished
            if finished:
                time.sleep(0.1)  # they were dropped together with the last worker or the scheduler: wait for others

    def _wait(self, futures: list[Any]) -> None:
        """Wait until one of the futures is finished, or for a moment."""
        with contextlib.suppress(TimeoutError, CancelledError), self.client.as_current():
            _distributed().wait(futures, timeout=_LOOK, return_when="FIRST_COMPLETED")

    def _answer(self, future: Any) -> tuple[Answer | None, str]:
        """Return what a future brought, or what became of it."""
        try:
            # The worker that holds it may die meanwhile; dask then computes it again, or this gives up on it.
            return future.result(timeout=PATIENCE).content, ""
        except (CancelledError, TimeoutError, OSError) as fault:
            return None, type(fault).__name__
        except Exception as fault:  # KilledWorker, and whatever a worker says that cannot read a task
            return None, type(fault).__name__

    def _given_up(self, lost: str) -> QuipukitError:
        if lost == "KilledWorker":
            return ResourceError(
                f"workers of {self.place} died again and again at the same part of the work; give them more memory "
                "(about 2 GB each), then run the same command. What was finished is kept."
            )
        return ResourceError(
            f"a part of the work was lost {_TRIES} times on {self.place} ({lost}); look into the workers' logs, then "
            "run the same command. What was finished is kept."
        )

    def look(self) -> int:
        """Return how many threads the workers have together; raise where there were none for too long."""
        now = time.monotonic()
        if now - self._looked >= _LOOK:
            self._looked = now
            threads = 0
            with contextlib.suppress(Exception):  # whatever is wrong with the connection: nobody is seen
                threads = sum(self._workers().values())
            if threads:
                self._seen, self._threads = now, threads
            elif now - self._seen > PATIENCE or self.client.status in ("closed", "closing"):
                raise self._nobody(now - self._seen)
            self._anybody = bool(threads)
        return self._threads if self._anybody else 0

    def _nobody(self, seconds: float) -> ResourceError:
        who, fix = (
            (f"no worker is left on {self.place}", "start workers there")
            if self.client.status == "running"
            else (f"the dask scheduler of {self.place} is gone", "start it and its workers again")
        )
        return ResourceError(
            f"{who} (for {seconds:.0f} s); {fix}, then run the same command. What was finished is kept."
        )

    def _workers(self) -> dict[str, int]:
        threads: dict[str, int] = self.client.sync(self.client.scheduler.ncores, callback_timeout=_CONNECT)
        return threads

    # --- agreement ---

    def _check_all(self) -> None:
        """Ask every worker whether it has what is needed; those that come later are asked with their first task."""
        order = Sealed(self.terms)
        futures = {
            self.client.submit(worker.check, order, workers=[address], pure=False): address
            for address in self._workers()
        }
        waiting = dict(futures)
        while waiting:
            for future in self._finished_or_gone(waiting):
                address = waiting.pop(future)
                if future.status == "error":
                    fault = future.exception()
                    while fault.__cause__ is not None:
                        fault = fault.__cause__
                    raise _refused(address, _reason(fault))
                if future.status == "finished":
                    answer, _ = self._answer(future)
                    if answer is not None and answer.fault_kind:
                        raise _error(answer)

    def _finished_or_gone(self, waiting: dict[Any, str]) -> list[Any]:
        self._wait(list(waiting))
        there = self._workers() if self.look() else {}
        return [future for future, address in waiting.items() if future.done() or address not in there]

    def compare_probe(self, encoder: Encoder, answer: Answer) -> None:
        """Warn where workers do not agree in the last bits of a vector: their processors are of different kinds."""
        known = self._probes.setdefault(encoder.fingerprint, {})
        known.setdefault(answer.probe, answer.worker)
        if len(known) == 2 and known[answer.probe] == answer.worker:
            other = next(iter(known.values()))
            known[answer.probe] = ""  # said once
            warnings.warn(
                f"workers {other} and {answer.worker} differ in the last bits of the vectors of {encoder.name}: their "
                "processors are of different kinds, and another run may rank near ties otherwise; take one kind.",
                stacklevel=2,
            )

    # --- what is loaded there by name, and what is handed over ---

    def _source_of_vectors(self, vectors: Vectors, name: str | None) -> Source:
        with contextlib.suppress(QuipukitError):
            named = load_vectors(name)
            same_parts = getattr(named.compose, "__qualname__", "") == getattr(vectors.compose, "__qualname__", "")
            if named.fingerprint == vectors.fingerprint and same_parts:
                return Source("vectors", name or named.name, vectors.fingerprint, self.run_name)
        remake = functools.partial(worker.remade, list(vectors.words), vectors.matrix, vectors.name, vectors.compose)
        return self._handed("vectors", vectors.fingerprint, remake)

    def _source_of_encoder(self, encoder: Encoder) -> Source:
        name = encoder.source if isinstance(encoder, SentenceEncoder) else encoder.name
        if isinstance(encoder, SentenceEncoder) or name in encoder_names():
            with contextlib.suppress(QuipukitError):
                if load_encoder(name).fingerprint == encoder.fingerprint:
                    return Source("encoder", name, encoder.fingerprint, self.run_name)
        return self._handed("encoder", encoder.fingerprint, functools.partial(_itself, encoder))

    def _handed(self, kind: Literal["vectors", "encoder"], fingerprint: str, make: Callable[[], Any]) -> Source:
        from distributed.diagnostics.plugin import WorkerPlugin

        run = self.run_name

        class Handing(WorkerPlugin):
            """Reaches the workers that are there and those that come, and is taken back at the end."""

            def setup(self, worker: Any) -> None:
                from quipukit.experiment.worker import hand

                hand(run, {fingerprint: make})

            def teardown(self, worker: Any) -> None:
                from quipukit.experiment.worker import forget

                forget(run)

        name = f"quipukit-{run}-{len(self._plugins)}"
        try:
            self.client.register_plugin(Handing(), name=name)
        except Exception as fault:
            reason = _reason(fault)
            raise InputError(
                f"the {kind} of this run cannot be sent to the workers ({reason}); make it importable there, or give "
                "it by a name that they can load."
            ) from fault
        self._plugins.append(name)
        return Source(kind, None, fingerprint, run)


class ClusterEncoder(Encoder):
    """An encoder whose texts are encoded by the workers of a cluster; in all else it is the one that it stands for."""

    def __init__(self, encoder: Encoder, crew: Crew, source: Source) -> None:
        """Stand for an encoder."""
        self._encoder, self._crew, self._source = encoder, crew, source
        self.name = encoder.name
        self.fingerprint = encoder.fingerprint
        self.similarity: Similarity = encoder.similarity

    @property
    def dimension(self) -> int:  # type: ignore[override]
        """Return the number of coordinates of a vector."""
        return self._encoder.dimension

    def variant(self, kind: Kind) -> str:
        """Return what sets the vectors of a kind apart."""
        return self._encoder.variant(kind)

    def pieces(self, texts: Sequence[str], kind: Kind) -> Iterator[Piece]:
        """Have texts encoded in chunks of like length, and yield the vectors as they come."""
        crew = self._crew
        chunks = crew.chunks(texts)
        orders = (Chunk(crew.terms, self._source, [texts[place] for place in chunk], kind) for chunk in chunks)
        for number, answer in crew.run(worker.encode_chunk, orders):
            crew.compare_probe(self._encoder, answer)
            yield chunks[number], answer.content


# --- how work is divided --------------------------------------------------------------------------------------------


def _slices(queries: int, groups: int, threads: int) -> list[slice]:
    """Divide queries so that all groups together make some parts for every thread.

    >>> _slices(10, 15, 2), _slices(10, 1, 2)
    ([slice(0, 10, None)], [slice(0, 4, None), slice(4, 7, None), slice(7, 10, None)])
    """
    count = max(1, min(-(-queries // _LEAST_QUERIES), -(-_AHEAD * threads // max(1, groups))))
    return [slice(int(part[0]), int(part[-1]) + 1) for part in np.array_split(np.arange(queries), count)]


def _chunks(lengths: "np.ndarray[Any, np.dtype[np.int64]]", most: int) -> "list[np.ndarray[Any, np.dtype[np.int64]]]":
    """Divide texts of some lengths into chunks of at most so many, and of not too many letters, the longest first."""
    order = np.argsort(-lengths, kind="stable")
    total = np.cumsum(lengths[order])
    chunks, start = [], 0
    while start < len(order):
        before = total[start - 1] if start else 0
        stop = int(np.searchsorted(total, before + _MOST_LETTERS, side="right"))
        stop = max(start + 1, min(stop, start + most))
        chunks.append(order[start:stop])
        start = stop
    return chunks


def _joined(members: Sequence[Mechanism], parts: Sequence[Obfuscation]) -> Obfuscation:
    """Join what was found for slices of the queries: what one call for all of them would give."""
    place = {(member.spec.family, member.value): number for number, member in enumerate(members)}

    def join(table: Table, frames: list[pd.DataFrame]) -> pd.DataFrame:
        joined = pd.concat(frames, ignore_index=True)
        places = [place[setting] for setting in zip(joined["mechanism"], joined["value"], strict=True)]
        return table.check(joined.iloc[np.argsort(places, kind="stable")])

    table = join(OBFUSCATED, [part.table for part in parts])
    table.attrs = dict(parts[0].table.attrs)
    return Obfuscation(table, join(NOTES, [part.notes for part in parts]))


def _itself(something: Any) -> Any:
    return something


def _error(answer: Answer) -> Exception:
    """Return the exception that a worker's fault makes here."""
    if answer.fault_kind == "terms":
        return _refused(answer.worker, answer.fault)
    if answer.fault_kind == "input":
        return InputError(answer.fault)
    if answer.fault_kind == "resource":
        return ResourceError(f"worker {answer.worker}: {answer.fault}")
    error = RuntimeError(f"worker {answer.worker}: {answer.fault}")
    error.add_note(answer.trace)
    return error


def _reason(fault: BaseException) -> str:
    return (str(fault).strip().splitlines() or [type(fault).__name__])[0]


def _refused(address: str, reason: str) -> InputError:
    return InputError(
        f"worker {address} cannot take part: {reason.rstrip('.')}. Install the same there as here "
        f'(pip install "quipukit[dask]=={__version__}", the same packages, models and vectors), start it again, then '
        "run the same command."
    )


# --- the cluster ----------------------------------------------------------------------------------------------------


def _distributed() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError:
        raise ResourceError('help from workers needs dask.distributed; pip install "quipukit[dask]".') from None


@contextlib.contextmanager
def _local_cluster(workers: int) -> Iterator[str]:
    """Start worker processes that listen on this machine alone; nothing of theirs stays behind."""
    import dask

    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="quipukit-dask-"))
        # A dead worker is replaced at once, and dying costs its parts alone, however often somebody kills one.
        settings = {"distributed.scheduler.allowed-failures": 20, "distributed.diagnostics.nvml": False}
        try:
            with dask.config.set(settings), _interrupts_stay_here():
                cluster = _distributed().LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    scheduler_kwargs={"dashboard": False},
                    memory_limit=0,  # as much as a run without help may take; and no text is written to a disk
                    local_directory=folder,
                    silence_logs=logging.CRITICAL,
                    env={"QUIPUKIT_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
                )
        except (RuntimeError, OSError, TimeoutError) as fault:
            reason = _reason(fault)
            raise ResourceError(
                f"the {workers} worker processes did not start ({reason}); take fewer, and in a script of your own "
                'guard the start with `if __name__ == "__main__":`.'
            ) from None
        stack.callback(_closed, cluster)
        yield str(cluster.scheduler_address)


@contextlib.contextmanager
def _interrupts_stay_here() -> Iterator[None]:
    """Keep Ctrl-C from processes that are started meanwhile, and from those that are started in their place later.

    A terminal sends it to all of them; they would print their stack and die before they could be stopped in order.
    """
    resource_tracker.ensure_running()  # it would unblock the signal on its start
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _client(address: str) -> Iterator[Any]:
    """Connect to a scheduler."""
    try:
        # Asked first: a client that finds nobody leaves threads behind, which complain for a long time.
        with ThreadPoolExecutor(1) as aside:
            kind = aside.submit(asyncio.run, _kind_of(address)).result()
        if kind != "Scheduler":
            raise ValueError(f"a dask {kind.lower()} is there")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # versions are compared by us, and those that differ are refused
            client = _distributed().Client(address, timeout=_CONNECT, set_as_default=False, name="quipukit")
    except Exception as fault:  # OSError, ValueError, TypeError ...: by what is wrong with the address
        reason = _reason(fault)
        raise InputError(
            f"no dask scheduler answers at {address!r} ({reason}); start one with `dask scheduler`, and give its "
            "address, for instance tcp://host:8786."
        ) from None
    try:
        yield client
    finally:
        _closed(client)


async def _kind_of(address: str) -> str:
    """Return what answers at an address."""
    distributed = _distributed()
    ways = distributed.Security().get_connection_args("client")
    async with asyncio.timeout(2 * _CONNECT):
        async with distributed.rpc(address, timeout=_CONNECT, connection_args=ways) as server:
            return str((await server.identity())["type"])


def _closed(thing: Any) -> None:
    with contextlib.suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        thing.close(timeout=_CONNECT)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep dask from telling about workers that come and go: what matters is said by us."""
    _distributed()  # its loggers have levels from now on
    names = [
        name
        for name in [*_LOGGERS, *logging.root.manager.loggerDict]
        if name in _LOGGERS or name.startswith(tuple(f"{one}." for one in _LOGGERS))
    ]
    before = {name: logging.getLogger(name).level for name in names}
    for name in before:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
