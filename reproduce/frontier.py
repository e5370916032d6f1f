"""The frontier of risk and utility, published mechanisms against covers; writes docs/frontier.md.

``python -m reproduce.frontier`` needs ``../shared/data``. For every collection it runs two experiments, which resume
where they were stopped: with the queries in the public pool, and with a pool without them. The attacker's log is the
same for both, and holds the queries. ``python -m reproduce.frontier dl19`` runs one collection; the page shows what has
been run.
"""

import argparse
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduce.mixture import mixture_lines

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
ATTACKERS = ("panel", "Bayes", "Bayes(prior=style)")
# In the pool only: outside it, too, it draws from the pool. Its law takes a pass over all pairs of queries of the log.
DRAWN = ("QueryExp@20", "QueryExp@32")
OURS = ("Cover@50", "Cover@100", "Cover(members=50)@100", "Cover(members=50)@200", "Decoys@50")
FEW = 10  # variants, beside the usual number


@dataclass(frozen=True)
class Setup:
    """A collection with its queries, judgments and log, as files; and what is sent, so that at most 2 % is pooled."""

    collection: str
    log: str
    queries: str | None = None
    qrels: str | None = None
    n: int = 50
    ours: tuple[str, ...] = OURS
    shallow: tuple[str, ...] = ()  # with fewer results of each, where that keeps them within 2 %
    encoder: str = "static:default"  # of QuIA, and for the user's re-ranking
    every: int = 1  # of the collection's queries, where there are many
    few: bool = False  # whether published mechanisms are also measured with fewer variants
    title: str = ""
    note: str = ""  # what a reader has to know to understand the figures


SETUPS = {
    "dl19": Setup(
        str(DATA / "msmarco_pool"),
        str(LOG),
        str(DATA / "dl19" / "topics.tsv"),
        str(DATA / "dl19" / "qrels.txt"),
        shallow=("Cover@100",),
        encoder="minilm",
        few=True,
        title="DL'19, 31,249 passages of MS MARCO",
    ),
    "vaswani": Setup(
        str(DATA / "vaswani"),
        str(LOG),
        n=20,
        ours=("Cover(members=20)@50", "Cover(members=20)@100", "Cover(members=20)@200", "Decoys@20"),
        title="Vaswani, 11,429 abstracts",
        note="**Cover does not hold here.** The log has hardly any query about the physics of radio waves beside "
        "these. In the pool their groups mix subjects, so that 20 representatives find little; outside it they are the "
        "only ones of their kind in a group, and whoever knows how such users write finds them. A pool hides queries "
        "only of subjects that it has many queries about.",
    ),
    "wordnet": Setup(
        "wordnet",
        "wordnet",
        ours=(*OURS, "Cover@200"),
        every=3,
        title="the built-in collection, 117,659 entries of WordNet",
    ),
}
DEPTH, SHALLOW = 10, 6


def main() -> None:
    """Run what is named, or all, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="COLLECTION", help=f"{', '.join(SETUPS)}; all where none is given")
    parser.add_argument("--runs", nargs="+", metavar="RUN", help="in, out, few, 'shallow in', 'shallow out'; else all")
    parser.add_argument("--page", action="store_true", help="only write the page, of what has been run")
    given = parser.parse_args()
    if unknown := sorted(set(given.names) - set(SETUPS)):
        parser.error(f"there is no {unknown[0]}; there are {', '.join(SETUPS)}.")
    os.environ.setdefault("QUIPUKIT_HOME", str(ROOT / ".cache" / "quipukit-reproduce"))
    if not DATA.is_dir():
        sys.exit("needs the public data in ../shared/data, beside the checkout")
    from quipukit.experiment.progress_view import ProgressView
    from quipukit.experiment.run import run

    with ProgressView() as view:
        for name in [] if given.page else given.names or SETUPS:
            encode_documents(SETUPS[name])
            for where in given.runs or runs_of(SETUPS[name]):
                start = time.monotonic()
                run(options_of(SETUPS[name], where), RUNS / name / where, listener=view)
                print(f"== {name}, {where}: {time.monotonic() - start:,.0f} s", file=sys.stderr)
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}; the runs are in .cache/reproduce/frontier", file=sys.stderr)


def runs_of(setup: Setup) -> tuple[str, ...]:
    """Return the names of a collection's experiments."""
    more = ("shallow in", "shallow out") if setup.shallow else ()
    return ("in", "out", *(("few",) if setup.few else ()), *more)


def encode_documents(setup: Setup) -> None:
    """Encode the whole collection once, for all experiments: which documents are met says nothing about a query."""
    from quipukit.collections.load import load_collection
    from quipukit.encoders.load import load_encoder
    from quipukit.encoders.store import EncodingStore

    if not setup.encoder.startswith("static"):
        texts = [text for _, text in load_collection(setup.collection).documents()]
        EncodingStore(load_encoder(setup.encoder)).ensure(texts, "document")


def options_of(setup: Setup, where: str) -> Any:
    """Return an experiment: queries in the pool, or outside it; or (few) published mechanisms with fewer variants."""
    from quipukit.experiment.grid import expand
    from quipukit.experiment.options import Options
    from quipukit.retrieval.system import SystemSpec

    specs = {"in": (*PUBLISHED, *setup.ours, *DRAWN), "out": setup.ours, "few": PUBLISHED}.get(where, setup.shallow)
    return Options(
        collection=setup.collection,
        queries=str(query_file(setup)) if setup.every > 1 else setup.queries,
        qrels=setup.qrels,
        log=setup.log,
        pool=str(pool_file(setup, "out" if where.endswith("out") else "in")),
        specs=tuple(expand(specs)),
        n=(FEW if where == "few" else setup.n,),
        depth=SHALLOW if where.startswith("shallow") else DEPTH,
        encoder=setup.encoder,
        systems=(SystemSpec("bm25", setup.encoder),),
        attackers=ATTACKERS,
        growth=False,
    )


def query_file(setup: Setup) -> Path:
    """Return the file of the queries; write it where they are those of the collection, or every so many of them."""
    from quipukit.collections.load import load_collection

    if setup.queries:
        return Path(setup.queries)
    path = RUNS / "pools" / f"{Path(setup.collection).name}-queries.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    own = load_collection(setup.collection).queries().iloc[:: setup.every]
    own.to_csv(path, sep="\t", index=False, header=False, quoting=3, escapechar=None)
    return path


def pool_file(setup: Setup, where: str) -> Path:
    """Write the pool: the log with all queries, or without any of them; sources stay where the log names them."""
    import pandas as pd

    from quipukit.attackers.log import read_log
    from quipukit.io.logs import read_kinds
    from quipukit.io.queries import read_queries
    from quipukit.text import key

    asked = read_queries(query_file(setup))
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
    from reproduce.sessions import in_short

    lines = [_HEAD]
    for name, setup in SETUPS.items():
        folders = {where: RUNS / name / where for where in runs_of(setup)}
        done = {where: folder for where, folder in folders.items() if (folder / "manifest.json").is_file()}
        if {"in", "out"} <= set(done):
            lines += _section(setup, {where: Result.load(folder) for where, folder in done.items()})
        else:
            lines += [f"## {setup.title[0].upper()}{setup.title[1:]}", "", "Not measured yet.", ""]
    return "\n".join([*lines, *in_short()]) + "\n"


def _section(setup: Setup, results: dict[str, Any]) -> list[str]:
    tables = {where: _settings(result, where) for where, result in results.items()}
    best = float(tables["in"].loc["Identity", "utility"])
    inside = _joined(tables, ("in", "shallow in"))
    outside = _joined(tables, ("out", "shallow out"))
    published = _joined(tables, ("few",)) if setup.few else inside.iloc[:0]
    ranker = {"minilm": "MiniLM"}.get(setup.encoder, "static word vectors")
    lines = [
        f"## {setup.title[0].upper()}{setup.title[1:]}",
        "",
        f"{len(results['in'].queries)} queries. BM25 to depth {DEPTH}, re-ranked by {ranker} on the user's side: the "
        f"original finds {best:.3f} (nDCG@10). {setup.n} variants, where the mechanism does not say itself how many it "
        "sends.",
        "",
        *((setup.note, "") if setup.note else ()),
        *_TABLE,
        *(_line(str(name), row, best) for table in (inside, published) for name, row in table.iterrows()),
        *("", "Outside the pool:", "", *_TABLE),
        *(_line(str(name), row, best) for name, row in outside.iterrows()),
    ]
    return [
        *lines,
        "",
        *mixture_lines(_places(inside, best), _places(outside, best)),
        "",
        *_frontier(inside, published),
        "",
    ]


def _joined(tables: "dict[str, pd.DataFrame]", names: tuple[str, ...]) -> "pd.DataFrame":
    """Return the settings of some experiments, without references."""
    import pandas as pd

    both = pd.concat([tables[name] for name in names if name in tables])
    return both[~both["reference"]]


def _line(name: str, row: Any, best: float) -> str:
    much = ", **too much**" if row["pools_much"] else ""
    random = "" if np.isnan(row["random"]) else f"{row['random']:.3f}"
    cells = (
        *(name, f"{row['variants']:.0f}", f"{_interval(row, 'risk')} {row['strongest']}", _interval(row, "utility")),
        *(f"{row['utility'] / best:.0%}", f"{row['need']:.2f}", f"{row['pooled_share']:.1%}{much}"),
        *(f"{row['ceiling']:.3f}", random),
    )
    return f"| {' | '.join(cells)} |"


def _places(table: "pd.DataFrame", best: float) -> dict[str, tuple[float, float]]:
    return {str(name): (row["risk"], row["utility"] / best) for name, row in table.iterrows()}


def _frontier(*tables: "pd.DataFrame") -> list[str]:
    """Return which settings no other one beats, all numbers of variants together."""
    import pandas as pd

    from quipukit.measures.frontier import pareto

    both = pd.concat(tables)
    both = both[~both["pools_much"]]
    kept = both[pareto(both["risk"].to_numpy(float), both["utility"].to_numpy(float))].sort_values("risk")
    names = ", ".join(f"{name} ({row['risk']:.3f}, {row['utility']:.3f})" for name, row in kept.iterrows())
    return [f"On the frontier, of what counts (R@10, nDCG@10), queries in the pool: {names}."]


def _settings(result: Any, where: str) -> "pd.DataFrame":
    """Return every setting by its name: what places it on the frontier, and which attacker is strongest."""
    from quipukit.measures.strongest import strongest_names
    from quipukit.report.frontier import frontier_frame
    from quipukit.report.views import views_of

    [view] = views_of([result])
    table = frontier_frame(view)
    scores = result.scores
    names = strongest_names(scores[(scores["side"] == "risk") & (scores["measure"] == "R@10")])
    keys = ["mechanism", "value"]
    table = table.merge(names[[*keys, "attacker"]].rename(columns={"attacker": "strongest"}), on=keys, how="left")
    beside = {"few": f", {FEW} variants"}.get(where, f", depth {SHALLOW}" if where.startswith("shallow") else "")
    return table.set_index(table["name"].where(table["reference"], table["name"] + beside))


def _interval(row: Any, side: str) -> str:
    return f"{row[side]:.3f} [{row[f'{side}_low']:.2f}, {row[f'{side}_high']:.2f}]"


_TABLE = (
    "| setting | sent | R@10, strongest | nDCG@10 | of the original | need | pooled | original, as many | random, "
    "as many |",
    "|---" * 9 + "|",
)
_HEAD = """# The frontier: what still finds, and still hides

Written by `python -m reproduce.frontier`. Every setting is attacked by the whole panel, by Bayes, who knows the
mechanism and its parameter, and by Bayes with the prior of style, who also knows how such users write. R@10 is that of
the strongest of them, with a 95 % interval that holds for all of them at once. *Need*: what consensus or the best guess
tells of the information need, whichever is more. *Pooled*: the share of the collection that is fetched; a result counts
only up to 2 %. *Original, random, as many*: what the query itself, and random words, find among as many documents.

*In the pool*: the queries are among the public ones that covers hide in. *Outside*: they are not, and are never sent.
Mechanisms that use no pool are the same in both.

Which share of a user's queries does a public pool hold? The log holds every query once, so it cannot be counted there.
But of three of its sources it is known how many queries were published (`python -m reproduce.mixture`); what is missing
equals a query of another source before it or one of its own, or was left out for a reason that is not recorded:

| log | queries of other sources before it | published | of these in the log | in the pool, at most |
|---|---|---|---|---|
| mq2008 | 10,000 | 10,000 | 9,736 | 2.6% |
| mq2009 | 19,736 | 40,000 | 39,938 | 0.2% |
| terabyte05-efficiency | 59,674 | 50,000 | 40,168 | 19.7% |

These are upper limits, the last one of a stream in which users repeat each other: so a held-out log is in the pool to
20 % at most, and perhaps hardly at all. The headline of a cover is therefore the range from none to 20 % in the pool,
and who wants to be safe reads the figures outside it. The topics of DL'19 are no held-out log: all 43 are in this one,
because it contains the public topics of MS MARCO; of Vaswani's 93 topics and of the 157 built-in queries none is.
"""


if __name__ == "__main__":
    main()
