"""Sample queries from Bayes's prior, attack them with everybody, and write docs/bayes_sampled_measured.md.

``python -m reproduce.bayes_sampled`` needs ``../shared/data``. Of queries that are drawn from the prior, no attacker
with the same log finds more on average than the posterior does: where one does beyond chance, a law is wrong. As a
control, Bayes is told another epsilon.
"""

import argparse
import dataclasses
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from reproduce.published import DATA, ROOT

PAGE = ROOT / "docs" / "bayes_sampled_measured.md"
AGNOSTIC = ("QuIA", "Words", "Positional", "Lexical", "MaxSim", "Style", "Fusion")
SETTINGS = ("SanText@1.75", "SanText+@0.5", "TEM@1.75", "CusText(k=500)@0.5", "WBB(n=2000)@0.5")
COUNTED = ("TEM@1.75",)  # attacked once more with counts in the log
N = 1
MEASURES = ("P@1", "R@10")
WRONG = 2.0  # times the right epsilon
ERRORS = 3.3  # standard errors to each side of a difference: there are about a hundred
SEED = 11


def main() -> None:
    """Sample, attack, compare and write; the exit code says whether Bayes was beaten."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=200, help="how many to sample for each setting")
    count = parser.parse_args().queries
    os.environ.setdefault("QUIPUKIT_HOME", str(ROOT / ".cache" / "quipukit-reproduce"))
    if not DATA.is_dir():
        sys.exit("needs the public data in ../shared/data, beside the checkout")
    import quipukit as qk
    from quipukit.attackers.log import QueryLog

    log = qk.read_log(DATA / "querylog" / "queries.tsv.gz")
    # The log has no counts: made-up ones fall as 1 / rank, over its queries in random order.
    ranks = np.random.default_rng(SEED).permutation(len(log)) + 1
    counted = QueryLog.of(log.texts, (1 + len(log) // ranks).tolist())
    option = "" if count == parser.get_default("queries") else f" --queries {count}"
    head = HEAD.format(option=option, count=count, log=len(log), n=N, errors=ERRORS, wrong=WRONG)
    rows: list[Row] = []
    for prior, known, specs in (("uniform", log, SETTINGS), ("counts", counted, COUNTED)):
        start = time.monotonic()
        rows += compare(known, specs, count, prior)
        print(f"{prior}: {time.monotonic() - start:,.0f} s", file=sys.stderr)
        PAGE.write_text("\n".join([head, *table(rows), "", verdict(rows), ""]), encoding="utf-8")
    sys.exit(1 if any(row.low > 0 for row in rows) else 0)


@dataclasses.dataclass(frozen=True)
class Row:
    """An attacker's risk by one measure, and by how much it is above that of Bayes."""

    setting: str
    prior: str
    measure: str
    attacker: str
    risk: float
    difference: float = 0.0
    low: float = 0.0
    high: float = 0.0


def compare(log: Any, specs: Sequence[str], count: int, prior: str) -> list[Row]:
    """Obfuscate a sample of the log with every setting, and return how every attacker fares beside Bayes."""
    import quipukit as qk

    drawn = np.random.default_rng(SEED).choice(len(log), count, p=log.counts / log.counts.sum())
    qids = [f"q{number}" for number in range(count)]
    queries = pd.DataFrame({"qid": qids, "query": [log.texts[row] for row in drawn]})
    right = [qk.mechanism(spec) for spec in specs]
    sent = qk.obfuscate(queries, right, N, seed=SEED, noise="independent")
    wrong = [dataclasses.replace(one, epsilon=WRONG * one.epsilon) for one in right]
    twins = sent.assign(value=sent["value"] * WRONG)
    uniform = ["Bayes(prior=uniform)"] if prior == "counts" else []
    ranks = [
        qk.attack(sent, queries, log, attackers=AGNOSTIC, encoder="static:default"),
        qk.attack(pd.concat([sent, twins]), queries, log, attackers=["Bayes", *uniform], mechanisms=[*right, *wrong]),
    ]
    few = sent[sent["mechanism"].str.startswith(("CusText", "WBB"))]  # Support knows the law of these alone
    if len(few):
        ranks.append(qk.attack(few, queries, log, attackers=["Support"], mechanisms=right))
    risks = qk.risk(pd.concat(ranks, ignore_index=True))
    rows = []
    for one, other in zip(right, wrong, strict=True):
        own = risks[(risks["mechanism"] == one.spec.family) & (risks["value"] == one.value)]
        misled = risks[(risks["mechanism"] == one.spec.family) & (risks["value"] == other.value)]
        misled = misled[misled["attacker"] == "Bayes"].assign(attacker=TWIN)
        rows += beside_bayes(pd.concat([own, misled]), repr(one.spec), prior)
    return rows


def beside_bayes(risks: pd.DataFrame, setting: str, prior: str) -> list[Row]:
    """Return every attacker's risk at a setting, and its difference to that of Bayes, paired by query."""
    rows = []
    for measure in MEASURES:
        scores = risks[risks["measure"] == measure].pivot(index="qid", columns="attacker", values="score")
        own = scores.pop("Bayes")
        rows.append(Row(setting, prior, measure, "Bayes", float(own.mean())))
        for name in sorted(scores, key=lambda name: (name.startswith("Bayes"), name)):
            differences = scores[name] - own
            middle, error = float(differences.mean()), ERRORS * float(differences.sem())
            rows.append(
                Row(setting, prior, measure, name, float(scores[name].mean()), middle, middle - error, middle + error)
            )
    return rows


def table(rows: Sequence[Row]) -> list[str]:
    """Return the risks of all, and of the best of the others the difference to Bayes."""
    names = list(dict.fromkeys(row.attacker for row in rows))
    lines = [f"| setting | prior | measure | {' | '.join(names)} | best of the others, difference |"]
    lines.append("|" + "---|" * (len(names) + 4))
    for setting, prior, measure in dict.fromkeys((row.setting, row.prior, row.measure) for row in rows):
        own = {row.attacker: row for row in rows if (row.setting, row.prior, row.measure) == (setting, prior, measure)}
        risks = " | ".join(f"{own[name].risk:.3f}" if name in own else "" for name in names)
        best = max((row for name, row in own.items() if not name.startswith("Bayes")), key=lambda row: row.risk)
        shown = f"{best.attacker} {best.difference:+.3f} ({best.low:+.3f} to {best.high:+.3f})"
        lines.append(f"| {setting} | {prior} | {measure} | {risks} | {shown} |")
    return lines


def verdict(rows: Sequence[Row]) -> str:
    """Say whether any attacker found more than Bayes beyond chance, and what the wrong epsilon lost."""
    compared = [row for row in rows if row.attacker != "Bayes"]
    beaten = [row for row in compared if row.low > 0]
    twins = [row.difference for row in rows if row.attacker == TWIN]
    losses = f"The wrong epsilon changes a risk by {min(twins):+.3f} to {max(twins):+.3f}."
    if beaten:
        names = ", ".join(f"{row.attacker} at {row.setting} ({row.measure}, {row.difference:+.3f})" for row in beaten)
        return f"**Beaten**, beyond chance, in {len(beaten)} of {len(compared)} comparisons: {names}. {losses}"
    return f"In none of {len(compared)} comparisons does an attacker find more than Bayes beyond chance. {losses}"


TWIN = "Bayes, wrong epsilon"
HEAD = """# Bayes on queries from its prior

Written by `python -m reproduce.bayes_sampled{option}`. See [attackers](attackers.md) for what each attacker does.

For each setting {count} queries are drawn from the log of {log:,}, as often as the prior of `Bayes` says, and
obfuscated with quipukit's default vectors; every attacker ranks the whole log. N is {n}, so that there is something
left to find. The law of these mechanisms is known in closed form: on average over such queries no attacker
with the same log has a higher P@1 or R@10. `QuIA` encodes with `static:default`. *Bayes, wrong epsilon* takes epsilon
for {wrong:g} times what it is. The log has no counts; in the rows *counts* made-up ones fall as 1/rank, and the queries
are drawn accordingly. The last column is the best of the others beside `Bayes`, paired by query, give or take
{errors:g} standard errors.
"""


if __name__ == "__main__":
    main()
