"""Utility: what a user still finds, measured the way TREC measures it, through ir_measures or a plugin."""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from quipukit.errors import InputError
from quipukit.frames import RANKED, SCORES, SETTING, qrels_frame, with_setting
from quipukit.measures.plugins import PluginMeasure, measure_plugins, plugin_measure

DEFAULT_MEASURES = ("nDCG@10", "SetR", "P@10", "AP", "RR")


def utility(
    run: pd.DataFrame,
    qrels: pd.DataFrame,
    measures: Sequence[str] = DEFAULT_MEASURES,
    settings: pd.DataFrame | None = None,
    queries: Iterable[str] | None = None,
) -> pd.DataFrame:
    """Return Scores: every measure of every judged query under every setting of a run.

    Any name of ir_measures or of a plugin will do; ``SetR`` of a pooled run is the pooled recall. A judged query of
    which the run holds nothing scores 0 and is counted (`empty_pools`); a query without relevant documents is left out,
    for nothing could be found. The order of the run's ranks is what counts: equal scores are not shuffled. A setting
    that found nothing at all has no row in a run; give ``settings`` (the obfuscated queries will do) to have it scored
    0 too.

    All judged queries count, sent or not: a run does not show it. Where only some were sent, give their ids as
    ``queries``.
    """
    judged = relevant_documents(qrels, queries)
    ranked = RANKED.check(with_setting(run)) if len(run) else RANKED.empty()
    parsed = parse_measures(measures)
    rows: list[tuple[Any, ...]] = []
    for setting, group in _by_setting(ranked, settings).items():
        for qid, name, score in _scores(group, judged, parsed):
            rows.append((*setting, "", qid, "utility", name, score))
    return SCORES.check(pd.DataFrame(rows, columns=list(SCORES.columns)))


def empty_pools(
    run: pd.DataFrame,
    qrels: pd.DataFrame,
    settings: pd.DataFrame | None = None,
    queries: Iterable[str] | None = None,
) -> pd.DataFrame:
    """Return, for every setting, how many judged queries have nothing in the run, of how many."""
    judged = set(relevant_documents(qrels, queries))
    groups = _by_setting(with_setting(run), settings)
    rows = [(*setting, len(judged - set(group["qid"])), len(judged)) for setting, group in groups.items()]
    return pd.DataFrame(rows, columns=[*SETTING, "empty", "queries"])


def _by_setting(run: pd.DataFrame, settings: pd.DataFrame | None) -> dict[tuple[Any, ...], pd.DataFrame]:
    groups = _groups(run)
    if settings is None:
        return groups
    named = with_setting(settings)[list(SETTING)].drop_duplicates().itertuples(index=False, name=None)
    return {setting: groups.get(setting, run.iloc[:0]) for setting in [*named, *groups]}


def _groups(run: pd.DataFrame) -> dict[tuple[Any, ...], pd.DataFrame]:
    columns = [run[name].unique().tolist() for name in SETTING]
    if all(len(values) == 1 for values in columns):  # an experiment measures one setting at a time
        return {tuple(values[0] for values in columns): run}
    return {tuple(setting): group for setting, group in run.groupby(list(SETTING), sort=False, observed=True)}


def mean_scores(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of every measure under every setting, one row per setting."""
    keys = list(SETTING)
    means = scores.groupby([*keys, "measure"], sort=False)["score"].mean().unstack("measure")
    return means[list(dict.fromkeys(scores["measure"]))].reset_index()


def relevant_documents(qrels: pd.DataFrame, queries: Iterable[str] | None = None) -> dict[str, dict[str, int]]:
    """Return the judgments of every query that has a relevant document: of all, or of some by their ids."""
    checked = qrels_frame(qrels)
    if queries is not None:
        checked = checked[checked["qid"].isin(set(queries))]
    judged: dict[str, dict[str, int]] = {}
    for qid, docno, relevance in checked.itertuples(index=False):
        judged.setdefault(qid, {})[docno] = relevance
    answerable = {qid: documents for qid, documents in judged.items() if any(r > 0 for r in documents.values())}
    if not answerable:
        raise InputError("the judgments name no relevant document, so utility cannot be measured; check the qrels.")
    return answerable


def parse_measures(measures: Sequence[str]) -> list[Any]:
    """Return measures by their names, or say which name is none."""
    import ir_measures

    parsed: list[Any] = []
    for name in measures:
        try:
            parsed.append(ir_measures.parse_measure(name))
        except (NameError, SyntaxError, ValueError, TypeError):
            own = plugin_measure(name)
            if own is None:
                others = "".join(f", {plugin}" for plugin in measure_plugins())
                raise InputError(
                    f"{name!r} is not a measure of ir_measures; try nDCG@10, SetR, P@10, AP or RR{others}."
                ) from None
            parsed.append(own)
    return parsed


def measure_identities(measures: Sequence[str]) -> list[str | list[str]]:
    """Return what scores depend on besides run and judgments: the names, and of a plugin's measure its source too."""
    return [
        [str(one), one.source_hash] if isinstance(one, PluginMeasure) else name
        for name, one in zip(measures, parse_measures(measures), strict=True)
    ]


def _scores(
    group: pd.DataFrame, judged: dict[str, dict[str, int]], measures: list[Any]
) -> list[tuple[str, str, float]]:
    import ir_measures

    run: dict[str, dict[str, float]] = {}
    for qid, docno, rank in zip(group["qid"], group["docno"], group["rank"], strict=True):
        if qid in judged:
            # trec_eval breaks ties its own way; falling numbers from our ranks leave it none to break.
            run.setdefault(qid, {})[docno] = -float(rank)
    scores = {}
    ours = [measure for measure in measures if isinstance(measure, PluginMeasure)]
    known = [measure for measure in measures if measure not in ours]
    if run and known:
        scores = {(m.query_id, str(m.measure)): float(m.value) for m in ir_measures.iter_calc(known, judged, run)}
    for qid, documents in run.items() if ours else ():
        ranking = sorted(documents, key=documents.__getitem__, reverse=True)
        scores |= {(qid, str(measure)): measure.score(ranking, judged[qid]) for measure in ours}
    return [(qid, str(m), scores.get((qid, str(m)), 0.0)) for qid in judged for m in measures]
