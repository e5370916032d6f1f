"""``quipukit score``: risk and utility of every setting as one number per mechanism."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from quipukit.cli.console import print_json, print_table, print_tsv, say
from quipukit.errors import FileError, InputError

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("mechanism", "value", "risk", "utility")
_NAMES = ("collection", "mechanism", "attacker", "persona", "measure")
_HEADINGS = {
    "quipu": "QuIPU",
    "positive": "R+",
    "negative": "R-",
    "hypervolume": "hypervolume",
    "best_0.01": "U@0.01",
    "best_0.05": "U@0.05",
    "best_0.1": "U@0.1",
    "anchored": "anchored",
}
_SINGLE = "single point: points that coincide score 0 wherever they lie; compare the hypervolume, or add settings"
_NARROW = (
    "narrow: the points span so much of the diagonal, less than 10 %; the score is close to 0 whatever the mechanism "
    "does and is not to be ranked; compare the hypervolume"
)
_TURNED = (
    "runs backwards: the curve ends with less risk and utility than it begins with, so the score has the sign of its "
    "opposite and is not to be ranked; if larger values hide more, say so in a column hides_more"
)
_BACKWARD = (
    "backward: s = (risk + utility) / sqrt 2 falls along the curve, by so much in all; such parts count with the "
    "opposite sign, and the range [-1, 1] is not assured"
)


def score(
    points: Path = typer.Argument(
        help="A table with columns mechanism, value, risk, utility; also collection, parameter, hides_more, "
        "attacker, persona, measure."
    ),
    order: str = typer.Option("parameter", help="Join the points by parameter (as published), risk or diagonal."),
    hides_more: str = typer.Option(
        "smaller",
        help="Which values hide more, smaller or larger: of mechanisms not installed, where no column says so.",
    ),
    anchor: str | None = typer.Option(
        None, help="Add end points: corners (0,0) and (1,1), or original: (0,0) and (1, the original's utility)."
    ),
    original: float | None = typer.Option(
        None, "--original", help="Utility of the original queries, for the hypervolume. [that of Identity, else 1]"
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    as_tsv: bool = typer.Option(False, "--tsv", help="Print tab-separated rows."),
) -> None:
    """Score the risk and utility of a mechanism's settings: QuIPU, its parts above and below the diagonal, companions.

    QuIPU is twice the signed area between the diagonal and the points from most to least hidden: positive where more is
    found than given away. U@0.05 is the best utility at a risk of at most 0.05. A curve that spans less than 10 % of
    the diagonal is marked narrow, and one that ends lower than it begins is said to run backwards: such scores are not
    to be ranked.

    \b
    Examples:
      quipukit score points.csv
      quipukit score points.csv --original 0.67 --json
      quipukit score points.tsv --order risk --anchor corners --tsv
      quipukit score mine.csv --hides-more larger
    """
    from quipukit.measures.quipu import quipu_table

    given = _read(points)
    assumed = _assume(given, hides_more)
    table = quipu_table(given, order, anchor, original)  # type: ignore[arg-type]
    if assumed:
        other = "larger" if hides_more == "smaller" else "smaller"
        say(
            f"note: {', '.join(assumed)}: not installed, so {hides_more} values are taken to hide more; if {other} "
            f"ones do, say so with --hides-more {other} or in a column hides_more"
        )
    if as_json:
        print_json(table.to_dict("records"))
        return
    if as_tsv:
        print_tsv(table)
        return
    _show(table)


def _show(table: "pd.DataFrame") -> None:
    from quipukit.measures.curves import BACKWARDS, SHORT, SINGLE

    names = [name for name in _NAMES if name == "mechanism" or table[name].ne("").any()]
    rows = []
    for row in table.to_dict("records"):
        length = f" {100 * row['length']:.2g} %" if row["unranked"] == SHORT else ""
        flags = [
            *([f"{row['unranked']}{length}"] if row["unranked"] else []),
            *([] if row["monotone"] else [f"backward {row['backward']:.2g}"]),
        ]
        numbers = [_cell(row[name]) for name in _HEADINGS]
        rows.append([*(row[name] for name in names), str(row["points"]), *numbers, ", ".join(flags)])
    print_table("", [*names, "points", *_HEADINGS.values(), "flags"], rows)
    raised = {*table["unranked"], *(["backward"] if not table["monotone"].all() else [])}
    for flag, explanation in {SINGLE: _SINGLE, SHORT: _NARROW, BACKWARDS: _TURNED, "backward": _BACKWARD}.items():
        if flag in raised:
            say(f"note: {explanation}")


def _assume(points: "pd.DataFrame", hides_more: str) -> list[str]:
    """Fill in which values hide more where neither the file nor a class says so; return for which mechanisms."""
    from quipukit.registry import installed_class

    if hides_more not in ("smaller", "larger"):
        raise InputError(f"--hides-more must be smaller or larger (found {hides_more!r}).")
    silent = points[points["hides_more"] == ""]
    unknown = [name for name in dict.fromkeys(silent["mechanism"]) if installed_class(name) is None]
    points.loc[points["mechanism"].isin(unknown) & (points["hides_more"] == ""), "hides_more"] = hides_more
    counts = silent.groupby("mechanism")["value"].nunique()
    return [name for name in unknown if counts[name] > 1]  # one point has no order


def _cell(number: float) -> str:
    return "-" if number != number else f"{number:.4f}"


def _read(path: Path) -> "pd.DataFrame":
    from quipukit.frames import POINTS
    from quipukit.io.tables import check_cells, read_table
    from quipukit.measures.points import points_frame

    shape = f"write a header {','.join(_COLUMNS)} and one line per setting"
    try:
        table = read_table(path)
    except FileError as fault:
        raise FileError(f"{fault} For points, {shape}.") from None
    missing = [column for column in _COLUMNS if column not in table.columns]
    if missing:
        # Only the columns that are known: the first line of a file without a header may be a query.
        known = ", ".join(repr(column) for column in _COLUMNS if column in table.columns) or "none of its columns"
        raise FileError(f"{path} has no column {missing[0]!r} (found {known}); {shape}.")
    check_cells(path, table, POINTS.columns)
    if table.empty:
        raise FileError(f"{path} holds no point; {shape}.")
    if "hides_more" not in table.columns:
        table["hides_more"] = ""
    try:
        points_frame(table)
    except InputError as fault:
        raise FileError(f"{path}: {fault}") from None
    return table
