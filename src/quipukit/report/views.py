"""Views: what one result says about one search system, computed once and used by every table, figure and sentence."""

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from quipukit.errors import InputError
from quipukit.frames import SETTING, by_parameter
from quipukit.measures.bootstrap import Score, compare
from quipukit.measures.intervals import LEVEL, Floats, tail
from quipukit.measures.need import with_need
from quipukit.measures.points import means_with_intervals
from quipukit.measures.points import points as join_points
from quipukit.measures.quipu import quipu_table
from quipukit.measures.resampling import REPLICATES
from quipukit.measures.risk import are_hits, persona_of, risk_label
from quipukit.measures.sides import score_matrix
from quipukit.measures.strongest import (
    STRONGEST,
    strongest_bounds,
    strongest_intervals,
    strongest_names,
    strongest_risks,
)
from quipukit.report.names import run_names
from quipukit.results import NO_ORIGINALS, Result

REFERENCE = "reference"
ALPHA = 0.05
# The two scores by which mechanisms are ranked, and the prefix of the columns with their marks.
SCORES: dict[Score, str] = {"quipu": "", "hypervolume": "hypervolume_"}


@dataclass(frozen=True, eq=False)
class View:
    """One result and one of its search systems; ``system`` is None where nothing was judged and there is only risk.

    An attacker ranks the log, a persona says how far down it reads. The frames hold both, and ``label``, the name of
    the pair for people (see `risk_label`): "lazy", or "QuIA lazy" where the result has several attackers.
    """

    name: str
    result: Result
    system: str | None
    measure: str
    run: str = ""  # the name of the result within the report
    sweep: Result | None = None  # all N of a sweep, where ``result`` is its largest

    @property
    def whole(self) -> Result:
        """Return the result as it was run: with all N, where it swept over several."""
        return self.sweep or self.result

    @property
    def judged(self) -> bool:
        """Whether there is utility."""
        return self.system is not None

    @functools.cached_property
    def labels(self) -> list[str]:
        """Return the labels of all attackers and personas, in the order of the scores: lazy, active, motivated."""
        return list(self._pairs)

    @property
    def headlines(self) -> list[str]:
        """Return the labels that conclusions are drawn from: of several attackers, those of the strongest."""
        return [label for label in self.labels if self.attacker(label) == STRONGEST] or self.labels

    def attacker(self, label: str) -> str:
        """Return the attacker behind a label."""
        return self._pairs[label][0]

    def persona(self, label: str) -> str:
        """Return the persona behind a label."""
        return self._pairs[label][1]

    @functools.cached_property
    def attackers(self) -> list[str]:
        """Return the attackers that the report shows: the only one, or the first and the strongest of all."""
        return list(dict.fromkeys(self._risks["attacker"]))

    @functools.cached_property
    def mechanisms(self) -> list[str]:
        """Return the mechanisms to rank: all but the references."""
        strategies = self.result.strategies
        return [name for name in self.result.mechanisms if strategies[name] != REFERENCE]

    @functools.cached_property
    def references(self) -> list[str]:
        """Return the mechanisms that show what is possible: Identity, Random."""
        return [name for name in self.result.mechanisms if name not in self.mechanisms]

    @functools.cached_property
    def queries(self) -> tuple[int, int]:
        """Return the number of queries sent, and of those that have a utility."""
        judged = self._utilities["qid"].nunique() if self.judged else 0
        return len(self.result.queries), judged

    @functools.cached_property
    def settings(self) -> pd.DataFrame:
        """Return the settings, those of a mechanism from most to least private."""
        return by_parameter(self.result.settings, self.result.hides_more)

    @functools.cached_property
    def risks(self) -> pd.DataFrame:
        """Return the mean risk of every setting and label: risk, its interval (risk_low, risk_high), and risk_bound.

        The bound holds for all settings but the references at once, so it remains valid after choosing one of them;
        like that of `quipukit.recommend` it covers queries that the attacker's log holds.
        """
        seeds = len(self.result.seeds)
        alpha = 2 * tail(LEVEL) / max(1, int(self.result.settings["mechanism"].isin(self.mechanisms).sum()))
        parts = []
        for (attacker, measure), rows in self._risks.groupby(["attacker", "measure"], sort=False):
            hits = are_hits(str(measure), seeds)
            means, side = means_with_intervals(rows, "risk", hits)
            means.insert(means.columns.get_loc("attacker") + 1, "persona", persona_of(str(measure)))
            rivals = [side.scores]
            if attacker == STRONGEST:
                rivals = self._rivals(str(measure), means)
                low, high = strongest_intervals(rivals, hits)
                means = means.assign(risk_low=low, risk_high=high)
            held = np.isin(sorted(set(rows["qid"])), sorted(self.result.in_log))
            bound = strongest_bounds([one[held] for one in rivals], alpha, hits=hits) if held.any() else np.nan
            parts.append(means.assign(risk_bound=bound))
        return self._labeled(pd.concat(parts, ignore_index=True))

    def _rivals(self, measure: str, settings: pd.DataFrame) -> list[Floats]:
        """Return the risks of every attacker, a row per query and a column per setting, in the order of a table."""
        risks = self.result.risks()
        own = risks[risks["measure"] == measure]
        qids = sorted(set(own["qid"]))
        wanted = settings[list(SETTING)].itertuples(index=False, name=None)
        places = {setting: number for number, setting in enumerate(wanted)}
        found = []
        for _, rows in own.groupby("attacker", sort=False):
            side, columns = score_matrix(rows, qids)
            scores = np.zeros((len(qids), len(places)))
            scores[:, [places[column[:3]] for column in columns]] = side.scores
            found.append(scores)
        return found

    @functools.cached_property
    def strongest(self) -> pd.DataFrame:
        """Return who is the strongest attacker at every setting, per measure of risk; empty where there is only one."""
        names = strongest_names(self.result.risks())
        return names if len(self.result.attackers) > 1 else names.iloc[:0]

    @functools.cached_property
    def points(self) -> pd.DataFrame:
        """Return risk and utility of every setting and label, each with its interval, from most to least private.

        ``ceiling`` is what the original finds among as many documents, ``kept`` the share of it that a setting finds
        (NaN where it was not measured), ``pooled`` and ``pooled_share`` how many documents these are. `with_need` adds
        the need leakage by consensus and by the row's attacker.
        """
        if not self.judged:
            return by_parameter(self.risks, self.result.hides_more)
        utilities = means_with_intervals(self._utilities, "utility", hits=False)[0].drop(columns="attacker")
        points = self.risks.merge(utilities, on=list(SETTING)).merge(self.ceilings, on=list(SETTING), how="left")
        points["kept"] = (points["utility"] / points["ceiling"]).where(points["ceiling"] > 0)
        pools = self.result.settings[[*SETTING, "pooled", "pooled_share"]]
        points = with_need(points.merge(pools, on=list(SETTING), how="left"), self.need)
        return by_parameter(points, self.result.hides_more)

    @functools.cached_property
    def need(self) -> pd.DataFrame:
        """Return the mean need leakage of every setting and guesser, the strongest of several among them."""
        return self.result.need_leakage(self.system)

    @functools.cached_property
    def ceilings(self) -> pd.DataFrame:
        """Return what the original finds among as many documents as each setting; no row where it was not measured."""
        scores = self.result.ceilings(self.system)
        means = scores[scores["measure"] == self.measure].groupby(list(SETTING), sort=False)["score"].mean()
        return means.rename("ceiling").reset_index()

    @functools.cached_property
    def scores(self) -> pd.DataFrame:
        """Return QuIPU and hypervolume of every mechanism and label with intervals, companions, flags and marks.

        Beside the columns of `Result.quipu` and of `quipu_table`: best (of this label), p_holm (of the difference to
        the best) and worse (p_holm below 0.05); and the same for the hypervolume, as hypervolume_best and so on. A
        curve that is not ``rankable`` is never the best: its QuIPU is not ranked, and where its volume is the largest,
        no volume is called best. ``unranked`` says why: the text of `why_unranked`, or NO_ORIGINALS: where the
        attacker's log holds none of the originals, every risk is 0 for any mechanism.
        """
        table = self._scored.copy()
        for score, prefix in SCORES.items():
            ranked = ranked_by(score, table)
            best = ranked.loc[ranked.groupby("label", sort=False)[score].idxmax()] if len(ranked) else ranked
            best = best[best["rankable"].astype(bool)]  # where another curve has the largest volume, none is best
            champions = dict(zip(best["label"], best["mechanism"], strict=True))
            names = list(zip(table["label"], table["mechanism"], strict=True))
            p_values = self._p_to_the_best(champions, score)
            table[f"{prefix}best"] = [champions.get(label) == mechanism for label, mechanism in names]
            table[f"{prefix}p_holm"] = [p_values.get(name, np.nan) for name in names]
            table[f"{prefix}worse"] = (table[f"{prefix}p_holm"] < ALPHA) & ~table[f"{prefix}best"]
        return table

    @functools.cached_property
    def comparisons(self) -> pd.DataFrame:
        """Return the paired differences between all mechanisms but the references; no row where there is only one.

        ``score`` names the score: quipu, between the curves that can be ranked, or hypervolume.
        """
        if len(self.mechanisms) < 2:
            columns = ["score", "first", "second", "attacker", "persona", "difference", "p", "p_holm", "label"]
            return pd.DataFrame(columns=columns)
        pairs = len(list(itertools.combinations(self.mechanisms, 2)))
        # No p-value is below 2 / (B + 1): with too few replicates Holm's correction would leave nothing significant.
        replicates = max(REPLICATES, 200 * pairs)
        parts = []
        for score in SCORES:
            table = compare(
                self.result.risks(),
                self._utilities,
                mechanisms=self.mechanisms,
                replicates=replicates,
                hides_more=self.result.hides_more,
                score=score,
                attackers=self.attackers,
            )
            table = self._labeled(table)
            table.insert(0, "score", score)
            parts.append(table if score == "hypervolume" else self._ranked_pairs(table))
        return pd.concat(parts, ignore_index=True)

    def _ranked_pairs(self, table: pd.DataFrame) -> pd.DataFrame:
        """Leave out the pairs in which one cannot be ranked: a difference of such scores means nothing."""
        others = self._scored[~self._scored["rankable"]]
        out = set(zip(others["mechanism"], others["label"], strict=True))
        return table[[not {(row.first, row.label), (row.second, row.label)} & out for row in table.itertuples()]]

    @functools.cached_property
    def _scored(self) -> pd.DataFrame:
        table = self._labeled(self.result.quipu(self.system, self.measure, attackers=self.attackers))
        companions = quipu_table(self._joined).drop(columns=["collection", "quipu", "hypervolume"])
        table = table.merge(companions, on=["mechanism", "attacker", "persona", "measure"])
        if not self.result.in_log:
            table = table.assign(rankable=False, unranked=NO_ORIGINALS)
        return table[table["mechanism"].isin(self.mechanisms)].reset_index(drop=True)

    def score_of(self, mechanism: str, label: str) -> dict[str, Any] | None:
        """Return the row of one mechanism and label in `scores`, None where there is none."""
        return self._rows.get((mechanism, label))

    def parameter_of(self, mechanism: str) -> str:
        """Return the name of a mechanism's parameter, empty where it has none."""
        return str(self.settings.loc[self.settings["mechanism"] == mechanism, "parameter"].iloc[0])

    def curve(self, mechanism: str, label: str) -> pd.DataFrame:
        """Return the points of one mechanism and label, from most to least private."""
        return self._curves.get((mechanism, label), self.points.iloc[:0])

    def utility_means(self, measure: str) -> "dict[tuple[str, str, float], float]":
        """Return the mean of any measure of utility per setting; empty where it was not measured."""
        if not self.judged or measure not in self.result.measures:
            return {}
        scores = self._all_utilities
        means = scores[scores["measure"] == measure].groupby(list(SETTING), sort=False)["score"].mean()
        return {
            (str(name), str(parameter), float(value)): float(mean) for (name, parameter, value), mean in means.items()
        }

    @functools.cached_property
    def _pairs(self) -> dict[str, tuple[str, str]]:
        """Return the attacker and persona of every label."""
        pairs = self._risks[["attacker", "measure"]].drop_duplicates().itertuples(index=False, name=None)
        named = [(str(attacker), persona_of(measure)) for attacker, measure in pairs]
        return {self._label(*pair): pair for pair in named}

    def _label(self, attacker: str, persona: str) -> str:
        return risk_label(attacker, persona, len(self.attackers) > 1)

    def _labeled(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table with the column ``label``."""
        return table.assign(label=list(map(self._label, table["attacker"], table["persona"])))

    @functools.cached_property
    def _risks(self) -> pd.DataFrame:
        """Return the risks that the report shows: of the first attacker and, of several, of the strongest."""
        risks = self.result.risks()
        if len(self.result.attackers) < 2:
            return risks
        first = risks[risks["attacker"] == self.result.attackers[0]]
        return pd.concat([first, strongest_risks(risks)], ignore_index=True)

    @functools.cached_property
    def _all_utilities(self) -> pd.DataFrame:
        return self.result.utilities(self.system)

    @functools.cached_property
    def _utilities(self) -> pd.DataFrame:
        scores = self._all_utilities
        return scores[scores["measure"] == self.measure]

    @functools.cached_property
    def _joined(self) -> pd.DataFrame:
        strategies, hides_more = self.result.strategies, self.result.hides_more
        points = join_points(self.result.risks(), self._utilities, self.name, strategies, hides_more)
        return points[points["attacker"].isin(self.attackers)].reset_index(drop=True)

    @functools.cached_property
    def _rows(self) -> dict[tuple[str, str], dict[str, Any]]:
        rows: list[dict[str, Any]] = self.scores.to_dict("records") if self.judged else []
        return {(row["mechanism"], row["label"]): row for row in rows}

    @functools.cached_property
    def _curves(self) -> dict[tuple[str, str], pd.DataFrame]:
        return {(str(name), str(label)): rows for (name, label), rows in self.points.groupby(["mechanism", "label"])}

    def _p_to_the_best(self, champions: dict[str, str], score: str) -> dict[tuple[str, str], float]:
        """Return by label and mechanism the p-value of the difference to the label's best mechanism."""
        p_values = {}
        for row in self.comparisons[self.comparisons["score"] == score].itertuples(index=False):
            champion = champions.get(row.label)
            if champion in (row.first, row.second):
                other = row.second if champion == row.first else row.first
                p_values[row.label, other] = float(row.p_holm)
        return p_values


def ranked_by(score: Score, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that a score can rank: rankable curves, volumes above 0."""
    return table[table["rankable"] if score == "quipu" else table["hypervolume"] > 0]


def views_of(results: Sequence[Result], measure: str | None = None, runs: Sequence[str] | None = None) -> list[View]:
    """Return a view for every result and system, with its own name (see `run_names`); of a sweep, the largest N."""
    if not results:
        raise InputError("there is no result to report on; name the folder of an experiment.")
    views = []
    for whole, name in zip(results, run_names(results, runs), strict=True):
        sweep = whole if len(whole.ns) > 1 and whole.is_sweep else None
        result = whole.at(max(whole.ns)) if whole.is_sweep else whole
        if not result.judged:
            views.append(View(name, result, None, "", name, sweep))
            continue
        if measure is not None and measure not in result.measures:
            raise InputError(f"{name} has no measure {measure!r}; it has {', '.join(result.measures)}.")
        for system in result.systems:
            own = name if len(result.systems) == 1 else f"{name}, {system}"
            views.append(View(own, result, system, measure or result.measures[0], name, sweep))
    return views
