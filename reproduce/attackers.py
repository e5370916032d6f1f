"""Attack the published obfuscated queries, and our own, and write docs/attackers_measured.md.

``python -m reproduce.attackers`` needs ``../shared/data`` and ``../shared/fixtures``. QuIA's encoder would take most of
the time: its risks of the published queries are read from docs/published.md (see ``reproduce.published``), and in the
QuIPU scores they are those that the paper prints. With ``--quick`` our own queries are left out.
"""

import argparse
import itertools
import os
import sys
import time

import numpy as np
import pandas as pd

from reproduce.published import DATA, FIXTURES, MECHANISMS, RISKS, ROOT

PAGE = ROOT / "docs" / "attackers_measured.md"
QUIA_PAGE = ROOT / "docs" / "published.md"
AGNOSTIC = ("Words", "Positional", "Lexical", "MaxSim", "Style", "Fusion")
FAMILY = ("CMP", "Mahalanobis", "VickreyCMP", "VickreyMhl", "CusText", "SanText", "TEM", "WBB")
NO_LAW = ("AEA", "FEA")  # nor are their points in the plane printed anywhere
N = 50
SEED = 7


def main() -> None:
    """Attack, compare and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out our own queries")
    chosen = parser.parse_args()
    os.environ.setdefault("QUIPUKIT_HOME", str(ROOT / ".cache" / "quipukit-reproduce"))
    import quipukit as qk
    from quipukit.experiment.grid import expand

    if not DATA.is_dir() or not FIXTURES.is_dir():
        sys.exit("needs the public data in ../shared/data and ../shared/fixtures, beside the checkout")
    log = qk.read_log(DATA / "querylog" / "queries.tsv.gz")
    theirs, queries = qk.read_obfuscated(DATA / "published" / "dl19")
    start = time.monotonic()
    published = risks_of(theirs, queries, log)
    print(f"published: {time.monotonic() - start:,.0f} s", file=sys.stderr)
    options = " --quick" if chosen.quick else ""
    parts = [HEAD.format(options=options, log=len(log), sets=len(theirs.groupby(["mechanism", "value", "qid"])))]
    parts += ["## What it means", "", *conclusions(published), ""]
    parts += ["## The published queries", "", *table(published, quia=quia_risks()), "", *quipu_lines(published), ""]
    parts += ["## Controls", "", *control_lines(theirs, queries, log), "", *random_lines(queries, log), ""]
    if not chosen.quick:
        start = time.monotonic()
        ours = [qk.mechanism(one) for one in expand(list(MECHANISMS), (), ())]
        sent = [qk.obfuscate(queries, [one], N, seed=SEED, noise="independent") for one in ours]
        print(f"obfuscated: {time.monotonic() - start:,.0f} s", file=sys.stderr)
        names = (*AGNOSTIC, "Bayes")
        risks = risks_of(pd.concat(sent, ignore_index=True), queries, log, names, ours)
        parts += ["## Our own queries", "", OWN, *table(risks, names), ""]
        print(f"ours: {time.monotonic() - start:,.0f} s", file=sys.stderr)
    PAGE.write_text("\n".join(parts), encoding="utf-8")


def risks_of(obfuscated, queries, log, attackers=AGNOSTIC, mechanisms=()) -> pd.DataFrame:  # type: ignore[no-untyped-def]
    """Return the risks per query of every attacker that needs no sentence encoder."""
    import quipukit as qk

    return qk.risk(qk.attack(obfuscated, queries, log, attackers=attackers, mechanisms=mechanisms))


def conclusions(risks: pd.DataFrame) -> list[str]:
    """Return a sentence on every mechanism: where its queries are found, where not, and what users find there."""
    from quipukit.measures.strongest import strongest_intervals

    points = pd.read_csv(FIXTURES / "quipu_points_dl19.csv").set_index(["mechanism", "position"])["u_ndcg10"]
    own = risks[risks["measure"] == "R@10"]
    lines = []
    for name in FAMILY:
        found = []  # value, strongest risk, its interval, utility
        for position, (value, rows) in enumerate(own[own["mechanism"] == name].groupby("value"), 1):
            sides = [rows[rows["attacker"] == one][["score"]].to_numpy(float) for one in AGNOSTIC]
            (low,), (high,) = strongest_intervals(sides, hits=True)
            found.append((value, max(side.mean() for side in sides), low, high, points.get((name, position))))
        broken = next((one for one in found if one[2] >= 0.5), None)
        kept = [one for one in found if one[3] <= 0.2]
        parts = []
        if broken is None:
            parts.append("at no setting are more than half of the queries found for sure")
        else:
            value, risk, low, high, utility = broken
            parts.append(
                f"from epsilon {value:g} on more than half of the queries are found, with confidence (R@10 {risk:.2f}, "
                f"{low:.2f} to {high:.2f}, at an nDCG@10 of {utility:.3f})"
            )
        if kept:
            value, risk, low, high, utility = kept[-1]
            parts.append(
                f"up to epsilon {value:g} these attackers find at most a fifth (R@10 {risk:.2f}, {low:.2f} to "
                f"{high:.2f}), where the user has an nDCG@10 of {utility:.3f}"
            )
        else:
            parts.append("no setting keeps the share below a fifth with confidence")
        lines.append(f"- **{name}**: {'; '.join(parts)}.")
    for name in NO_LAW:
        found = []
        for _, rows in own[own["mechanism"] == name].groupby("value"):
            sides = [rows[rows["attacker"] == one][["score"]].to_numpy(float) for one in AGNOSTIC]
            (low,), (high,) = strongest_intervals(sides, hits=True)
            found.append((max(side.mean() for side in sides), low, high))
        lines.append(heuristic_line(name, found))
    return [
        "Against the strongest of the attackers below, on the published queries, with 95 % intervals that allow for "
        "the choice of attacker, one setting at a time; nDCG@10 is the paper's. A low risk says that these attackers "
        "fail, not that all do.",
        "",
        *lines,
    ]


def heuristic_line(name: str, found: "list[tuple[float, float, float]]") -> str:
    """Return a sentence on a mechanism whose utility the paper prints for no setting: strongest risks, intervals."""
    risk, low, high = max(found)
    what = "the strongest attacker finds" if low >= 0.5 else "the strongest attacker finds at most"
    return (
        f"- **{name}**: at its {len(found)} settings {what} {risk:.2f} ({low:.2f} to {high:.2f}) of the queries; the "
        "paper prints no utility of single settings."
    )


def quia_risks() -> "dict[tuple[str, float], str]":
    """Return QuIA's R@10 of the published queries, as docs/published.md has it."""
    rows = [line.strip("| \n").split(" | ") for line in QUIA_PAGE.read_text(encoding="utf-8").splitlines()]
    heading = ["mechanism", "value", "N x epsilon", "P@1", "R@10"]
    at = next(number for number, row in enumerate(rows) if row[: len(heading)] == heading)
    table = itertools.takewhile(lambda row: len(row) > len(heading), rows[at + 2 :])
    return {(row[0], float(row[1])): row[4] for row in table}


def random_lines(queries: pd.DataFrame, log) -> list[str]:  # type: ignore[no-untyped-def]
    """Return R@10 where words were sent at random, which say nothing about the query but its number of words."""
    import quipukit as qk

    names = (*AGNOSTIC, "Bayes")
    chance = qk.mechanism("Random")
    risks = risks_of(qk.obfuscate(queries, [chance], N, seed=SEED), queries, log, names, [chance])
    means = risks[risks["measure"] == "R@10"].groupby("attacker")["score"].mean()
    found = ", ".join(f"{name} {means[name]:.3f}" for name in names)
    return [f"Words at random (`Random`, {N} variants of each query): R@10 is {found}."]


def table(
    risks: pd.DataFrame, names: "tuple[str, ...]" = AGNOSTIC, quia: "dict[tuple[str, float], str] | None" = None
) -> list[str]:
    """Return R@10 of every attacker at every setting, and of the strongest with an interval for the choice.

    ``quia`` are risks against QuIA, for a column of their own: it is not among those of which one is the strongest.
    """
    from quipukit.frames import by_parameter
    from quipukit.measures.strongest import strongest_intervals

    own = risks[risks["measure"] == "R@10"]
    first = risks[risks["measure"] == "P@1"]
    means = own.groupby(["mechanism", "parameter", "value", "attacker"], sort=False)["score"].mean().unstack("attacker")
    best = (
        first.groupby(["mechanism", "parameter", "value", "attacker"], sort=False)["score"].mean().unstack("attacker")
    )
    lines = [
        f"| mechanism | value | {'QuIA | ' if quia else ''}{' | '.join(names)} | strongest, R@10 | 95 % | "
        "strongest, P@1 |",
        f"|---|---|{'---|' * (len(names) + bool(quia))}---|---|---|",
    ]
    settings = by_parameter(means.reset_index())
    for row in settings.itertuples(index=False):
        key = (row.mechanism, row.parameter, row.value)
        rows = own[(own["mechanism"] == row.mechanism) & (own["value"] == row.value)]
        sides = [rows[rows["attacker"] == name][["score"]].to_numpy(float) for name in names]
        low, high = strongest_intervals(sides, hits=True)
        unknown = ["Bayes"] if row.mechanism in NO_LAW else []
        cells = ["-" if name in unknown else f"{means.loc[key, name]:.3f}" for name in names]
        numbers = " | ".join([*([quia[row.mechanism, row.value]] if quia else []), *cells])
        lines.append(
            f"| {row.mechanism} | {row.value:g} | {numbers} | {max(means.loc[key]):.3f} | "
            f"{low[0]:.2f} to {high[0]:.2f} | {max(best.loc[key]):.3f} |"
        )
    return lines


def quipu_lines(risks: pd.DataFrame) -> list[str]:
    """Return QuIPU with the published utility: against QuIA as printed, and against the strongest attacker."""
    from quipukit.measures.quipu import quipu_score
    from quipukit.measures.strongest import strongest_names

    names = strongest_names(risks).sort_values(["mechanism", "value"])
    names["position"] = names.groupby(["mechanism", "measure"]).cumcount() + 1
    points = pd.read_csv(FIXTURES / "quipu_points_dl19.csv")
    printed = pd.read_csv(FIXTURES / "quipu_table1_dl19.csv").replace({"risk": {"MRR": "RR"}})
    printed = printed.set_index(["mechanism", "risk"])["table1"]
    both = names.merge(points, on=["mechanism", "position"])
    lines = [
        "QuIPU with the utility of the paper: against QuIA as the paper prints it, and against the strongest attacker.",
        "The score is a signed area between a mechanism's settings and the diagonal. Where all settings lie in one "
        "place, as those of WBB do (found always, whatever epsilon), it is near 0, and its sign says nothing. Of AEA "
        "and FEA the paper prints scores but no utility of single settings, so there is no curve against the "
        "strongest.",
        "",
        "| mechanism | printed P@1 | R@10 | RR | strongest P@1 | R@10 | RR |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in FAMILY:
        mine = both[both["mechanism"] == name]
        scores = []
        for measure, column in RISKS.items():
            rows = mine[mine["measure"] == measure].sort_values("position")
            # Never below what QuIA found: it is one of the attackers.
            risk = np.maximum(rows["risk"], rows[column])
            scores.append(quipu_score(list(zip(risk, rows["u_ndcg10"], strict=True))).value)
        cells = [*(f"{printed[name, risk]:.3f}" for risk in RISKS), *(f"{score:.3f}" for score in scores)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    for name in NO_LAW:
        lines.append(f"| {name} | {' | '.join(f'{printed[name, risk]:.3f}' for risk in RISKS)} | - | - | - |")
    return lines


def control_lines(obfuscated: pd.DataFrame, queries: pd.DataFrame, log) -> list[str]:  # type: ignore[no-untyped-def]
    """Return R@10 where there is nothing to find: sets exchanged between queries of equal length."""
    from quipukit.text import tokenize

    some = obfuscated[(obfuscated["mechanism"].isin(FAMILY)) & (obfuscated["value"].isin([1, 10, 50]))]
    by_length: dict[int, list[str]] = {}
    for qid, text in zip(queries["qid"], queries["query"], strict=True):
        by_length.setdefault(len(tokenize(text)), []).append(qid)
    other = {
        qid: qids[(at + 1) % len(qids)] for qids in by_length.values() if len(qids) > 1 for at, qid in enumerate(qids)
    }
    exchanged = some[some["qid"].isin(list(other))]
    risks = risks_of(exchanged.assign(qid=exchanged["qid"].map(other)), queries[queries["qid"].isin(list(other))], log)
    own = risks[risks["measure"] == "R@10"]
    means = (
        own.groupby(["attacker", "mechanism", "value"], sort=False)["score"]
        .mean()
        .groupby("attacker")
        .agg(["mean", "max"])
    )
    settings = own.groupby(["mechanism", "value"]).ngroups
    lines = [
        f"The sets of {len(other)} queries exchanged between queries of equal length, {settings} settings: R@10.",
        "",
        "| attacker | mean | highest of any setting |",
        "|---|---|---|",
    ]
    return lines + [f"| {name} | {means.loc[name, 'mean']:.4f} | {means.loc[name, 'max']:.3f} |" for name in AGNOSTIC]


HEAD = """# Every attacker, measured

Written by `python -m reproduce.attackers{options}`. See [attackers](attackers.md) for what each attacker does.

TREC DL'19, 43 queries, 86 settings, 50 variants each (but for AEA): {sets:,} sets of texts, ranked against a log of
{log:,} distinct queries, completed with the originals. The attackers use quipukit's default word vectors; they know
neither the mechanism nor its parameter. R@10 is the share of queries that are among the attacker's first ten guesses.
Every risk is a lower bound. The interval of the strongest allows for its being chosen by these numbers.

The column QuIA is R@10 of quipukit's own run of it ([published](published.md)). It is not among the attackers of which
one is the strongest, nor in the table of our own queries, because its encoder would take most of the time; with ten
guesses it finds more than they do only at FEA@12. `Support` is in neither: what was published need not come from the
lists of words that it knows, and of our own queries it would rank those of CusText and WBB alone, of which `Bayes`
knows the whole law.
"""


OWN = f"""The same settings, obfuscated by quipukit with its default vectors and independent noise, {N} variants, one
seed. By Kerckhoffs's principle the attackers have the mechanism's own vectors, and `Bayes` knows the mechanism and its
value; of AEA and FEA it knows no law (-). quipukit's AEA replaces every word, and hides far more than the published
files of the same name, which send some words as they are and are found (above).
"""


if __name__ == "__main__":
    main()
