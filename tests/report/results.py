"""Results for the tests of the report: hostile texts, fewer settings, curves worked out by hand."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from quipukit.report.table_model import Cell, ReportTable
from quipukit.results import TABLES, Result
from tests.example_results import make_result

HOSTILE = (
    "<script>alert('x')</script></script> \"quoted\" $x_1$ 100 % \\ & {{ 7 * 7 }} <!-- \N{GRINNING FACE} \u2028 end"
)
SMALL = {"CMP": (1.0, 10.0, 50.0), "AEA": (3.0, 4.0), "Identity": (0.0,), "Random": (0.0,)}


def hostile_result() -> Result:
    """Return a result whose texts and name try to break out of wherever they are put."""
    result = make_result(queries=6, name="odd_100%<b>$x$\N{GRINNING FACE}")
    odd = {
        name: frame.assign(query=[f"{HOSTILE} {number}" for number in range(len(frame))])
        for name, frame in (
            ("queries", result.queries),
            ("obfuscated", result.obfuscated),
            ("guesses", result.guesses),
        )
    }
    return replace(result, **odd)


def renamed(result: Result, names: Mapping[str, str]) -> Result:
    """Return the result with other names for its mechanisms."""
    frames = {
        field: getattr(result, field).replace({"mechanism": dict(names)})
        for field in ("settings", "obfuscated", "ranks", "scores", "guesses", "notes", "need", "growth", "sessions")
    }
    return replace(result, **frames)


def only(result: Result, settings: Mapping[str, Sequence[float]]) -> Result:
    """Return the result with these values of these mechanisms alone."""

    def chosen(frame: pd.DataFrame) -> pd.DataFrame:
        pairs = zip(frame["mechanism"], frame["value"], strict=True)
        wanted = pd.Series([value in settings.get(name, ()) for name, value in pairs], frame.index, dtype=bool)
        return frame[wanted].reset_index(drop=True)

    fields = ("settings", "obfuscated", "ranks", "scores", "guesses", "notes", "need", "growth", "sessions")
    return replace(result, **{field: chosen(getattr(result, field)) for field in fields})


def with_similarity(result: Result, mechanism: str, similarities: Sequence[float]) -> Result:
    """Return the result with other sentence similarities for a mechanism, in the order of its settings."""
    settings = result.settings.copy()
    settings.loc[settings["mechanism"] == mechanism, "sentence_similarity"] = list(similarities)
    return replace(result, settings=settings)


def by_name(table: ReportTable) -> dict[str, tuple[Cell, ...]]:
    return {row[0].text: row[1:] for group in table.row_groups for row in group.rows}


def curve_by_hand(scores: pd.DataFrame, mechanism: str, risk: str, measure: str) -> list[tuple[float, float]]:
    rows = scores[scores["mechanism"] == mechanism]
    means = rows.groupby(["value", "side", "measure"])["score"].mean()
    # AEA hides more at larger levels; a curve begins where most is hidden.
    values = sorted(rows["value"].unique(), reverse=mechanism == "AEA")
    return [(means[value, "risk", risk], means[value, "utility", measure]) for value in values]


def shoelace(curve: list[tuple[float, float]]) -> float:
    """The closed form of the score: another formula than the one in the library."""
    total = sum(u * next_r - r * next_u for (r, u), (next_r, next_u) in itertools.pairwise(curve))
    (r_1, u_1), (r_m, u_m) = curve[0], curve[-1]
    return total + ((u_m**2 - r_m**2) - (u_1**2 - r_1**2)) / 2


def narrow_result() -> Result:
    """A result in which AEA hides all and finds the same at every level, and CMP lies below the diagonal."""
    result = only(make_result(), {"CMP": (1.0, 10.0, 50.0), "AEA": (3.0, 4.0, 5.0), "Identity": (0.0,)})
    scores = result.scores.copy()
    aea, risk = scores["mechanism"] == "AEA", scores["side"] == "risk"
    scores.loc[aea & risk, "score"] = 0.0
    scores.loc[aea & ~risk, "score"] = 0.5 - 0.02 * scores.loc[aea & ~risk, "value"]
    wide = scores["mechanism"] == "CMP"
    scores.loc[wide & risk, "score"] = np.minimum(1.0, scores.loc[wide & risk, "value"] / 20)
    scores.loc[wide & ~risk, "score"] = np.minimum(0.6, scores.loc[wide & ~risk, "value"] / 100)
    return replace(result, scores=scores)


def without_originals(result: Result, held: int = 0) -> Result:
    """Return the result of a log that holds so many of the originals and was not completed with them."""
    known = result.queries["qid"].head(held)
    ranks = result.ranks.assign(better=result.ranks["better"].where(result.ranks["qid"].isin(known), -1))
    lost = (result.scores["side"] == "risk") & ~result.scores["qid"].isin(known)
    scores = result.scores.assign(score=result.scores["score"].mask(lost, 0.0))
    manifest = {**result.manifest, "log": {**result.manifest["log"], "inject": False, "in_log": held}}
    return replace(result, ranks=ranks, scores=scores, manifest=manifest)


def two_attackers(result: Result, name: str = "Words") -> Result:
    """Return the result with a second attacker that finds half of what the first misses, and guesses other texts."""
    scores, ranks, guesses = result.scores, result.ranks, result.guesses
    risks = scores[scores["side"] == "risk"]
    return replace(
        result,
        scores=pd.concat([scores, risks.assign(attacker=name, score=(1 + risks["score"]) / 2)], ignore_index=True),
        ranks=pd.concat([ranks, ranks.assign(attacker=name, log_rank=ranks["log_rank"] + 1)], ignore_index=True),
        guesses=pd.concat(
            [guesses, guesses.assign(attacker=name, query="what " + guesses["query"], hit=0)], ignore_index=True
        ),
    )


def swept(result: Result, ns: Sequence[int] = (1, 5, 20)) -> Result:
    """Return the result of a sweep whose largest N is this result; with fewer variants, less is found and guessed."""
    parts: dict[str, list[pd.DataFrame]] = {}
    for n in ns:
        scores = result.scores.assign(score=result.scores["score"] * n / max(ns))
        sent = result.settings["variants"].clip(upper=n)
        parts.setdefault("settings", []).append(result.settings.assign(n=n, variants=sent))
        for name in ("obfuscated", "ranks", "guesses", "notes", "need", "growth", "sessions"):
            parts.setdefault(name, []).append(getattr(result, name).assign(n=n))
        parts.setdefault("scores", []).append(scores.assign(n=n))
    frames = {name: pd.concat(own, ignore_index=True) for name, own in parts.items()}
    return replace(result, manifest={**result.manifest, "n": list(ns)}, **frames)


def grown(result: Result, counts: Sequence[int] = (1, 5, 50)) -> Result:
    """Return the result with ranks after fewer variants: each original is the farther down, the less was seen."""
    rows = result.ranks[~result.ranks["mechanism"].isin(["Identity", "Random"])]
    rows = rows[rows["seed"] == result.seeds[0]]
    parts = []
    for count in counts:
        better = (rows["better"] + 1) * (max(counts) // count) - 1
        parts.append(rows.assign(seen=count, better=better, log_rank=better + 1.0))
    return replace(result, growth=TABLES["growth"].check(pd.concat(parts)))


def in_sessions(result: Result, counts: Sequence[int] = (1, 2, 5)) -> Result:
    """Return the result with ranks of sessions' last queries: each is the farther up, the more queries were seen."""
    rows = result.ranks[~result.ranks["mechanism"].isin(["Identity", "Random"])]
    rows = rows[rows["seed"] == result.seeds[0]].rename(columns={"qid": "sid"}).assign(attacker="Session")
    parts = []
    for count in counts:
        better = (rows["better"] + 1) * (max(counts) // count) - 1
        parts.append(rows.assign(length=count, better=better, log_rank=better + 1.0))
    return replace(result, sessions=TABLES["sessions"].check(pd.concat(parts)))
