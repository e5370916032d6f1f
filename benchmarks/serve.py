"""How soon is the page there, how soon are its answers, and does the service stand 200 clients at once?"""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import httpx

from benchmarks.data import Skipped, median
from benchmarks.table import Line, Target, show

QUESTION = "how soon is the page there, and what do 200 clients with 5,000 requests do to it?"
CLIENTS, REQUESTS = 200, 5_000
PAGE, VARIANTS, SEARCH = (Target(limit, at_most=True) for limit in (1.0, 0.3, 1.0))
NONE, GROWTH = Target(0, at_most=True), Target(300, at_most=True)
_LONGEST = 300
QUERY = "how does a tumor grow"
TOPICS = ("tumor", "income tax", "divorce", "insulin", "dog food", "soil for roses", "theft", "asthma", "salary", "flu")


def run(quick: bool) -> list[Line]:
    """Start a service of its own on loopback, time it, load it, and end it."""
    command = Path(sys.executable).with_name("quipukit")
    if not command.is_file():
        raise Skipped(f"there is no command {command.name} beside the interpreter; install the package first")
    start = time.perf_counter()
    with subprocess.Popen(
        [str(command), "serve", "--no-open", "--port", "0", "--ledger", "none"],
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    ) as server:
        try:
            return _measured(server, start, quick)
        finally:
            server.send_signal(signal.SIGINT)


def _measured(server: "subprocess.Popen[str]", start: float, quick: bool) -> list[Line]:
    assert server.stderr is not None
    root = re.search(r"http://\S+", server.stderr.readline())
    token = re.search(r"\S{43}$", server.stderr.readline())
    if root is None or token is None:
        raise Skipped("the service did not start")
    up = time.perf_counter()
    with httpx.Client(base_url=root[0], headers={"x-quipukit-token": token[0]}, timeout=120) as client:
        for path in ("/", "/static/style.css", "/static/try.js", "/static/common.js", "/api/mechanisms"):
            client.get(path).raise_for_status()
        page = time.perf_counter()
        while not client.get("/api/status").json()["ready"]:
            if time.perf_counter() - page > _LONGEST:
                raise Skipped(f"the service was not warm after {_LONGEST} s")
            time.sleep(0.1)
        ready = time.perf_counter()
        turns = 3 if quick else 10
        wish = {"query": QUERY, "mechanism": "CMP", "value": 10, "n": 20}
        tries = [_timed(client, "/api/try", wish) for _ in range(turns)]
        guesses = [_timed(client, "/api/guesses", {"query": QUERY, "texts": [QUERY] * 20}) for _ in range(3)]
        searches = []
        for number in range(turns):
            client.post("/api/session/new")
            searches.append(_timed(client, "/api/search", {"query": TOPICS[number % len(TOPICS)]}))
        before = _megabytes(server.pid)
    requests = REQUESTS // 10 if quick else REQUESTS
    seconds, errors, worst = asyncio.run(_load(root[0], token[0], requests))
    after = _megabytes(server.pid)
    if errors:
        print(f"errors: {dict(errors)}")
    lines = [
        Line("from the command to the address (s)", ("", ""), up - start, None),
        Line("from there to the page, its script and its choices (s)", ("", ""), page - up, PAGE),
        Line("from there until everything is warm (s)", ("", ""), ready - page, None),
        _line("variants, five words, N = 20 (s)", tries, VARIANTS),
        _line("what three attackers guess from them (s)", guesses, None),
        _line("a search over the built-in collection, new session (s)", searches, SEARCH),
        Line(f"{requests:,} requests of {CLIENTS} clients (s)", ("", f"{worst:.2f}"), seconds, None),
        Line("errors among them", ("", ""), sum(errors.values()), NONE),
        Line("memory gained by them (MB)", (f"{before:.0f}", f"{after:.0f}"), after - before, GROWTH),
    ]
    show(("what", "lowest", "highest", "median"), lines)
    return lines


def _line(what: str, values: list[float], target: Target | None) -> Line:
    return Line(what, (f"{min(values):.3f}", f"{max(values):.3f}"), median(values), target)


def _timed(client: httpx.Client, path: str, body: dict[str, object]) -> float:
    start = time.perf_counter()
    client.post(path, json=body).raise_for_status()
    return time.perf_counter() - start


async def _load(root: str, token: str, requests: int) -> tuple[float, "Counter[str]", float]:
    """Let all clients ask at once; return how long it took, what went wrong, and the longest answer."""
    left = iter(range(requests))
    errors: Counter[str] = Counter()
    longest = 0.0

    async def one() -> None:
        nonlocal longest
        limits = httpx.Limits(max_connections=1)
        async with httpx.AsyncClient(base_url=root, timeout=300, limits=limits) as client:
            for number in left:
                start = time.perf_counter()
                try:
                    answer = await _ask(client, number, token)
                    if answer.status_code != 200:
                        errors[str(answer.status_code)] += 1
                except httpx.HTTPError as fault:
                    errors[type(fault).__name__] += 1
                longest = max(longest, time.perf_counter() - start)

    start = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(CLIENTS)))
    return time.perf_counter() - start, errors, longest


async def _ask(client: httpx.AsyncClient, number: int, token: str) -> httpx.Response:
    """Ask for what visitors and programs would: mostly pages and scripts, of ten one for variants, one for a search."""
    kind, topic = number % 10, TOPICS[number // 10 % len(TOPICS)]
    if kind == 0:
        wish = {"query": f"{topic} number {number}", "mechanism": "CMP", "value": 10, "n": 5}
        return await client.post("/api/try", json=wish, headers={"x-quipukit-token": token})
    if kind == 1:
        return await client.get("/search", params={"q": topic, "format": "json"})
    paths = ("/", "/explore", "/search", "/guess", "/static/chart.js", "/static/style.css", "/api/status")
    return await client.get(paths[number % len(paths)])


def _megabytes(pid: int) -> float:
    """Return the memory that a process holds."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024  # type: ignore[index]
