"""The findings in sentences: which mechanism is best against each persona, and what is found within a risk budget."""

from dataclasses import dataclass

import pandas as pd

from quipukit.errors import InputError
from quipukit.measures.bootstrap import Score
from quipukit.measures.curves import BACKWARDS, NARROW, SHORT, SINGLE
from quipukit.report.table_model import interval, number, percent, share
from quipukit.report.views import SCORES, View, ranked_by
from quipukit.report.wording import capitalized, join
from quipukit.settings import ORIGINAL, setting_name

BUDGET = 0.1
_PERSONAS = {
    "lazy": "takes the first guess (P@1)",
    "active": "reads the first ten guesses (R@10)",
    "motivated": "reads on until the original appears (RR)",
}


@dataclass(frozen=True)
class Leader:
    """The mechanism with the best score of one kind, and whether that may be chance; "none" where nothing is ranked."""

    by: str
    best: str
    score: str
    interval: str
    rivals: str
    caution: str


@dataclass(frozen=True)
class Finding:
    """What a view says about one persona: by QuIPU, by hypervolume, and within a risk budget."""

    persona: str
    reads: str  # how far down the ranking
    leaders: tuple[Leader, ...]
    within: str


def findings(view: View) -> list[Finding]:
    """Return the best mechanism against every persona, and what is found at a risk of at most 10 %."""
    return [
        Finding(
            persona=label,
            reads=_PERSONAS.get(view.persona(label), ""),
            leaders=tuple(_leader(view, label, score) for score in SCORES),
            within=_within(view, label),
        )
        for label in view.headlines
    ]


def lead(view: View) -> str:
    """Return a sentence on the utility of the references, between which all mechanisms lie."""
    if not view.judged:
        return (
            f"{view.name} has no relevance judgments, so this report shows risk only. Add judgments (qrels) and "
            "evaluate again to get utility, the risk-utility plane and the QuIPU score."
        )
    ends = {
        name: float(view.curve(name, view.labels[0])["utility"].iloc[0])
        for name in (ORIGINAL, "Random")
        if name in view.references
    }
    parts = []
    if ORIGINAL in ends:
        depth = next((each.get("depth") for each in view.result.manifest["systems"] if each["name"] == view.system), 0)
        among = f" among the first {depth} documents, as in the paper" if depth else ""
        parts.append(f"With the original queries a user finds {view.measure} {number(ends[ORIGINAL])}{among}")
        ceilings = view.ceilings["ceiling"]
        if len(ceilings):
            low, high = number(ceilings.min()), number(ceilings.max())
            range_ = low if low == high else f"{low} to {high}"
            parts.append(f"among as many documents as the settings pool, {range_}")
    elif view.result.manifest.get("sent"):
        parts.append("what the original queries find was not measured, because they were not sent over the network")
    if "Random" in ends:
        parts.append(f"random words find {number(ends['Random'])} by chance")
    sentence = "; ".join(parts)
    return f"{capitalized(sentence)}." if sentence else ""


def sweep(view: View) -> str:
    """Return a sentence on the N that the page shows; empty where the experiment did not sweep over N."""
    if view.sweep is None:
        return ""
    ns = [str(n) for n in view.sweep.ns]
    return (
        f"The experiment sent N = {join(ns)} variants per query. Everything here is for N = {ns[-1]}, except in the "
        "section Effect of N."
    )


def safest(view: View) -> list[tuple[str, str]]:
    """Return, for a view without utility, the lowest risk against every persona and its setting."""
    lines = []
    for label in view.headlines:
        rows = view.points[(view.points["label"] == label) & view.points["mechanism"].isin(view.mechanisms)]
        if len(rows):
            row = rows.loc[rows["risk"].idxmin()]
            if not view.result.in_log:
                lines.append((label, f"none: {view.result.log_ceiling}"))
                continue
            name = setting_name(row["mechanism"], row["parameter"], row["value"])
            # The setting's own interval would not account for choosing the lowest of many.
            bound = f"at most {number(row['risk_bound'])} on new queries"
            chosen = f"corrected for the choice among {len(rows)} settings"
            lines.append((label, f"{name}: {number(row['risk'])}, {bound}, {chosen}"))
    return lines


def _leader(view: View, label: str, score: Score) -> Leader:
    by, prefix = {"quipu": "QuIPU", "hypervolume": "hypervolume"}[score], SCORES[score]
    if not view.result.in_log:
        return Leader(by, "none", "", "", "", capitalized(view.result.log_ceiling))
    scores = view.scores[view.scores["label"] == label]
    ranked = ranked_by(score, scores)
    unranked = _unranked(scores[~scores["rankable"]]) if score == "quipu" else ""
    if ranked.empty:
        caution = unranked or "No mechanism finds anything at a risk below 1."
        return Leader(by, "none", "", "", "", caution if len(scores) else "Only references were run; add a mechanism.")
    if not ranked[f"{prefix}best"].any():
        top = ranked.loc[ranked[score].idxmax()]
        caution = f"The largest is {top['mechanism']}'s, {number(top[score])}. {_unranked(scores[~scores['rankable']])}"
        return Leader(by, "none", "", "", "", caution)
    row = ranked[ranked[f"{prefix}best"]].iloc[0]
    level = list(ranked.loc[~ranked[f"{prefix}best"] & ~ranked[f"{prefix}worse"], "mechanism"])
    rivals = ""
    if level:
        rivals = f"Its lead over {join(level)} may be due to chance."
    elif len(ranked) > 1:
        every = "every other mechanism" if len(ranked) == len(scores) else "every other ranked mechanism"
        rivals = f"Significantly better than {every}."
    negative = "Even the best has more risk than utility." if score == "quipu" and row["quipu"] <= 0 else ""
    bounds = interval(row[f"{prefix}low"], row[f"{prefix}high"])
    caution = " ".join(filter(None, [negative, unranked]))
    return Leader(by, str(row["mechanism"]), number(row[score]), bounds, rivals, caution)


def _unranked(scores: pd.DataFrame) -> str:
    """Return the sentences on the mechanisms that are not ranked, empty where there are none."""
    if scores.empty:
        return ""
    names = [
        f"{row.mechanism} ({share(row.length) if row.unranked == SHORT else row.unranked})"
        for row in scores.itertuples(index=False)
    ]
    why = {
        SHORT: f"A curve that spans less than {percent(NARROW)} of the diagonal has a QuIPU close to 0 for any "
        "mechanism.",
        BACKWARDS: "A curve that runs backwards has a QuIPU with the wrong sign; if larger values hide more, declare "
        "hides_more.",
    }
    why[SINGLE] = why[SHORT]
    return " ".join([f"Not ranked: {join(names)}.", *dict.fromkeys(why[one] for one in scores["unranked"])])


def _within(view: View, label: str) -> str:
    """Return what `recommend` says for a risk budget of 10 %, or why it recommends nothing."""
    if not view.mechanisms:
        return ""
    try:
        advice = view.result.recommend(
            max_risk=BUDGET,
            attacker=view.attacker(label),
            persona=view.persona(label),
            measure=view.measure,
            system=view.system,
        )
    except InputError as refusal:
        return f"Nothing is recommended: {refusal}"
    return advice.sentence
