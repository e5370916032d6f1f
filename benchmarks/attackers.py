"""How long do the attackers take, and what does Bayes's stand-in for noise lose?

The panel that knows nothing but the log ranks it for every published DL'19 setting; Bayes does so for our own settings
with a closed form. Long logs are made of the words of the real one, and each is attacked by a fresh process: what it
takes must grow in proportion, and most of what a row needs must not stay in memory.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.data import CACHE, ROOT, TOPICS, Skipped, memory, watched
from benchmarks.table import Line, Target, show

QUESTION = "what do the attackers cost on 43 queries x 86 settings against a log of 181,963?"
PUBLISHED = ROOT.parent / "shared" / "data" / "published" / "dl19"
AGNOSTIC = ("Words", "Positional", "Lexical", "MaxSim", "Style", "Fusion")
PANEL_SECONDS, GIGABYTES = Target(90, at_most=True), Target(3, at_most=True)
# Logs of five and ten million rows are those of `full_size` and `long_log`.
ROWS, SETS = (200_000, 1_000_000), 8
LOG = ROOT.parent / "shared" / "data" / "querylog" / "queries.tsv.gz"
VASWANI = ROOT.parent / "shared" / "data" / "vaswani" / "topics.tsv"
CLOSED = ("SanText", "SanText+", "TEM", "CusText", "WBB")
SECONDS = Target(300, at_most=True)
FRESH = ("CMP@5", "VickreyMhl@9")
NOISY = ("CMP@10", "CMP@15")  # with one text: draws reach a quarter of what is sent, and two thirds


def run(quick: bool) -> list[Line]:
    """Measure the panel, Bayes and long logs, each in a fresh process: memory is that of the largest part."""
    if not TOPICS.is_file() or not LOG.is_file():
        raise Skipped("needs the public data in ../shared/data, beside the checkout")
    lines = _told("panel", quick)
    lines += _told("bayes", quick)
    for rows in ROWS[:1] if quick else ROWS:
        lines += _told(str(rows), quick)
    show(("what", "value"), lines)
    return lines


def _told(part: str, quick: bool) -> list[Line]:
    """Run a part in a process of its own, and return the lines that it tells."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.attackers", "--part", part, *(["--quick"] if quick else [])],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Skipped("the part's process failed; its message is above")
    targets = {"panel": {0: PANEL_SECONDS, 2: GIGABYTES}, "bayes": {0: SECONDS}}.get(part, {})
    told = json.loads(done.stdout.splitlines()[-1])
    return [Line(what, (), value, None if quick else targets.get(place)) for place, (what, value) in enumerate(told)]


def _resources(what: str, clock: float, processor: float) -> list[tuple[str, float]]:
    """Return what a part has taken since its beginning."""
    return [
        (f"{what} (s)", time.perf_counter() - clock),
        (f"{what}: of the processor, all threads (s)", time.process_time() - processor),
        (f"{what}: peak memory (GB)", memory()["peak"] / 1e9),
    ]


def panel(quick: bool) -> list[tuple[str, float]]:
    """Rank the log for every published setting, by all attackers that know nothing else and encode nothing."""
    import pandas as pd

    import quipukit as qk
    from quipukit.attackers.panel import Panel

    names = sorted(folder.name for folder in PUBLISHED.iterdir() if folder.is_dir())[: 1 if quick else None]
    read = [qk.read_obfuscated(PUBLISHED / name) for name in names]
    sent, queries = pd.concat([table for table, _ in read], ignore_index=True), read[0][1]
    log = qk.read_log(LOG).completed(queries["query"].tolist())
    _warm_up()
    clock, processor = time.perf_counter(), time.process_time()
    ranks = Panel(AGNOSTIC, log).ranks(sent, queries)
    settings = len(ranks.groupby(["mechanism", "value"]))
    return _resources(f"panel, {settings} settings x {len(queries)} queries", clock, processor)


def long_log(rows: int) -> list[tuple[str, float]]:
    """Read a log of so many rows and attack it; memory is what it takes on top of libraries and word vectors."""
    import quipukit as qk
    from quipukit.attackers.panel import Panel

    sent, queries = qk.read_obfuscated(PUBLISHED / "CMP")
    some = queries.head(SETS)
    sent = sent[(sent["value"] == 5) & sent["qid"].isin(some["qid"])]
    _warm_up()
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder, watched() as peak:
        # By another process: what is needed to make it is none of what is measured.
        path = Path(folder) / "log.txt"
        subprocess.run([sys.executable, "-m", "benchmarks.attackers", "--make", str(rows), path], cwd=ROOT, check=True)
        before, clock, processor = memory()["anonymous"], time.perf_counter(), time.process_time()
        log = qk.read_log(path).completed(some["query"].tolist())
        taken, read = peak(), time.process_time()
        attackers = Panel(AGNOSTIC, log)
        attackers.prepare()
        prepared, learned = time.perf_counter(), time.process_time()
        attackers.ranks(sent, some)
        ranked, used = time.perf_counter(), time.process_time()
        attackers.guesses(sent, some)
        guessed, name = time.process_time(), f"log of {rows:,}"
        return [
            (f"{name}: reading and learning it (s)", prepared - clock),
            (f"{name}: reading it, of the processor (s)", read - processor),
            (f"{name}: learning it, of the processor (s)", learned - read),
            (f"{name}: ranking it for a set of texts (s)", (ranked - prepared) / SETS),
            (f"{name}: ranking, of the processor (s)", (used - learned) / SETS),
            (f"{name}: the ten best guesses for it, of the processor (s)", (guessed - used) / SETS),
            (f"{name}: peak memory, mapped files included (GB)", memory()["peak"] / 1e9),
            (f"{name}: mapped files at the end (GB)", memory()["mapped"] / 1e9),
            (f"{name}: peak of other memory (GB)", peak() / 1e9),
            (f"{name}: of it before the log was read (GB)", before / 1e9),
            (f"{name}: peak of other memory while it was read (GB)", taken / 1e9),
        ]


def make_log(rows: int, path: Path) -> None:
    """Write a log of so many distinct rows: the real one, then halves of two of its queries."""
    import random

    import quipukit as qk

    real = [text.split() for text in qk.read_log(LOG).texts]
    draw = random.Random(7)
    made = dict.fromkeys(" ".join(words) for words in real[:rows])
    while len(made) < rows:
        one, other = draw.choice(real), draw.choice(real)
        made[" ".join([*one[: len(one) // 2], *other[len(other) // 2 :]])] = None
    path.write_text("\n".join(made), encoding="utf-8")


def _warm_up() -> None:
    """Load vectors and compiled kernels, which is not what is measured."""
    import quipukit as qk
    from quipukit.attackers.log import QueryLog
    from quipukit.attackers.panel import Panel
    from quipukit.frames import queries_frame

    queries = queries_frame(["a cat sat here", "a dog sat there", "two cats"])
    sent = qk.obfuscate(queries, "Identity", n=3, seed=1)
    Panel(AGNOSTIC, QueryLog.of(queries["query"])).ranks(sent, queries)


def bayes(quick: bool) -> list[tuple[str, float]]:
    """Obfuscate the DL'19 queries with every closed-form setting, and rank the log for each."""
    from quipukit.attackers.attack import attack
    from quipukit.attackers.log import read_log
    from quipukit.io.queries import read_queries
    from quipukit.mechanisms.base import EPSILON_GRID
    from quipukit.obfuscation import bind, obfuscate

    grid = EPSILON_GRID[:2] if quick else EPSILON_GRID
    mechanisms = bind([f"{name}@{value:g}" for name in CLOSED for value in grid])
    queries, log = read_queries(TOPICS), read_log(LOG)
    sent = obfuscate(queries, mechanisms, n=50, seed=1, noise="common")
    clock, processor = time.perf_counter(), time.process_time()
    attack(sent, queries, log, attackers=["Bayes"], mechanisms=mechanisms)
    return _resources(f"Bayes, {len(mechanisms)} settings x {len(queries)} queries", clock, processor)


def side_by_side(settings: Sequence[str] = NOISY, draws: int = 2000, count: int = 12) -> None:
    """Print the rank of each of some queries by the stand-in for the law of noise, and by estimated cells.

    One text for each query. Outputs that no draw from the original's own word reached are counted: all are alike.
    """
    import quipukit as qk
    from quipukit.attackers.attack import attack
    from quipukit.attackers.log import read_log
    from quipukit.io.queries import read_queries

    queries, log = read_queries(TOPICS).head(count), read_log(LOG)
    mechanisms = [qk.mechanism(one) for one in settings]
    sent = qk.obfuscate(queries, mechanisms, n=1, seed=1, noise="common")
    for one in mechanisms:
        texts = sent[(sent["mechanism"] == one.spec.family) & (sent["value"] == one.value)].set_index("qid")["query"]
        print(one.spec, _reached(one, queries["query"].tolist(), texts[queries["qid"]].tolist(), draws), flush=True)
    attackers = ["Positional", "Bayes", f"Bayes(cells={draws})"]
    ranks = attack(sent, queries, log, attackers=attackers, mechanisms=mechanisms)
    table = ranks.pivot_table(index=["mechanism", "value", "qid"], columns="attacker", values="log_rank", sort=False)
    print(table[attackers].to_string())
    groups = ["mechanism", "value", "attacker"]
    risks = qk.risk(ranks).pivot_table(index=groups, columns="measure", values="score", sort=False)
    print(risks.assign(median_rank=ranks.groupby(groups)["log_rank"].median()).round(3).to_string())


def _reached(mechanism: Any, originals: list[str], texts: list[str], draws: int) -> str:
    """Tell how many of the words that were sent no draw from the original's own word leads to."""
    import numpy as np

    from quipukit.attackers.cells import Cells
    from quipukit.attackers.logsites import LogSites

    sites = LogSites.of(mechanism, originals)
    cells = Cells(sites, mechanism, draws)
    missed, words, outputs = 0, 0, []
    for row, text in enumerate(texts):
        columns = sites.ids[sites.starts[row] : sites.starts[row + 1]]
        for column, word in zip(columns.tolist(), text.split(), strict=True):
            reached = cells.reached(column)
            outputs.append(len(reached))
            words += 1
            missed += sites.output(word) not in set(reached.tolist())
    return f"{missed} of {words} words reached by no draw; {np.median(outputs):g} different words in the median"


def fresh(count: int = 100) -> None:
    """Print what the stand-in finds of queries that it was not chosen on, with another seed.

    Some are drawn from the log; those of Vaswani are from another collection.
    """
    import random

    import pandas as pd

    import quipukit as qk
    from quipukit.attackers.attack import attack
    from quipukit.attackers.log import read_log
    from quipukit.io.queries import read_queries
    from quipukit.text import key

    log, known = read_log(LOG), set(map(key, read_queries(TOPICS)["query"]))
    others = sorted(text for text in log.texts if key(text) not in known and 3 <= len(text.split()) <= 10)
    drawn = random.Random(20).sample(others, count)
    queries = pd.DataFrame({"qid": [str(number) for number in range(count)], "query": drawn})
    groups = ["mechanism", "value", "attacker"]
    for name, asked, settings, seed in (
        ("queries of the log", queries, FRESH, 2),
        ("Vaswani", read_queries(VASWANI).head(count), FRESH[:1], 3),
    ):
        mechanisms = [qk.mechanism(one) for one in settings]
        sent = qk.obfuscate(asked, mechanisms, n=50, seed=seed, noise="common")
        ranks = attack(sent, asked, log, attackers=["Positional", "Bayes"], mechanisms=mechanisms)
        risks = qk.risk(ranks).pivot_table(index=groups, columns="measure", values="score", sort=False)
        print(f"{len(asked)} {name}\n{risks.round(3).to_string()}", flush=True)


def unknown(settings: Sequence[str]) -> None:
    """Print what Bayes finds without knowing the mechanism, and what that takes, next to Bayes who knows it."""
    import quipukit as qk
    from quipukit.attackers.log import read_log
    from quipukit.attackers.panel import Panel
    from quipukit.io.queries import read_queries

    queries = read_queries(TOPICS)
    log, mechanisms = read_log(LOG).completed(queries["query"].tolist()), [qk.mechanism(one) for one in settings]
    names = ["Bayes(mechanism=unknown)", "Bayes"]
    panel = Panel(names, log, mechanisms=mechanisms)
    sent = qk.obfuscate(queries, mechanisms, n=50, seed=7)
    for name in panel.names:
        for one in mechanisms:  # the first has to learn all laws
            own = sent[(sent["mechanism"] == one.spec.family) & (sent["value"] == one.value)]
            start = time.process_time()
            risks = qk.risk(panel.ranks(own, queries, names=[name])).groupby("measure")["score"].mean()
            seconds = time.process_time() - start
            print(f"{name}, {one.spec!r}: P@1 {risks['P@1']:.3f}, R@10 {risks['R@10']:.3f}, {seconds:,.0f} CPU s")


def _part(name: str, quick: bool) -> list[tuple[str, float]]:
    return {"panel": panel, "bayes": bayes}[name](quick) if not name.isdigit() else long_log(int(name))


def main() -> None:
    """Run a part of it, or a comparison that is no part of ``python -m benchmarks``."""
    parser = argparse.ArgumentParser(description=__doc__)
    one = parser.add_mutually_exclusive_group(required=True)
    one.add_argument("--part", help="panel, bayes, or the rows of a long log: figures as JSON")
    one.add_argument("--cells", nargs="*", metavar="SETTING", help="the stand-in for noise beside draws")
    one.add_argument("--fresh", type=int, metavar="COUNT", help="queries that nothing was tuned on")
    one.add_argument("--unknown", nargs="+", metavar="SETTING", help="Bayes who does not know the mechanism")
    one.add_argument("--make", nargs=2, metavar=("ROWS", "FILE"), help="write a long log")
    parser.add_argument("--quick", action="store_true", help="fewer settings, with --part")
    given = parser.parse_args()
    if given.part:
        print(json.dumps(_part(given.part, given.quick)))
    elif given.cells is not None:
        side_by_side(given.cells or NOISY)
    elif given.fresh:
        fresh(given.fresh)
    elif given.unknown:
        unknown(given.unknown)
    else:
        make_log(int(given.make[0]), Path(given.make[1]))


if __name__ == "__main__":
    main()
