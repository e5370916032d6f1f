"""The frontier of risk and utility, published mechanisms against covers; writes docs/frontier.md.

``python -m reproduce.frontier`` needs ``../shared/data``. For every collection it runs two experiments, which resume
where they were stopped: with the queries in the public pool, and with a pool without them. The attacker's log is the
same for both, and holds the queries. ``python -m reproduce.frontier dl19`` runs one collection; the page shows what has
been run.
"""

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
DATA = (ROOT.parent / "shared" / "data").resolve()
RUNS = (ROOT / ".cache").resolve() / "reproduce" / "frontier"
PAGE = ROOT / "docs" / "frontier.md"
LOG = DATA / "querylog" / "queries.tsv.gz"
PUBLISHED = (
    *("CMP@5", "CMP@10", "CMP@15", "Mahalanobis@10", "VickreyCMP@10", "VickreyMhl@10"),
    *("TEM@1.5", "SanText@2", "CusText@1", "WBB@5", "AEA@3"),
)
OURS = ("Cover@50", "Cover@100", "Cover(members=50)@100", "Cover(members=50)@200", "Decoys@50")
ATTACKERS = ("panel", "Bayes", "Bayes(prior=style)")
SHARES = (0.0, 0.25, 0.5, 1.0)  # of the queries that are in the pool
MOST_POOLED = 0.02


@dataclass(frozen=True)
class Setup:
    """A collection with its queries, judgments and log, as files."""

    collection: str
    log: str
    queries: str | None = None
    qrels: str | None = None
    topics: int | None = None


SETUPS = {
    "dl19": Setup(
        str(DATA / "msmarco_pool"), str(LOG), str(DATA / "dl19" / "topics.tsv"), str(DATA / "dl19" / "qrels.txt")
    ),
    "vaswani": Setup(str(DATA / "vaswani"), str(LOG), topics=40),
    "wordnet": Setup("wordnet", "wordnet", topics=40),
}


def main(names: list[str]) -> None:
    """Run what is named, or all, and write the page."""
    os.environ.setdefault("QUIPUKIT_HOME", str(ROOT / ".cache" / "quipukit-reproduce"))
    if not DATA.is_dir():
        sys.exit("needs the public data in ../shared/data, beside the checkout")
    from quipukit.experiment.progress_view import ProgressView
    from quipukit.experiment.run import run

    with ProgressView() as view:
        for name in names or SETUPS:
            for where in ("in", "out"):
                start = time.monotonic()
                run(options_of(SETUPS[name], where), RUNS / name / where, listener=view)
                print(f"== {name}, {where}: {time.monotonic() - start:,.0f} s", file=sys.stderr)
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}; the runs are in {RUNS.relative_to(ROOT)}", file=sys.stderr)


def options_of(setup: Setup, where: str) -> Any:
    """Return the experiment with the queries in the pool, or outside it; published mechanisms run once."""
    from quipukit.experiment.grid import expand
    from quipukit.experiment.options import Options

    specs = expand((*PUBLISHED, *OURS) if where == "in" else OURS)
    return Options(
        collection=setup.collection,
        queries=setup.queries,
        qrels=setup.qrels,
        topics=setup.topics,
        log=setup.log,
        pool=str(pool_file(setup, where)),
        specs=tuple(specs),
        n=(50,),
        depth=10,
        attackers=ATTACKERS,
        growth=False,
    )


def pool_file(setup: Setup, where: str) -> Path:
    """Write the pool: the log with all queries, or without any of them; sources stay where the log names them."""
    import pandas as pd

    from quipukit.attackers.log import read_log
    from quipukit.collections.load import load_collection
    from quipukit.io.logs import read_kinds
    from quipukit.io.queries import read_queries
    from quipukit.text import key

    asked = read_queries(setup.queries) if setup.queries else load_collection(setup.collection).queries()
    own = {key(text): text for text in asked["query"]}
    log = read_log(setup.log)
    kinds: list[str] = []
    if Path(setup.log).is_file():
        named = pd.read_csv(setup.log, sep="\t", dtype=str, keep_default_na=False, quoting=3)
        kind_of = {
            key(text): kind for text, kind in zip(named["query"], read_kinds(Path(setup.log)) or [], strict=False)
        }
        kinds = [kind_of.get(key(text), "") for text in log.texts]
    table = pd.DataFrame({"query": log.texts, "source": kinds or [""] * len(log)})
    table = table[[key(text) not in own or where == "in" for text in table["query"]]]
    if where == "in":
        missing = [text for one, text in own.items() if log.row(text) < 0]
        table = pd.concat([table, pd.DataFrame({"query": missing, "source": "topics"})], ignore_index=True)
    path = RUNS / "pools" / f"{Path(setup.collection).name}-{where}.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, sep="\t", index=False, quoting=3, escapechar=None)
    return path


# --- the page ---


def page() -> str:
    """Return the page for all collections that have been run."""
    from quipukit.results.result import Result

    lines = [_HEAD]
    for name in SETUPS:
        folders = [RUNS / name / where for where in ("in", "out")]
        if all((folder / "manifest.json").is_file() for folder in folders):
            lines += _section(name, *(Result.load(folder) for folder in folders))
    return "\n".join(lines) + "\n"


def _section(name: str, inside: Any, outside: Any) -> list[str]:
    both = [_settings(result) for result in (inside, outside)]
    original = float(both[0].loc["Identity", "utility"])
    lines = [
        f"## {name}",
        "",
        f"{len(inside.queries)} queries; the original finds {original:.3f} (nDCG@10, BM25 to depth 10, re-ranked by "
        "MiniLM).",
        "",
        "| setting | sent | R@10 in the pool | nDCG@10 in the pool | need | pooled | R@10 outside | nDCG@10 outside |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for setting, row in both[0].iterrows():
        other = both[1].loc[setting] if setting in both[1].index else row
        much = " (too much)" if row["pooled_share"] > MOST_POOLED else ""
        lines.append(
            f"| {setting} | {row['sent']:.0f} | {_interval(row, 'risk')}, {row['attacker']} | "
            f"{_interval(row, 'utility')}, {row['utility'] / original:.0%} | {row['need']:.2f} | "
            f"{row['pooled_share']:.1%}{much} | {_interval(other, 'risk')}, {other['attacker']} | "
            f"{_interval(other, 'utility')}, {other['utility'] / original:.0%} |"
        )
    lines += ["", *_mixture(both, original), ""]
    return lines


def _mixture(both: "list[pd.DataFrame]", original: float) -> list[str]:
    """Return risk and utility of covers where only a share of the queries is in the pool."""
    shown = [setting for setting in both[0].index if setting in both[1].index and "Cover" in str(setting)]
    heads = " | ".join(f"{share:.0%} in the pool" for share in SHARES)
    lines = [
        "Mixed, R@10 / share of the original's nDCG@10, by how many of a user's queries are in the pool:",
        "",
        f"| setting | {heads} |",
        "|---" * (1 + len(SHARES)) + "|",
    ]
    for setting in shown:
        ins, outs = both[0].loc[setting], both[1].loc[setting]
        cells = [
            f"{share * ins['risk'] + (1 - share) * outs['risk']:.3f} / "
            f"{(share * ins['utility'] + (1 - share) * outs['utility']) / original:.0%}"
            for share in SHARES
        ]
        lines.append(f"| {setting} | {' | '.join(cells)} |")
    return lines


def _settings(result: Any) -> "pd.DataFrame":
    """Return every setting: risk against the strongest with ten guesses, who that is, utility, need, documents."""
    from quipukit.measures.strongest import STRONGEST, strongest_names
    from quipukit.report.views import views_of

    [view] = views_of([result])
    points = view.points
    own = points[(points["attacker"] == STRONGEST) & points["persona"].str.startswith("active")]
    table = own.set_index(_named(own))
    scores = result.scores
    names = strongest_names(scores[(scores["side"] == "risk") & (scores["measure"] == "R@10")])
    table["attacker"] = names.set_index(_named(names))["attacker"].reindex(table.index)
    table["need"] = table[["need_consensus", "need_guess"]].max(axis=1)
    sent = result.obfuscated.groupby(["mechanism", "value"], sort=False).size().div(len(result.queries)).reset_index()
    table["sent"] = sent.set_index(_named(sent))[0].reindex(table.index)
    return table


def _named(table: "pd.DataFrame") -> "pd.Series[str]":
    return table["mechanism"] + table["value"].map(lambda value: f"@{value:g}" if value else "")


def _interval(row: Any, side: str) -> str:
    return f"{row[side]:.3f} [{row[f'{side}_low']:.2f}, {row[f'{side}_high']:.2f}]"


_HEAD = """# The frontier: what still finds, and still hides

Written by `python -m reproduce.frontier`. Every setting is attacked by the whole panel, by Bayes, who knows the
mechanism and its parameter, and by Bayes with the prior of style, who knows how such users write as well. R@10 is that
of the strongest, with who it is and a 95 % interval that holds for all of them at once. Need leakage is the larger of
consensus and the best guess. A result counts only where at most 2 % of the collection is pooled. *In the pool*: the
queries are among the public ones. *Outside*: they are not; mechanisms that use no pool are the same in both.
"""


if __name__ == "__main__":
    main(sys.argv[1:])
