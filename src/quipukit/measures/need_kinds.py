"""Need leakage by the kind of topic: which parts of life stay exposed where the wording is hidden."""

from collections.abc import Mapping

import pandas as pd

from quipukit.frames import SETTING
from quipukit.measures.guessers import GUESS
from quipukit.measures.intervals import LEVEL
from quipukit.measures.need import need_means
from quipukit.measures.strongest import STRONGEST

COLUMNS = (*SETTING, "kind", "leakage", "low", "high", "queries")


def need_by_kind(need: pd.DataFrame, kinds: Mapping[str, str], level: float = LEVEL) -> pd.DataFrame:
    """Return the mean need leakage of every setting over the queries of each kind, the most exposed kind first.

    ``need`` has a row per guesser, setting and query (`quipukit.measures.need.need_leakage`), ``kinds`` the kind of a
    query by its id; others are left out. ``leakage`` is the larger of consensus and guessing (of several attackers, the
    strongest), for which ``low`` and ``high`` allow; ``queries`` is over how many it goes. A kind none of whose queries
    finds anything has no row. Kinds are in the order of their mean leakage over all settings.
    """
    own = need.assign(kind=need["qid"].map(dict(kinds)))
    parts = []
    for kind, rows in own[own["leakage"].notna()].groupby("kind", sort=False):
        # Two guessers are looked at, and the larger is taken.
        means = need_means(rows, 1 - (1 - level) / 2)
        if (means["attacker"] == STRONGEST).any():
            means = means[(means["guesser"] != GUESS) | (means["attacker"] == STRONGEST)]
        larger = means.groupby(list(SETTING), sort=False)[["leakage", "low", "high", "queries"]].max()
        parts.append(larger.reset_index().assign(kind=kind))
    if not parts:
        return pd.DataFrame(columns=list(COLUMNS))
    table = pd.concat(parts, ignore_index=True)[list(COLUMNS)]
    exposed = table.groupby("kind", sort=False)["leakage"].mean().sort_values(ascending=False, kind="stable").index
    place = {kind: number for number, kind in enumerate(exposed)}
    return table.sort_values("kind", key=lambda names: names.map(place), kind="stable").reset_index(drop=True)
