"""``python -m benchmarks.record``: measure all of docs/performance.md and docs/scale.md at one commit, in one go.

The output of each benchmark is kept in ``benchmarks/results``, with the commit, the machine and the time of day.
Benchmarks judged by memory, counts, processor time or ratios run first: two at a time, each pinned to one core. Those
judged by wall-clock time then run one after the other. A benchmark that has already been recorded for the same code and
machine is skipped, so an interrupted run resumes where it stopped. Uncommitted changes to the package or the
benchmarks are refused.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from benchmarks.data import CACHE, ROOT, commit, cores, machine

RESULTS = Path(__file__).parent / "results"
RECORDED = "recorded at commit"


@dataclass(frozen=True)
class Entry:
    """One record: its name, the module and arguments that Python runs, and the environment variables set for it."""

    name: str
    arguments: tuple[str, ...]
    variables: tuple[tuple[str, str], ...] = ()

    @property
    def file(self) -> Path:
        """Return the file that holds the record."""
        return RESULTS / f"{self.name}.txt"

    @property
    def command(self) -> str:
        """Return the shell command that runs it."""
        return " ".join([*(f"{name}={value}" for name, value in self.variables), "python -m", *self.arguments])


def _entry(name: str, *options: str) -> Entry:
    return Entry(name, ("benchmarks", name.partition("-")[0], *options))


# Longest first, so that both cores finish at about the same time.
CONCURRENT = (
    _entry("full_size"),
    _entry("streaming"),
    _entry("full_size-tenth", "--scale", "0.113"),
    _entry("long_log"),
    _entry("full_size-hundredth", "--scale", "0.0113"),
    _entry("bit_flips"),
    _entry("engines"),
    _entry("dense_memory"),
    _entry("cliffs"),
    # Judged by wall-clock time, but so far within their targets that half of the machine meets them.
    _entry("full_grid"),
    _entry("ranks"),
    _entry("static_encoder"),
)
# Keeps torch, MKL, oneDNN and OpenBLAS from using AVX-512 where the processor has it.
_AVX2 = (
    ("ATEN_CPU_CAPABILITY", "avx2"),
    ("MKL_ENABLE_INSTRUCTIONS", "AVX2"),
    ("ONEDNN_MAX_CPU_ISA", "AVX2"),
    ("OPENBLAS_CORETYPE", "Haswell"),
)
# The experiment comes before sessions, which are planted in the log that it encodes.
EXCLUSIVE = (
    _entry("demo"),
    _entry("startup"),
    _entry("dry_run"),
    _entry("encoding"),
    _entry("encoder_profile"),
    Entry("encoder_profile-avx2", ("benchmarks", "encoder_profile"), _AVX2),
    _entry("bm25"),
    _entry("against_machine"),
    _entry("against_pypantera"),
    Entry("audit", ("benchmarks.audit", "exact", "noise")),
    _entry("serve"),
    _entry("attackers"),
    _entry("covers"),
    _entry("experiment"),
    _entry("sessions"),
    _entry("scale"),
)


def main() -> int:
    """Record what is missing, and report what could not be recorded."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.record", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="record only these; default: all")
    given = parser.parse_args()
    known = {entry.name for entry in (*CONCURRENT, *EXCLUSIVE)}
    for name in given.names:
        if name not in known:
            parser.error(f"there is no record {name!r}; choose from {', '.join(sorted(known))}")
    at = commit()
    if at.endswith("dirty") or at == "unknown":
        parser.error("the package or the benchmarks have uncommitted changes; commit them first")
    wanted = given.names or known
    concurrent, exclusive = (
        [entry for entry in group if entry.name in wanted and not is_recorded(entry, at)]
        for group in (CONCURRENT, EXCLUSIVE)
    )
    failed = _record_in_pairs(concurrent, at) + [entry.name for entry in exclusive if not _record(entry, at)]
    if failed:
        print(f"not recorded: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def is_recorded(entry: Entry, at: str) -> bool:
    """Return whether there is a record for this commit and this machine."""
    if not entry.file.is_file():
        return False
    head = entry.file.read_text(encoding="utf-8").partition("\n")[0]
    here = machine().partition("; load averages")[0]
    return head.startswith(f"{RECORDED} {at};") and f"; {here};" in head


def _record_in_pairs(entries: Sequence[Entry], at: str) -> list[str]:
    """Record entries two at a time, each pinned to one core; return the names of those that failed."""
    free: SimpleQueue[int] = SimpleQueue()
    for core in sorted(os.sched_getaffinity(0))[:2]:
        free.put(core)

    def run(entry: Entry) -> bool:
        core = free.get()
        try:
            return _record(entry, at, core)
        finally:
            free.put(core)

    with ThreadPoolExecutor(free.qsize()) as pool:
        return [entry.name for entry, done in zip(entries, pool.map(run, entries), strict=True) if not done]


def _record(entry: Entry, at: str, core: int | None = None) -> bool:
    """Run a benchmark, pinned to a core if one is given, and keep its output; return whether it succeeded."""
    print(f"{time.strftime('%H:%M:%S')} {entry.name}", file=sys.stderr, flush=True)
    started, clock = time.strftime("%Y-%m-%d %H:%M"), time.perf_counter()
    shared = "" if core is None else "on one core, with another benchmark on the other; "
    head = f"{RECORDED} {at}; {shared}{machine()}"
    CACHE.mkdir(exist_ok=True)
    with (CACHE / f"{entry.name}.err").open("w", encoding="utf-8") as errors:
        # With bytecode, as in `make bench`: many benchmarks start one interpreter after another.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment.update(entry.variables)
        if core is not None:
            # Memory is that of all threads, although they share one core.
            environment.setdefault("QUIPUKIT_THREADS", str(cores()))
        done = subprocess.run(
            [*([] if core is None else ["taskset", "-c", str(core)]), sys.executable, "-m", *entry.arguments],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            check=False,
        )
    minutes = (time.perf_counter() - clock) / 60
    print(f"{time.strftime('%H:%M:%S')} {entry.name}: {minutes:.1f} min", file=sys.stderr, flush=True)
    if done.returncode or "skipped:" in done.stdout:
        print(done.stdout[-2000:], file=sys.stderr, flush=True)
        return False
    output = done.stdout.replace(f"{ROOT}{os.sep}", "")
    finished = time.strftime("%Y-%m-%d %H:%M")
    RESULTS.mkdir(exist_ok=True)
    entry.file.write_text(f"{head}\n{started} to {finished}: {entry.command}\n\n{output}", encoding="utf-8")
    return True


if __name__ == "__main__":
    sys.exit(main())
