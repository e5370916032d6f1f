"""The tables of a result, and how those of earlier versions are brought up to date.

| table | columns |
|---|---|
| queries | qid, query |
| settings | one row per setting, in the order of the plan: see `SETTINGS` |
| obfuscated | seed, the columns of Obfuscated, and noise: how it was drawn |
| ranks | seed, and the columns of Ranks |
| scores | seed, system, and the columns of Scores: risk, utility and ceiling; system is empty for risks |
| guesses | seed, setting, attacker, qid, guess (from 1), query, similarity, hit: for the example queries alone |
| notes | seed, and the columns of Notes |
| growth | seed, and the columns of Growth: ranks after fewer variants, at some settings under the first seed |
| sessions | seed, and the columns of SessionRanks: ranks of sessions' last queries, at some settings, first seed |
| need | seed, system, and the columns of Need: what guessers find of the need; empty without judgments |

Where an experiment swept over several N, all of them but queries have a column ``n``, which is part of their keys.
"""

from dataclasses import replace
from typing import Any

import pandas as pd

from quipukit.attackers.growth import GROWTH
from quipukit.frames import NEED, NOTES, OBFUSCATED, QUERIES, RANKS, SCORES, SESSION_RANKS, SETTING
from quipukit.registry import directions
from quipukit.table import Kind, Table, WithGaps

_SEED: dict[str, Kind] = {"seed": "whole"}
_SETTING: dict[str, Kind] = {name: OBFUSCATED.columns[name] for name in SETTING}


def _by_seed(table: Table, **more: Kind) -> Table:
    return replace(table, columns={**_SEED, **more, **table.columns}, key=("seed", *more, *table.key))


SETTINGS = WithGaps(
    "Settings",
    {
        **_SETTING,
        "strategy": "text",
        "guarantee": "text",  # in words, for one variant
        "private": "whole",  # 1 where differential privacy is promised
        "budget": "number",  # N * epsilon, or epsilon where the variants share it; NaN for a mechanism without epsilon
        "budget_query": "number",  # N * L * epsilon, L the words of a query: the mean over the queries
        "n": "whole",  # variants asked for
        "variants": "number",  # sent per query, in the mean
        "distinct": "number",  # share of distinct texts among the variants of a query, in the mean
        "nothing": "whole",  # queries of which nothing was sent
        "hides_more": "text",  # which values of the parameter hide more: smaller or larger
        "pooled": "number",  # documents pooled per query, in the mean; of several systems the most
        "pooled_share": "number",  # the same as a share of the collection
        "oov": "number",  # share of the queries' tokens outside the vocabulary; NaN without a vocabulary
        "oov_policy": "text",
        "kept_words": "number",  # share of positions that hold the original's word
        "verbatim": "number",  # share of variants equal to the original
        "any_verbatim": "number",  # share of queries with at least one such variant
        "n_x": "number",  # mean over the queries' words of P(M(x) = x)
        "jaccard": "number",
        "sentence_similarity": "number",
    },
    SETTING,
)

TABLES: dict[str, Table] = {
    "queries": QUERIES,
    "settings": SETTINGS,
    # Optional, for earlier versions did not write it; the manifest says it in any case.
    "obfuscated": replace(_by_seed(OBFUSCATED), optional={"noise": OBFUSCATED.optional["noise"]}),
    "ranks": _by_seed(RANKS),
    "scores": _by_seed(SCORES, system="text"),
    "guesses": Table(
        "Guesses",
        {
            **_SEED,
            **_SETTING,
            "attacker": "text",
            "qid": "text",
            "guess": "whole",
            "query": "text",
            "similarity": "number",
            "hit": "whole",
        },
        ("seed", *SETTING, "attacker", "qid", "guess"),
    ),
    "notes": _by_seed(NOTES),
    "need": _by_seed(NEED, system="text"),
    "growth": _by_seed(GROWTH),
    "sessions": _by_seed(SESSION_RANKS),
}
# Tables that results of earlier versions lack, and some have empty: need without judgments, growth with one variant.
OPTIONAL = ("need", "growth", "sessions")

# Columns that results of earlier versions lack, and what they hold there.
_LATER = ("budget_query", "hides_more", "pooled", "pooled_share")
_ONE_ATTACKER = "QuIA"


def tables_of(sweep: bool) -> dict[str, Table]:
    """Return the tables of a result: of one N, or of a sweep over several."""
    return {name: _with_n(name, table) for name, table in TABLES.items()} if sweep else TABLES


def _with_n(name: str, table: Table) -> Table:
    if name == "queries":
        return table
    if "n" in table.columns:
        return replace(table, key=(*table.key, "n"))
    return replace(table, columns={"seed": "whole", "n": "whole", **table.columns}, key=(*table.key, "n"))


def up_to_date(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Add the columns that earlier versions did not write.

    Numbers are missing, directions are those of the classes, and the only attacker was QuIA.
    """
    if "mechanism" not in frame.columns:
        return frame
    added: dict[str, Any] = {}
    if name == "settings":
        families = frame["mechanism"].astype(str)
        added = {column: float("nan") for column in _LATER if SETTINGS.columns[column] == "number"}
        added["hides_more"] = families.map(directions(families))
    if name == "guesses":
        added["attacker"] = _ONE_ATTACKER
    return frame.assign(**{column: cells for column, cells in added.items() if column not in frame.columns})
