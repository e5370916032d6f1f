"""The server on a real socket."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import pytest

from quipukit.errors import InputError
from quipukit.web.server import address_of, bound_socket
from tests.retrieval.fake_engine import Reply, serving
from tests.web.fakes import SECRET


def test_a_port_that_is_taken() -> None:
    with bound_socket("127.0.0.1", 0) as own:
        port = own.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port}"):
            bound_socket("127.0.0.1", port)
    with pytest.raises(InputError, match="cannot listen"):
        bound_socket("no.such.host.invalid", 0)
    assert address_of("localhost", 1) == "http://localhost:1/"


@pytest.mark.heavy
@pytest.mark.serial
def test_quipukit_serve_answers_logs_nothing_and_ends(tmp_path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "quipukit", "serve", "--no-open", "--port", str(port)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment) as server:
        try:
            root = f"http://127.0.0.1:{port}"
            page = _read(f"{root}/", server)
            assert b"<title>Try" in page
            refused = urllib.request.Request(f"{root}/search?q={SECRET.replace(' ', '+')}")
            refused.add_header("Sec-Fetch-Site", "cross-site")
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(refused, timeout=10)
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"{root}/nothing?q={SECRET.replace(' ', '+')}", timeout=10)
        finally:
            server.send_signal(signal.SIGINT)
            output = server.communicate(timeout=60)[0].decode()
    assert f"serving {root}/" in output and "utrecht" not in output and "GET" not in output
    assert "Traceback" not in output


def _read(address: str, server: "subprocess.Popen[bytes]") -> bytes:
    for _ in range(300):
        try:
            with urllib.request.urlopen(address, timeout=10) as answer:
                return bytes(answer.read())
        except urllib.error.URLError:
            assert server.poll() is None
            time.sleep(0.1)
    raise AssertionError("the server did not start")


@pytest.mark.heavy
@pytest.mark.serial
def test_ctrl_c_ends_it_at_once_while_an_engine_keeps_it_waiting() -> None:
    """Even while it still loads: without a traceback, and without the query."""
    query, command = "zebra crossing in utrecht", [sys.executable, "-m", "quipukit", "serve", "--no-open"]
    with (
        serving(lambda _: Reply({}, delay=60)) as engine,
        subprocess.Popen([*command, "--port", "0", "--ledger", "none"], stderr=subprocess.PIPE, text=True) as server,
    ):
        assert server.stderr is not None
        root, token = server.stderr.readline().split()[1], server.stderr.readline().split()[-1]
        wish = {"query": query, "engine": f"searxng+http://{engine.host}", "mechanism": "Random", "n": 2}
        headers = {"content-type": "application/json", "x-quipukit-token": token}
        request = urllib.request.Request(f"{root}api/search", json.dumps(wish).encode(), headers)
        threading.Thread(target=_asked, args=(request,), daemon=True).start()
        limit = time.monotonic() + 90
        while not engine.asked and time.monotonic() < limit:
            time.sleep(0.05)
        assert engine.asked
        server.send_signal(signal.SIGINT)
        assert server.wait(10) == 130  # two seconds of grace, and no more
        said = server.stderr.read()
        assert query not in said and "Traceback" not in said


def _asked(request: urllib.request.Request) -> None:
    with contextlib.suppress(OSError):
        urllib.request.urlopen(request, timeout=60).read()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--host", "0.0.0.0"], "--token"),
        (["--token", "short"], "(--token)"),
        (["--engine", "solr+http://bob:hunter2@host/solr/x"], "no user or password"),
        (["nowhere/at/all"], "nowhere/at/all"),
    ],
)
@pytest.mark.heavy
def test_wrong_options_end_in_one_line(options: list[str], words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "quipukit", "serve", "--no-open", "--port", "0", *options],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2 and words in done.stderr and "hunter2" not in done.stderr


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from quipukit.errors import ResourceError
    from quipukit.web.server import require_packages

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(ResourceError, match=r"quipukit\[serve\]"):
        require_packages()
