"""How long does the attacker that knows the mechanism take, and what does its stand-in for noise lose?"""

import sys
import time

from benchmarks.data import ROOT, TOPICS, Skipped, memory
from benchmarks.table import Line, Target, show

QUESTION = "what does Bayes cost on 43 queries x 50 closed-form settings against a log of 181,963?"
LOG = ROOT.parent / "shared" / "data" / "querylog" / "queries.tsv.gz"
CLOSED = ("SanText", "SanText+", "TEM", "CusText", "WBB")
SECONDS = Target(300, at_most=True)
NOISY = ("CMP@3.5", "CMP@5", "VickreyMhl@5")


def run(quick: bool) -> list[Line]:
    """Measure Bayes on closed forms, in seconds of the clock and of the processor."""
    lines = bayes(quick)
    show(("what", "value"), lines)
    return lines


def bayes(quick: bool) -> list[Line]:
    """Obfuscate the DL'19 queries with every closed-form setting, and rank the log for each."""
    from quipukit.attackers.attack import attack
    from quipukit.attackers.log import read_log
    from quipukit.io.queries import read_queries
    from quipukit.mechanisms.base import EPSILON_GRID
    from quipukit.obfuscation import bind, obfuscate

    if not TOPICS.is_file() or not LOG.is_file():
        raise Skipped("needs the public data in ../shared/data, beside the checkout")
    grid = EPSILON_GRID[:2] if quick else EPSILON_GRID
    mechanisms = bind([f"{name}@{value:g}" for name in CLOSED for value in grid])
    queries, log = read_queries(TOPICS), read_log(LOG)
    sent = obfuscate(queries, mechanisms, n=50, seed=1, noise="common")
    clock, processor = time.perf_counter(), time.process_time()
    attack(sent, queries, log, attackers=["Bayes"], mechanisms=mechanisms)
    return [
        Line(
            f"Bayes, {len(mechanisms)} settings x {len(queries)} queries (s)", (), time.perf_counter() - clock, SECONDS
        ),
        Line("of the processor, all threads (s)", (), time.process_time() - processor),
        Line("peak memory (GB)", (), memory()["peak"] / 1e9),
    ]


def side_by_side(draws: int = 500, count: int = 12) -> None:
    """Print the rank of each of some queries by the stand-in for the law of noise, and by estimated cells."""
    import quipukit as qk
    from quipukit.attackers.attack import attack
    from quipukit.attackers.log import read_log
    from quipukit.io.queries import read_queries

    queries, log = read_queries(TOPICS).head(count), read_log(LOG)
    mechanisms = [qk.mechanism(one) for one in NOISY]
    sent = qk.obfuscate(queries, mechanisms, n=50, seed=1, noise="common")
    attackers = ["Positional", "Bayes", f"Bayes(cells={draws})"]
    ranks = attack(sent, queries, log, attackers=attackers, mechanisms=mechanisms)
    table = ranks.pivot_table(index=["mechanism", "value", "qid"], columns="attacker", values="log_rank", sort=False)
    print(table[attackers].to_string())
    print(
        qk.risk(ranks).pivot_table(index=["mechanism", "value", "attacker"], columns="measure", values="score").round(3)
    )


if __name__ == "__main__":
    if "--cells" in sys.argv:
        side_by_side()
    else:
        run("--quick" in sys.argv)
