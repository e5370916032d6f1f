"""Processes are started for this machine alone and end with their owner; an address is asked before it is used."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

from quipukit.errors import InputError
from quipukit.executors import Dask
from quipukit.executors.dask import cluster as clusters
from tests.executors.dask.conftest import Cluster

pytestmark = pytest.mark.serial


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nowhere", "tls://127.0.0.1:9", ""])
def test_an_address_where_nobody_answers(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "CONNECT", 0.5)
    with pytest.raises(InputError, match="no dask scheduler answers at"), Dask(address):
        pass


def test_the_address_of_a_worker_is_no_scheduler(cluster: Cluster) -> None:
    with pytest.raises(InputError, match="a dask worker is there"), Dask(next(iter(cluster.pids()))):
        pass


def test_ctrl_c_stops_quietly_and_leaves_nothing_behind(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import signal, time
            from quipukit.executors import Dask

            if __name__ == "__main__":
                # A job in the background of a shell ignores Ctrl-C, and so would this one: tests may run as such.
                signal.signal(signal.SIGINT, signal.default_int_handler)
                try:
                    with Dask(workers=1) as executor:
                        for number, _ in executor.map(time.sleep, [0.05] * 400):
                            if number == 0:
                                print("now", flush=True)
                except KeyboardInterrupt:
                    print("stopped")
            """
        )
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    running = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    assert running.stdout is not None
    line = running.stdout.readline()
    workers = psutil.Process(running.pid).children(recursive=True)
    os.killpg(running.pid, signal.SIGINT)  # a terminal sends it to all of them
    out, err = running.communicate(timeout=60)
    assert (line, out, err, running.returncode) == ("now\n", "stopped\n", "", 0)
    assert workers
    assert psutil.wait_procs(workers, timeout=10)[1] == []
