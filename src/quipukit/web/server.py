"""Run the service: a socket of our own, uvicorn without any log of requests, a browser if wanted."""

import contextlib
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from types import FrameType

from quipukit.errors import InputError, QuipukitError, ResourceError
from quipukit.web.access import Access

PORT = 8765
_BACKLOG = 2048
_INTERRUPTED = 130


def require_packages() -> None:
    """Say what to install where the packages of the extra ``serve`` are missing."""
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as fault:
        raise ResourceError(
            f"`quipukit serve` needs the package {fault.name}; install it with pip install 'quipukit[serve]'."
        ) from None


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens where it should, or say why it cannot."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        own = socket.socket(family, kind, protocol)
        try:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            own.bind(address)
            own.listen(_BACKLOG)
        except OSError:
            own.close()
            raise
    except OSError as fault:
        raise InputError(
            f"cannot listen on {host}, port {port} ({fault.strerror}); choose another port=, 0 for any that is free.",
            argument="port",
        ) from None
    return own


def address_of(host: str, port: int) -> str:
    """Return the address of the page, as a browser takes it.

    >>> address_of("127.0.0.1", 8765), address_of("::1", 80), address_of("0.0.0.0", 80)
    ('http://127.0.0.1:8765/', 'http://[::1]:80/', 'http://127.0.0.1:80/')
    """
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{shown}]:{port}/" if ":" in shown else f"http://{shown}:{port}/"


def serve(
    make: "Callable[[], tuple[object, Callable[[], None]]]",
    access: Access,
    port: int,
    *,
    browser: bool,
    say: Callable[[str], None],
) -> None:
    """Serve until interrupted. ``make`` returns the application, and what warms it up beside the first requests."""
    import uvicorn

    with contextlib.closing(bound_socket(access.host, port)) as own:
        app, warm_up = make()
        address = address_of(access.host, own.getsockname()[1])
        # No access log: a query may stand in the address.
        config = uvicorn.Config(
            app,  # type: ignore[arg-type]
            access_log=False,
            log_level="critical",  # a request that Ctrl-C cuts off is no fault to show a traceback for
            server_header=False,
            date_header=False,
            lifespan="off",
            timeout_graceful_shutdown=2,
        )
        say(f"serving {address} (Ctrl-C ends it)")
        if access.token is None:
            say(f"programs that POST need this token, made for this start: {access.start}")
        threading.Thread(target=_warm, args=(warm_up, say), name="warm-up", daemon=True).start()
        if browser:
            threading.Timer(0.3, webbrowser.open, [address]).start()

        class Server(uvicorn.Server):
            """Notes that a signal ended it: whether Python hears of it too depends on what the loop is at."""

            interrupted = False

            def handle_exit(self, sig: int, frame: "FrameType | None") -> None:
                self.interrupted = True
                super().handle_exit(sig, frame)

        server = Server(config)
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[own])
        if server.interrupted:
            _leave()


def _leave() -> None:
    """End at once: Python would wait for threads that wait for an engine, and complain about those that still load.

    What was released is on disk before it leaves, so that nothing is lost.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(_INTERRUPTED)


def _warm(warm_up: Callable[[], None], say: Callable[[str], None]) -> None:
    try:
        warm_up()
    except QuipukitError as fault:  # whoever asks for the same will be told, too
        say(f"warning: {fault}")
