"""``quipukit report``: what an experiment found, as one page, figures and tables."""

import json
import shutil
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from quipukit.cli.console import print_json, print_table, print_tsv, progress, say, wide_enough

if TYPE_CHECKING:
    import pandas as pd

    from quipukit.report.table_model import Sheet
    from quipukit.report.views import Block
    from quipukit.report.write import Report

_WIDE = 190  # columns of Table 1 with three attackers, two scores and their intervals
_FILL = 110


def report(
    runs: list[Path] = typer.Argument(metavar="RUN", help="Folders that `quipukit evaluate -o` wrote."),
    output: Path | None = typer.Option(
        None, "-o", "--output", help="Folder of the report. [RUN/report; of several runs: report]"
    ),
    measure: str | None = typer.Option(None, help="The measure of utility. [the first that was measured]"),
    examples: bool = typer.Option(True, help="Show example queries; --no-examples leaves out every text of a query."),
    figures: str = typer.Option("pdf,svg,png", help="Formats of the figures for papers, or none."),
    points: bool = typer.Option(False, "--points", help="Print risk and utility of every setting too."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON; with --points, of the settings."),
    as_tsv: bool = typer.Option(False, "--tsv", help="Print tab-separated rows; with --points, of the settings."),
) -> None:
    """Write a report of one or several experiments: a page for browsers, figures and tables for papers.

    The folder gets report.html, which needs no network, figures/ (PDF, SVG, PNG) and tables/ (CSV, LaTeX). On stdout is
    Table 1: QuIPU and hypervolume of every mechanism against every attacker, and the points of mechanisms that have one
    setting alone. Without judgments it is the risk of every setting. What an earlier report left in the folder is
    replaced; files of others stay.

    \b
    Examples:
      quipukit report runs/wordnet
      quipukit report runs/wordnet runs/vaswani -o report --measure nDCG@10
      quipukit report runs/wordnet --no-examples --figures none --tsv
    """
    from quipukit.report.narrative import cautions
    from quipukit.report.write import Report
    from quipukit.results import Result

    formats = [] if figures == "none" else [kind.strip() for kind in figures.split(",")]
    made = Report([Result.load(run) for run in runs], measure=measure, runs=[str(run) for run in runs])
    with progress("writing the report") as show:
        page = made.write(output or _usual(runs), examples=examples, formats=formats, progress=show)
    if as_json or as_tsv:
        _print_frame(made.points_frame if points else made.frame, as_json)
        for block in {id(block.result): block for block in made.blocks}.values():
            for line in cautions(block.result):
                say(f"warning: {block.run}: {line}")
    else:
        print_report(made, points)
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


def print_report(made: "Report", points: bool = False) -> None:
    """Print Table 1, or where nothing was judged the risks; one table per block, and per attacker in a narrow terminal.

    Below it stand risk and utility of every setting (``points``), or of the mechanisms that have one setting alone:
    they have no curve, and their score says nothing.
    """
    from quipukit.report import tables

    judged = [block for block in made.blocks if block.judged]
    sheets = []
    for block in judged:
        name = block.name if len(made.blocks) > 1 else ""
        if wide_enough(_WIDE):
            sheets.append((name, tables.table_1([block])))
        else:
            sheets += [(name, tables.table_1([block], [who])) for who in block.attackers]
    for number, (name, sheet) in enumerate(sheets, 1):
        # Explained once, below the last, with every mark that any of them has.
        caption = tables.table_1(judged).caption if number == len(sheets) else ""
        _print_sheet(sheet, name, caption, strategies=wide_enough(_WIDE))
    for block in judged:
        _print_points(block, block.name if len(made.blocks) > 1 else "", points)
    for block in made.blocks:
        if not block.judged:
            sheet = tables.points(block)
            _print_sheet(sheet, f"{block.name}: no judgments, so this is risk alone", sheet.caption)


def _print_points(block: "Block", name: str, every: bool) -> None:
    from quipukit.report.narrative import setting_name
    from quipukit.report.table_model import number, percent

    single = set(block.scores.loc[block.scores["single"], "mechanism"])
    shown = block.points[block.points["mechanism"].isin(block.result.mechanisms if every else single)]
    if shown.empty:
        return
    settings: dict[str, list[str]] = {}
    for row in shown.to_dict("records"):
        spec = setting_name(row["mechanism"], row["parameter"], row["value"])
        settings.setdefault(spec, [number(row["utility"]), percent(row["kept"])]).append(number(row["risk"]))
    what = "Every setting" if every else "One setting makes no curve; its risk and utility"
    asked, judged = block.queries
    caption = (
        f"Mean {block.measure} over {judged} queries, and mean risk over {asked} against each attacker. Kept: the "
        "share of what the original query finds among as many documents."
    )
    rows = [[spec, *cells] for spec, cells in settings.items()]
    title = f"{name}: {what[0].lower()}{what[1:]}" if name else what
    print_table(title, ["setting", block.measure, "kept", *block.attackers], rows, _filled(caption))


def _print_sheet(sheet: "Sheet", title: str, caption: str, strategies: bool = True) -> None:
    rows = [
        [
            *(["" if number else section.heading] if strategies else []),
            *(("*" if cell.bold else "") + cell.plain for cell in row),
        ]
        for section in sheet.sections
        for number, row in enumerate(section.rows)
    ]
    # What is bold on paper has a star on a terminal, and code needs no marks.
    words = caption.replace("Bold:", "*").replace("`", "")
    print_table(title, [*(["Strategy"] if strategies else []), *sheet.headings], rows, _filled(words))


def _filled(caption: str) -> str:
    width = min(_FILL, shutil.get_terminal_size().columns) if sys.stdout.isatty() else _FILL
    return textwrap.fill(caption, width, break_on_hyphens=False)
