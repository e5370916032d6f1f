"""Table 1 of the paper: QuIPU score and hypervolume of every mechanism against every persona."""

from collections.abc import Sequence

import pandas as pd

from quipukit.measures.curves import BACKWARDS, NARROW, SHORT
from quipukit.report.table_model import DASH, Cell, ReportTable, interval, number, percent
from quipukit.report.tables.rows import (
    MISSING,
    by_mechanism,
    caution_text,
    column_groups,
    named_frame,
    over_queries,
    sweep_text,
)
from quipukit.report.views import SCORES, View

WORSE, SINGLE = "\N{DAGGER}", "\N{WHITE BULLET}"
NOT_RANKED, BACKWARD, NOT_MONOTONE = "\N{DIAMOND OPERATOR}", "\N{LEFTWARDS ARROW}", "\N{TILDE OPERATOR}"


def table_1(views: Sequence[View], labels: Sequence[str] | None = None) -> ReportTable:
    """Return QuIPU and hypervolume: one row per mechanism, columns per collection, system and persona.

    ``labels`` limits the columns to some personas. Views without utility are left out.
    """
    judged = [view for view in views if view.judged]
    shown = {id(view): [label for label in view.labels if labels is None or label in labels] for view in judged}
    row_groups = by_mechanism(
        judged,
        lambda view, name: [cell for label in shown[id(view)] for cell in _cells(view, name, label)],
    )
    frames = [_frame(view) for view in judged]
    return ReportTable(
        name="table1",
        title="QuIPU score and hypervolume",
        headings=(
            "Mechanism",
            *(f"{label} {score}" for view in judged for label in shown[id(view)] for score in ("QuIPU", "HV")),
        ),
        column_groups=column_groups(judged, lambda view: 2 * len(shown[id(view)])),
        row_groups=row_groups,
        frame=pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(),
        caption=_caption(judged, frames),
    )


def _caption(judged: Sequence[View], frames: Sequence[pd.DataFrame]) -> str:
    seeds = any(len(view.result.seeds) > 1 for view in judged)
    sentences = [
        "QuIPU score of each mechanism against each persona: twice the signed area between the diagonal of the "
        "risk-utility plane and the curve through the mechanism's settings, from most to least private; positive where "
        "utility exceeds risk. HV: hypervolume, the area under the best utility reached at each risk, relative to that "
        "of the original queries.",
        f"In brackets: 95 % interval over queries (studentized bootstrap); {DASH} where the queries do not determine "
        "one.",
        "In braces: lowest and highest score of a single noise seed."
        if seeds
        else "One noise seed; `quipukit evaluate --seeds 3` would show the variation over noise seeds.",
        "Bold: the best of a column.",
        f"{WORSE} significantly worse than the best (paired by query, permuted labels and studentized draws, "
        "Holm's correction over all pairs of mechanisms, 5 %); without the mark, the difference may be due to chance.",
        *(over_queries(view) for view in judged),
        *dict.fromkeys(sweep_text(view) for view in judged),
        *dict.fromkeys(caution_text(view) for view in judged),
    ]
    flags = pd.concat(frames) if frames else pd.DataFrame({"single": [], "monotone": [], "unranked": []})
    if flags["single"].any():
        sentences.append(f"{SINGLE} single point: QuIPU is 0 wherever the point lies, so it is not ranked.")
    if (flags["unranked"] == SHORT).any():
        sentences.append(
            f"{NOT_RANKED} the settings span less than {percent(NARROW)} of the diagonal, which makes QuIPU close to 0 "
            "for any mechanism; it is not ranked, and its hypervolume is never marked as best."
        )
    if (flags["unranked"] == BACKWARDS).any():
        sentences.append(
            f"{BACKWARD} the curve as a whole runs backwards, from more to less risk and utility, so QuIPU has the "
            "wrong sign and is not ranked; if larger values hide more, declare hides_more."
        )
    if not flags["monotone"].all():
        sentences.append(f"{NOT_MONOTONE} not monotone: parts of the curve run backwards and count negatively.")
    return " ".join(filter(None, sentences))


def _cells(view: View, name: str, label: str) -> list[Cell]:
    """Return QuIPU and hypervolume of a mechanism against a persona."""
    row = view.score_of(name, label)
    if row is None:
        return [MISSING] * len(SCORES)
    flags = {
        WORSE: row["worse"],
        SINGLE: row["single"],
        NOT_RANKED: row["unranked"] == SHORT,
        BACKWARD: row["unranked"] == BACKWARDS,
        NOT_MONOTONE: not row["monotone"],
    }
    marks = "".join(mark for mark, applies in flags.items() if applies)
    small = [interval(row["low"], row["high"])]
    if row["seeds"] > 1:
        small.append(f"{{{number(row['seed_low'])} to {number(row['seed_high'])}}}")
    volume = (interval(row["hypervolume_low"], row["hypervolume_high"]),)
    worse = WORSE * bool(row["hypervolume_worse"])
    return [
        Cell(number(row["quipu"]), bool(row["best"]), marks, tuple(small)),
        Cell(number(row["hypervolume"]), bool(row["hypervolume_best"]), worse, volume),
    ]


def _frame(view: View) -> pd.DataFrame:
    keys = ["strategy", "mechanism", "attacker", "persona", "measure"]
    score = ["quipu", "low", "high", "error", "queries", "seeds", "seed_low", "seed_high"]
    flags = ["points", "best", "p_holm", "worse", "single", "length", "rankable", "monotone", "unranked"]
    volume = [f"hypervolume{part}" for part in ("", "_low", "_high", "_best", "_p_holm", "_worse")]
    return named_frame(view, view.scores[[*keys, *score, *flags, *volume]])
