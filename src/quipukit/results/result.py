"""Result: everything an experiment found."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from quipukit.errors import InputError
from quipukit.frames import SCORES, SETTING
from quipukit.measures.bootstrap import bootstrap_scores
from quipukit.measures.intervals import LEVEL
from quipukit.measures.need import need_means
from quipukit.measures.points import points as join_points
from quipukit.measures.resampling import REPLICATES
from quipukit.measures.risk import persona_of
from quipukit.results.held import Tables
from quipukit.richtext import block, table

if TYPE_CHECKING:
    from quipukit.recommend import Recommendation

_MOST_ROWS = 20  # that a notebook shows
NO_ORIGINALS = "the log holds none of the originals"  # why nothing is ranked


@dataclass(frozen=True, eq=False, repr=False)
class Result(Tables):
    """What an experiment found. `Result.load(folder)` reads one; tables are in the order of the plan.

    Where the experiment swept over several N, ``settings`` and everything measured has a column ``n``: `ns` are its
    values, and `at` is the result of one of them.
    """

    def __repr__(self) -> str:
        # Short, and without the text of a query: notebooks show it unasked.
        counts = f"{len(self.queries)} queries, {len(self.mechanisms)} mechanisms, {len(self.settings)} settings"
        return f"Result({self.name!r}, {counts})"

    def _repr_html_(self) -> str:
        facts = {
            "queries": len(self.queries),
            "mechanisms": ", ".join(self.mechanisms),
            "attackers": ", ".join(self.attackers),
            "systems": ", ".join(self.systems),
            "seeds": ", ".join(map(str, self.seeds)),
        }
        rows = self._overview()
        more = [f"{len(rows) - _MOST_ROWS} more settings: .points() has them all"] if len(rows) > _MOST_ROWS else []
        below = table(list(rows.columns), rows.head(_MOST_ROWS).itertuples(index=False))
        return block(f"{self.name}: {len(self.settings)} settings", facts, [self.log_ceiling, *more], below)

    def _overview(self) -> pd.DataFrame:
        """Return risk and utility of every setting, against whoever finds most with as many guesses as measured."""
        names = ["n", *SETTING] if self.is_sweep else list(SETTING)
        if not self.judged:
            means = self.risks().groupby([*names, "attacker", "measure"], sort=False, observed=True)["score"].mean()
            return means.unstack("measure").groupby(names, sort=False).max().reset_index()
        points = self.points()
        who = points["attacker"].iloc[-1]  # the strongest, where there are several
        persona = "active" if "active" in self.personas else self.personas[0]
        chosen = (points["attacker"] == who) & (points["persona"] == persona) & (points["measure"] == self.measures[0])
        shown = points.loc[chosen, [*names, "risk", "utility"]]
        return shown.rename(columns={"risk": f"risk ({who}, {persona})", "utility": self.measures[0]})

    # --- what it is ---

    @property
    def name(self) -> str:
        """Return the collection's name."""
        return str(self.manifest["collection"]["name"])

    @property
    def systems(self) -> list[str]:
        """Return the names of the search systems, each a retriever with the user's re-ranker."""
        return [system["name"] for system in self.manifest["systems"]]

    @property
    def seeds(self) -> list[int]:
        """Return the root seeds of the noise; one or several."""
        return list(self.manifest["seeds"])

    @property
    def attackers(self) -> list[str]:
        """Return the attackers, in the order in which they were named."""
        return list(dict.fromkeys(self.ranks["attacker"]))

    @property
    def personas(self) -> list[str]:
        """Return the personas of the attackers: lazy, active, motivated."""
        measures = self.scores.loc[self.scores["side"] == "risk", "measure"]
        return [persona_of(measure) for measure in dict.fromkeys(measures)]

    @property
    def judged(self) -> bool:
        """Return whether utility was measured; without judgments there is risk alone."""
        return bool((self.scores["side"] == "utility").any())

    @property
    def mechanisms(self) -> list[str]:
        """Return the mechanisms in the order of the plan, the references among them."""
        return list(dict.fromkeys(self.settings["mechanism"]))

    @property
    def measures(self) -> list[str]:
        """Return the measures of utility; the first is the main one."""
        return list(dict.fromkeys(self.scores.loc[self.scores["side"] == "utility", "measure"]))

    @property
    def strategies(self) -> dict[str, str]:
        """Return the strategy of every mechanism."""
        return dict(zip(self.settings["mechanism"], self.settings["strategy"], strict=True))

    @property
    def hides_more(self) -> dict[str, str]:
        """Return for every mechanism whether its smaller or its larger values hide more."""
        return dict(zip(self.settings["mechanism"], self.settings["hides_more"], strict=True))

    @functools.cached_property
    def in_log(self) -> frozenset[str]:
        """Return the ids of the queries that the attacker's log holds: all where it was completed with the originals.

        An original that the log lacks cannot be found, no matter what is sent.
        """
        log = self.manifest.get("log") or {}
        if log.get("inject", True):
            return frozenset(self.queries["qid"])
        return frozenset(self.ranks.loc[self.ranks["better"] >= 0, "qid"])

    @property
    def log_coverage(self) -> float:
        """Return the share of the queries that the attacker's log holds: no mean risk can exceed it."""
        return len(self.in_log) / max(len(self.queries), 1)

    @property
    def log_ceiling(self) -> str:
        """Return in words the ceiling that the attacker's log puts on every risk; empty where it holds all originals.

        Where it holds none, every risk is 0 no matter what is sent, and nothing is ranked.
        """
        if self.log_coverage >= 1:
            return ""
        held = len(self.in_log)
        text = (
            f"the attacker's log holds {held or 'none'} of the {len(self.queries)} originals and was not completed, so "
            f"no risk can exceed {self.log_coverage:.3f}, whatever the mechanism does"
        )
        return f"{text}." if held else f"{text}; nothing is ranked."

    # --- what was measured ---

    def risks(self, seed: int | None = None) -> pd.DataFrame:
        """Return the risks per query as Scores: of one seed, or the mean over all."""
        return self._side("risk", "", seed)

    def utilities(self, system: str | None = None, seed: int | None = None) -> pd.DataFrame:
        """Return the utilities per query as Scores: of one system (the first), of one seed or the mean over all."""
        return self._side("utility", self._system(system), seed)

    def ceilings(self, system: str | None = None, seed: int | None = None) -> pd.DataFrame:
        """Return, as Scores, what the original query finds among as many documents as each setting pooled for it.

        This is the reference of which a share of utility is kept: `Identity` pools the documents of one list, where N
        variants pool up to N lists. No row where `Identity` was not run, and in results of earlier versions.
        """
        return self._side("ceiling", self._system(system), seed)

    def need_leakage(self, system: str | None = None, seed: int | None = None) -> pd.DataFrame:
        """Return what each guesser finds of the need, in the mean (`measures.need.need_means`).

        ``need`` has it per query. No row without judgments, and in results of earlier versions.
        """
        rows = self.need[self.need["system"] == self._system(system)]
        if seed is not None:
            rows = rows[rows["seed"] == self._seed(seed)]
        if self.is_sweep and len(rows):
            return self._per_n(lambda one: one.need_leakage(system, seed))
        return need_means(rows)

    def points(self, system: str | None = None, seed: int | None = None) -> pd.DataFrame:
        """Return mean risk and mean utility of every setting, attacker, persona and measure, as Points."""
        self._require_utility()
        if self.is_sweep:
            return self._per_n(lambda one: one.points(system, seed))
        utilities = self.utilities(system, seed)
        return join_points(self.risks(seed), utilities, self.name, self.strategies, self.hides_more)

    def quipu(
        self,
        system: str | None = None,
        measure: str | None = None,
        *,
        level: float = LEVEL,
        replicates: int = REPLICATES,
        attackers: "Sequence[str] | None" = None,
    ) -> pd.DataFrame:
        """Return QuIPU and hypervolume of every mechanism, attacker and persona, with intervals and spread over seeds.

        One row per mechanism, attacker and persona, and in a sweep per N. Columns: strategy, mechanism, attacker,
        persona, measure, quipu, low, high, error, hypervolume, hypervolume_low, hypervolume_high, queries, seeds,
        seed_low, seed_high (the least and the largest QuIPU score of a single seed; NaN where there is one seed only).
        Where there are several attackers, "strongest" is a further one: whoever finds most at each setting.
        ``attackers`` limits the rows to some.
        """
        measure = self.measure_named(measure)
        if self.is_sweep:
            return self._per_n(
                lambda one: one.quipu(system, measure, level=level, replicates=replicates, attackers=attackers)
            )
        table = self._scored(system, measure, None, level, replicates, attackers)
        names = ["mechanism", "attacker", "persona"]
        spread = table[names].assign(seed_low=float("nan"), seed_high=float("nan"))
        if len(self.seeds) > 1:
            each = pd.concat([self._scored(system, measure, seed, level, 1, attackers) for seed in self.seeds])
            grouped = each.groupby(names, sort=False)["quipu"]
            spread = grouped.agg(seed_low="min", seed_high="max").reset_index()
        table = table.merge(spread, on=names).assign(seeds=len(self.seeds))
        table.insert(0, "strategy", table["mechanism"].map(self.strategies))
        return table

    def recommend(
        self,
        *,
        max_risk: float = 0.1,
        persona: str | None = None,
        attacker: str | None = None,
        min_utility: float | None = None,
        measure: str | None = None,
        system: str | None = None,
        include_references: bool = False,
        level: float = LEVEL,
        n: int | None = None,
    ) -> "Recommendation":
        """Return the best setting within a budget of risk; see `quipukit.recommend.recommend`."""
        from quipukit.recommend import recommend

        return recommend(
            self,
            max_risk=max_risk,
            persona=persona,
            attacker=attacker,
            min_utility=min_utility,
            measure=measure,
            system=system,
            include_references=include_references,
            level=level,
            n=n,
        )

    def _per_n(self, table_of: "Callable[[Result], pd.DataFrame]") -> pd.DataFrame:
        """Return a table for every N of a sweep, one below the other, with a column ``n``."""
        tables = []
        for n in self.ns:
            tables.append(table_of(self.at(n)))
            tables[-1].insert(0, "n", n)
        return pd.concat(tables, ignore_index=True)

    def _scored(
        self,
        system: str | None,
        measure: str,
        seed: int | None,
        level: float,
        replicates: int,
        attackers: "Sequence[str] | None",
    ) -> pd.DataFrame:
        utilities = self.utilities(system, seed)
        chosen = utilities[utilities["measure"] == measure]
        return bootstrap_scores(
            self.risks(seed),
            chosen,
            level=level,
            replicates=replicates,
            hides_more=self.hides_more,
            attackers=attackers,
        )

    def _side(self, side: str, system: str, seed: int | None) -> pd.DataFrame:
        if self.is_sweep:
            return self._per_n(lambda one: one._side(side, system, seed))
        rows = self.scores[(self.scores["side"] == side) & (self.scores["system"] == system)]
        if seed is not None:
            return SCORES.check(rows[rows["seed"] == self._seed(seed)])
        if len(self.seeds) == 1:
            return SCORES.check(rows)
        keys = [column for column in SCORES.columns if column != "score"]
        return SCORES.check(rows.groupby(keys, sort=False, observed=True)["score"].mean().reset_index())

    def _seed(self, seed: int) -> int:
        if seed not in self.seeds:
            raise InputError(f"there is no seed {seed}; the result has {', '.join(map(str, self.seeds))}.")
        return seed

    def _system(self, system: str | None) -> str:
        if system is None:
            return self.systems[0]
        if system not in self.systems:
            raise InputError(f"there is no system {system!r}; the result has {', '.join(self.systems)}.")
        return system

    def measure_named(self, measure: str | None = None) -> str:
        """Return a measure of utility that was measured: the one named, or the main one."""
        self._require_utility()
        if measure is not None and measure not in self.measures:
            raise InputError(f"there is no measure {measure!r}; the result has {', '.join(self.measures)}.")
        return measure or self.measures[0]

    def _require_utility(self) -> None:
        if not self.judged:
            raise InputError(f"{self.name} has no judgments, so the result holds risks alone; add qrels and run again.")
