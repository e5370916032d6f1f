"""Partitions with different objectives, compared query by query on DL'19; writes docs/partitions.md.

``python -m reproduce.partitions`` needs ``../shared/data``. Figures are kept in ``.cache/reproduce/partitions``; delete
the folder to measure anew.
"""

import argparse
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduce.frontier import DATA, LOG, ROOT, SETUPS, pool_file

KEPT = (ROOT / ".cache").resolve() / "reproduce" / "partitions"
PAGE = ROOT / "docs" / "partitions.md"
DEPTH = 10
SEED = 7
SETTINGS = ((50, None), (100, None), (100, 50), (200, 50))  # k, and how many are sent
MEASURES = ("nDCG@10", "P@1", "R@10")


@dataclass(frozen=True)
class Objective:
    """What a partition is made for."""

    name: str
    by_source: bool
    levels: int  # of the tree that go by form
    covering: bool  # whether those stand for a group that find most
    weight: float = 0.1  # of form, where a query outside the pool is placed

    def made(self, pool: Path) -> Any:
        """Return the partition of a pool with this objective."""
        import quipukit as qk
        from quipukit.covers.coverage import covering
        from quipukit.covers.describe import Description
        from quipukit.covers.load import load_partition, load_pool
        from quipukit.covers.pool import QueryPool
        from quipukit.retrieval.load import load_retriever
        from quipukit.retrieval.pool import search_distinct

        queries = load_pool(pool)
        own = load_partition(
            queries if self.by_source else QueryPool.of(queries.texts, queries.name),
            description=Description("minilm", self.levels, self.weight),
        )
        if not self.covering:
            return own
        system = load_retriever("bm25", qk.load_collection(str(DATA / "msmarco_pool")))
        rankings = search_distinct(own.pool.texts, system, DEPTH)
        return covering(own, [rankings[text].docnos for text in own.pool.texts])


MEANING = Objective("meaning", by_source=False, levels=0, covering=False, weight=0.0)
PLACED = Objective("source, form, meaning; placed by meaning", by_source=True, levels=1, covering=False, weight=0.0)
STYLE = Objective("source, form, meaning", by_source=True, levels=1, covering=False)
RECALL = Objective("source, form, meaning; recall", by_source=True, levels=1, covering=True)


def main() -> None:
    """Measure what is not kept yet, and write the page."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    os.environ.setdefault("QUIPUKIT_HOME", str(ROOT / ".cache" / "quipukit-reproduce"))
    if not DATA.is_dir():
        sys.exit("needs the public data in ../shared/data, beside the checkout")
    objectives = {"in": (MEANING, STYLE, RECALL), "out": (MEANING, PLACED, STYLE, RECALL)}
    tables = [measured(where, objective) for where, those in objectives.items() for objective in those]
    PAGE.write_text(page(pd.concat(tables, ignore_index=True)), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}", file=sys.stderr)


def measured(where: str, objective: Objective) -> pd.DataFrame:
    """Return nDCG@10 and the style attacker's P@1 and R@10 of every query and setting, and how much is pooled."""
    file = KEPT / f"{where}, {objective.name}.csv"
    if file.is_file():
        return pd.read_csv(file, dtype={"qid": str})
    import quipukit as qk
    from quipukit.mechanisms.cover import Cover

    start = time.monotonic()
    setup = SETUPS["dl19"]
    queries = qk.read_queries(str(setup.queries))
    passages = qk.load_collection(setup.collection)
    log = qk.read_log(str(LOG))
    own = objective.made(pool_file(setup, where))
    tables = []
    for k, members in SETTINGS:
        if objective.covering and members is None:
            continue  # all members are sent: the same as without
        cover = Cover(k=k, members=members, cover=own)
        sent = qk.obfuscate(queries, cover, k, seed=SEED)
        pooled = qk.pool(qk.retrieve(sent, passages, "bm25", DEPTH))
        ranked = qk.rerank(pooled, queries, passages, "minilm")
        useful = qk.utility(ranked, qk.read_qrels(str(setup.qrels)), ["nDCG@10"], sent, queries["qid"])
        ranks = qk.attack(sent, queries, log, attackers=["Bayes(prior=style)"], mechanisms=[cover])
        risk = qk.risk(ranks)
        both = pd.concat([useful, risk])[["qid", "measure", "score"]]
        both = both[both["measure"].isin(MEASURES)]
        share = pooled.groupby("qid")["docno"].nunique().reindex(queries["qid"], fill_value=0).mean() / len(passages)
        tables.append(both.assign(where=where, objective=objective.name, k=k, sent=members or k, pooled=share))
    table = pd.concat(tables, ignore_index=True)
    KEPT.mkdir(parents=True, exist_ok=True)
    table.to_csv(file, index=False)
    print(f"{where}, {objective.name}: {time.monotonic() - start:,.0f} s", file=sys.stderr)
    return table


# --- the page ---


def page(table: pd.DataFrame) -> str:
    """Return the page: every partition, and the differences, query by query."""
    lines = [_HEAD.format(queries=table["qid"].nunique())]
    for where, title in (("in", "The query is in the pool"), ("out", "The query is outside the pool")):
        own = table[table["where"] == where]
        lines += [
            f"## {title}",
            "",
            "| k | sent | objective | nDCG@10 | style, P@1 | style, R@10 | pooled |",
            "|---" * 7 + "|",
        ]
        for (k, sent, objective), rows in own.groupby(["k", "sent", "objective"], sort=False):
            means = rows.groupby("measure")["score"].mean()
            cells = " | ".join(f"{means[measure]:.3f}" for measure in MEASURES)
            lines.append(f"| {k} | {sent} | {objective} | {cells} | {rows['pooled'].iloc[0]:.1%} |")
        lines += ["", "| k | sent | difference | nDCG@10 | style, R@10 |", "|---" * 5 + "|"]
        for second, first in ((STYLE, MEANING), (RECALL, STYLE), (STYLE, PLACED)):
            if first.name not in set(own["objective"]):
                continue
            for k, sent in (
                own[own["objective"] == second.name][["k", "sent"]].drop_duplicates().itertuples(index=False)
            ):
                cells = " | ".join(_difference(own, k, sent, first, second, name) for name in ("nDCG@10", "R@10"))
                lines.append(f"| {k} | {sent} | {second.name} minus {first.name} | {cells} |")
        lines.append("")
    return "\n".join(lines)


def _difference(own: pd.DataFrame, k: int, sent: int, first: Objective, second: Objective, measure: str) -> str:
    """Return the mean difference over queries with its 95 % interval."""
    from quipukit.measures.intervals import mean_intervals

    rows = own[(own["k"] == k) & (own["sent"] == sent) & (own["measure"] == measure)]
    wide = rows.pivot_table(index="qid", columns="objective", values="score")
    differences = (wide[second.name] - wide[first.name]).to_numpy(np.float64)
    (low,), (high,) = mean_intervals((1 + differences[:, None]) / 2, hits=False)
    return f"{differences.mean():+.3f} [{2 * low - 1:+.2f}, {2 * high - 1:+.2f}]"


_HEAD = """# Partitions with different objectives

Written by `python -m reproduce.partitions`. {queries} DL'19 queries among a log of 181,963; the pool is that log with
all queries, or without them. Three ways to make groups: by **meaning** alone (MiniLM); **source, form, meaning**, which
is how quipukit makes them: queries of different sources apart, then one division by form, then meaning; and the same
groups with **representatives chosen by recall**: of each leaf those come first that find most of what all of its
queries find (`quipukit cover --collection`). Outside the pool, a query belongs to the leaf that it is nearest to in
meaning and form; **placed by meaning** leaves form out. How much form counts was chosen with queries of other sources,
not with these. BM25 to depth 10 within 31,249 passages, re-ranked by MiniLM. The attacker
knows the partition, and how users like these write (`Bayes(prior=style)`).

Differences are means over queries, with 95 % intervals that assume nothing about their distribution, each by itself.
Results count where at most 2 % of the passages are pooled.
"""

if __name__ == "__main__":
    main()
