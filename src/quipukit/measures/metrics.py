"""Scores as ir_measures has them: results as `Metric`, and the risks as measures over a run of guesses.

An attacker's guesses are a ranking of the query log, with one relevant entry: the original. So `guess_run` makes of
them a run and judgments, and P@1, R@10 and RR of ir_measures are the risks of the lazy, active and motivated persona,
except where guesses tie: then ir_measures takes one order, and the measures here the mean over all of them.

    qrels, run = guess_run(report.guesses(100), "QuIA")
    ir_measures.calc_aggregate([GuessP @ 1, GuessR @ 10, GuessRR], qrels, run)

A run holds the best guesses alone, and an original that is not among them counts 0: ask for as many guesses as a
measure reads, and for ``GuessRR`` for as many as the log has.
"""

from collections.abc import Callable
from typing import Any

import ir_measures
import pandas as pd

from quipukit.errors import FrameError, InputError
from quipukit.frames import SCORES, SETTING
from quipukit.measures.risk import harmonic_difference
from quipukit.measures.utility import parse_measures

_GUESSES = (*SETTING, "attacker", "qid", "query", "similarity", "hit")


def metrics(scores: pd.DataFrame) -> "list[ir_measures.Metric]":
    """Return scores of one setting, and of risks one attacker, as ir_measures has them: query_id, measure, value.

    ``scores`` are what `quipukit.risk` or `quipukit.utility` returns, or a part of it. Risks become the measures
    of this module, utilities those of ir_measures.

    >>> row = {"mechanism": "CMP", "parameter": "epsilon", "value": 5, "attacker": "QuIA", "side": "risk"}
    >>> metrics(pd.DataFrame([{**row, "qid": "q1", "measure": "R@10", "score": 0.5}]))
    [Metric(query_id='q1', measure=GuessR@10, value=0.5)]
    """
    table = SCORES.check(scores)
    _refuse_several(table)
    measures = {(side, name): _measure(side, name) for side, name in zip(table["side"], table["measure"], strict=True)}
    return [
        ir_measures.Metric(row.qid, measures[row.side, row.measure], float(row.score))
        for row in table.itertuples(index=False)
    ]


def guess_run(guesses: pd.DataFrame, attacker: str | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return judgments and a run for ir_measures from one attacker's best guesses under one setting.

    ``guesses`` are those of `AttackReport.guesses`. The entries of the log become numbers: neither table holds a text.
    """
    missing = [name for name in _GUESSES if name not in guesses.columns]
    if missing:
        raise FrameError(f"Guesses need column {missing[0]!r}; give what attack_report(...).guesses(top) returns.")
    own = guesses if attacker is None else guesses[guesses["attacker"] == attacker]
    if own.empty:
        known = ", ".join(dict.fromkeys(guesses["attacker"].astype(str)))
        raise InputError(f"there are no guesses of {attacker!r}; there are those of {known or 'nobody'}.")
    _refuse_several(own)
    numbers = pd.factorize(own["query"])[0]
    run = pd.DataFrame(
        {
            "query_id": own["qid"].astype(str).to_numpy(),
            "doc_id": [f"log-{number}" for number in numbers],
            "score": own["similarity"].to_numpy(float),
        }
    )
    hits = dict(zip(run["query_id"][own["hit"].to_numpy(bool)], run["doc_id"][own["hit"].to_numpy(bool)], strict=True))
    asked = list(dict.fromkeys(run["query_id"]))
    qrels = pd.DataFrame({"query_id": asked, "doc_id": [hits.get(qid, "not-guessed") for qid in asked], "relevance": 1})
    return qrels, run


def _refuse_several(table: pd.DataFrame) -> None:
    attackers = table.loc[table["attacker"] != "", "attacker"].nunique()  # a utility has none
    for what, count in (("settings", len(table[list(SETTING)].drop_duplicates())), ("attackers", attackers)):
        if count > 1:
            raise InputError(f"these are {count} {what}, and ir_measures has no place for their names; choose one.")


def _measure(side: str, name: str) -> Any:
    if side == "utility":
        return parse_measures([name])[0]
    base, _, cutoff = name.partition("@")
    risks = {"P": GuessP, "R": GuessR, "RR": GuessRR}
    if base not in risks:
        raise InputError(f"{name!r} is no risk; the risks are P@1, R@k and RR.")
    return risks[base] @ int(cutoff) if cutoff else risks[base]


# --- the risks as measures -------------------------------------------------------------------------------------------


def _expected(score: Callable[[int, int, int], float], name: str, default: int | None) -> type:
    describe: Any = ir_measures.ParamInfo  # which has no types
    cutoff = describe(dtype=int, required=False, default=default, desc="guesses that are read")

    class _Risk(ir_measures.Measure):
        __name__ = NAME = name
        SUPPORTED_PARAMS = {} if default is None else {"cutoff": cutoff}

        def runtime_impl(self, qrels: pd.DataFrame, run: pd.DataFrame) -> Any:
            """Yield the risk of every query; the default pipeline of ir_measures calls it."""
            k = self["cutoff"] if self.SUPPORTED_PARAMS else 0
            scores = {qid: dict(zip(own["doc_id"], own["score"], strict=True)) for qid, own in run.groupby("query_id")}
            relevant = qrels[qrels["relevance"] > 0]
            for qid, own in relevant.groupby("query_id"):
                found = scores.get(qid, {})
                target = found.get(own["doc_id"].iloc[0])
                if target is None:
                    yield ir_measures.Metric(qid, self, 0.0)
                    continue
                better = sum(one > target for one in found.values())
                tied = sum(one == target for one in found.values()) - 1
                yield ir_measures.Metric(qid, self, score(better, tied, k))

    return _Risk


def _in_first(better: int, tied: int, k: int) -> float:
    return min(1.0, max(0.0, (k - better) / (tied + 1)))


def _reciprocal(better: int, tied: int, _: int) -> float:
    return float(harmonic_difference(better, better + tied + 1)) / (tied + 1)


def _precise(better: int, tied: int, k: int) -> float:
    return _in_first(better, tied, k) / k


# GuessP@1 is the risk against the lazy persona, GuessR@k against the active one, GuessRR against the motivated one.
GuessP = _expected(_precise, "GuessP", 1)()
GuessR = _expected(_in_first, "GuessR", 10)()
GuessRR = _expected(_reciprocal, "GuessRR", None)()
