"""``quipukit recommend``: which setting to use within a budget of risk."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from quipukit.cli.console import plain, print_json, print_table, print_tsv, print_wrapped, wide_enough

if TYPE_CHECKING:
    from quipukit.recommend import Choice, Recommendation

NOTHING_FITS = 1


def recommend(
    folder: Path = typer.Argument(help="A result: the folder that `quipukit evaluate -o` wrote."),
    max_risk: float = typer.Option(0.1, min=0, max=1, help="The mean risk that is allowed."),
    attacker: str = typer.Option(
        "active", help="lazy (one guess), active (ten), motivated (reads on), or as in the result."
    ),
    min_utility: float | None = typer.Option(None, min=0, max=1, help="Ask for at least this mean utility."),
    measure: str | None = typer.Option(None, help="Measure of utility. [the result's first]"),
    system: str | None = typer.Option(None, help="Search system. [the result's first]"),
    references: bool = typer.Option(False, "--references", help="Let Identity and Random compete."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    as_tsv: bool = typer.Option(False, "--tsv", help="Print all settings as tab-separated rows."),
) -> None:
    """Recommend the setting that finds most within a budget of risk, and say how sure that is.

    Intervals are over queries. The upper bound of a risk allows for hits that these queries happened not to have. The
    choice is repeated on resampled queries, to tell how often it falls on the same setting and how far it flatters.

    Exit codes: 0 a setting fits; 1 no setting fits, and the output says what would; 2 a wrong input.

    \b
    Examples:
      quipukit recommend runs/x
      quipukit recommend runs/x --max-risk 0.05 --attacker lazy --min-utility 0.4
      quipukit recommend runs/x --attacker motivated --json
    """
    from quipukit.results import Result

    found = Result.load(folder).recommend(
        max_risk=max_risk,
        attacker=attacker,
        min_utility=min_utility,
        measure=measure,
        system=system,
        include_references=references,
    )
    if as_json:
        print_json(_plain(found))
    elif as_tsv:
        print_tsv(found.settings)
    else:
        _show(found)
    if found.best is None:
        raise typer.Exit(NOTHING_FITS)


def _roles(found: "Recommendation") -> "dict[str, Choice]":
    """Return the settings that the answer is about, each once, by the part it plays."""
    if found.best is not None:
        roles = {"best": found.best, "runner-up": found.runner_up, "safe bound": found.safe}
    else:
        reached = found.within_utility if found.min_utility is not None else None
        roles = {"least risk": found.least_risky, "within risk": found.within_risk, "min utility": reached}
    named: dict[str, list[str]] = {}
    by_name = {choice.name: choice for choice in roles.values() if choice is not None}
    for role, choice in roles.items():
        if choice is not None:
            named.setdefault(choice.name, []).append(role)
    return {", ".join(parts): by_name[name] for name, parts in named.items()}


def _show(found: "Recommendation") -> None:
    print_wrapped(found.sentence)
    wide = wide_enough(96)
    percent = f"{100 * found.level:g} %"
    rows = [
        [
            role,
            choice.name,
            *([plain(choice.budget)] if wide else []),
            f"{choice.risk:.2f} [{choice.risk_low:.2f}, {choice.risk_high:.2f}]",
            f"{choice.utility:.2f} [{choice.utility_low:.2f}, {choice.utility_high:.2f}]",
            _share(choice.kept),
        ]
        for role, choice in _roles(found).items()
    ]
    budget = ["N x epsilon"] if wide else []
    print_table("", ["", "setting", *budget, f"risk [{percent}]", f"{found.measure} [{percent}]", "kept"], rows)
    for number, note in enumerate(found.notes):
        print("\n" * (number == 0), end="")
        print_wrapped(f"- {note}", "  ")
    front = [
        [_name(row), plain(row["budget"]), f"{row['risk']:.3f}", f"{row['utility']:.3f}", _share(row["kept"])]
        for row in found.front.to_dict("records")
    ]
    print_table("Pareto front", ["setting", "N x epsilon", "risk", found.measure, "kept"], front)
    told = "" if found.original is None else f" The original queries reach {found.original:.3f}."
    print()
    print_wrapped(
        f"On the front no setting has both less risk and more utility. Measured with {found.system}, the "
        f"{found.attacker} attacker and {found.queries} queries.{told}"
    )


def _name(row: dict[Any, Any]) -> str:
    return f"{row['mechanism']}@{plain(row['value'])}" if row["parameter"] else str(row["mechanism"])


def _share(kept: float | None) -> str:
    return "-" if kept is None or kept != kept else f"{100 * kept:.0f} %"


def _plain(found: "Recommendation") -> dict[str, Any]:
    from dataclasses import asdict, fields

    told = {field.name: getattr(found, field.name) for field in fields(found) if field.name != "settings"}
    for name in ("best", "runner_up", "safe", "least_risky", "within_risk", "within_utility"):
        choice = told[name]
        told[name] = None if choice is None else {"name": choice.name, **asdict(choice)}
    for name in ("lead", "gain"):
        if told[name] is not None:
            told[name] = dict(zip(("difference", "low", "high", "p"), told[name], strict=True))
    return {
        "sentence": found.sentence,
        "notes": list(found.notes),
        "chosen_share": found.chosen_share,
        "keeps_budget": found.keeps_budget,
        **told,
        "front": found.front.to_dict("records"),
    }
