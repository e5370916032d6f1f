"""Compare two results: which settings and queries they share, and how their scores differ on these."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from quipukit.comparison import notes
from quipukit.comparison.differences import NUMBERS, DifferenceTest, settings_of_each
from quipukit.comparison.manifests import manifest_differences
from quipukit.comparison.notes import DIRECTIONS, Setting, labels_of
from quipukit.errors import InputError
from quipukit.frames import SETTING
from quipukit.measures.bootstrap import Score
from quipukit.measures.intervals import LEVEL
from quipukit.measures.resampling import Seed
from quipukit.measures.sides import grids
from quipukit.results import NO_ORIGINALS

if TYPE_CHECKING:
    from quipukit.results import Result

REPLICATES = 10_000  # Holm multiplies the least p-value, 2 / (replicates + 1), by the number of settings
SCORES: tuple[Score, ...] = ("quipu", "hypervolume")
_NAMED = ("mechanism", "attacker", "persona", "measure", "score")


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two results compared; differences are first - second.

    ``scores``: mechanism, attacker, persona, measure, score (quipu or hypervolume), settings (how many both have),
    rankable (whether one may be called better), unranked (why not), first, second, difference, low, high (NaN where
    they are not available), p, p_holm. ``settings``: mechanism, parameter, value, side, attacker and persona (empty for
    utility), measure (empty for risk), and the same numbers.
    ``differs``: what, first, second, from the manifests. ``queries`` are those of the first, of the second and of both;
    ``paired`` says whether differences were formed query by query.
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
    n: int | None = None,
) -> Comparison:
    """Return the differences of scores between two results, per mechanism and per setting, with what may cause them.

    ``measure`` defaults to the first that both have, ``system`` to the first of each. ``n`` chooses one N of a sweep,
    in both; the largest that both have where none is named.
    """
    first, second, which_n = _one_n(first, second, n)
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
        names = (", ".join(labels) for labels in labels_of(sides))
        raise InputError("the results have no attacker in common: the first has {}, the second {}.".format(*names))
    sizes = [len(next(iter(side.values())).qids) for side in sides]
    test = DifferenceTest(paired, level, replicates, seed)
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
    lone = [name for name, count in settings_of_each(pair[0]).items() if count == 1]
    return Comparison(
        measure=measure,
        systems=systems,
        paired=paired,
        queries=(len(first.queries), len(second.queries), len(common[0]) if paired else 0),
        level=level,
        replicates=replicates,
        differs=manifest_differences(first, second, systems),
        scores=table.reindex(columns=[*_NAMED, "settings", "rankable", "unranked", *NUMBERS, "p_holm"]),
        settings=means[[*SETTING, "side", "attacker", "persona", "measure", *NUMBERS, "p_holm"]],
        notes=(
            *which_n,
            *why,
            *notes.all_equal(means),
            *notes.without_a_curve(lone),
            *notes.not_ranked(table),
            *notes.log_ceilings(first, second),
            *notes.only_in_one(settings, both),
            *notes.attackers_in_one(sides),
            *notes.few_queries(sizes),
            *notes.few_replicates(both, replicates, level),
        ),
    )


# --- what is compared ---------------------------------------------------------------------------------------------


def _one_n(first: "Result", second: "Result", n: int | None) -> "tuple[Result, Result, list[str]]":
    """Return both results at one N, and what to say about it; results of one N are compared at that N."""
    sweeps = [one for one in (first, second) if one.is_sweep]
    if not sweeps:
        return (first, second, []) if n is None else (first.at(n), second.at(n), [])
    shared = sorted(set(first.ns) & set(second.ns))
    if n is None and not shared:
        raise InputError(
            f"the results have no n in common: the first has n = {', '.join(map(str, first.ns))}, the second "
            f"n = {', '.join(map(str, second.ns))}.",
            argument="n",
        )
    chosen = shared[-1] if n is None else n
    others = sorted({other for one in sweeps for other in one.ns} - {chosen})
    notes = [f"With {chosen} variants per query; there is also N = {', '.join(map(str, others))}."] if others else []
    return first.at(chosen), second.at(chosen), notes


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
    """Return whether both results sent and judged the same queries, and what to say about it."""
    texts = [dict(zip(result.queries["qid"], result.queries["query"], strict=True)) for result in (first, second)]
    sent, judged = ([set(pair[side]["qid"]) for pair in frames] for side in (0, 1))
    shared = sent[0] & sent[1], judged[0] & judged[1]
    other = sum(texts[0].get(qid) != texts[1].get(qid) for qid in shared[0] | shared[1])
    unpaired = "so the difference is that of two independent samples, and far less is significant"
    if shared[0].isdisjoint(shared[1]):
        return False, shared, [f"The results have no query id in common that both judged, {unpaired}."]
    if other:
        # Ids are shown, never texts.
        return False, shared, [f"Of {len(shared[0])} shared query ids {other} have another text, {unpaired}."]
    notes = []
    for what, own, both in (("queries", sent, shared[0]), ("judged queries", judged, shared[1])):
        if len(both) < max(map(len, own)):
            counts = " and ".join(str(len(qids)) for qids in own)
            notes.append(f"Of {counts} {what} the results share {len(both)}; all numbers are over these.")
    return True, shared, notes


def _barred(first: "Result", second: "Result") -> dict[Score, dict[str, str]]:
    """Return the mechanisms that neither score, or QuIPU, can compare for any curve, and why."""
    names = [name for name in first.mechanisms if name in second.mechanisms]
    if not (first.in_log and second.in_log):
        return {score: dict.fromkeys(names, NO_ORIGINALS) for score in SCORES}
    turned = [name for name in names if first.hides_more[name] != second.hides_more[name]]
    return {"quipu": dict.fromkeys(turned, DIRECTIONS), "hypervolume": {}}
