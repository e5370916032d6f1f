"""``quipukit obfuscate``: one query or a file of them."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from quipukit.cli.console import plain, prepare, print_json, print_table, print_tsv, progress, say
from quipukit.errors import InputError, SpecError
from quipukit.settings import Setting

if TYPE_CHECKING:
    import pandas as pd

    from quipukit.guarantees import Guarantee
    from quipukit.mechanisms.base import Mechanism
    from quipukit.obfuscation import Obfuscation

_DEFAULT = "VickreyMhl"
POOL_HELP = "Public queries to hide among (Cover and the like): a file, or wordnet."
PARTITION_HELP = "The file that divides the pool into groups. [made once, and kept]"
VECTORS_HELP = "Word vectors: the name of a pack or of installed ones, or a text file. [the default pack]"
FILTER_HELP = "Remove words from the vocabulary: 'offensive', or a public file with one word per line."

_EXAMPLES = """
Examples:

\b
  quipukit obfuscate "how tumor grows" -m VickreyMhl -e 12.5 -n 20
  quipukit obfuscate "how tumor grows" -m CMP -m "CusText(k=20)" -e 5 10 --seed 7 --json
  quipukit obfuscate --queries topics.tsv -m CMP -e 1 5 10 -n 50 -o obfuscated.csv
  quipukit obfuscate --queries topics.tsv -m CMP -e 1 5 10 -n 50 --layout pypantera -o results/
  quipukit obfuscate --collection wordnet -m TEM -e 2 -n 10 -o obfuscated.csv
  quipukit obfuscate - < queries.txt          (one query per line; keeps them out of the process list)
"""


def obfuscate(
    query: str | None = typer.Argument(None, help="The query; '-' reads queries from standard input, one per line."),
    mechanism: list[str] = typer.Option(
        [], "-m", "--mechanism", help=f"A mechanism, as CMP or 'CusText(k=20)@10'; repeat for more. [{_DEFAULT}]"
    ),
    epsilon: list[float] = typer.Option(
        [], "-e", "--epsilon", help="Epsilons, for every mechanism without '@'; several."
    ),
    n: int = typer.Option(20, "-n", "--variants", help="Obfuscated variants per query."),
    queries: Path | None = typer.Option(None, help="A file of queries: qid, tab, query; or CSV, JSON lines, Parquet."),
    collection: str | None = typer.Option(
        None, help="Obfuscate the queries of a collection: wordnet, irds:ID, a folder."
    ),
    seed: int | None = typer.Option(
        None, help="Root seed, for experiments. Without it the noise comes from ChaCha20 with keys from the OS."
    ),
    noise: str = typer.Option("independent", help="'independent', or 'common' for sweeps (needs --seed)."),
    vectors: str | None = typer.Option(None, help=VECTORS_HELP),
    vocabulary_filter: str | None = typer.Option(None, help=FILTER_HELP),
    pool: str | None = typer.Option(None, help=f"{POOL_HELP} [wordnet]"),
    partition: Path | None = typer.Option(None, help=PARTITION_HELP),
    output: Path | None = typer.Option(None, "-o", "--output", help="Write to a .csv, .tsv, .jsonl or .parquet file."),
    layout: str = typer.Option(
        "quipukit",
        help="Layout of the output: quipukit; or pypantera, dp-comet, geco, which hold the originals too (a file, or a "
        "folder with one file per setting).",
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    as_tsv: bool = typer.Option(False, "--tsv", help="Print tab-separated rows."),
) -> None:
    """Obfuscate a query, or a file of queries, with one or more mechanisms."""
    from quipukit.frames import queries_frame
    from quipukit.io.layouts import OWN, check_layout
    from quipukit.io.obfuscated import with_budget, write_obfuscated
    from quipukit.io.tables import FORMATS
    from quipukit.obfuscation import bind, obfuscate_with_notes
    from quipukit.vectors.sources import load_vectors

    asked = queries_of(query, queries, collection)
    check_layout(layout)
    if layout != OWN and output is None:
        raise InputError(f"--layout {layout} is the layout of a file; name it with -o.")
    if output is not None and output.suffix not in FORMATS and (layout == OWN or output.suffix):
        raise InputError(f"{output}: cannot tell the format; end the name in {', '.join(FORMATS)}.")
    specs = _specs(mechanism or [_DEFAULT], epsilon)
    named = vectors is not None or vocabulary_filter is not None
    loaded = load_vectors(vectors, vocabulary_filter=vocabulary_filter) if named else None
    resources: dict[str, Any] = {"vectors": loaded}
    if pool is not None or partition is not None:
        from quipukit.covers.load import load_partition
        from quipukit.covers.pool import BUILT_IN

        with progress("dividing the pool") as show:
            resources["cover"] = load_partition(pool or BUILT_IN, partition, progress=show)
    mechanisms = bind(specs, **resources)
    prepare(mechanisms)
    with progress("obfuscating") as show:
        done = obfuscate_with_notes(asked, mechanisms, n, seed=seed, noise=noise, progress=show)  # type: ignore[arg-type]
    table = done.table
    spent = Spent(mechanisms, queries_frame(asked), n, seed, noise)
    if output is not None:
        write_obfuscated(table, output, layout, asked)
        say(f"wrote {len(table):,} obfuscated queries to {output}")
        if layout != OWN:
            say(f"warning: {output} holds the original queries in the column 'text'; keep it on your side")
        for line in spent.lines():
            say(line)
    elif as_json:
        print_json(_as_json(spent, done))
    elif as_tsv:
        print_tsv(with_budget(table))
    else:
        _print(table, spent.lines(), with_ids=table["qid"].nunique() > 1)
    if not as_json:  # JSON has them inside
        for line in note_lines(done.notes):
            say(line)


obfuscate.__doc__ = (obfuscate.__doc__ or "") + "\n" + _EXAMPLES


def queries_of(query: str | None, file: Path | None, collection: str | None) -> Any:
    """Return the queries that a command names: one, those of a file, or those of a collection."""
    from quipukit.io.queries import read_queries

    if sum(given is not None for given in (query, file, collection)) != 1:
        raise InputError(
            'give one query or a file: quipukit obfuscate "how tumor grows", or --queries topics.tsv, '
            "or --collection wordnet."
        )
    if file is not None:
        return read_queries(file)
    if collection is not None:
        from quipukit.collections.load import load_collection

        return load_collection(collection).queries()
    if query != "-":
        return [query]
    try:
        # Not splitlines(): it also divides at separators that may stand inside a query.
        lines = [line for line in sys.stdin.read().removeprefix("\ufeff").split("\n") if line.strip()]
    except UnicodeDecodeError:
        raise InputError("standard input is not UTF-8; convert it, for instance with iconv.") from None
    if not lines:
        raise InputError("standard input holds no query; write one per line.")
    if any("\0" in line for line in lines):
        raise InputError(
            "standard input holds a NUL byte, so it is not text in UTF-8; convert it, for instance with iconv."
        )
    return lines


def _specs(names: Sequence[str], epsilons: Sequence[float]) -> list[Any]:
    """Combine every mechanism that does not set its parameter with every epsilon, or with its default."""
    from quipukit.mechanisms.base import default_value
    from quipukit.obfuscation import with_values
    from quipukit.specs import format_value

    def usual(cls: "type[Mechanism]") -> list[float]:
        if epsilons:
            example = format_value(cls.grid[0] if cls.grid else default_value(cls))
            raise SpecError(f"{cls.name} has no epsilon; set its {cls.parameter}, as in {cls.name}@{example}.")
        return [default_value(cls)]

    return with_values(names, epsilons, usual)


@dataclass(frozen=True)
class Spent:
    """What was promised and what it cost: each setting alone, per query, and all settings together."""

    mechanisms: Sequence["Mechanism"]
    queries: "pd.DataFrame"
    n: int
    seed: int | None
    noise: str

    def per_query(self, mechanism: "Mechanism") -> list[float]:
        """Return N * L * epsilon of every query, L its number of words; nothing where there is no epsilon."""
        if mechanism.parameter != "epsilon":
            return []
        total = Setting.of(mechanism, self.n).budget
        return [total * mechanism.spent_on(query) for query in self.queries["query"]]

    def joint(self) -> "Guarantee":
        """Return what all settings promise together."""
        from quipukit.guarantees import joint
        from quipukit.mechanisms.base import RootSeed

        owner = RootSeed(self.seed, self.noise).owner  # type: ignore[arg-type]
        return joint([(owner(one), one.guarantee.composed(self.n)) for one in self.mechanisms])

    def lines(self) -> list[str]:
        """Say what each setting promises, what n variants add up to, and what all settings promise together."""
        from quipukit.auditing.kept import claim_of

        lines = [f"{one.spec!r}: {claim_of(one)}{self._composed(one)}" for one in self.mechanisms]
        if len(self.mechanisms) > 1:
            lines.append(f"all settings together, N = {self.n} ({self.noise} noise): {self.joint()}")
        senders = [repr(one.spec) for one in self.mechanisms if one.sends_original]
        if senders:
            lines.append(
                f"{', '.join(senders)}: the query itself may be among what is sent, by design (sends_original)"
            )
        return lines

    def _composed(self, mechanism: "Mechanism") -> str:
        each = self.per_query(mechanism)
        if not each:
            return ""
        total = plain(Setting.of(mechanism, self.n).budget)
        query = plain(max(each))
        if len(each) > 1:
            query = f"{plain(round(sum(each) / len(each), 2))} in the mean, {query} at most"
        if mechanism.guarantee.private:
            return f"; N = {self.n}, composed budget {total}, per query {query}"
        return f" (N * epsilon = {total}, N * L * epsilon = {query})"


def _as_json(spent: Spent, done: "Obfuscation") -> dict[str, Any]:
    from quipukit.auditing.kept import claim_of

    settings = []
    for one in spent.mechanisms:
        rows, flags = (
            frame[(frame["mechanism"] == one.spec.family) & (frame["value"] == one.value)]
            for frame in (done.table, done.notes)
        )
        each = spent.per_query(one)
        settings.append(
            {
                "mechanism": one.spec.family,
                "value": one.value,
                "parameter": one.parameter,
                "n": spent.n,
                "budget": Setting.of(one, spent.n).budget if each else None,
                "budget_query": dict(zip(spent.queries["qid"], each, strict=True)) if each else None,
                "guarantee": claim_of(one),
                "sends_original": one.sends_original,
                "variants": rows[["qid", "variant", "query"]].to_dict("records"),
                "notes": flags[["qid", "flag", "count"]].to_dict("records"),
            }
        )
    chosen = {"n": spent.n, "seed": spent.seed, "noise": spent.noise}
    return {**chosen, "together": str(spent.joint()), "settings": settings}


def _print(table: "pd.DataFrame", caption: Sequence[str], with_ids: bool) -> None:
    headings = ["mechanism", "parameter", "value", *(["qid"] if with_ids else []), "obfuscated query"]
    rows = []
    last: tuple[Any, ...] = ()
    for row in table.itertuples(index=False):
        setting = (row.mechanism, row.parameter, plain(row.value) if row.parameter else "")
        # A setting is named once, above its variants: the eye finds where the next one begins.
        rows.append([*(setting if setting != last else ("", "", "")), *([row.qid] if with_ids else []), row.query])
        last = setting
    print_table("", headings, rows, "\n".join(caption))


def note_lines(notes: "pd.DataFrame") -> list[str]:
    """Put the flags of a run into words, one line for each kind."""
    words = {
        "oov": "words outside the vocabulary, treated by the policy 'oov'",
        "passed": "words sent as they are, by the mechanism's definition",
        "empty": "queries with nothing to obfuscate, so nothing is sent, or empty texts",
        "no_obfuscation": "queries for which no variant was found, so nothing is sent",
        "too_many": "queries with too many candidates to weigh (a smaller window or fewer terms has fewer)",
        "outside": "queries outside the public pool: a cover takes the nearest group, which helps little where "
        "the pool is in another language or about other subjects",
        "fewer": "variants fewer than asked for, since there are no more",
    }
    counts: dict[tuple[str, float, str], int] = {}
    for note in notes.to_dict("records"):
        setting = (str(note["mechanism"]), float(note["value"]), str(note["flag"]))
        counts[setting] = counts.get(setting, 0) + int(note["count"])
    mechanisms: dict[tuple[str, int], list[str]] = {}
    for (name, _, flag), count in counts.items():
        mentioned = mechanisms.setdefault((flag, count), [])
        if name not in mentioned:
            mentioned.append(name)
    return [
        f"note: {', '.join(names)}: {_counted(count, words.get(flag, flag))}"
        for (flag, count), names in mechanisms.items()
    ]


def _counted(count: int, words: str) -> str:
    """Return a number and what it counts.

    >>> _counted(1, "queries outside the pool"), _counted(2, "words sent as they are")
    ('1 query outside the pool', '2 words sent as they are')
    """
    noun, _, rest = words.partition(" ")
    one = {"queries": "query", "words": "word", "variants": "variant"}
    return f"{count} {one.get(noun, noun) if count == 1 else noun} {rest}".rstrip()
