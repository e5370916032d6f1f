"""``quipukit report``: what an experiment found, as one page, figures and tables."""

import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from quipukit.cli.console import print_json, print_table, print_tsv, progress, say

if TYPE_CHECKING:
    import pandas as pd

    from quipukit.report.sheet import Sheet
    from quipukit.report.write import Report


def report(
    runs: list[Path] = typer.Argument(metavar="RUN", help="Folders that `quipukit evaluate -o` wrote."),
    output: Path | None = typer.Option(
        None, "-o", "--output", help="Folder of the report. [RUN/report; of several runs: report]"
    ),
    measure: str | None = typer.Option(None, help="The measure of utility. [the first that was measured]"),
    examples: bool = typer.Option(True, help="Show example queries; --no-examples leaves out every text of a query."),
    figures: str = typer.Option("pdf,svg,png", help="Formats of the figures for papers, or none."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    as_tsv: bool = typer.Option(False, "--tsv", help="Print tab-separated rows."),
) -> None:
    """Write a report of one or several experiments: a page for browsers, figures and tables for papers.

    The folder gets report.html, which needs no network, figures/ (PDF, SVG, PNG) and tables/ (CSV, LaTeX). On stdout is
    Table 1: the QuIPU score of every mechanism against every attacker. Without judgements it is the risk of every
    setting.

    \b
    Examples:
      quipukit report runs/wordnet
      quipukit report runs/wordnet runs/vaswani -o report --measure nDCG@10
      quipukit report runs/wordnet --no-examples --figures none --tsv
    """
    from quipukit.report.write import Report
    from quipukit.results import Result

    formats = [] if figures == "none" else [kind.strip() for kind in figures.split(",")]
    made = Report([Result.load(run) for run in runs], measure=measure)
    with progress("writing the report") as show:
        page = made.write(output or _usual(runs), examples=examples, formats=formats, progress=show)
    if as_json or as_tsv:
        _print_frame(made.frame, as_json)
    else:
        print_report(made)
    say(f"wrote {page}")


def _usual(runs: list[Path]) -> Path:
    """Return where a report goes unasked: that of one run beside it, that of several beside none of them."""
    return runs[0] / "report" if len(runs) == 1 else Path("report")


def _print_frame(frame: "pd.DataFrame", as_json: bool) -> None:
    if as_json:
        # Through pandas, whose numbers JSON does not know.
        print_json(json.loads(frame.to_json(orient="records")))
    else:
        print_tsv(frame)


def print_report(made: "Report") -> None:
    """Print Table 1, or where nothing was judged the risks; one table a block, for two are wider than a terminal."""
    from quipukit.report import tables

    judged = [block for block in made.blocks if block.judged]
    for block in judged:
        # Explained once, below the last, with every mark that any of them has.
        caption = tables.table_1(judged).caption if block is judged[-1] else ""
        _print_sheet(tables.table_1([block]), block.name if len(made.blocks) > 1 else "", caption)
    for block in made.blocks:
        if not block.judged:
            sheet = tables.points(block)
            _print_sheet(sheet, f"{block.name}: no judgements, so this is risk alone", sheet.caption)


def _print_sheet(sheet: "Sheet", title: str, caption: str) -> None:
    rows = [
        ["" if number else section.heading, *(("*" if cell.bold else "") + cell.plain for cell in row)]
        for section in sheet.sections
        for number, row in enumerate(section.rows)
    ]
    # What is bold on paper has a star on a terminal, and code needs no marks.
    words = textwrap.fill(caption.replace("Bold:", "*").replace("`", ""), 110, break_on_hyphens=False)
    print_table(title, ["Strategy", *sheet.headings], rows, words)
