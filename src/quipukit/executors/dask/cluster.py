"""The cluster: processes of this machine, or a scheduler that is running already."""

import asyncio
import contextlib
import importlib
import logging
import signal
import tempfile
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import resource_tracker
from typing import Any

from quipukit.errors import InputError, ResourceError
from quipukit.executors.dask.faults import close_quietly, first_line

CONNECT = 10.0  # seconds that a connection may take
_LOGGERS = ("distributed", "tornado", "asyncio")


def load_distributed() -> Any:
    """Import dask.distributed, or say how to install it."""
    try:
        return importlib.import_module("distributed")
    except ImportError:
        raise ResourceError('workers need dask.distributed; pip install "quipukit[dask]".') from None


@contextlib.contextmanager
def local_cluster(workers: int) -> Iterator[str]:
    """Start worker processes that listen on this machine alone; nothing of theirs stays behind."""
    import dask

    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="quipukit-dask-"))
        # A dead worker is replaced at once, and its death costs only its own parts, however often workers die.
        settings = {"distributed.scheduler.allowed-failures": 20, "distributed.diagnostics.nvml": False}
        try:
            with dask.config.set(settings), _interrupts_stay_here():
                cluster = load_distributed().LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    scheduler_kwargs={"dashboard": False},
                    memory_limit=0,  # as much as a run in one process may take; and no text is written to a disk
                    local_directory=folder,
                    silence_logs=logging.CRITICAL,
                    env={"QUIPUKIT_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
                )
        except (RuntimeError, OSError, TimeoutError) as fault:
            reason = first_line(fault)
            raise ResourceError(
                f"the {workers} worker processes did not start ({reason}); take fewer, and in a script of your own "
                'guard the start with `if __name__ == "__main__":`.'
            ) from None
        stack.callback(close_quietly, cluster, CONNECT)
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
def connected(address: str) -> Iterator[Any]:
    """Connect to a scheduler, and disconnect at the end."""
    try:
        # Checked first: a client that finds no scheduler leaves threads behind, which log errors for a long time.
        with ThreadPoolExecutor(1) as aside:
            kind = aside.submit(asyncio.run, _kind_of(address)).result()
        if kind != "Scheduler":
            raise ValueError(f"a dask {kind.lower()} is there")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # versions are compared by us, and those that differ are refused
            client = load_distributed().Client(address, timeout=CONNECT, set_as_default=False, name="quipukit")
    except Exception as fault:  # OSError, ValueError, TypeError ...: by what is wrong with the address
        reason = first_line(fault)
        raise InputError(
            f"no dask scheduler answers at {address!r} ({reason}); start one with `dask scheduler`, and give its "
            "address, for instance tcp://host:8786."
        ) from None
    try:
        yield client
    finally:
        close_quietly(client, CONNECT)


async def _kind_of(address: str) -> str:
    """Return what answers at an address."""
    distributed = load_distributed()
    ways = distributed.Security().get_connection_args("client")
    async with asyncio.timeout(2 * CONNECT):
        async with distributed.rpc(address, timeout=CONNECT, connection_args=ways) as server:
            return str((await server.identity())["type"])


@contextlib.contextmanager
def quiet_logs() -> Iterator[None]:
    """Keep dask from telling about workers that come and go: what matters is said by us."""
    load_distributed()  # its loggers have levels from now on
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
