"""Attack planted sessions of the built-in collection, cover them by sticky nodes, and write docs/sessions_measured.md.

``python -m reproduce.sessions`` needs nothing but the package: a session for each of the built-in queries, of five
queries from the built-in log, of which the last is judged. The log and the documents that are found are encoded with
MiniLM, once. ``python -m reproduce.sessions risks`` runs one part (risks, controls, sticky, confirm, outside); the
page shows what has been run, each part as it was written last, be it by another machine.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

import pandas as pd

from reproduce.published import ROOT

PAGE = ROOT / "docs" / "sessions_measured.md"
KEPT = ROOT / ".cache" / "reproduce" / "sessions"
N = 50
SEED = 7
SIZES = (50, 100, 200, 500, 1000)
# Settings in one entry are obfuscated together: those of one kind of noise share their draws, which takes less time.
SPECS = (
    *(("Decoys@50",), ("CusText@5",), ("WBB@5",), ("TEM@5",), ("SanText@5",), ("QueryExp@20",), ("AEA@3",)),
    *(("CMP@5", "CMP@10"), ("VickreyMhl@10",)),
)


def main() -> None:
    """Plant, run the parts, and write the page after each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all where none is given")
    parser.add_argument("--rerankers", nargs="+", default=["static"], help="models that confirm the chosen setting")
    options = parser.parse_args()
    chosen = options.parts
    for name in chosen:
        if name not in PARTS:
            parser.error(f"there is no part {name!r}; choose from {', '.join(PARTS)}")
    os.environ.setdefault("QUIPUKIT_HOME", str(ROOT / ".cache" / "quipukit"))
    import quipukit as qk

    collection, log = qk.load_collection("wordnet"), qk.read_log("wordnet")
    planted = qk.plant_sessions(collection.queries(), log.texts, "minilm", 5, SEED)
    KEPT.mkdir(parents=True, exist_ok=True)
    for name in chosen or PARTS:
        start = time.monotonic()
        PARTS[name](planted, collection, log, options.rerankers)
        print(f"{name}: {time.monotonic() - start:,.0f} s", file=sys.stderr, flush=True)
    write_page(planted, log)


def keep(name: str, lines: list[str]) -> None:
    """Keep the lines of a part."""
    (KEPT / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_page(planted: Any, log: Any) -> None:
    """Write the page from what has been run; parts that were not run here stay as they are in the page."""
    for name, said in parts_of(PAGE.read_text(encoding="utf-8") if PAGE.is_file() else "").items():
        if not (KEPT / f"{name}.md").is_file():
            (KEPT / f"{name}.md").write_text(said, encoding="utf-8")
    head = HEAD.format(sessions=planted.sessions["sid"].nunique(), log=len(log))
    kept = [KEPT / f"{name}.md" for name in PARTS]
    told = [file.read_text(encoding="utf-8") if file.is_file() else f"**Not run yet: {file.stem}.**\n" for file in kept]
    PAGE.write_text("\n".join([head, *told]), encoding="utf-8")


def parts_of(page: str) -> "dict[str, str]":
    """Return the parts that a page has, by name."""
    starts = {name: page.find(f"\n{begin}") for name, begin in BEGINS.items()}
    ends = {
        name: min([start for start in starts.values() if start > own] or [len(page)]) for name, own in starts.items()
    }
    return {name: page[own + 1 : ends[name]] for name, own in starts.items() if own >= 0}


def in_short() -> list[str]:
    """Return what is left of a session of five queries, for the page of the frontier."""
    kept = {name: KEPT / f"{name}.md" for name in ("risks", "confirm", "outside")}
    if not all(file.is_file() for file in kept.values()):
        return ["## Sessions", "", "Not measured yet.", ""]
    rows = [line.split("|")[1:-1] for line in kept["risks"].read_text(encoding="utf-8").splitlines() if "|" in line]
    confirmed, outside = (
        [line for line in kept[name].read_text(encoding="utf-8").splitlines() if line.startswith("|")]
        for name in ("confirm", "outside")
    )
    return [
        *("## Sessions of five queries, the built-in collection", "", SHORT, ""),
        *(f"|{'|'.join((name, one, five))}|" for name, one, *_, five, _ in rows),
        *("", "The sticky cover that was chosen, on the sessions it was chosen on and on others:", "", *confirmed, ""),
        *("Outside the pool: none of the sessions' queries is among the public ones.", "", *outside, ""),
    ]


# --- parts ---


def risks(planted: Any, collection: Any, log: Any, rerankers: "Sequence[str]") -> None:
    """Attack the sessions as every mechanism sends them; what the same code has measured is not measured again."""
    import quipukit as qk
    from quipukit.mechanisms.cover import Cover
    from quipukit.mechanisms.sticky import StickyCover
    from quipukit.source_hash import source_hash

    sticky = [*(StickyCover(k=k) for k in SIZES), StickyCover(k=200, further=False)]
    covers = [*(Cover(k=k) for k in (50, 100, 200)), *sticky]
    groups = [*([qk.mechanism(spec) for spec in specs] for specs in SPECS), *([one] for one in covers)]
    code = source_hash("quipukit.attackers.sessions", "quipukit.obfuscation")
    names = [f"{one.spec!r}-{code[:16]}.txt" for group in groups for one in group]
    for mechanisms in groups:
        files = [KEPT / f"{one.spec!r}-{code[:16]}.txt" for one in mechanisms]
        if all(file.is_file() for file in files):
            continue
        sent = qk.obfuscate(planted.queries, mechanisms, N, seed=SEED, noise="common")
        for one, file in zip(mechanisms, files, strict=True):
            start = time.monotonic()
            own = sent[(sent["mechanism"] == one.spec.family) & (sent["value"] == one.value)]
            ranks = qk.session_attack(own, planted.queries, planted.sessions, log, mechanisms=[one])
            line = risk_line(repr(one.spec), qk.session_risk(ranks), time.monotonic() - start)
            print(line, file=sys.stderr, flush=True)
            file.write_text(line, encoding="utf-8")
        lines = [(KEPT / name).read_text(encoding="utf-8") for name in names if (KEPT / name).is_file()]
        missing = [name.rsplit("-", 1)[0] for name in names if not (KEPT / name).is_file()]
        told = [f"\n**Not measured yet: {', '.join(missing)}.**"] if missing else []
        keep("risks", ["## Risk against the length of a session", "", RISKS, "", *RISK_HEAD, *lines, *told])


def risk_line(name: str, table: pd.DataFrame, seconds: float) -> str:
    """Return R@10 at every length, with intervals."""
    rows = table[table["measure"] == "R@10"].sort_values("length")
    cells = [f"{row.risk:.2f} ({row.low:.2f} to {row.high:.2f})" for row in rows.itertuples()]
    return f"| {name} | {' | '.join(cells)} | {seconds:.0f} s |"


def controls(planted: Any, collection: Any, log: Any, rerankers: "Sequence[str]") -> None:
    """Check the attacker where nothing is to be found."""
    from reproduce.sessions_controls import lines_of

    keep("controls", ["## Controls", "", *lines_of(planted, log)])


def sticky(planted: Any, collection: Any, log: Any, rerankers: "Sequence[str]") -> None:
    """Search with sticky covers, and choose a setting."""
    from reproduce import sessions_sticky as part

    risks_of = {k: part.risk_of(planted, k, log) for k in sorted({k for k, _ in part.SETTINGS})}
    search = part.Search(collection, rerankers[0])
    original, rows = part.rows_of(planted, search)
    lines = ["## Sticky cover", "", STICKY.format(depth=part.DEPTH, reranker=search.reranker), ""]
    lines += [*part.lines_of(original, rows, risks_of), ""]
    best = part.chosen(original, rows, risks_of)
    tried = sum(row.further for row in rows)
    if best is None:
        keep("sticky", [*lines, f"None of the {tried} settings with further nodes released reaches the goal."])
        return
    told = CHOSEN.format(tried=tried, k=best.k, members=best.members or "all", seed=SEED)
    keep("sticky", [*lines, told])
    (KEPT / "chosen.json").write_text(json.dumps([best.k, best.members]), encoding="utf-8")


def confirm(planted: Any, collection: Any, log: Any, rerankers: "Sequence[str]") -> None:
    """Repeat the setting that `sticky` chose on other sessions, and with every model that is named."""
    import quipukit as qk
    from reproduce import sessions_sticky as part

    if not (KEPT / "chosen.json").is_file():
        sys.exit("confirm needs the choice of the part sticky; run it first")
    k, members = json.loads((KEPT / "chosen.json").read_text(encoding="utf-8"))
    others = {seed: qk.plant_sessions(collection.queries(), log.texts, "minilm", 5, seed) for seed in part.CONFIRMED}
    found: dict[int, Any] = {}
    lines = [CONFIRMED, "", *part.CONFIRMED_HEAD]
    for name in rerankers:
        search = part.Search(collection, name)
        for seed, one in {**others, SEED: planted}.items():
            found[seed] = found.get(seed) or part.risk_of(one, k, log)
            lines.append(part.confirmed_line(k, members, seed, one, search, log, found[seed]))
            print(lines[-1], file=sys.stderr, flush=True)
            keep("confirm", [*lines, "\n**Unfinished.**"])
    keep("confirm", lines)


def outside(planted: Any, collection: Any, log: Any, rerankers: "Sequence[str]") -> None:
    """Attack the sessions with a pool that has none of their queries."""
    from reproduce.sessions_outside import lines_of

    keep("outside", ["## Outside the pool", "", *lines_of(planted, collection, log, rerankers[0])])


PARTS = {"risks": risks, "controls": controls, "sticky": sticky, "confirm": confirm, "outside": outside}
HEAD = """# Sessions, measured

Written by `python -m reproduce.sessions`. {sessions} planted sessions of five queries: a judged query of the
built-in collection comes last, before it four of its 4th to 60th nearest neighbors in the built-in log of {log:,}
queries, by MiniLM. [sessions.md](sessions.md) says what this means.
"""
RISKS = (
    "R@10 of the last query against the session attacker, which knows the mechanism, by the number of queries that it "
    "saw: the last one and those just before it. 95 % intervals over sessions, one at a time. "
    f"N = {N}, where the mechanism does not say itself how much is sent; settings of CMP share their draws of noise. "
    "*clock*: the attack at all four lengths, on two shared cores. The attacker knows no law of AEA: its figures there "
    "say little."
)
RISK_HEAD = ("| setting | 1 | 2 | 3 | 5 | clock |", "|---|---|---|---|---|---|")
STICKY = (
    "Utility is that of the last query over all sessions: BM25, depth {depth}, re-ranked by `{reranker}` on the user's "
    "side over everything fetched in the session; a refused query counts 0. Of a node all queries are sent, or as many "
    "fixed representatives; the attacks are against the whole lists, which show no more than the node. The goal: R@10 "
    "after five queries at most .20, at 60 % of the original's utility or more, with at most 2 % of the collection "
    "pooled."
)
CHOSEN = (
    "Of {tried} settings with further nodes released, K = {k} with {members} representatives has the highest utility "
    "among those that reach the goal on planting {seed}."
)
CONFIRMED = (
    "The setting was chosen on these sessions, so it is repeated on others: the same last queries after other earlier "
    "ones (another seed of planting). Beside it are two references that pool about as much: the original query "
    "searched deeper, which hides nothing, and as many random texts of the log, which find by their number alone."
)

SHORT = (
    "R@10 of the last query against the session attacker, who knows the mechanism, after one query and after five "
    "related ones ([all lengths, and what sticky covers find](sessions_measured.md))."
)
BEGINS = {
    "risks": "## Risk against",
    "controls": "## Controls",
    "sticky": "## Sticky cover",
    "confirm": CONFIRMED[:40],
    "outside": "## Outside the pool",
}

if __name__ == "__main__":
    main()
