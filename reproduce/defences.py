"""Measure what shuffled words, binned lengths and a shared budget take from the attackers, and what they cost.

``python -m reproduce.defences`` needs ``../shared/data`` and writes docs/defences_measured.md. Each mechanism's figures
are kept in ``.cache/reproduce/defences``; delete the folder to measure anew.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd

from reproduce.attackers import SEED, N, risks_of
from reproduce.dl19 import RUNS
from reproduce.published import DATA, ROOT

PAGE = ROOT / "docs" / "defences_measured.md"
ATTACKERS = ("Words", "Positional", "Fusion", "Bayes")
MECHANISMS = {"CMP@5": 5.0, "CMP@10": 10.0, "VickreyMhl@10": 10.0, "TEM@1.5": 1.5, "SanText@2": 2.0}
BINS = "bins:4,8,12"
DEPTH = 10
FEW = 10
SEEDS = (SEED, SEED + 1)
OPTIONS = {
    "as published": "",
    "shuffle": "shuffle=True",
    "shuffle, length": f"shuffle=True, length='{BINS}'",
    "total": "budget='total'",
}


def settings(name: str, epsilon: float) -> list[tuple[str, str, int]]:
    """Return (what it is, spec, number of variants) of every setting of a mechanism."""
    family = name.split("@", maxsplit=1)[0]
    return [
        ("as published", name, N),
        ("shuffle", f"{family}({OPTIONS['shuffle']})@{epsilon:g}", N),
        (f"shuffle, {BINS}", f"{family}({OPTIONS['shuffle, length']})@{epsilon:g}", N),
        (f"total, N = {FEW}", f"{family}({OPTIONS['total']})@{N * epsilon:g}", FEW),
        (f"total, N = {N}", f"{family}({OPTIONS['total']})@{epsilon:g}", N),
    ]


def main() -> None:
    """Measure every mechanism, and write."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    os.environ.setdefault("QUIPUKIT_HOME", str(ROOT / ".cache" / "quipukit-reproduce"))
    import quipukit as qk

    if not DATA.is_dir():
        sys.exit("needs the public data in ../shared/data, beside the checkout")
    queries = qk.read_queries(DATA / "dl19" / "topics.tsv")
    log = qk.read_log(DATA / "querylog" / "queries.tsv.gz")
    tables = [measured(name, epsilon, queries, log, RUNS / "defences") for name, epsilon in MECHANISMS.items()]
    ends = references(queries)
    PAGE.write_text(page(pd.concat(tables, ignore_index=True), ends, len(queries), len(log)), encoding="utf-8")


def measured(name: str, epsilon: float, queries: pd.DataFrame, log: Any, folder: Path) -> pd.DataFrame:
    """Return R@10 of every attacker and nDCG@10 of every setting of a mechanism, per query and seed."""
    tables = []
    for seed in SEEDS:
        file = folder / f"{name}, seed {seed}.csv"
        if not file.is_file():
            start = time.monotonic()
            table = scores(name, epsilon, queries, log, seed)
            folder.mkdir(parents=True, exist_ok=True)
            table.to_csv(file, index=False)
            print(f"{name}, seed {seed}: {time.monotonic() - start:,.0f} s", file=sys.stderr)
        tables.append(pd.read_csv(file, dtype={"qid": str}))
    return pd.concat(tables, ignore_index=True)


def scores(name: str, epsilon: float, queries: pd.DataFrame, log: Any, seed: int) -> pd.DataFrame:
    """Return the scores of every setting of a mechanism for one seed: measure is an attacker, or nDCG@10."""
    import quipukit as qk

    rows = settings(name, epsilon)
    bound = [qk.mechanism(spec) for _, spec, _ in rows]
    # Common noise: with and without an option the same words are drawn, so that a difference is the option's own.
    sent = [
        qk.obfuscate(queries, [one], n, seed=seed, noise="common") for one, (_, _, n) in zip(bound, rows, strict=True)
    ]
    together = pd.concat(sent, ignore_index=True)
    risks = risks_of(together, queries, log, ATTACKERS, bound)
    risks = risks[risks["measure"] == "R@10"].assign(measure=risks["attacker"])
    both = pd.concat([risks, utilities(together, queries)])
    tables = []
    for (what, spec, n), one in zip(rows, bound, strict=True):
        budget = one.value if one.budget == "total" else one.value * n
        own = both[(both["mechanism"] == one.spec.family) & (both["value"] == one.value)]
        tables.append(
            own[["qid", "measure", "score"]].assign(
                mechanism=name, setting=what, spec=spec, n=n, budget=budget, seed=seed
            )
        )
    return pd.concat(tables, ignore_index=True)


def utilities(sent: pd.DataFrame, queries: pd.DataFrame) -> pd.DataFrame:
    """Return nDCG@10 per query: BM25 at depth 10 within the pool of passages, re-ranked by the original."""
    import quipukit as qk

    passages = qk.load_collection(str(DATA / "msmarco_pool"))
    run = qk.retrieve(sent, passages, "bm25", DEPTH)
    ranked = qk.rerank(qk.pool(run), queries, passages, "static")
    return qk.utility(ranked, qk.read_qrels(DATA / "dl19" / "qrels.txt"), ["nDCG@10"], sent, queries["qid"])


def references(queries: pd.DataFrame) -> dict[str, float]:
    """Return nDCG@10 of the original query, and of words at random."""
    import quipukit as qk

    sent = {
        "the original": qk.obfuscate(queries, "Identity", 1, seed=SEED),
        "words at random": qk.obfuscate(queries, "Random", N, seed=SEED),
    }
    return {name: float(utilities(table, queries)["score"].mean()) for name, table in sent.items()}


def page(table: pd.DataFrame, ends: dict[str, float], queries: int, log: int) -> str:
    """Return the page."""
    lines = [HEAD.format(queries=queries, log=log, depth=DEPTH, n=N, few=FEW, seeds=len(SEEDS))]
    lines += ["nDCG@10 for comparison: " + ", ".join(f"{name} {value:.3f}" for name, value in ends.items()) + ".", ""]
    lines += [
        f"| mechanism | setting | N | composed budget | {' | '.join(ATTACKERS)} | nDCG@10 |",
        f"|---|---|---|---|{'---|' * len(ATTACKERS)}---|",
    ]
    for (name, setting), rows in table.groupby(["mechanism", "setting"], sort=False):
        means = rows.groupby("measure")["score"].mean()
        numbers = " | ".join(f"{means[measure]:.3f}" for measure in (*ATTACKERS, "nDCG@10"))
        lines.append(f"| {name} | {setting} | {rows['n'].iloc[0]} | {rows['budget'].iloc[0]:g} | {numbers} |")
    lines += ["", DIFFERENCES, "", "| mechanism | option | Bayes, R@10 | nDCG@10 |", "|---|---|---|---|"]
    for name in MECHANISMS:
        own = table[table["mechanism"] == name]
        for setting in [one for one in own["setting"].unique() if one != "as published"]:
            cells = " | ".join(_difference(own, setting, measure) for measure in ("Bayes", "nDCG@10"))
            lines.append(f"| {name} | {setting} | {cells} |")
    return "\n".join([*lines, ""])


def _difference(own: pd.DataFrame, setting: str, measure: str) -> str:
    """Return what an option adds, on average over queries, with its 95 % interval."""
    from quipukit.measures.intervals import mean_intervals

    wide = own[own["measure"] == measure].pivot_table(index="qid", columns="setting", values="score")
    differences = (wide[setting] - wide["as published"]).to_numpy(float)
    (low,), (high,) = mean_intervals((1 + differences[:, None]) / 2, hits=False)
    return f"{differences.mean():+.3f} [{2 * low - 1:+.2f}, {2 * high - 1:+.2f}]"


HEAD = """# Word order, length and budget, measured

Written by `python -m reproduce.defences`. See [defences](defences.md) for what the options do.

TREC DL'19, {queries} queries, {seeds} seeds, a log of {log:,} distinct queries, completed with the originals. R@10 is
the share of queries among an attacker's first ten guesses. `Bayes` knows the mechanism, its epsilon and the option;
`Words`, `Positional` and `Fusion` know none of it. nDCG@10: BM25 at depth {depth} within the pool of passages,
re-ranked with the original query on the user's side (`static`). With and without an option the same noise is drawn
where it can be.

`total` is `budget='total'`. With N = {few} it spends what the {n} published variants spend together on {few} variants;
with N = {n} it spends the epsilon of one published variant on all {n}. `budget='total'` at N times epsilon is the
published setting itself, and not measured again.
"""


DIFFERENCES = (
    "What an option changes, query by query, on average over queries and seeds, with 95 % intervals that assume "
    "nothing about the distribution, each by itself:"
)


if __name__ == "__main__":
    main()
