"""``quipukit cover``: divide a public log into groups to hide in, and say what that promises."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from quipukit.cli.console import print_json, print_table, print_wrapped, progress, say
from quipukit.errors import InputError

if TYPE_CHECKING:
    from quipukit.covers.partition import Partition

_EXAMPLES = 5  # queries of a group that are shown


def cover(
    pool: str = typer.Argument("wordnet", help="Public queries: a log file, or wordnet, the built-in log."),
    k: int = typer.Option(50, "-k", min=2, help="The least number of queries in a group."),
    output: Path | None = typer.Option(None, "-o", "--output", help="Write the partition to this file (.cover)."),
    partition: Path | None = typer.Option(None, help="Read this partition instead of making one."),
    encoder: str = typer.Option("minilm", help="Says which queries are alike: minilm, static:default, or another."),
    collection: str | None = typer.Option(
        None, help="Let those queries of a group stand for it (members=N) that find most in this collection."
    ),
    users: Path | None = typer.Option(
        None, help="Queries of users like yours: adds the bound for an attacker who knows how they write."
    ),
    show: int = typer.Option(3, min=0, help="How many groups to show."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Divide public queries into fixed groups for Cover, and show what the groups promise and what they do not.

    A partition is a file with a SHA-256. Everybody who hides with it sends the same groups; making it again would give
    others. A log with a column 'source' keeps queries of different sources apart. The pool must be public: one made of
    the queries of a few people gives away what they asked.

    \b
    Examples:
      quipukit cover
      quipukit cover log.tsv -k 100 -o log.cover
      quipukit cover log.tsv --partition log.cover -k 200 --users topics.tsv
      quipukit cover log.tsv --collection docs/ -o log.cover
      quipukit obfuscate "how tumor grows" -m Cover@100 --pool log.tsv --partition log.cover
    """
    import numpy as np

    from quipukit.covers.describe import Description
    from quipukit.covers.load import LEAF, load_partition
    from quipukit.covers.partition import SUFFIX
    from quipukit.covers.pool import BUILT_IN
    from quipukit.mechanisms.cover import Cover

    if output is not None and output.suffix != SUFFIX:
        raise InputError(f"{output}: end the name of a partition in {SUFFIX}.")
    ready = pool == BUILT_IN and partition is None and encoder == "minilm" and k >= LEAF
    with progress("encoding the pool") as shown:
        made = (
            load_partition()
            if ready
            else load_partition(pool, partition, leaf=k, description=Description(encoder), progress=shown)
        )
    if collection is not None:
        made = _covering(made, collection)
    mechanism = Cover(k=k, cover=made)
    guarantee: Any = mechanism.guarantee
    bounds = _bounds(made, k, users)
    shown_groups = _spread(len(made.starts(k)) - 1, show)
    examples = [made.members(number, k, _EXAMPLES) for number in shown_groups]
    digest = made.save(output) if output is not None else None
    if as_json:
        print_json(
            {
                "pool": {"name": made.pool.name, "queries": len(made.pool), "sha256": made.pool.sha256},
                "partition": {"groups": len(made.starts(k)) - 1, "least": guarantee.k, "fingerprint": made.fingerprint},
                "file": None if digest is None else {"name": output.name if output else "", "sha256": digest},
                "promises": list(guarantee.promises),
                "limits": list(guarantee.limits),
                "bounds": bounds,
                "examples": examples,
            }
        )
        return
    print_wrapped(
        f"{len(made.pool):,} queries of {made.pool.name} in {len(made.starts(k)) - 1:,} groups of {guarantee.k:,} or "
        f"more; partition {made.fingerprint[:16]}"
    )
    rows = [[one["prior"], f"{one['P@1']:.3f}", f"{one['R@10']:.3f}", f"{one['worst R@10']:.3f}"] for one in bounds]
    print_table(
        "At most, for queries drawn from the prior",
        ["prior", "P@1", "R@10", "R@10, worst group"],
        rows,
        "On average over queries drawn from the prior; no attacker with this prior exceeds it.",
    )
    for heading, sentences in (("Promised:", guarantee.promises), ("Not promised:", guarantee.limits)):
        print_wrapped(heading)
        for sentence in sentences:
            print_wrapped(f"- {sentence}", indent="  ")
    for number, texts in zip(shown_groups, examples, strict=True):
        more = " ..." if np.diff(made.starts(k))[number] > len(texts) else ""
        print_wrapped(f"Group {number + 1:,}: {' | '.join(texts)}{more}")
    if digest is not None:
        say(f"wrote {output}, SHA-256 {digest}")


def _covering(made: "Partition", name: str) -> "Partition":
    """Return the partition with representatives that find most in a collection."""
    from quipukit.collections.load import load_collection
    from quipukit.covers.coverage import DEPTH, covering
    from quipukit.retrieval.load import load_retriever
    from quipukit.retrieval.pool import search_distinct

    with progress("indexing") as shown:
        retriever = load_retriever("bm25", load_collection(name), progress=shown)
    with progress("searching with every query of the pool") as shown:
        rankings = search_distinct(made.pool.texts, retriever, DEPTH, shown)
    return covering(made, [rankings[text].docnos for text in made.pool.texts])


def _bounds(made: "Partition", k: int, users: Path | None) -> list[dict[str, Any]]:
    """Return the bounds under every prior that is known."""
    import numpy as np

    from quipukit.covers.bounds import prior_bound

    groups = made.groups_of(made.pool.texts, k)
    priors = {"uniform": np.ones(len(made.pool))}
    if len(set(made.pool.counts.tolist())) > 1:
        priors["count"] = made.pool.counts.astype(np.float64)
    if users is not None:
        from quipukit.attackers.base import KnownLog, Sent
        from quipukit.attackers.style import Style
        from quipukit.io.queries import read_queries

        style = Style()
        style.prepare(KnownLog(made.pool.texts, np.ones(len(made.pool), np.int64)))
        odds = style.log_odds(Sent((), others=tuple(sorted(set(read_queries(users)["query"])))))
        priors["style"] = np.exp(odds - odds.max(initial=0.0))
    found = {name: prior_bound(groups, weights) for name, weights in priors.items()}
    return [
        {"prior": name, "P@1": one.lazy, "R@10": one.active, "worst R@10": one.worst_active}
        for name, one in found.items()
    ]


def _spread(count: int, wanted: int) -> list[int]:
    """Return some of ``count`` numbers, evenly spread.

    >>> _spread(9, 3), _spread(2, 3)
    ([0, 3, 6], [0, 1])
    """
    wanted = min(wanted, count)
    return [number * count // wanted for number in range(wanted)]
