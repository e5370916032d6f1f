"""Attack planted sessions of the built-in collection, cover them by sticky nodes, and write docs/sessions_measured.md.

``python -m reproduce.sessions`` needs nothing but the package: a session for each of the built-in queries, of five
queries from the built-in log, of which the last is judged. The log is encoded with MiniLM, once. Documents are ranked
by ``--reranker``.
"""

import argparse
import dataclasses
import os
import sys
import time

import numpy as np
import pandas as pd

from reproduce.published import ROOT

PAGE = ROOT / "docs" / "sessions_measured.md"
N = 50
SEED = 7
DEPTH = 10
SIZES = (50, 100, 200, 500, 1000)
MOST_SENT = 200  # texts of a node's list: with more, a search would pool much of a small collection
CONTROLS = 400  # sessions
SPECS = (
    *("CMP@5", "CMP@10", "CMP@15", "VickreyMhl@10", "CusText@5", "SanText@5", "TEM@5", "WBB@5", "AEA@3", "QueryExp@20"),
    "Decoys@50",
)


def main() -> None:
    """Plant, attack, measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reranker", default="static", help="the user's own model (static, minilm)")
    parser.add_argument("--quick", action="store_true", help="covers only")
    chosen = parser.parse_args()
    os.environ.setdefault("QUIPUKIT_HOME", str(ROOT / ".cache" / "quipukit"))
    import quipukit as qk

    collection = qk.load_collection("wordnet")
    log = qk.read_log("wordnet")
    planted = qk.plant_sessions(collection.queries(), log.texts, "minilm", 5, SEED)
    start = time.monotonic()
    sticky = sticky_rows(planted, collection, chosen.reranker)
    print(f"sticky: {time.monotonic() - start:,.0f} s", file=sys.stderr, flush=True)
    start = time.monotonic()
    controls = control_lines(log)
    print(f"controls: {time.monotonic() - start:,.0f} s", file=sys.stderr, flush=True)
    mechanisms = [*covers(), *([] if chosen.quick else map(qk.mechanism, SPECS))]
    options = "".join(f" --{name}" for name in ("quick",) if getattr(chosen, name))
    tables = []
    for number, one in enumerate(mechanisms, 1):
        start = time.monotonic()
        sent = qk.obfuscate(planted.queries, one, N, seed=SEED)
        tables.append(
            qk.session_risk(qk.session_attack(sent, planted.queries, planted.sessions, log, mechanisms=[one]))
        )
        print(f"{one.spec!r}: {time.monotonic() - start:,.0f} s", file=sys.stderr, flush=True)
        risks = pd.concat(tables, ignore_index=True)
        parts = [
            HEAD.format(options=options, sessions=planted.sessions["sid"].nunique(), log=len(log)),
            *([] if number == len(mechanisms) else [f"**Unfinished**: {number} of {len(mechanisms)} settings.", ""]),
            *("## Risk against the length of a session", "", RISKS, "", *risk_lines(risks), ""),
            *("## Controls", "", *controls, ""),
            *("## Sticky cover", "", STICKY.format(reranker=chosen.reranker, depth=DEPTH, most=MOST_SENT), ""),
            *(*sticky_lines(sticky, risks), ""),
        ]
        PAGE.write_text("\n".join(parts), encoding="utf-8")


def covers() -> list:  # type: ignore[type-arg]
    """Return Cover and StickyCover, the latter with and without further nodes."""
    from quipukit.mechanisms.cover import Cover
    from quipukit.mechanisms.sticky import StickyCover

    sticky = [StickyCover(k=k, further=further) for further in (True, False) for k in SIZES]
    return [*(Cover(k=k) for k in (50, 100, 200)), *sticky]


def risk_lines(risks: pd.DataFrame) -> list[str]:
    """Return R@10 at every length, with intervals."""
    own = risks[risks["measure"] == "R@10"]
    lines = ["| setting | 1 | 2 | 3 | 5 |", "|---|---|---|---|---|"]
    for (name, _, value), rows in own.groupby(["mechanism", "parameter", "value"], sort=False):
        cells = [f"{row.risk:.2f} ({row.low:.2f} to {row.high:.2f})" for row in rows.itertuples()]
        lines.append(f"| {name}@{value:g} | {' | '.join(cells)} |")
    return lines


def control_lines(log) -> list[str]:  # type: ignore[no-untyped-def]
    """Return what is found under random groups, and where what came before is exchanged between sessions.

    The last queries are drawn from the log: those of the collection are alike, so that exchanged sessions are too.
    """
    import quipukit as qk
    from quipukit.covers.load import load_partition
    from quipukit.mechanisms.cover import Cover

    drawn = np.random.default_rng(SEED).choice(len(log), CONTROLS, replace=False)
    planted = qk.plant_sessions([log.texts[row] for row in drawn], log.texts, "minilm", 5, SEED)
    similar = Cover(k=50)
    order = np.random.default_rng(SEED).permutation(len(load_partition().pool)).astype(np.int32)
    random = Cover(k=50, cover=dataclasses.replace(load_partition(), order=order))
    exchanged = planted.sessions.copy()
    earlier = exchanged["position"] < exchanged.groupby("sid")["position"].transform("max")
    exchanged.loc[earlier, "qid"] = np.random.default_rng(SEED).permutation(exchanged.loc[earlier, "qid"].to_numpy())
    lines = ["| | 1 | 2 | 3 | 5 |", "|---|---|---|---|---|"]
    for name, cover, sessions in (
        ("Cover@50", similar, planted.sessions),
        ("Cover@50, earlier queries exchanged", similar, exchanged),
        ("random groups of 50", random, planted.sessions),
        ("random groups of 50, earlier queries exchanged", random, exchanged),
    ):
        sent = qk.obfuscate(planted.queries, cover, N, seed=SEED)
        found = qk.session_risk(qk.session_attack(sent, planted.queries, sessions, log, mechanisms=[cover]))
        wide = found.pivot_table(index="length", columns="measure", values="risk")
        cells = [f"{row['P@1']:.2f} / {row['R@10']:.2f}" for _, row in wide.iterrows()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    told = f"P@1 / R@10 by the number of queries seen, for {CONTROLS} sessions whose last query is drawn from the log."
    return [told, "", *lines]


def sticky_rows(planted, collection, reranker: str) -> "list[dict[str, float]]":  # type: ignore[no-untyped-def]
    """Return what the last query of every session finds, and how many of its queries are answered locally."""
    from quipukit.retrieval.load import load_retriever, load_scorer

    system, scorer = load_retriever("bm25", collection), load_scorer(reranker, collection)
    texts = dict(zip(planted.queries["qid"], planted.queries["query"], strict=True))
    own = {sid: [texts[qid] for qid in rows] for sid, rows in planted.sessions.groupby("sid")["qid"]}
    original = {sid: [asked[-1]] for sid, asked in own.items()}
    rows = [{"k": 0, "name": "original", **_found(original, original, collection, system, scorer, len(own))}]
    for k in SIZES:
        for further in (True, False):
            rows.append({"k": k, "name": "StickyCover", "further": further, **_session(own, k, further)})
            released = rows[-1].pop("released")
            rows[-1].update(_found(released, original, collection, system, scorer, len(own)))
            if further:
                local = {sid: lists for sid, lists in released.items() if sid in rows[-1]["local_last"]}
                answers = _found(local, original, collection, system, scorer, len(local)) if local else {}
                rows[-1]["local_utility"] = answers.get("utility", float("nan"))
    return rows


def _session(own: "dict[str, list[str]]", k: int, further: bool) -> "dict[str, object]":
    from quipukit.covers.load import load_partition
    from quipukit.covers.sticky import StickyClient

    most = MOST_SENT if k > MOST_SENT else None
    partition = load_partition()
    released, local, nodes, last = {}, [], [], set()
    for sid, asked in own.items():
        client = StickyClient(partition, k, most, lambda query: further)
        steps = [client.ask(text) for text in asked]
        local.append([step.local for step in steps[1:]])
        nodes.append(len(client.released))
        if steps[-1].local:
            last.add(sid)
        refused = steps[-1].refused
        released[sid] = [] if refused else [text for step in steps for text in step.sends]
    return {
        "released": released,
        "local": float(np.mean(local)),
        "nodes": float(np.mean(nodes)),
        "stayed": float(np.mean([count == 1 for count in nodes])) if further else float("nan"),
        "local_last": last,
    }


def _found(lists, original, collection, system, scorer, count: int) -> "dict[str, float]":  # type: ignore[no-untyped-def]
    """Return nDCG@10 of the last queries over what some lists of texts find, with its interval, and the pool's size."""
    import quipukit as qk
    from quipukit.measures.intervals import mean_intervals
    from quipukit.retrieval.pool import pool_rankings, search_distinct

    rankings = search_distinct([text for texts in lists.values() for text in texts], system, DEPTH)
    table = pd.DataFrame(
        [("M", "", 0.0, sid, text) for sid, texts in lists.items() for text in texts],
        columns=["mechanism", "parameter", "value", "qid", "query"],
    )
    pool = pool_rankings(table, rankings)
    queries = pd.DataFrame({"qid": list(original), "query": [texts[0] for texts in original.values()]})
    scores = qk.utility(
        qk.rerank(pool, queries, collection, scorer), collection.qrels(), ["nDCG@10"], queries=list(lists)
    )
    column = scores[["score"]].to_numpy(float)
    (low,), (high,) = mean_intervals(column, hits=False)
    pooled = len(pool) / max(1, count) / len(collection)
    return {"utility": float(column.mean()), "low": float(low), "high": float(high), "pooled": pooled}


def sticky_lines(rows: "list[dict[str, float]]", risks: pd.DataFrame) -> list[str]:
    """Return a line per K: what is local, what is found, and what the session attacker finds."""
    own = risks[risks["measure"] == "R@10"].set_index(["mechanism", "value", "length"])["risk"]
    lines = [
        "| K | further nodes | follow-ups answered locally | sessions under one node | nodes released | nDCG@10 of the "
        "last query | ... where it is answered locally | pooled | R@10, one query | R@10, five |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        shown = f"{row['utility']:.3f} ({row['low']:.3f} to {row['high']:.3f})"
        if not row["k"]:
            lines.append(f"| original | | | | | {shown} | | {row['pooled']:.2%} | | |")
            continue
        name = "StickyCover" if row["further"] else "StickyCover(further=False)"
        stayed, answer = (_number(row.get(key)) for key in ("stayed", "local_utility"))
        one, five = (_number(own.get((name, row["k"], length))) for length in (1, 5))
        lines.append(
            f"| {row['k']} | {'released' if row['further'] else 'refused'} | {row['local']:.2f} | {stayed} | "
            f"{row['nodes']:.2f} | {shown} | {answer} | {row['pooled']:.2%} | {one} | {five} |"
        )
    return lines


def _number(value: "float | None") -> str:
    return "" if value is None or np.isnan(value) else f"{value:.2f}"


HEAD = """# Sessions, measured

Written by `python -m reproduce.sessions{options}`. {sessions} planted sessions of five queries: a judged query of the
built-in collection comes last, before it four of its 4th to 60th nearest neighbors in the built-in log of {log:,}
queries, by MiniLM. [sessions.md](sessions.md) says what this means.
"""
RISKS = (
    "R@10 of the last query against the session attacker, which knows the mechanism, by the number of queries that it "
    "saw: the last one and those just before it. 95 % intervals over sessions, one at a time. N = 50, where the "
    "mechanism does not say itself how much is sent."
)
STICKY = (
    "Utility is that of the last query over all sessions: BM25, depth {depth}, re-ranked by `{reranker}` on the user's "
    "side over everything fetched in the session; a refused query counts 0. Where K is above {most}, {most} fixed "
    "representatives of a node are sent; the attacks are against the whole lists, which show no more than the node. "
    "Results count only where at most 2 % of the collection are pooled."
)

if __name__ == "__main__":
    main()
