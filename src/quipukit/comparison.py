"""Two results side by side: which scores differ, whether chance explains it, and what else differs between the runs.

Where both results have queries in common, differences are formed query by query: what makes a query easy or hard for
both stays out of them. Where they are of other queries, the difference is that of two independent samples. Intervals
and p-values are those of `quipukit.measures.resampling`.

Differences are first - second. Mechanisms are scored on the settings that both results have: a QuIPU score depends on
its grid; the hypervolume stands beside it. Risks are over all queries sent, utilities over those judged. ``p_holm`` is
corrected for all mechanisms of the same attacker, persona and score, or for all settings of the same risk or measure.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from quipukit.errors import InputError
from quipukit.frames import SETTING
from quipukit.measures.bootstrap import Grid, Score, Side, grids, holm, per_query, reach
from quipukit.measures.intervals import LEVEL, Floats
from quipukit.measures.quipu import BACKWARDS, NARROW, ORIGINAL, SHORT, SINGLE, hypervolume, why_unranked
from quipukit.measures.resampling import FEW, Limits, Seed, judge_paired, judge_unpaired
from quipukit.measures.risk import risk_label
from quipukit.results import NO_ORIGINALS
from quipukit.specs import format_value

if TYPE_CHECKING:
    from quipukit.results import Result

REPLICATES = 10_000  # Holm multiplies the least p-value, 2 / (replicates + 1), by the number of settings

SCORES: tuple[Score, ...] = ("quipu", "hypervolume")

_NAMED = ("mechanism", "attacker", "persona", "measure", "score")
_FOUND = ("first", "second", "difference", "low", "high", "p")
# Told elsewhere: settings by name, queries by count, systems and measures by choice.
_TOLD = ("form", "specs", "skipped", "examples", "queries", "systems", "measures")
_HASH = "fingerprint"
_WIDTH = 40
_DUST = 1e-12
_DIRECTIONS = "other directions"

Setting = tuple[str, str, float]
_Grids = dict[tuple[str, str], Grid]  # by attacker and persona


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two results compared; differences are first - second.

    ``scores``: mechanism, attacker, persona, measure, score (quipu or hypervolume), settings (how many both have),
    rankable (whether one may be called better), unranked (why not), first, second, difference, low, high (NaN where
    they are not available), p, p_holm. ``settings``: mechanism, parameter, value, side, attacker and persona (empty for
    utility), measure (empty for risk), and the same numbers.
    ``differs``: what, first, second, from the manifests. ``queries`` are those of the first, of the second and of both;
    ``paired`` tells whether differences were formed query by query.
    """

    measure: str
    systems: tuple[str, str]
    paired: bool
    queries: tuple[int, int, int]
    level: float
    replicates: int
    differs: pd.DataFrame
    scores: pd.DataFrame
    settings: pd.DataFrame
    notes: tuple[str, ...]


def compare_results(
    first: "Result",
    second: "Result",
    *,
    measure: str | None = None,
    system: str | None = None,
    level: float = LEVEL,
    replicates: int = REPLICATES,
    seed: Seed = 0,
) -> Comparison:
    """Return the differences of scores between two results, per mechanism and per setting, with what may cause them.

    ``measure`` defaults to the first that both have, ``system`` to the first of each.
    """
    measure = _measure(first, second, measure)
    systems = (system or first.systems[0], system or second.systems[0])
    frames = [_frames(result, measure, name) for result, name in zip((first, second), systems, strict=True)]
    settings = [_settings(*pair) for pair in frames]
    both = set(settings[0]) & set(settings[1])
    if not both:
        names = (", ".join(dict.fromkeys(name for name, *_ in side)) for side in settings)
        raise InputError("the results have no setting in common: the first has {}, the second {}.".format(*names))
    paired, common, why = _pairing(first, second, frames)
    keep = common if paired else None
    cuts = [(result, _cut(pair, both, keep)) for result, pair in zip((first, second), frames, strict=True)]
    sides = [
        {(grid.attacker, grid.persona): grid for grid in grids(*cut, result.hides_more).values()}
        for result, cut in cuts
    ]
    shared = [who for who in sides[0] if who in sides[1]]
    if not shared:
        names = (", ".join(labels) for labels in _labels(sides))
        raise InputError("the results have no attacker in common: the first has {}, the second {}.".format(*names))
    sizes = [len(next(iter(side.values())).qids) for side in sides]
    test = _Test(paired, level, replicates, seed)
    barred = _barred(first, second)

    scores, rows = [], []
    for who in shared:
        pair = sides[0][who], sides[1][who]
        named = dict(zip(("attacker", "persona"), who, strict=True))
        scores += [test.curves(*pair, score, barred[score]).assign(**named, measure=measure) for score in SCORES]
        rows.append(test.means("risk", *pair).assign(side="risk", **named, measure=""))
    rows.append(test.means("utility", *pair).assign(side="utility", attacker="", persona="", measure=measure))
    table = pd.concat([frame for frame in scores if len(frame)] or scores[:1], ignore_index=True)
    means = pd.concat(rows, ignore_index=True)
    lone = [name for name, count in _counts(pair[0]).items() if count == 1]
    return Comparison(
        measure=measure,
        systems=systems,
        paired=paired,
        queries=(len(first.queries), len(second.queries), len(common[0]) if paired else 0),
        level=level,
        replicates=replicates,
        differs=_differs(first, second, systems),
        scores=table.reindex(columns=[*_NAMED, "settings", "rankable", "unranked", *_FOUND, "p_holm"]),
        settings=means[[*SETTING, "side", "attacker", "persona", "measure", *_FOUND, "p_holm"]],
        notes=(
            *why,
            *_equal(means),
            *_lone(lone),
            *_unranked(table),
            *_ceilings(first, second),
            *_missing(settings, both),
            *_attackers(sides),
            *_few(sizes),
            *_coarse(both, replicates, level),
        ),
    )


# --- what is compared ---------------------------------------------------------------------------------------------


def _measure(first: "Result", second: "Result", measure: str | None) -> str:
    main = first.measure_named(measure)  # refuses a result without judgments
    second.measure_named(measure)
    if measure is not None:
        return measure
    both = [name for name in first.measures if name in second.measures]
    if not both:
        raise InputError(
            f"the results have no measure of utility in common: the first has {', '.join(first.measures)}, the second "
            f"{', '.join(second.measures)}."
        )
    return main if main in both else both[0]


def _frames(result: "Result", measure: str, system: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    utilities = result.utilities(system)
    return result.risks(), utilities[utilities["measure"] == measure]


def _settings(risks: pd.DataFrame, utilities: pd.DataFrame) -> list[Setting]:
    measured = [
        frame[list(SETTING)].drop_duplicates().itertuples(index=False, name=None) for frame in (risks, utilities)
    ]
    with_risk, with_utility = list(measured[0]), set(measured[1])
    return [setting for setting in with_risk if setting in with_utility]


def _cut(
    frames: tuple[pd.DataFrame, pd.DataFrame], settings: set[Setting], qids: tuple[set[str], set[str]] | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    wanted = pd.MultiIndex.from_tuples(sorted(settings), names=list(SETTING))

    def cut(frame: pd.DataFrame, own: set[str] | None) -> pd.DataFrame:
        kept = frame[pd.MultiIndex.from_frame(frame[list(SETTING)]).isin(wanted)]
        return kept if own is None else kept[kept["qid"].isin(own)]

    risk, utility = qids or (None, None)
    return cut(frames[0], risk), cut(frames[1], utility)


def _pairing(
    first: "Result", second: "Result", frames: list[tuple[pd.DataFrame, pd.DataFrame]]
) -> tuple[bool, tuple[set[str], set[str]], list[str]]:
    """Tell whether the results are of the same queries, which both sent and both judged, and what to say about it."""
    texts = [dict(zip(result.queries["qid"], result.queries["query"], strict=True)) for result in (first, second)]
    sent, judged = ([set(pair[side]["qid"]) for pair in frames] for side in (0, 1))
    shared = sent[0] & sent[1], judged[0] & judged[1]
    other = sum(texts[0].get(qid) != texts[1].get(qid) for qid in shared[0] | shared[1])
    unpaired = "so the difference is that of two independent samples, and far less is significant"
    if shared[0].isdisjoint(shared[1]):
        return False, shared, [f"The results have no query id in common that both judged, {unpaired}."]
    if other:
        # Ids are told, never texts.
        return False, shared, [f"Of {len(shared[0])} shared query ids {other} have another text, {unpaired}."]
    notes = []
    for what, own, both in (("queries", sent, shared[0]), ("judged queries", judged, shared[1])):
        if len(both) < max(map(len, own)):
            counts = " and ".join(str(len(qids)) for qids in own)
            notes.append(f"Of {counts} {what} the results share {len(both)}; all numbers are over these.")
    return True, shared, notes


# --- the differences ----------------------------------------------------------------------------------------------


_MEANS: Limits = (-1.0, 1.0)
_NONE: Limits = (-math.inf, math.inf)


@dataclass(frozen=True)
class _Test:
    """How differences are judged: the same for every one."""

    paired: bool
    level: float
    replicates: int
    seed: Seed

    def means(self, side: str, first: Grid, second: Grid) -> pd.DataFrame:
        """Compare the mean of one side at every setting."""
        place = {setting: number for number, setting in enumerate(second.settings)}
        own, other = getattr(first, side), getattr(second, side).columns([place[one] for one in first.settings])
        names = [dict(zip(SETTING, setting, strict=True)) for setting in first.settings]
        return self._family(names, own.measured, other.measured, _limits(_MEANS, own, other))

    def curves(self, first: Grid, second: Grid, score: Score, barred: Mapping[str, str]) -> pd.DataFrame:
        """Compare a score of every mechanism with a curve; the ``barred`` ones are not to be ranked, for a reason."""
        counts = {name: count for name, count in _counts(first).items() if count > 1}
        if not counts:
            return pd.DataFrame()
        both = first, second
        own, other = (np.column_stack([_curve(grid, name, score) for name in counts]) for grid in both)
        reasons = [barred.get(name) or next(filter(None, (_why(grid, name) for grid in both)), "") for name in counts]
        names = [
            {"mechanism": name, "score": score, "settings": count, "rankable": not reason, "unranked": reason}
            for (name, count), reason in zip(counts.items(), reasons, strict=True)
        ]
        most = np.ones(len(counts))
        if score == "quipu":
            most = np.array([sum(reach(*_sides_of(grid, name)) for grid in both) for name in counts])
        limits = _limits((-most, most), *(side for grid in both for side in (grid.risk, grid.utility)))
        return self._family(names, own, other, limits)

    def _family(self, names: list[dict[str, Any]], own: Floats, other: Floats, limits: Limits) -> pd.DataFrame:
        """Return one row per difference, with p-values corrected for their number."""
        drawn: dict[str, Any] = {"limits": limits, "replicates": self.replicates, "seed": self.seed}
        if self.paired:
            judged = judge_paired(own - other, self.level, **drawn)
        else:
            judged = judge_unpaired(own, other, self.level, **drawn)
        means = own.mean(axis=0), other.mean(axis=0)
        numbers = zip(*means, means[0] - means[1], *judged, strict=True)
        rows = [{**name, **dict(zip(_FOUND, row, strict=True))} for name, row in zip(names, numbers, strict=True)]
        return pd.DataFrame(rows).assign(p_holm=holm(judged.p))


def _limits(usual: Limits, *sides: Side) -> Limits:
    """Return what a difference can be at all: measures of utility that count documents know no limit."""
    usually = all(((side.scores >= 0) & (side.scores <= 1)).all() for side in sides)
    return usual if usually else _NONE


def _counts(grid: Grid) -> dict[str, int]:
    return dict(Counter(mechanism for mechanism, *_ in grid.settings))


def _curve(grid: Grid, mechanism: str, score: Score) -> Floats:
    sides = _sides_of(grid, mechanism)
    if score == "quipu":
        return per_query(*sides)
    original = _sides_of(grid, ORIGINAL)[1]
    return per_query(*sides, hypervolume, original if original.scores.shape[1] else None)


def _why(grid: Grid, mechanism: str) -> str:
    """Return why a curve is not to be called better or worse than another, empty where it may be."""
    risk, utility = _sides_of(grid, mechanism)
    return why_unranked(risk.means, utility.means)


def _barred(first: "Result", second: "Result") -> dict[Score, dict[str, str]]:
    """Return the mechanisms that neither score, or QuIPU, can compare whatever their curves are, and why."""
    names = [name for name in first.mechanisms if name in second.mechanisms]
    if not (first.in_log and second.in_log):
        return {score: dict.fromkeys(names, NO_ORIGINALS) for score in SCORES}
    turned = [name for name in names if first.hides_more[name] != second.hides_more[name]]
    return {"quipu": dict.fromkeys(turned, _DIRECTIONS), "hypervolume": {}}


def _sides_of(grid: Grid, mechanism: str) -> tuple[Side, Side]:
    columns = [number for number, (name, *_) in enumerate(grid.settings) if name == mechanism]
    return grid.risk.columns(columns), grid.utility.columns(columns)


# --- what else differs --------------------------------------------------------------------------------------------


def _differs(first: "Result", second: "Result", systems: tuple[str, str]) -> pd.DataFrame:
    """Return the facts of the manifests that are not the same: what, first, second."""
    facts = [_facts(result, name) for result, name in zip((first, second), systems, strict=True)]
    rows = [
        (what, *(_short(what, side.get(what)) for side in facts))
        for what in dict.fromkeys([*facts[0], *facts[1]])
        if facts[0].get(what) != facts[1].get(what)
    ]
    # A fingerprint is worth telling only where nothing else says that this part is another one.
    told = {what.split(".")[0] for what, *_ in rows if not what.endswith(_HASH)}
    rows = [row for row in rows if not (row[0].endswith(_HASH) and row[0].split(".")[0] in told)]
    return pd.DataFrame(rows, columns=["what", "first", "second"])


def _facts(result: "Result", system: str) -> dict[str, Any]:
    chosen = next(known for known in result.manifest["systems"] if known["name"] == system)
    parts = {name: part for name, part in result.manifest.items() if name not in _TOLD}
    return _flat({**parts, "system": chosen})


def _flat(part: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for name, value in part.items():
        facts.update(_flat(value, f"{before}{name}.") if isinstance(value, Mapping) else {f"{before}{name}": value})
    return facts


def _short(what: str, value: Any) -> str:
    if value is None:
        return "-"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if what.endswith(_HASH):
        return text[:12]
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."


def _missing(settings: list[list[Setting]], both: set[Setting]) -> list[str]:
    """Name what only one of the results has."""
    notes = []
    for which, own, others in (("first", settings[0], settings[1]), ("second", settings[1], settings[0])):
        theirs = {mechanism for mechanism, *_ in others}
        alone = [mechanism for mechanism in dict.fromkeys(name for name, *_ in own) if mechanism not in theirs]
        if alone:
            notes.append(f"Only in the {which}: {', '.join(alone)}.")
        shared = [one for one in own if one not in both and one[0] in theirs]
        if shared:
            names = ", ".join(f"{mechanism}@{format_value(value)}" for mechanism, _, value in shared)
            notes.append(f"Settings only in the {which}, left out of the scores: {names}.")
    return notes


def _equal(means: pd.DataFrame) -> list[str]:
    return ["All risks and utilities are equal."] if (means["difference"].abs() <= _DUST).all() else []


def _lone(lone: list[str]) -> list[str]:
    if not lone:
        return []
    return [f"One common setting makes no curve and has no score, see the settings: {', '.join(lone)}."]


def _unranked(scores: pd.DataFrame) -> list[str]:
    """Name the mechanisms that cannot be compared by their scores, and say why."""
    if scores.empty or scores["rankable"].all():
        return []
    notes = []
    texts = {
        SHORT: f"Their curves span less than {100 * NARROW:g} % of the diagonal in one of the results, so their scores "
        "are close to 0 whatever they do.",
        BACKWARDS: "On the whole their curves run backwards in one of the results, so their scores have the sign of "
        "their opposites; if larger values hide more, declare hides_more.",
        _DIRECTIONS: "By what the results say, smaller values hide more in one and larger in the other; each curve is "
        "read its own way, and QuIPU scores of such curves do not compare. Set hides_more right in both.",
    }
    texts[SINGLE] = texts[SHORT]
    for text in dict.fromkeys(texts.values()):
        rows = scores[scores["unranked"].map(texts.get) == text]
        if len(rows):
            notes.append(f"Not ranked, see the settings: {', '.join(dict.fromkeys(rows['mechanism']))}. {text}")
    return notes


def _ceilings(first: "Result", second: "Result") -> list[str]:
    """Say where the attacker's log lacks originals, which is a ceiling for every risk."""
    told = (("first", first.log_ceiling), ("second", second.log_ceiling))
    return [f"In the {which} {ceiling}" for which, ceiling in told if ceiling]


def _attackers(sides: "list[_Grids]") -> list[str]:
    labels = _labels(sides)
    return [
        f"Attackers only in the {which}: {', '.join(alone)}."
        for which, own, others in (("first", *labels), ("second", *reversed(labels)))
        if (alone := [name for name in own if name not in others])
    ]


def _labels(sides: "list[_Grids]") -> list[list[str]]:
    """Return what the risks of each result are called, so that equal names are equal risks."""
    several = len({attacker for side in sides for attacker, _ in side}) > 1
    return [[risk_label(*who, several) for who in side] for side in sides]


def _few(sizes: list[int]) -> list[str]:
    least = min(sizes)
    if least >= FEW:
        return []
    return [
        f"{least} {'query is' if least == 1 else 'queries are'} few: where differences are skewed, a test at 5 % may "
        f"be wrong more often than that. Trust it from {FEW} queries on."
    ]


def _coarse(settings: set[Setting], replicates: int, level: float) -> list[str]:
    least = 2 * len(settings) / (replicates + 1)
    if least < 1 - level:
        return []
    return [f"With {replicates} replicates no setting of {len(settings)} can be significant after Holm; draw more."]
