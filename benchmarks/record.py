"""``python -m benchmarks.record``: all that docs/performance.md says, measured at one commit in one go.

What each benchmark prints is kept in ``benchmarks/results``, with the commit, the machine and the time of day. First
come those whose figures are memory, counts, seconds of the processor or ratios: two of them at a time, each on a core
of its own. Then those that are judged by the clock, one after the other. What was recorded of the same code on such
a machine is not repeated, so that a run which was stopped goes on where it was; a changed file of the package or of the
benchmarks is refused.
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
    """One record: its name, what Python is asked to run, and the environment variables that are set for it."""

    name: str
    arguments: tuple[str, ...]
    variables: tuple[tuple[str, str], ...] = ()

    @property
    def file(self) -> Path:
        """Return where it is kept."""
        return RESULTS / f"{self.name}.txt"

    @property
    def command(self) -> str:
        """Return what to type to run it."""
        return " ".join([*(f"{name}={value}" for name, value in self.variables), "python -m", *self.arguments])


def _entry(name: str, *options: str) -> Entry:
    return Entry(name, ("benchmarks", name.partition("-")[0], *options))


# The longest first, so that both cores end at about the same time.
BESIDE = (
    _entry("full_size"),
    _entry("streaming"),
    _entry("full_size-tenth", "--scale", "0.113"),
    _entry("long_log"),
    _entry("full_size-hundredth", "--scale", "0.0113"),
    _entry("bit_flips"),
    _entry("engines"),
    _entry("dense_memory"),
    _entry("cliffs"),
    # By the clock, but far within what is asked, so that half of the machine can show it.
    _entry("full_grid"),
    _entry("ranks"),
    _entry("static_encoder"),
)
# What makes torch, MKL, oneDNN and OpenBLAS leave AVX-512 unused where the processor has it.
_AVX2 = (
    ("ATEN_CPU_CAPABILITY", "avx2"),
    ("MKL_ENABLE_INSTRUCTIONS", "AVX2"),
    ("ONEDNN_MAX_CPU_ISA", "AVX2"),
    ("OPENBLAS_CORETYPE", "Haswell"),
)
# The experiment comes before sessions, which are planted in the log that it encodes.
ALONE = (
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
)


def main() -> int:
    """Record what is missing, and tell what could not be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.record", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these; all of them where none is given")
    given = parser.parse_args()
    every = {entry.name for entry in (*BESIDE, *ALONE)}
    for name in given.names:
        if name not in every:
            parser.error(f"there is no record {name!r}; choose from {', '.join(sorted(every))}")
    at = commit()
    if at.endswith("dirty") or at == "unknown":
        parser.error("files of the package or of the benchmarks are not those of a commit; commit them first")
    wanted = given.names or every
    beside, alone = (
        [entry for entry in part if entry.name in wanted and not is_recorded(entry, at)] for part in (BESIDE, ALONE)
    )
    failed = _in_pairs(beside, at) + [entry.name for entry in alone if not _recorded(entry, at)]
    if failed:
        print(f"not recorded: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def is_recorded(entry: Entry, at: str) -> bool:
    """Return whether a record is there, of this commit and of this machine."""
    if not entry.file.is_file():
        return False
    head = entry.file.read_text(encoding="utf-8").partition("\n")[0]
    here = machine().partition("; load averages")[0]
    return head.startswith(f"{RECORDED} {at};") and f"; {here};" in head


def _in_pairs(entries: Sequence[Entry], at: str) -> list[str]:
    """Run entries two at a time, each on a core of its own; return the names of those that failed."""
    free: SimpleQueue[int] = SimpleQueue()
    for core in sorted(os.sched_getaffinity(0))[:2]:
        free.put(core)

    def work(entry: Entry) -> bool:
        core = free.get()
        try:
            return _recorded(entry, at, core)
        finally:
            free.put(core)

    with ThreadPoolExecutor(free.qsize()) as pool:
        return [entry.name for entry, done in zip(entries, pool.map(work, entries), strict=True) if not done]


def _recorded(entry: Entry, at: str, core: int | None = None) -> bool:
    """Run an entry, on one core where it is given, and keep what it prints; return whether that went well."""
    print(f"{time.strftime('%H:%M:%S')} {entry.name}", file=sys.stderr, flush=True)
    begin, clock = time.strftime("%Y-%m-%d %H:%M"), time.perf_counter()
    beside = "" if core is None else "on one core, with another benchmark on the other; "
    head = f"{RECORDED} {at}; {beside}{machine()}"
    CACHE.mkdir(exist_ok=True)
    with (CACHE / f"{entry.name}.err").open("w", encoding="utf-8") as errors:
        # With bytecode, as by `make bench`: many of them start an interpreter again and again.
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        kept.update(entry.variables)
        if core is not None:
            kept.setdefault("QUIPUKIT_THREADS", str(cores()))  # memory is that of all threads, though they share a core
        done = subprocess.run(
            [*([] if core is None else ["taskset", "-c", str(core)]), sys.executable, "-m", *entry.arguments],
            cwd=ROOT,
            env=kept,
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
    told = done.stdout.replace(f"{ROOT}{os.sep}", "")
    ended = time.strftime("%Y-%m-%d %H:%M")
    RESULTS.mkdir(exist_ok=True)
    entry.file.write_text(f"{head}\n{begin} to {ended}: {entry.command}\n\n{told}", encoding="utf-8")
    return True


if __name__ == "__main__":
    sys.exit(main())
