"""Planted sessions whose queries are not in the pool: groups are made of the log without any of them."""

import sys
import time
from typing import Any

from reproduce.sessions_sticky import DEPTH, LEAST_UTILITY, MOST_FOUND, MOST_POOLED, Search, asked_in, last_of, row_of

COVERS = (50, 100)
NODES, MEMBERS = 1000, 100  # the sticky cover that was chosen on sessions in the pool
TEXT = (
    "The same sessions, with none of their queries in the pool: the groups are those of the log without them, {left:,} "
    "queries, made anew. The attacker's log still holds all of them, so it knows the query that it looks for, which "
    "the pool does not. Utility as in the tables above (depth {depth}, re-ranked by `{reranker}`): with Cover the last "
    "query has its own group, with StickyCover everything that was fetched in the session. Of StickyCover's nodes "
    "{members} representatives are sent. The tables above have the same with all queries in the pool."
)
HEAD = (
    "| setting | R@10 after 1 | 2 | 3 | 5 | nDCG@10 of the last query | share of the original's | pooled | goal |",
    "|---|---|---|---|---|---|---|---|---|",
)


def partition_without(planted: Any, log: Any) -> Any:
    """Return the partition of the log without the queries of the sessions."""
    from quipukit.covers.load import load_partition
    from quipukit.covers.pool import QueryPool
    from quipukit.text import key

    asked = {key(text) for text in planted.queries["query"]}
    return load_partition(QueryPool.of([text for text in log.texts if key(text) not in asked], "without the sessions"))


def lines_of(planted: Any, collection: Any, log: Any, reranker: str) -> list[str]:
    """Return the table: what is left of each setting."""
    from quipukit.mechanisms.cover import Cover
    from quipukit.mechanisms.sticky import StickyCover

    search, asked = Search(collection, reranker), asked_in(planted)
    original = search.found({sid: [texts[-1]] for sid, texts in asked.items()}, last_of(asked))
    partition = partition_without(planted, log)
    said = TEXT.format(left=len(partition.pool), depth=DEPTH, reranker=reranker, members=MEMBERS)
    lines = [said, "", *HEAD, f"| original | | | | | {original} | | {original.pooled:.2%} | |"]
    for mechanism in (*(Cover(k=k, cover=partition) for k in COVERS), StickyCover(k=NODES, cover=partition)):
        if isinstance(mechanism, StickyCover):
            name = f"StickyCover(members={MEMBERS})@{NODES}"
            found = row_of(asked, search, NODES, MEMBERS, True, partition)[0].found
        else:
            name = repr(mechanism.spec)
            found = search.found({sid: _sent(mechanism, texts[-1]) for sid, texts in asked.items()}, last_of(asked))
        risks = _risks(mechanism, planted, log)
        share = found.utility / original.utility
        reached = risks[5][0] <= MOST_FOUND and share >= LEAST_UTILITY and found.pooled <= MOST_POOLED
        cells = [f"{risk:.2f} ({low:.2f} to {high:.2f})" for risk, low, high in risks.values()]
        lines.append(
            f"| {name} | {' | '.join(cells)} | {found} | {share:.0%} | {found.pooled:.2%} | "
            f"{'reached' if reached else 'missed'} |"
        )
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def _sent(mechanism: Any, text: str) -> list[str]:
    """Return the group of a query."""
    k = int(mechanism.k)
    members: list[str] = mechanism.cover.members(mechanism.cover.group_of(text, k), k)
    return members


def _risks(mechanism: Any, planted: Any, log: Any) -> "dict[int, tuple[float, float, float]]":
    """Return R@10 after each number of queries seen, with its interval; whole lists show no more than the node."""
    import quipukit as qk

    start = time.monotonic()
    sent = qk.obfuscate(planted.queries, mechanism, 1, seed=7)
    ranks = qk.session_attack(sent, planted.queries, planted.sessions, log, mechanisms=[mechanism])
    print(f"{mechanism.spec!r}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    risks = qk.session_risk(ranks).query("measure == 'R@10'").sort_values("length")
    return {row.length: (row.risk, row.low, row.high) for row in risks.itertuples()}
