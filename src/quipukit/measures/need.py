"""Need leakage: what an attacker learns about the information need, even where it does not find the query.

A guesser (`quipukit.measures.guessers`) returns a ranked list of documents that it believes the user wants. For one
query

    leakage = min(1, nDCG@10 of that list / nDCG@10 of the original's own list),

both under the judgments of the original. The original's own list is what the same steps make of the original itself:
what the engine returns for it (`Consensus`), and that list re-ranked (`Guess`). So the original, sent or guessed, leaks
1. Documents with equal scores share their places: nDCG is the mean over all orders. Queries whose own list has an
nDCG of 0 say nothing: they are left out of the mean, and counted.

P@1 and R@10 ask whether the wording is found; a mechanism may hide the wording and still reveal the topic.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd

from quipukit.collections.base import Collection
from quipukit.errors import InputError
from quipukit.frames import NEED, QUERIES, SETTING, with_setting
from quipukit.measures.guessers import CONSENSUS, GUESS, Consensus, Guess, Key, ScoredList, own_lists
from quipukit.measures.intervals import LEVEL, mean_intervals
from quipukit.measures.similarity import Encodes, text_cosines
from quipukit.measures.strongest import STRONGEST
from quipukit.measures.utility import relevant_documents
from quipukit.retrieval.base import Retriever, Scorer
from quipukit.retrieval.fusion import NO_RERANKER, K
from quipukit.retrieval.load import load_retriever, load_scorer
from quipukit.retrieval.pool import default_depth

CUTOFF = 10

_DISCOUNTS = [1 / math.log2(place + 2) for place in range(CUTOFF)]
_BY = (*SETTING, "guesser", "attacker")


def need_leakage(
    queries: pd.DataFrame,
    qrels: pd.DataFrame,
    collection: Collection,
    *,
    run: pd.DataFrame | None = None,
    guesses: pd.DataFrame | None = None,
    settings: pd.DataFrame | None = None,
    retriever: str | Retriever = "bm25",
    reranker: str | Scorer = "minilm",
    depth: int | None = None,
    encoder: "str | Encodes | None" = "minilm",
    k: int = K,
) -> pd.DataFrame:
    """Return how much of the need each guesser finds: a row for every guesser, setting and judged query.

    Columns: mechanism, parameter, value, guesser, attacker, qid, leakage (NaN where reference is 0), score and
    reference (nDCG@10 of the guesser's list and of the original's own), similarity (cosine of the guess and the
    original; NaN for Consensus, and where nothing was guessed). `need_means` averages them.

    Args:
        queries: the originals (qid, query). Those without a relevant document in ``qrels`` are left out.
        qrels: relevance judgments.
        collection: the documents that are searched, on this machine.
        run: what `retrieve` returned for the variants: gives the rows of Consensus.
        guesses: what ``attack_report(...).guesses(1)`` returned: gives the rows of Guess, for each attacker.
        settings: the settings to count (the obfuscated queries will do); one that found or sent nothing leaks 0. By
            default those of ``run`` and ``guesses``.
        retriever: searches guesses and originals; one over the network is refused.
        reranker: re-ranks what a guess finds, with the guess; ``none`` leaves it in the order of the list.
        depth: documents per list. By default 1 % of the collection, 10 to 100.
        encoder: compares guess and original; None leaves similarity NaN.
        k: the constant of reciprocal-rank fusion.
    """
    if run is None and guesses is None:
        raise InputError("there is nothing to measure; give run (from retrieve), guesses (from attack_report) or both.")
    checked = QUERIES.check(queries)
    judged = relevant_documents(qrels, checked["qid"])
    texts = {qid: text for qid, text in zip(checked["qid"], checked["query"], strict=True) if qid in judged}
    engine = load_retriever(retriever, collection)
    depth = depth or default_depth(len(collection), 1)
    named = [] if settings is None else _settings(settings)
    parts: list[tuple[Mapping[str, Any], pd.DataFrame]] = []
    if run is not None:
        references = ndcgs(own_lists(texts, engine, depth), judged)
        lists = Consensus(k).lists(run)
        for setting in dict.fromkeys([*named, *_settings(run)]):
            own = {qid: lists.get((*setting, qid), ()) for qid in references}
            parts.append((_named(setting, CONSENSUS), need_rows(own, references, judged)))
    if guesses is not None:
        guesser = Guess(engine, None if reranker == NO_RERANKER else load_scorer(reranker, collection), depth)
        best = with_setting(guesses[guesses["guess"] == 1])
        found = guesser.lists([*texts.values(), *best["query"]])
        references = ndcgs({qid: found[text] for qid, text in texts.items()}, judged)
        for attacker, rows in best.groupby("attacker", sort=False):
            guessed: dict[Key, str] = {
                (*row[:3], row[3]): row[4]
                for row in rows[[*SETTING, "qid", "query"]].itertuples(index=False, name=None)
            }
            for setting in dict.fromkeys([*named, *_settings(best)]):
                mine = {qid: guessed[*setting, qid] for qid in references if (*setting, qid) in guessed}
                own = {qid: found[mine[qid]] if qid in mine else () for qid in references}
                alike = guess_similarities(mine.items(), texts, encoder)
                parts.append((_named(setting, GUESS, str(attacker)), need_rows(own, references, judged, alike)))
    return NEED.check(need_table(parts))


def need_means(need: pd.DataFrame, level: float = LEVEL) -> pd.DataFrame:
    """Return the mean of every setting and guesser, and where several attackers guess, of the strongest of them.

    Columns: mechanism, parameter, value, guesser, attacker, leakage, similarity, queries (over how many the mean of
    leakage goes), left_out (queries whose own list finds nothing relevant), low and high (an interval for the mean of
    leakage over queries like these). The strongest is the attacker whose guesses leak most at a setting; its interval
    holds for all attackers at once.

    >>> one = {"mechanism": "CMP", "parameter": "epsilon", "value": 1.0, "guesser": "Consensus", "attacker": ""}
    >>> rows = {"qid": ["1", "2", "3"], "leakage": [0.5, 1.0, np.nan], "similarity": np.nan}
    >>> need_means(pd.DataFrame(rows).assign(**one))[["leakage", "queries", "left_out"]].to_dict("records")
    [{'leakage': 0.75, 'queries': 2, 'left_out': 1}]
    """
    measured = need.assign(measured=need["leakage"].notna())
    grouped = measured.groupby(list(_BY), sort=False)
    answered = measured[measured["measured"]].groupby([*_BY], sort=False)["qid"].nunique()
    means = grouped[["leakage", "similarity"]].mean()
    counts = answered.reindex(means.index, fill_value=0).to_numpy()
    means = means.assign(queries=counts, left_out=grouped["qid"].nunique().to_numpy() - counts)
    means = means.join(_intervals(need, level)).reset_index()
    guessed = need[need["guesser"] == GUESS]
    rivals = guessed["attacker"].nunique()
    if rivals < 2:
        return means
    several = _intervals(guessed, 1 - (1 - level) / rivals).groupby(list(SETTING), sort=False).max().reset_index()
    candidates = means[(means["guesser"] == GUESS) & means["leakage"].notna()]
    best = candidates.loc[candidates.groupby(list(SETTING), sort=False)["leakage"].idxmax()]
    strongest = best.drop(columns=["low", "high"]).merge(several, on=list(SETTING)).assign(attacker=STRONGEST)
    return pd.concat([means, strongest], ignore_index=True)


def _intervals(need: pd.DataFrame, level: float) -> pd.DataFrame:
    """Return ends of an interval for the mean leakage of every setting and guesser; nothing where none is known.

    Columns with the same queries are done at once: betting costs little more for many than for one.
    """
    known = need[need["leakage"].notna()]
    table = known.groupby([*_BY, "qid"], sort=False)["leakage"].mean().unstack("qid")
    parts = []
    for _, alike in table.groupby(list(map(bytes, table.notna().to_numpy())), sort=False):
        low, high = mean_intervals(alike.dropna(axis=1).to_numpy().T, level, hits=False)
        parts.append(pd.DataFrame({"low": low, "high": high}, index=alike.index))
    return pd.concat(parts) if parts else pd.DataFrame({"low": [], "high": []}, index=table.index)


def with_need(points: pd.DataFrame, need: pd.DataFrame) -> pd.DataFrame:
    """Add need_consensus, need_guess and guess_similarity to points; NaN where they were not measured."""
    fused = need[need["guesser"] == CONSENSUS].rename(columns={"leakage": "need_consensus"})
    guessed = need[need["guesser"] == GUESS].rename(columns={"leakage": "need_guess", "similarity": "guess_similarity"})
    own = [*SETTING, "attacker"]
    joined = points.merge(fused[[*SETTING, "need_consensus"]], on=list(SETTING), how="left")
    return joined.merge(guessed[[*own, "need_guess", "guess_similarity"]], on=own, how="left")


def need_rows(
    lists: Mapping[str, ScoredList],
    references: Mapping[str, float],
    judged: Mapping[str, Mapping[str, int]],
    similarities: Mapping[tuple[str, str], float] | None = None,
) -> pd.DataFrame:
    """Return qid, score, reference and similarity of one guesser under one setting, a row per reference.

    ``similarities`` are those of its guesses (qid, text).
    """
    scores = {qid: ndcg(lists.get(qid, ()), judged[qid]) for qid in references}
    return scored_rows(scores, references, similarities)


def scored_rows(
    scores: Mapping[str, float],
    references: Mapping[str, float],
    similarities: Mapping[tuple[str, str], float] | None = None,
) -> pd.DataFrame:
    """Return the same as `need_rows`, from the nDCG of every list."""
    alike = {qid: number for (qid, _), number in (similarities or {}).items()}
    return pd.DataFrame(
        {
            "qid": list(references),
            "score": [scores[qid] for qid in references],
            "reference": list(references.values()),
            "similarity": [alike.get(qid, np.nan) for qid in references],
        }
    )


def need_table(parts: Sequence[tuple[Mapping[str, Any], pd.DataFrame]]) -> pd.DataFrame:
    """Return rows of `need_rows` as one table, each with the columns that name it, and with the leakage."""
    if not parts:
        return NEED.empty()
    sizes = [len(rows) for _, rows in parts]
    columns: dict[str, Any] = {
        name: np.repeat(np.array([named[name] for named, _ in parts], object), sizes) for name in parts[0][0]
    }
    for name in parts[0][1].columns:  # one array after another: pandas takes a millisecond for each small frame
        columns[name] = np.concatenate([rows[name].to_numpy() for _, rows in parts])
    reference = np.asarray(columns["reference"], float)
    ratio = np.divide(columns["score"], reference, out=np.full(len(reference), np.nan), where=reference > 0)
    return pd.DataFrame({**columns, "leakage": np.minimum(1.0, ratio)})


def guess_similarities(
    guesses: Iterable[tuple[str, str]], originals: Mapping[str, str], encoder: "str | Encodes | Any | None"
) -> dict[tuple[str, str], float]:
    """Return the cosine of every guess (qid, text) and its original; nothing without an encoder."""
    distinct = list(dict.fromkeys(guesses))
    if encoder is None or not distinct:
        return {}
    cosines = text_cosines([(originals[qid], text) for qid, text in distinct], encoder)
    return dict(zip(distinct, cosines.tolist(), strict=True))


def ndcgs(lists: Mapping[str, ScoredList], judged: Mapping[str, Mapping[str, int]]) -> dict[str, float]:
    """Return nDCG@10 of every judged query's list."""
    return {qid: ndcg(lists.get(qid, ()), documents) for qid, documents in judged.items()}


def ndcg(scored: ScoredList, judged: Mapping[str, int]) -> float:
    """Return nDCG@10 as trec_eval does (gain = grade, discount = log2), and the mean over all orders of equal scores.

    ``scored`` are documents with scores, best first.

    >>> ndcg([("a", 2.0), ("b", 1.0)], {"a": 1}), ndcg([("b", 2.0), ("a", 1.0)], {"a": 1})
    (1.0, 0.6309297535714575)
    >>> round(ndcg([("a", 1.0), ("b", 1.0)], {"a": 1}), 4)  # the mean of both
    0.8155
    """
    ideal = sorted((grade for grade in judged.values() if grade > 0), reverse=True)[:CUTOFF]
    best = math.fsum(grade * discount for grade, discount in zip(ideal, _DISCOUNTS, strict=False))
    total, place = 0.0, 0
    for _, level in groupby(scored, itemgetter(1)):
        if place >= CUTOFF:
            break
        gains = [max(0, judged.get(docno, 0)) for docno, _ in level]
        total += sum(gains) / len(gains) * math.fsum(_DISCOUNTS[place : place + len(gains)])
        place += len(gains)
    return total / best if best > 0 else 0.0


def _settings(frame: pd.DataFrame) -> list[tuple[str, str, float]]:
    named: Iterable[tuple[Any, ...]] = with_setting(frame)[list(SETTING)].drop_duplicates().itertuples(index=False)
    return [(str(mechanism), str(parameter), float(value)) for mechanism, parameter, value in named]


def _named(setting: tuple[str, str, float], guesser: str, attacker: str = "") -> dict[str, Any]:
    return {**dict(zip(SETTING, setting, strict=True)), "guesser": guesser, "attacker": attacker}
