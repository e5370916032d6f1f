"""What does a log of ten million rows take that is read, encoded and ranked, and what does float16 change?

A log made of the words of the real one, of which a tenth comes twice, is attacked by QuIA with the static encoder for
the published variants of DL'19. What rounded vectors change is seen on a tenth of its rows, which are attacked with
vectors of single precision and with rounded ones. Each runs in a process of its own; mapped files are counted apart:
the system could take their pages back at any time.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.attackers import LOG, PUBLISHED
from benchmarks.data import CACHE, ROOT, Skipped, memory, watched
from benchmarks.table import Line, Target, show

QUESTION = "does a log of ten million rows fit into 1.5 GB beside its mapped vectors?"
GIGABYTES = Target(1.5, at_most=True)
ROWS, VALUES = 10_000_000, (5.0, 10.0, 15.0)
HOME = CACHE / "long-log"
ENCODERS = ("static", "static@float16")


def run(quick: bool) -> list[Line]:
    """Make the log, and attack it with each encoder."""
    rows = 100_000 if quick else ROWS
    lines = measured(rows // 10, ENCODERS) + measured(rows, ENCODERS[:1])
    show(("what", "value"), lines)
    return lines


def measured(rows: int, encoders: Sequence[str]) -> list[Line]:
    """Measure a log of so many rows, and with two encoders what they change."""
    if not (LOG.is_file() and PUBLISHED.is_dir()):
        raise Skipped("the real log and the published variants are not at hand")
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir(parents=True)
    try:
        _process("make", str(rows))
        told = {encoder: _process("attack", encoder) for encoder in encoders}
    finally:
        shutil.rmtree(HOME, ignore_errors=True)
    lines = []
    for encoder, one in told.items():
        name = f"{encoder}, {one['distinct']:,} distinct queries of {rows:,}"
        lines += [
            Line(f"{name}: reading (s)", (), one["read"]),
            Line(f"{name}: learning and encoding (s)", (), one["encode"]),
            Line(f"{name}: ranking {one['sets']} sets of texts (s)", (), one["rank"]),
            Line(f"{name}: vectors on disk (GB)", (), one["disk"] / 1e9),
            Line(f"{name}: peak memory without mapped files (GB)", (), one["anonymous"] / 1e9, GIGABYTES),
            Line(f"{name}: of it before the log was read (GB)", (), one["before"] / 1e9),
            Line(f"{name}: peak memory with mapped files (GB)", (), one["peak"] / 1e9),
        ]
    return lines + (effect(*(one["ranks"] for one in told.values())) if len(told) > 1 else [])


def effect(single: list[float], half: list[float]) -> list[Line]:
    """Return how ranks differ with rounded vectors."""
    shares = [abs(a - b) / a for a, b in zip(single, half, strict=True)]
    firsts = [sum(rank <= depth for rank in ranks) / len(ranks) for depth in (1, 10) for ranks in (single, half)]
    return [
        Line("float16: share of ranks that differ", (), sum(share > 0 for share in shares) / len(shares)),
        Line("float16: largest difference, as a share of the rank", (), max(shares)),
        Line("float16: mean difference, as a share of the rank", (), sum(shares) / len(shares)),
        Line("P@1 with float32", (), firsts[0]),
        Line("P@1 with float16", (), firsts[1]),
        Line("R@10 with float32", (), firsts[2]),
        Line("R@10 with float16", (), firsts[3]),
    ]


def _process(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.long_log", *arguments]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise Skipped("a process failed; its message is above")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


# --- what runs in a process of its own ------------------------------------------------------------------------------


def make(rows: int) -> dict[str, Any]:
    """Write a log of so many rows, of which a tenth comes a second time, written otherwise."""
    from benchmarks.attackers import make_log

    path = HOME / "log.txt"
    make_log(rows - rows // 10, path)
    with path.open("r+", encoding="utf-8") as file:
        again = [next(file).rstrip("\n").upper() for _ in range(rows // 10)]
        file.seek(0, os.SEEK_END)
        file.write("\n" + "\n".join(again))
    return {}


def attack(encoder: str) -> dict[str, Any]:
    """Read the log, let QuIA learn it, and rank it for what was sent."""
    import quipukit as qk
    from quipukit.attackers.log import QueryLog
    from quipukit.attackers.panel import Panel

    sent, queries = qk.read_obfuscated(PUBLISHED / "CMP")
    sent = sent[sent["value"].isin(VALUES)]
    own = {"encoder": qk.load_encoder(encoder)}
    few = QueryLog.of(queries["query"])
    Panel("QuIA", few, **own).ranks(sent, queries)  # loads what is loaded once
    with watched() as peak:
        before, start = memory()["anonymous"], time.perf_counter()
        log = qk.read_log(HOME / "log.txt").completed(queries["query"].tolist())
        read = time.perf_counter()
        panel = Panel("QuIA", log, **own)
        panel.prepare()
        learned = time.perf_counter()
        ranks = panel.ranks(sent, queries)
        ranked = time.perf_counter()
    return {
        "distinct": len(log),
        "sets": len(ranks),
        "read": read - start,
        "encode": learned - read,
        "rank": ranked - learned,
        "before": before,
        "disk": sum(file.stat().st_size for file in HOME.glob(f"encodings/{own['encoder'].fingerprint}/*")),
        "ranks": ranks["log_rank"].tolist(),
        **memory(),
        "anonymous": peak(),
    }


if __name__ == "__main__":
    os.environ["QUIPUKIT_HOME"] = str(HOME)
    given = sys.argv[2]
    print(json.dumps(make(int(given)) if sys.argv[1] == "make" else attack(given)))
