"""Result: everything an experiment found, as frames and a manifest, in one folder.

| frame | columns |
|---|---|
| queries | qid, query |
| settings | one row a setting, in the order of the plan: see `SETTINGS` |
| obfuscated | seed, and the columns of Obfuscated; how the noise was drawn: `attrs["noise"]`, in the file a column |
| ranks | seed, and the columns of Ranks |
| scores | seed, system, and the columns of Scores: risk, utility and ceiling; system is empty for risks |
| guesses | seed, setting, qid, guess (from 1), query, similarity, hit: for the example queries alone |
| notes | seed, and the columns of Notes |

The folder holds each as Parquet, and `manifest.json`. Equal inputs make equal bytes: what depends on the clock lies in
`timings.json`, which belongs to no result.
"""

import functools
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from quipukit.errors import FileError, InputError
from quipukit.frames import (
    NOTES,
    OBFUSCATED,
    QUERIES,
    RANKS,
    SCORES,
    SETTING,
    Kind,
    Table,
    joint_noise,
    noise_of,
    with_noise,
)
from quipukit.io.tables import read_parquet
from quipukit.measures.bootstrap import bootstrap_scores
from quipukit.measures.bootstrap import points as join_points
from quipukit.measures.intervals import LEVEL
from quipukit.measures.resampling import REPLICATES
from quipukit.registry import directions
from quipukit.storage import atomic_write

if TYPE_CHECKING:
    from quipukit.recommend import Recommendation

MANIFEST = "manifest.json"
FORM = 1  # of the folder
NO_ORIGINALS = "the log holds none of the originals"  # why nothing is ranked

_SEED: dict[str, Kind] = {"seed": "whole"}
_SETTING: dict[str, Kind] = {name: OBFUSCATED.columns[name] for name in SETTING}


def _by_seed(table: Table, **more: Kind) -> Table:
    return Table(table.name, {**_SEED, **more, **table.columns}, ("seed", *more, *table.key))


class Optional(Table):
    """A table whose numbers may be missing."""

    def check(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the frame as it should be; a missing number stays NaN."""
        gaps = {name: frame[name].isna() for name, kind in self.columns.items() if kind == "number" and name in frame}
        checked = super().check(frame.assign(**{name: frame[name].fillna(0.0) for name in gaps}))
        return checked.assign(**{name: checked[name].mask(gap.to_numpy()) for name, gap in gaps.items()})


SETTINGS = Optional(
    "Settings",
    {
        **_SETTING,
        "strategy": "text",
        "guarantee": "text",  # in words, for one variant
        "private": "whole",  # 1 where differential privacy is promised
        "budget": "number",  # N * epsilon; NaN for a mechanism without epsilon
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

_LATER = ("budget_query", "hides_more", "pooled", "pooled_share")  # columns that results of earlier versions lack

TABLES: dict[str, Table] = {
    "queries": QUERIES,
    "settings": SETTINGS,
    "obfuscated": _by_seed(OBFUSCATED),
    "ranks": _by_seed(RANKS),
    "scores": _by_seed(SCORES, system="text"),
    "guesses": Table(
        "Guesses",
        {
            **_SEED,
            **_SETTING,
            "qid": "text",
            "guess": "whole",
            "query": "text",
            "similarity": "number",
            "hit": "whole",
        },
        ("seed", *SETTING, "qid", "guess"),
    ),
    "notes": _by_seed(NOTES),
}


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What an experiment found. `Result.load(folder)` reads one; frames are in the order of the plan."""

    manifest: Mapping[str, Any]
    queries: pd.DataFrame
    settings: pd.DataFrame
    obfuscated: pd.DataFrame
    ranks: pd.DataFrame
    scores: pd.DataFrame
    guesses: pd.DataFrame
    notes: pd.DataFrame

    def __post_init__(self) -> None:
        # Results of earlier versions say it in the manifest alone, and a table that leaves the result must not lose it.
        with_noise(self.obfuscated, joint_noise([self.manifest.get("noise") or noise_of(self.obfuscated)]))

    def __repr__(self) -> str:
        # Short, and without the text of a query: notebooks show it unasked.
        counts = f"{len(self.queries)} queries, {len(self.mechanisms)} mechanisms, {len(self.settings)} settings"
        return f"Result({self.name!r}, {counts})"

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
    def judged(self) -> bool:
        """Tell whether utility was measured; without judgments there is risk alone."""
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

        An original that the log lacks cannot be found, whatever is sent.
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

        Where it holds none, every risk is 0 whatever is sent, and nothing is ranked by anyone.
        """
        if self.log_coverage >= 1:
            return ""
        held = len(self.in_log)
        text = (
            f"the attacker's log holds {held or 'none'} of the {len(self.queries)} originals and was not completed, so "
            f"no risk can exceed {self.log_coverage:.3f}, whatever the mechanism does"
        )
        return f"{text}." if held else f"{text}; nothing is ranked."

    @functools.cached_property
    def digest(self) -> str:
        """Return SHA-256 over manifest and frames: equal for equal results."""
        total = hashlib.sha256(_manifest_text(self.manifest).encode())
        for name in TABLES:
            frame: pd.DataFrame = getattr(self, name)
            total.update(frame.to_json(orient="split", index=False, double_precision=15).encode())
        return total.hexdigest()

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

    def points(self, system: str | None = None, seed: int | None = None) -> pd.DataFrame:
        """Return mean risk and mean utility of every setting, attacker, persona and measure, as Points."""
        self._require_utility()
        utilities = self.utilities(system, seed)
        return join_points(self.risks(seed), utilities, self.name, self.strategies, self.hides_more)

    def quipu(
        self,
        system: str | None = None,
        measure: str | None = None,
        *,
        level: float = LEVEL,
        replicates: int = REPLICATES,
    ) -> pd.DataFrame:
        """Return QuIPU and hypervolume of every mechanism, attacker and persona, with intervals and spread over seeds.

        Columns: strategy, mechanism, attacker, persona, measure, quipu, low, high, error, hypervolume, hypervolume_low,
        hypervolume_high, queries, seeds, seed_low, seed_high (the least and the largest QuIPU score of a single seed;
        NaN where there is one seed only).
        """
        measure = self.measure_named(measure)
        table = self._scored(system, measure, None, level, replicates)
        names = ["mechanism", "attacker", "persona"]
        spread = table[names].assign(seed_low=float("nan"), seed_high=float("nan"))
        if len(self.seeds) > 1:
            each = pd.concat([self._scored(system, measure, seed, level, 1) for seed in self.seeds])
            grouped = each.groupby(names, sort=False)["quipu"]
            spread = grouped.agg(seed_low="min", seed_high="max").reset_index()
        table = table.merge(spread, on=names).assign(seeds=len(self.seeds))
        table.insert(0, "strategy", table["mechanism"].map(self.strategies))
        return table

    def recommend(self, **wishes: Any) -> "Recommendation":
        """Return the best setting within a budget of risk; see `quipukit.recommend.recommend`."""
        from quipukit.recommend import recommend

        return recommend(self, **wishes)

    def _scored(
        self, system: str | None, measure: str, seed: int | None, level: float, replicates: int
    ) -> pd.DataFrame:
        utilities = self.utilities(system, seed)
        chosen = utilities[utilities["measure"] == measure]
        return bootstrap_scores(
            self.risks(seed), chosen, level=level, replicates=replicates, hides_more=self.hides_more
        )

    def _side(self, side: str, system: str, seed: int | None) -> pd.DataFrame:
        rows = self.scores[(self.scores["side"] == side) & (self.scores["system"] == system)]
        if seed is not None:
            if seed not in self.seeds:
                raise InputError(f"there is no seed {seed}; the result has {', '.join(map(str, self.seeds))}.")
            return SCORES.check(rows[rows["seed"] == seed])
        if len(self.seeds) == 1:
            return SCORES.check(rows)
        keys = [column for column in SCORES.columns if column != "score"]
        return SCORES.check(rows.groupby(keys, sort=False, observed=True)["score"].mean().reset_index())

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

    # --- on disk ---

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the frames and, when they are all there, the manifest."""
        place = Path(folder)
        (place / MANIFEST).unlink(missing_ok=True)  # whoever is killed from here on leaves no mixture of two results
        for name in TABLES:
            frame: pd.DataFrame = getattr(self, name)
            if name == "obfuscated":
                frame = frame.assign(noise=noise_of(frame))
            frame = frame.copy(deep=False)
            frame.attrs = {}  # pandas would write them into the file
            with atomic_write(place / f"{name}.parquet") as draft:
                frame.to_parquet(draft, index=False, compression="zstd")
        with atomic_write(place / MANIFEST) as draft:
            draft.write_text(_manifest_text(self.manifest), encoding="utf-8")

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> "Result":
        """Read a result from its folder."""
        place = Path(folder)
        path = place / MANIFEST
        if not path.is_file():
            if not place.is_dir():
                raise FileError(f"{place}: there is no such folder; name one that `quipukit evaluate -o` wrote.")
            begun = (place / "experiment.json").is_file()
            fix = f"finish it with `quipukit evaluate --resume {place}`" if begun else "name one of `quipukit evaluate`"
            raise FileError(f"{place} holds no finished result; {fix}.")
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            raise FileError(f"{path} is damaged; run `quipukit evaluate --resume {place}`.") from None
        if not isinstance(manifest, dict) or manifest.get("form") != FORM:
            raise FileError(f"{path} was written by another version of quipukit; run the experiment again.")
        return cls(manifest, **{field.name: _read(place, field.name) for field in fields(cls) if field.name in TABLES})


def _read(folder: Path, name: str) -> pd.DataFrame:
    path = folder / f"{name}.parquet"
    try:
        frame = read_parquet(path)
    except FileError:
        raise FileError(f"{path} is missing or damaged; run `quipukit evaluate --resume {folder}`.") from None
    return TABLES[name].check(_with_later_columns(frame) if name == "settings" else frame)


def _with_later_columns(settings: pd.DataFrame) -> pd.DataFrame:
    """Add the columns that earlier versions did not write: numbers are missing, directions are those of the classes."""
    if "mechanism" not in settings.columns:
        return settings
    added: dict[str, Any] = {name: float("nan") for name in _LATER if SETTINGS.columns[name] == "number"}
    added["hides_more"] = settings["mechanism"].astype(str).map(directions(settings["mechanism"].astype(str)))
    return settings.assign(**{name: column for name, column in added.items() if name not in settings.columns})


def _manifest_text(manifest: Mapping[str, Any]) -> str:
    return json.dumps(manifest, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
