"""The strongest attacker: at every setting the one with the highest mean risk.

Every attacker's risk is a lower bound on the risk that is there, so the highest of them is the best that is known: "at
least". The highest of several means is chosen by looking at them, and intervals must allow for that. Those here hold
for all attackers at once (each at a level that is divided by their number), so they hold for the highest as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from quipukit.frames import SCORES, SETTING
from quipukit.measures.intervals import LEVEL, Floats, mean_intervals, upper_bounds
from quipukit.measures.risk import are_hits

STRONGEST = "strongest"  # stands in the column `attacker`; no attacker may have this name


def attackers_of(risks: pd.DataFrame) -> list[str]:
    """Return the attackers of some scores, in their order."""
    return [name for name in dict.fromkeys(risks["attacker"].astype(str)) if name != STRONGEST]


def strongest_names(risks: pd.DataFrame) -> pd.DataFrame:
    """Return which attacker is the strongest: setting, measure, attacker, risk. Of equal ones the first.

    >>> row = {"mechanism": "CMP", "parameter": "epsilon", "value": 5, "side": "risk", "measure": "P@1"}
    >>> found = [("QuIA", "1", 0), ("QuIA", "2", 1), ("Words", "1", 1), ("Words", "2", 1)]
    >>> scores = pd.DataFrame([{**row, "attacker": name, "qid": q, "score": s} for name, q, s in found])
    >>> strongest_names(scores)[["attacker", "risk"]].values.tolist()
    [['Words', 1.0]]
    """
    own = risks[risks["attacker"] != STRONGEST]
    keys = [*SETTING, "measure"]
    # Over all queries that were sent anything under any setting: absence counts 0.
    count = max(1, own["qid"].nunique())
    means = own.groupby([*keys, "attacker"], sort=False, observed=True)["score"].sum().div(count).reset_index()
    best = means.loc[means.groupby(keys, sort=False, observed=True)["score"].idxmax()]
    return best.rename(columns={"score": "risk"})[[*SETTING, "measure", "attacker", "risk"]].reset_index(drop=True)


def strongest_risks(risks: pd.DataFrame) -> pd.DataFrame:
    """Return as Scores the risks per query of the strongest attacker of every setting and measure, by that name."""
    named = strongest_names(risks).drop(columns="risk")
    chosen = risks.merge(named, on=[*SETTING, "measure", "attacker"])
    place = {measure: number for number, measure in enumerate(dict.fromkeys(risks["measure"]))}
    chosen = chosen.sort_values("measure", key=lambda names: names.map(place), kind="stable")
    return SCORES.check(chosen.assign(attacker=STRONGEST))


def strongest_intervals(sides: Sequence[Floats], hits: bool, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Return interval ends of the highest of several attackers' mean risks, column by column.

    ``sides`` holds the risks of every attacker, a row per query and a column per setting.
    """
    each = 1 - (1 - level) / len(sides)
    ends = [mean_intervals(scores, each, hits=hits) for scores in sides]
    low, high = (np.max([pair[end] for pair in ends], axis=0) for end in (0, 1))
    return low, high


def risk_intervals(risks: pd.DataFrame) -> pd.DataFrame:
    """Return the mean risk of every setting, attacker and measure with its interval: columns risk, low and high.

    ``risks`` are those of one noise seed. Where there are several attackers, "strongest" is one more: at every setting
    and measure the highest risk, with an interval that allows for the choice.

    >>> row = {"mechanism": "CMP", "parameter": "epsilon", "value": 5, "side": "risk", "measure": "P@1"}
    >>> found = [("QuIA", "1", 0), ("QuIA", "2", 1), ("Words", "1", 1), ("Words", "2", 1)]
    >>> scores = pd.DataFrame([{**row, "attacker": name, "qid": q, "score": s} for name, q, s in found])
    >>> risk_intervals(scores)[["attacker", "risk", "low", "high"]].round(2).values.tolist()
    [['QuIA', 0.5, 0.01, 0.99], ['Words', 1.0, 0.16, 1.0], ['strongest', 1.0, 0.11, 1.0]]
    """
    own = risks[risks["attacker"] != STRONGEST]
    tables = []
    for measure, part in own.groupby("measure", sort=False, observed=True):
        # Over all queries that were sent anything under any setting: absence counts 0.
        wide = part.set_index([*SETTING, "attacker", "qid"])["score"].unstack("qid", fill_value=0.0)
        scores = wide.to_numpy(np.float64)
        hits = are_hits(str(measure), 1)
        low, high = mean_intervals(scores.T, hits=hits)
        table = wide.index.to_frame(index=False).assign(
            measure=str(measure), risk=scores.mean(axis=1), low=low, high=high
        )
        tables.append(table)
        rows_of = table.groupby(list(SETTING), sort=False, observed=True).indices.values()
        # Settings with as many attackers are computed at once.
        for count in sorted({len(rows) for rows in rows_of} - {1}):
            rows = np.array([own_rows for own_rows in rows_of if len(own_rows) == count])
            ends = strongest_intervals([scores[each].T for each in rows.T], hits)
            settings = table.loc[rows[:, 0], list(SETTING)].reset_index(drop=True)
            best = scores[rows].mean(axis=2).max(axis=1)
            tables.append(
                settings.assign(attacker=STRONGEST, measure=str(measure), risk=best, low=ends[0], high=ends[1])
            )
    return pd.concat(tables, ignore_index=True)


def strongest_bounds(sides: Sequence[Floats], alpha: float, hits: bool) -> Floats:
    """Return upper bounds of the highest of several attackers' mean risks: at ``alpha`` for all attackers together."""
    bounds: Floats = np.max([upper_bounds(scores, alpha / len(sides), hits=hits) for scores in sides], axis=0)
    return bounds


@dataclass(frozen=True)
class Gap:
    """Where the strongest attacker finds much more than the first one: a setting, both risks, and who it is."""

    mechanism: str
    parameter: str
    value: float
    measure: str
    attacker: str
    risk: float
    first: str
    first_risk: float


def gaps(risks: pd.DataFrame, measure: str, least: float = 0.1) -> list[Gap]:
    """Return the settings at which the strongest attacker's risk exceeds the first one's by at least this much."""
    names = attackers_of(risks)
    if len(names) < 2:
        return []
    own = risks[risks["measure"] == measure]
    count = max(1, risks["qid"].nunique())
    first = own[own["attacker"] == names[0]].groupby(list(SETTING), sort=False, observed=True)["score"].sum() / count
    found = []
    for row in strongest_names(own).itertuples(index=False):
        setting = (str(row.mechanism), str(row.parameter), float(row.value))
        base = float(first.get(setting, 0.0))
        if row.risk - base >= least:
            found.append(Gap(*setting, measure, str(row.attacker), float(row.risk), names[0], base))
    return found
