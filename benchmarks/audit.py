"""Does the audit call right mechanisms wrong, and how long does it take?

``python -m benchmarks.audit`` measures everything; its options choose a part, so that long ones can run on their own.
Seconds are those of the clock, and beside them those of the processors: on a machine that does other work the second
are the fairer ones (divide by the cores).
"""

import argparse
import time
import warnings
from collections.abc import Callable

import quipukit as qk
from benchmarks.table import Line, Target, show
from quipukit.auditing.claims import claims_of
from quipukit.auditing.exact import exact_check
from quipukit.auditing.toys import toy_vectors

QUESTION = "how often does an audit call a right mechanism wrong, and how long does it take?"
RIGHT = ("CMP@2", "Mahalanobis@2", "VickreyCMP@2", "VickreyMhl@2", "SanText@2", "TEM@2", "CusText(k=5)@2")
RUNS, DRAWS, NOMINAL = 1000, 10_000, 0.001
WORDS, MANY = 2000, 1_000_000
PARTS = ("alarms", "exact", "noise")


def false_alarms(first: int, runs: int) -> float:
    """Return the share of audits that end in "violated", over right mechanisms on toy vocabularies."""
    alarms = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a toy vocabulary is flat is no news
        for seed in range(first, first + runs):
            vectors = toy_vectors(1 + seed % 3)
            done = qk.audit(RIGHT[seed % len(RIGHT)], vectors=vectors, draws=DRAWS, alarm=NOMINAL, seed=seed)
            if done.verdict == "violated":
                alarms += 1
                print(done, flush=True)
            if (seed + 1 - first) % 50 == 0:
                print(f"{seed + 1 - first} of {runs} audits, {alarms} alarms", flush=True)
    return alarms / runs


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds that some work takes, by the clock and by the processors."""
    begin, used = time.perf_counter(), time.process_time()
    print(work(), flush=True)
    return time.perf_counter() - begin, time.process_time() - used


def closed_form(words: int) -> tuple[float, float]:
    """Return the seconds that the exact audit of a wide law takes with the default vectors."""
    mechanism = qk.mechanism("SanText@10")
    exact_check(mechanism, claims_of(mechanism), inputs=20, seed=8)  # compiled
    return timed(lambda: exact_check(mechanism, claims_of(mechanism), inputs=words, seed=7).sentence())


def noise(draws: int) -> tuple[float, float]:
    """Return the seconds that a noise mechanism takes with the default vectors."""
    qk.audit("CMP@10", draws=1000)  # compiled, and what is computed once for a vocabulary is there
    return timed(lambda: qk.audit("CMP@10", draws=draws))


def run(quick: bool, parts: tuple[str, ...] = PARTS, runs: int = RUNS, first: int = 0) -> list[Line]:
    """Measure, and print."""
    lines = []
    if "alarms" in parts:
        runs = 20 if quick else runs
        cells = f"{NOMINAL:.1%} nominal", ""
        lines.append(Line(f"false alarms of {runs:,} audits", cells, false_alarms(first, runs), Target(0.01, True)))
    for part, what, size, work, target in (
        ("exact", "closed form, words", 200 if quick else WORDS, closed_form, 30),
        ("noise", "noise, draws", 10_000 if quick else MANY, noise, 180),
    ):
        if part in parts:
            clock, processors = work(size)
            lines.append(Line(what, (f"{size:,}", f"{processors:.0f} s"), clock, Target(target, True)))
    show(("what", "of", "processors", "value"), lines)
    return lines


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit", description=QUESTION)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all where none is given")
    parser.add_argument("--runs", type=int, default=RUNS, help="audits of the campaign that counts false alarms")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first of them")
    parser.add_argument("--quick", action="store_true", help="smaller sizes: to see that it runs, not for the figures")
    given = parser.parse_args()
    for part in given.parts:
        if part not in PARTS:
            parser.error(f"there is no part {part!r}; choose from {', '.join(PARTS)}")
    run(given.quick, tuple(given.parts) or PARTS, given.runs, given.first)


if __name__ == "__main__":
    main()
