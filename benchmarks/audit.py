"""Does the audit call right mechanisms wrong, does it find the wrong ones, and how long does it take?"""

import time
import warnings

import quipukit as qk
from benchmarks.table import Line, Target, show
from quipukit.auditing.claims import claims_of
from quipukit.auditing.exact import exact_check
from quipukit.auditing.toys import toy_vectors

QUESTION = "how often does an audit call a right mechanism wrong, and how long does it take?"
RIGHT = ("CMP@2", "Mahalanobis@2", "VickreyCMP@2", "VickreyMhl@2", "SanText@2", "TEM@2", "CusText(k=5)@2")
RUNS, DRAWS, NOMINAL = 1000, 10_000, 0.001
WORDS, MANY = 2000, 1_000_000


def false_alarms(runs: int) -> float:
    """Return the share of audits that end in "violated", over right mechanisms on toy vocabularies."""
    alarms = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a toy vocabulary is flat is no news
        for seed in range(runs):
            vectors = toy_vectors(1 + seed % 3)
            done = qk.audit(RIGHT[seed % len(RIGHT)], vectors=vectors, draws=DRAWS, alarm=NOMINAL, seed=seed)
            if done.verdict == "violated":
                alarms += 1
                print(done, flush=True)
    return alarms / runs


def closed_form(words: int) -> float:
    """Return the seconds that the exact audit of a wide law takes with the default vectors."""
    mechanism = qk.mechanism("SanText@10")
    mechanism.obfuscate("cat")
    begin = time.perf_counter()
    done = exact_check(mechanism, claims_of(mechanism), inputs=words, seed=7)
    seconds = time.perf_counter() - begin
    print(f"{done.name}: {done.verdict}; {done.sentence()}", flush=True)
    return seconds


def noise(draws: int) -> float:
    """Return the seconds that a noise mechanism takes with the default vectors."""
    qk.mechanism("CMP@10").obfuscate("cat")
    begin = time.perf_counter()
    done = qk.audit("CMP@10", draws=draws)
    seconds = time.perf_counter() - begin
    print(done, flush=True)
    return seconds


def run(quick: bool) -> list[Line]:
    """Measure, and print."""
    runs = 20 if quick else RUNS
    lines = [
        Line(f"false alarms of {runs:,} audits", (f"{NOMINAL:.1%} nominal",), false_alarms(runs), Target(0.01, True)),
        Line("closed form, seconds", (f"{WORDS:,} words",), closed_form(200 if quick else WORDS), Target(30, True)),
        Line("noise, seconds", (f"{MANY:,} draws",), noise(10_000 if quick else MANY), Target(180, True)),
    ]
    show(("what", "of", "value"), lines)
    return lines
