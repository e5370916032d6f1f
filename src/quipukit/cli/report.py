"""``quipukit report``: the results of experiments as one page, figures and tables."""

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

    from quipukit.report.table_model import ReportTable
    from quipukit.report.views import View
    from quipukit.report.write import Report

_WIDE = 190  # characters of Table 1 with three personas, two scores and their intervals
_LINE = 110


def report(
    runs: list[Path] = typer.Argument(metavar="RUN", help="Folders that `quipukit evaluate -o` wrote."),
    output: Path | None = typer.Option(
        None, "-o", "--output", help="Folder of the report. [RUN/report; of several runs: report]"
    ),
    measure: str | None = typer.Option(None, help="The measure of utility. [the first one measured]"),
    examples: bool = typer.Option(True, help="Show example queries; --no-examples leaves out all query texts."),
    figures: str = typer.Option("pdf,svg,png", help="Formats of the figures for papers, or none."),
    points: bool = typer.Option(False, "--points", help="Also print risk and utility of every setting."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON; with --points, one row per setting."),
    as_tsv: bool = typer.Option(False, "--tsv", help="Print tab-separated rows; with --points, one row per setting."),
) -> None:
    """Write a report on one or several experiments: a page for browsers, figures and tables for papers.

    The folder gets report.html, which needs no network, figures/ (PDF, SVG, PNG) and tables/ (CSV, LaTeX). Table 1 goes
    to stdout: QuIPU and hypervolume of every mechanism against every persona, and the points of mechanisms that have a
    single setting. Without judgments it is the risk of every setting. An earlier report in the folder is replaced;
    other files are kept.

    \b
    Examples:
      quipukit report runs/wordnet
      quipukit report runs/wordnet runs/vaswani -o report --measure nDCG@10
      quipukit report runs/wordnet --no-examples --figures none --tsv
    """
    from quipukit.report.run_description import cautions
    from quipukit.report.tables.rows import sweep_text
    from quipukit.report.write import Report
    from quipukit.results import Result

    formats = [] if figures == "none" else [kind.strip() for kind in figures.split(",")]
    made = Report([Result.load(run) for run in runs], measure=measure, runs=[str(run) for run in runs])
    with progress("writing the report") as show:
        page = made.write(output or _default_folder(runs), examples=examples, formats=formats, progress=show)
    if as_json or as_tsv:
        _print_frame(made.points_frame if points else made.frame, as_json)
        for view in {id(view.result): view for view in made.views}.values():
            for line in cautions(view.result):
                say(f"warning: {view.run}: {line}")
            if view.sweep:
                say(f"note: {sweep_text(view)}")
    else:
        print_report(made, points)
    say(f"wrote {page}")


def _default_folder(runs: list[Path]) -> Path:
    """Return the folder of a report that names none: inside the run, or for several runs the folder report."""
    return runs[0] / "report" if len(runs) == 1 else Path("report")


def _print_frame(frame: "pd.DataFrame", as_json: bool) -> None:
    if as_json:
        # By pandas: the json module does not know NumPy numbers.
        print_json(json.loads(frame.to_json(orient="records")))
    else:
        print_tsv(frame)


def print_report(made: "Report", points: bool = False) -> None:
    """Print Table 1, or the risks where nothing was judged; one table per view and attacker.

    In a narrow terminal it is one per persona, of the strongest attacker alone.

    Below it are risk and utility of every setting (``points``), or only of mechanisms with a single setting: they have
    no curve, so their score says nothing.
    """
    from quipukit.report import tables
    from quipukit.report.attacker_gaps import blind_note, warning

    judged = [view for view in made.views if view.judged]
    shown = []
    for view in judged:
        name = view.name if len(made.views) > 1 else ""
        if wide_enough(_WIDE):
            of_each = [[label for label in view.labels if view.attacker(label) == who] for who in view.attackers]
            shown += [(name, tables.table_1([view], labels)) for labels in of_each]
        else:
            shown += [(name, tables.table_1([view], [label])) for label in view.headlines]
    for number, (name, table) in enumerate(shown, 1):
        # One caption, below the last table, explains the marks of all.
        caption = tables.table_1(judged).caption if number == len(shown) else ""
        _print_table(table, name, caption, strategies=wide_enough(_WIDE))
    for view in made.views:
        if text := warning(view):
            say(f"warning: {text}")
        if text := blind_note(view):
            say(f"note: {text}")
    for view in judged:
        _print_points(view, view.name if len(made.views) > 1 else "", points)
    for view in made.views:
        if not view.judged:
            table = tables.points(view)
            _print_table(table, f"{view.name}: no judgments, so this is risk only", table.caption)


def _print_points(view: "View", name: str, every: bool) -> None:
    from quipukit.report.table_model import number, percent
    from quipukit.report.tables.need import need_text
    from quipukit.settings import setting_name

    single = set(view.scores.loc[view.scores["single"], "mechanism"])
    shown = view.points[view.points["mechanism"].isin(view.result.mechanisms if every else single)]
    if shown.empty:
        return
    settings: dict[str, list[str]] = {}
    needs: dict[str, dict[str, str]] = {}
    for row in shown.to_dict("records"):
        spec = setting_name(row["mechanism"], row["parameter"], row["value"])
        settings.setdefault(spec, [number(row["utility"]), percent(row["kept"])]).append(number(row["risk"]))
        needs.setdefault(spec, {"": number(row["need_consensus"])})[row["attacker"]] = number(row["need_guess"])
    what = "All settings" if every else "Mechanisms with a single setting, which have no curve"
    asked, judged = view.queries
    caption = (
        f"Mean {view.measure} over {judged} queries, and mean risk against each persona over {asked}. Kept: the share "
        f"of what the original query finds among as many documents. {need_text(view)}"
    )
    guessed = [f"{name} guess" for name in view.attackers] if len(view.attackers) > 1 else ["guess"]
    headings = [] if view.need.empty else ["consensus", *guessed]
    rows = [[spec, *cells, *(needs[spec].values() if headings else ())] for spec, cells in settings.items()]
    title = f"{name}: {what[0].lower()}{what[1:]}" if name else what
    print_table(title, ["setting", view.measure, "kept", *view.labels, *headings], rows, _wrapped(caption))


def _print_table(table: "ReportTable", title: str, caption: str, strategies: bool = True) -> None:
    rows = [
        [
            *(["" if number else group.heading] if strategies else []),
            *(("*" if cell.bold else "") + cell.plain for cell in row),
        ]
        for group in table.row_groups
        for number, row in enumerate(group.rows)
    ]
    # In a terminal a star stands for bold, and code needs no backquotes.
    text = caption.replace("Bold:", "*").replace("`", "")
    print_table(title, [*(["Strategy"] if strategies else []), *table.headings], rows, _wrapped(text))


def _wrapped(caption: str) -> str:
    width = min(_LINE, shutil.get_terminal_size().columns) if sys.stdout.isatty() else _LINE
    return textwrap.fill(caption, width, break_on_hyphens=False)
