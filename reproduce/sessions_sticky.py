"""Sticky covers on planted sessions: what the last query finds, with fewer representatives, and on other sessions."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

DEPTH = 10
# Queries in a node, and how many fixed representatives of it are sent: None for all of them.
SETTINGS: "tuple[tuple[int, int | None], ...]" = (
    *((k, None) for k in (50, 100, 200)),
    *((k, members) for k in (500, 1000, 2000) for members in (50, 100, 150, 200)),
)
REFUSED: "tuple[tuple[int, int | None], ...]" = (
    (50, None),
    (100, None),
    (200, None),
    (500, 100),
    (1000, 100),
    (2000, 100),
)
MOST_POOLED, MOST_FOUND, LEAST_UTILITY = 0.02, 0.20, 0.60  # the goal; utility as a share of the original's
Risks = dict[int, dict[int, tuple[float, float, float]]]  # by K and length: with an interval
CONFIRMED = (8, 9)  # seeds of planting that the setting was not chosen on


@dataclass
class Found:
    """What the last queries of sessions find, with its interval, and the share of the collection that is pooled."""

    utility: float
    low: float
    high: float
    pooled: float
    documents: float

    def __str__(self) -> str:
        return f"{self.utility:.3f} ({self.low:.3f} to {self.high:.3f})"


@dataclass
class Row:
    """One setting: what is released and answered locally, and what is found."""

    k: int
    members: int | None
    further: bool
    found: Found
    local: float
    nodes: float
    stayed: float
    texts: float  # sent in a session
    local_utility: float = float("nan")


@dataclass
class Search:
    """The user's side: an engine that finds documents, and a model that ranks those of a session for the last query."""

    collection: Any
    reranker: str
    system: Any = field(init=False)
    scorer: Any = field(init=False)

    def __post_init__(self) -> None:
        from quipukit.retrieval.load import load_retriever, load_scorer

        self.system = load_retriever("bm25", self.collection)
        self.scorer = load_scorer(self.reranker, self.collection)

    def found(self, lists: "dict[str, list[str]]", last: "dict[str, str]", depth: int = DEPTH) -> Found:
        """Return what lists of texts find for the last queries of sessions."""
        import quipukit as qk
        from quipukit.measures.intervals import mean_intervals
        from quipukit.retrieval.pool import pool_rankings, search_distinct

        rankings = search_distinct([text for texts in lists.values() for text in texts], self.system, depth)
        rows = [("M", "", 0.0, sid, text) for sid, texts in lists.items() for text in texts]
        table = pd.DataFrame(rows, columns=["mechanism", "parameter", "value", "qid", "query"])
        pool = pool_rankings(table, rankings)
        queries = pd.DataFrame({"qid": list(last), "query": list(last.values())})
        ranked = qk.rerank(pool, queries, self.collection, self.scorer)
        scores = qk.utility(ranked, self.collection.qrels(), ["nDCG@10"], queries=list(lists))
        column = scores[["score"]].to_numpy(float)
        (low,), (high,) = mean_intervals(column, hits=False)
        documents = len(pool) / max(1, len(lists))
        return Found(float(column.mean()), float(low), float(high), documents / len(self.collection), documents)


def asked_in(planted: Any) -> "dict[str, list[str]]":
    """Return the texts of every session, in order."""
    texts = dict(zip(planted.queries["qid"], planted.queries["query"], strict=True))
    return {sid: [texts[qid] for qid in rows] for sid, rows in planted.sessions.groupby("sid")["qid"]}


def rows_of(planted: Any, search: Search) -> "tuple[Found, list[Row]]":
    """Return what the last queries find when they are searched as they are, and a row for every setting."""
    asked = asked_in(planted)
    original = search.found({sid: [texts[-1]] for sid, texts in asked.items()}, last_of(asked))
    settings = [(*one, True) for one in SETTINGS] + [(*one, False) for one in REFUSED]
    return original, [row_of(asked, search, *setting)[0] for setting in sorted(settings, key=_order)]


def _order(setting: "tuple[int, int | None, bool]") -> "tuple[int, bool, int]":
    return setting[0], not setting[2], setting[1] or 0


def last_of(asked: "dict[str, list[str]]") -> "dict[str, str]":
    """Return the last query of every session."""
    return {sid: texts[-1] for sid, texts in asked.items()}


def row_of(
    asked: "dict[str, list[str]]",
    search: Search,
    k: int,
    members: int | None,
    further: bool,
    partition: Any = None,
) -> "tuple[Row, dict[str, list[str]]]":
    """Play all sessions with a sticky client; return what came of it, and what each session sent."""
    from quipukit.covers.load import load_partition
    from quipukit.covers.sticky import StickyClient

    partition = partition or load_partition()
    sent: dict[str, list[str]] = {}
    local, nodes, texts_sent, local_last = [], [], [], set()
    for sid, texts in asked.items():
        client = StickyClient(partition, k, members, lambda query: further)
        steps = [client.ask(text) for text in texts]
        local.append([step.local for step in steps[1:]])
        nodes.append(len(client.released))
        texts_sent.append(sum(len(step.sends) for step in steps))
        if steps[-1].local:
            local_last.add(sid)
        sent[sid] = [] if steps[-1].refused else [text for step in steps for text in step.sends]
    row = Row(
        *(k, members, further, search.found(sent, last_of(asked)), float(np.mean(local)), float(np.mean(nodes))),
        stayed=float(np.mean(np.array(nodes) == 1)) if further else float("nan"),
        texts=float(np.mean(texts_sent)),
    )
    if further and local_last:
        row.local_utility = search.found({sid: sent[sid] for sid in local_last}, last_of(asked)).utility
    return row, sent


def risk_of(planted: Any, k: int, log: Any) -> "dict[int, tuple[float, float, float]]":
    """Return R@10 of the last queries after one query and after five, with intervals.

    What the attacker sees of a session are its new nodes, whichever representatives are sent: the whole lists are.
    """
    import quipukit as qk
    from quipukit.mechanisms.sticky import StickyCover

    cover = StickyCover(k=k)
    sent = qk.obfuscate(planted.queries, cover, 1, seed=7)
    ranks = qk.session_attack(sent, planted.queries, planted.sessions, log, mechanisms=[cover], lengths=(1, 5))
    risks = qk.session_risk(ranks).query("measure == 'R@10'")
    return {row.length: (row.risk, row.low, row.high) for row in risks.itertuples()}


def chosen(original: Found, rows: "list[Row]", risks: "Risks") -> Row | None:
    """Return the setting with the highest utility among those that reach the goal; None where none does."""
    reached = [
        row
        for row in rows
        if row.further
        and row.found.pooled <= MOST_POOLED
        and risks[row.k][5][0] <= MOST_FOUND
        and row.found.utility >= LEAST_UTILITY * original.utility
    ]
    return max(reached, key=lambda row: row.found.utility, default=None)


def lines_of(original: Found, rows: "list[Row]", risks: "Risks") -> list[str]:
    """Return the table of settings; risks of those that refuse further nodes are in the first table of the page."""
    lines = [
        "| K | representatives sent | further nodes | nodes released | texts sent in a session | follow-ups answered "
        "locally | sessions under one node | nDCG@10 of the last query | share of the original's | ... where it is "
        "answered locally | pooled | R@10, one query | R@10, five | goal |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
        f"| original | | | | 1 | | | {original} | | | {original.pooled:.2%} | | | |",
    ]
    for row in rows:
        share = row.found.utility / original.utility
        counts = row.found.pooled <= MOST_POOLED
        one, five = (risks[row.k][length][0] for length in (1, 5))
        reached = row.further and counts and share >= LEAST_UTILITY and five <= MOST_FOUND
        shown = f"{one:.2f} | {five:.2f}" if row.further else " | "
        lines.append(
            f"| {row.k} | {row.members or 'all'} | {'released' if row.further else 'refused'} | {row.nodes:.2f} | "
            f"{row.texts:,.0f} | {row.local:.2f} | {_number(row.stayed)} | {row.found} | {share:.0%} | "
            f"{_number(row.local_utility)} | {row.found.pooled:.2%}{'' if counts else ' (too much)'} | "
            f"{shown} | {'reached' if reached else ''} |"
        )
    return lines


CONFIRMED_HEAD = (
    "| planting | re-ranked by | R@10, five | nDCG@10 | share of the original's | pooled | original, as many "
    "documents | random texts of the log, as many | goal |",
    "|---|---|---|---|---|---|---|---|---|",
)


def confirmed_line(k: int, members: int | None, seed: int, planted: Any, search: Search, log: Any, risks: Any) -> str:
    """Return a setting on a planting, beside references that pool about as much."""
    risk, low, high = risks[5]
    asked = asked_in(planted)
    alone = {sid: [texts[-1]] for sid, texts in asked.items()}
    original = search.found(alone, last_of(asked))
    made, sent = row_of(asked, search, k, members, True)
    deeper = search.found(alone, last_of(asked), round(made.found.documents))
    rng = np.random.default_rng(seed)
    drawn = {
        sid: [log.texts[place] for place in rng.choice(len(log), len(own), replace=False)] for sid, own in sent.items()
    }
    random = search.found(drawn, last_of(asked))
    share = made.found.utility / original.utility
    reached = risk <= MOST_FOUND and share >= LEAST_UTILITY and made.found.pooled <= MOST_POOLED
    return (
        f"| {seed} | `{search.reranker}` | {risk:.2f} ({low:.2f} to {high:.2f}) | {made.found} | {share:.0%} | "
        f"{made.found.pooled:.2%} | {deeper.utility:.3f} ({deeper.pooled:.2%}) | {random.utility:.3f} "
        f"({random.pooled:.2%}) | {'reached' if reached else 'missed'} |"
    )


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.2f}"
