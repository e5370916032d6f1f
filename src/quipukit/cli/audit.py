"""``quipukit audit``: does a mechanism keep what it claims?"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from quipukit.cli.console import prepare, print_json, print_table, print_wrapped, progress, say
from quipukit.errors import InputError

if TYPE_CHECKING:
    from quipukit.auditing.findings import Audit


def audit(
    specs: list[str] | None = typer.Argument(
        None, metavar="SPEC ...", help="The mechanism; several are audited as one release."
    ),
    file: Path | None = typer.Option(None, help="Audit a file or a folder of obfuscated queries made elsewhere."),
    against: str | None = typer.Option(None, metavar="SPEC", help="The mechanism that the file is said to come from."),
    queries: Path | None = typer.Option(None, help="The originals of the file. [in the file, or unknown]"),
    claim: float | None = typer.Option(None, help="Audit this epsilon in the place of the mechanism's own."),
    vectors: str | None = typer.Option(None, help="Word vectors. [the default pack]"),
    pool: str | None = typer.Option(None, help="Public queries for Cover and QueryExp: a log file. [wordnet]"),
    partition: Path | None = typer.Option(None, help="The file that divides the pool into groups."),
    draws: int = typer.Option(200_000, help="Samples of the mechanism's own vocabulary, over all inputs."),
    inputs: int = typer.Option(1000, help="Inputs to compare where the law has a closed form."),
    variants: int = typer.Option(2, "-n", "--variants", help="Variants of a query to audit together."),
    noise: str = typer.Option("independent", help="Between several settings: independent, or common."),
    alarm: float = typer.Option(0.001, help="Probability of a false alarm, over all checks together."),
    seed: int = typer.Option(7, help="Chooses the inputs and the draws."),
    output: Path | None = typer.Option(None, "-o", "--output", help="Write a page for a reviewer (.md or .html)."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Say whether a mechanism keeps what it claims: holds, not violated, or violated, with a counter-example.

    Where the law of the outputs is known, the worst privacy loss is exact, over a sample of the inputs. Otherwise draws
    give a lower bound, on the mechanism's own vocabulary and on toy vocabularies in one to three dimensions, where a
    loss can be seen. The exit code is 1 if the claim is violated.

    \b
    Examples:
      quipukit audit CMP@10
      quipukit audit "CusText(k=20)@10" -o audit.html
      quipukit audit SanText@10 --claim 5
      quipukit audit CMP@1 CMP@2 --noise common --json
      quipukit audit Cover@100 --pool log.tsv --partition log.cover
      quipukit audit --file published/dl19/CMP
      quipukit audit --file obfuscated.csv --queries topics.tsv --against CusText@10
    """
    from quipukit.auditing.page import check_page
    from quipukit.auditing.run import audit

    if noise not in ("independent", "common"):
        raise InputError(f"noise must be independent or common (found {noise!r}).", argument="noise")
    if file is not None and claim is not None:
        raise InputError("a file is audited without a claim; leave it out, or name a mechanism.", argument="claim")
    for flag, given in (("against", against), ("queries", queries)):
        if file is None and given is not None:
            raise InputError("this is about a file; give the file with --file.", argument=flag)
    if output is not None:
        check_page(output)
    resources: dict[str, Any] = {}
    if vectors is not None:
        from quipukit.vectors.sources import load_vectors

        resources["vectors"] = load_vectors(vectors)
    if pool is not None or partition is not None:
        from quipukit.covers.load import load_partition
        from quipukit.covers.pool import BUILT_IN

        with progress("dividing the pool") as shown:
            resources["cover"] = load_partition(pool or BUILT_IN, partition, progress=shown)
    if (file is None) == (not specs):
        raise InputError("name a mechanism, as in 'quipukit audit CMP@10', or give a file with --file; not both.")
    if file is not None:
        outcome = _of_file(file, queries, against, resources.get("vectors"), alarm)
        _end(outcome, output, as_json)
        return
    assert specs
    from quipukit.obfuscation import mechanism as bind

    mechanisms = [bind(one, **resources) for one in specs]
    prepare(mechanisms)
    with progress("auditing") as shown:
        outcome = audit(
            mechanisms[0] if len(mechanisms) == 1 else mechanisms,
            claim=claim,
            draws=draws,
            inputs=inputs,
            n=variants,
            noise=noise,  # type: ignore[arg-type]
            alarm=alarm,
            seed=seed,
            progress=shown,
        )
    if len(mechanisms) == 1 and claim is None:
        from quipukit.auditing.kept import keep

        keep(outcome, mechanisms[0], draws)
    _end(outcome, output, as_json)


def _of_file(file: Path, queries: Path | None, against: str | None, vectors: Any, alarm: float) -> "Audit":
    from quipukit.auditing.files import audit_file
    from quipukit.io.obfuscated import read_obfuscated
    from quipukit.io.queries import read_queries

    table, originals = read_obfuscated(file)
    if queries is not None:
        originals = read_queries(queries)
    return audit_file(table, originals, against=against, vectors=vectors, alarm=alarm, name=file.name)


def _end(outcome: "Audit", output: Path | None, as_json: bool) -> None:
    """Show what was found, and end with 1 where a claim is violated."""
    from quipukit.auditing.page import write_page

    if output is not None:
        write_page(outcome, output)
        say(f"wrote {output}")
    if as_json:
        print_json(outcome.to_dict())
    else:
        _show(outcome)
    if outcome.verdict == "violated":
        raise typer.Exit(1)


def _show(outcome: "Audit") -> None:
    print_wrapped(f"{outcome.mechanism}: {outcome.verdict}. It claims: {outcome.guarantee}.", "  ")
    rows = [
        [
            check.name,
            check.verdict,
            _number(check.finding.loss) if check.finding and check.method != "compared" else "",
            _number(check.finding.claimed) if check.finding and check.finding.claimed and outcome.private else "",
            _number(check.limit) if check.method == "sampled" and check.limit < float("inf") else "",
            f"{check.draws:,}" if check.draws else "",
        ]
        for check in outcome.checks
    ]
    print_table(outcome.about, ["check", "verdict", "loss seen", "claimed", "could have seen", "draws"], rows)
    print()
    for check in outcome.checks:
        if (check.finding is not None and check.verdict != "not violated") or check.method == "compared":
            print_wrapped(f"- {check.name}: {check.sentence()}.", "  ")
    for line in filter(None, (*outcome.skipped, outcome.floating_point)):
        print_wrapped(f"- {line}", "  ")
    print_wrapped(
        "- Losses in nats; of sampled checks, lower bounds that hold together but for a probability of "
        f"{outcome.alarm:g}. See docs/audit.md.",
        "  ",
    )


def _number(value: float) -> str:
    return "infinite" if value == float("inf") else f"{value:.3g}"
