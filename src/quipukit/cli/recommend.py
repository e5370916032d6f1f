"""``quipukit recommend``: which setting to use within a budget of risk."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from quipukit.cli.console import plain, print_json, print_table, print_tsv, print_wrapped, wide_enough

if TYPE_CHECKING:
    from quipukit.recommend import Choice, Recommendation

NOTHING_CERTIFIED = 1


def recommend(
    folder: Path = typer.Argument(help="A result: the folder that `quipukit evaluate -o` wrote."),
    max_risk: float = typer.Option(0.1, min=0, max=1, help="The risk that is allowed."),
    persona: str | None = typer.Option(
        None, help="lazy (one guess), active (ten), motivated (reads on), or as in the result. [active]"
    ),
    attacker: str | None = typer.Option(
        None, help="One of the result's attackers, or a persona as in --persona. [the strongest]"
    ),
    min_utility: float | None = typer.Option(None, min=0, max=1, help="Ask for at least this mean utility."),
    measure: str | None = typer.Option(None, help="Measure of utility. [the result's first]"),
    system: str | None = typer.Option(None, help="Search system. [the result's first]"),
    n: int | None = typer.Option(None, "-n", min=1, help="Of a sweep over N, which one. [the largest]"),
    references: bool = typer.Option(False, "--references", help="Let Identity and Random compete."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    as_tsv: bool = typer.Option(False, "--tsv", help="Print all settings as tab-separated rows."),
) -> None:
    """Recommend the setting that finds most among those certified to keep a budget of risk.

    Certified (statistics): with 95 % confidence the risk on new queries keeps the budget, the choice among all settings
    of the result allowed for. Where nothing can be certified, the best candidate is named with the number of queries
    that it would take. Where the attacker's log lacks so many originals that any setting keeps the budget, nothing is
    recommended. See docs/reliability.md.

    Exit codes: 0 a setting is certified; 1 none is, and the output says what is missing; 2 a wrong input.

    \b
    Examples:
      quipukit recommend runs/x
      quipukit recommend runs/x --max-risk 0.05 --persona lazy --min-utility 0.4
      quipukit recommend runs/x --persona motivated --json
    """
    from quipukit.measures.risk import is_persona
    from quipukit.results import Result

    if attacker is not None and persona is None and is_persona(attacker):
        attacker, persona = None, attacker

    advice = Result.load(folder).recommend(
        max_risk=max_risk,
        persona=persona,
        attacker=attacker,
        min_utility=min_utility,
        measure=measure,
        system=system,
        include_references=references,
        n=n,
    )
    if as_json:
        print_json(_plain(advice))
    elif as_tsv:
        print_tsv(advice.settings)
    else:
        _show(advice)
    if advice.best is None:
        raise typer.Exit(NOTHING_CERTIFIED)


def _roles(advice: "Recommendation") -> "dict[str, Choice]":
    """Return the settings that the answer is about, each once, by the part it plays."""
    if advice.best is not None:
        roles = {"best": advice.best, "runner-up": advice.runner_up}
    else:
        reached = advice.within_utility if advice.min_utility is not None else None
        roles = {
            "candidate": advice.candidate,
            "least risk": advice.least_risky,
            "within risk": advice.within_risk if advice.candidate is None else None,
            "min utility": reached,
        }
    named: dict[str, list[str]] = {}
    by_name = {choice.name: choice for choice in roles.values() if choice is not None}
    for role, choice in roles.items():
        if choice is not None:
            named.setdefault(choice.name, []).append(role)
    return {", ".join(parts): by_name[name] for name, parts in named.items()}


def _show(advice: "Recommendation") -> None:
    from quipukit.measures.risk import risk_label

    print_wrapped(advice.sentence)
    wide = wide_enough(90)
    rows = [
        [
            role,
            choice.name,
            plain(choice.budget),
            f"{choice.risk:.2f} (<= {choice.risk_high:.2f})",
            f"{choice.utility:.2f} (>= {choice.utility_low:.2f})",
            *([_share(choice.kept)] if wide else []),  # the sentence says it too
        ]
        for role, choice in _roles(advice).items()
    ]
    kept = ["kept"] if wide else []
    print_table("", ["", "setting", "N x epsilon", "risk", advice.measure, *kept], rows)
    percent = f"{100 * advice.level:g} %"
    print()
    print_wrapped(
        f"In brackets what holds on new queries with {percent} confidence, for all {len(advice.settings)} settings "
        "together."
    )
    for note in advice.notes:
        print_wrapped(f"- {note}", "  ")
    front = [
        [_name(row), plain(row["budget"]), f"{row['risk']:.3f}", f"{row['utility']:.3f}", _share(row["kept"])]
        for row in advice.frontier.to_dict("records")
    ]
    print_table("Frontier", ["setting", "N x epsilon", "risk", advice.measure, "kept"], front)
    original = ""
    if advice.original is not None:
        original = (
            f" The original queries reach {advice.original:.3f} with one list of documents; what is kept is the share "
            "of what they find among as many documents as a setting pools."
        )
    print()
    print_wrapped(
        f"On the frontier are the settings that no other one beats in both risk and utility{_left_out(advice)}. "
        f"Measured with {advice.system}, the "
        f"{risk_label(advice.attacker, advice.persona, bool(advice.other_attackers))} persona and {advice.queries} "
        f"queries.{original}"
    )


def _left_out(advice: "Recommendation") -> str:
    from quipukit.measures.frontier import MOST_POOLED, pools_much

    count = int(pools_much(advice.settings["pooled_share"]).sum())
    if not count:
        return ""
    share = f"{100 * MOST_POOLED:g} % of the collection"
    return f"; {count} of the {len(advice.settings)} settings pool more than {share} and do not count"


def _name(row: dict[Any, Any]) -> str:
    return f"{row['mechanism']}@{plain(row['value'])}" if row["parameter"] else str(row["mechanism"])


def _share(kept: float | None) -> str:
    return "-" if kept is None or kept != kept else f"{100 * kept:.0f} %"


def _plain(advice: "Recommendation") -> dict[str, Any]:
    from dataclasses import asdict, fields

    record = {field.name: getattr(advice, field.name) for field in fields(advice) if field.name != "settings"}
    roles = (
        "best",
        "runner_up",
        "beaten_by",
        "passed_over",
        "candidate",
        "least_risky",
        "within_risk",
        "within_utility",
    )
    for name in roles:
        choice = record[name]
        record[name] = None if choice is None else {"name": choice.name, **asdict(choice)}
    if record["gain"] is not None:
        record["gain"] = dict(zip(("difference", "p"), record["gain"], strict=True))
    for name in ("candidate_needs", "least_needs", "any_needs"):
        record[name] = None if record[name] in (None, float("inf")) else record[name]
    return {
        "sentence": advice.sentence,
        "notes": list(advice.notes),
        **record,
        "front": advice.front.to_dict("records"),
        "frontier": advice.frontier.to_dict("records"),
    }
