"""The formal side of every setting: what is promised, what is spent, and what became of the texts."""

from typing import Any

import numpy as np
import pandas as pd

from quipukit.covers.partition import Partition
from quipukit.experiment.cells import Cell
from quipukit.experiment.inputs import COMPLETED
from quipukit.experiment.pipeline import Pipeline
from quipukit.experiment.plan import Plan
from quipukit.experiment.stages.text_similarity import COLUMNS
from quipukit.mechanisms.base import Mechanism
from quipukit.registry import directions
from quipukit.settings import Setting, shares_budget
from quipukit.vectors.unknown import UnknownWords, unknown_words


def settings_table(pipeline: Pipeline) -> pd.DataFrame:
    """Return the Settings of a result, one row per setting; what depends on the noise is the mean over the seeds."""
    cells: dict[Setting, list[Cell]] = {}
    for cell in pipeline.obfuscate.cells:
        cells.setdefault(cell.setting, []).append(cell)
    return pd.DataFrame([_row(pipeline, mine) for mine in cells.values()])


def _row(pipeline: Pipeline, cells: list[Cell]) -> dict[str, Any]:
    setting, plan = cells[0].setting, pipeline.context.plan
    similarity = pd.concat([pipeline.text_similarity.load(cell) for cell in cells])
    variants = sum(map(pipeline.obfuscate.variants, cells))
    mechanism = setting.bound
    pooled = float(np.mean([pipeline.retrieve.documents_pooled(cell) for cell in cells]))
    unknown = _unknown(plan, mechanism)
    return {
        **setting.columns,
        "strategy": setting.strategy,
        "guarantee": setting.guarantee,
        "private": int(setting.private),
        "budget": setting.budget,
        "budget_query": _spent_per_query(plan, mechanism) * (1 if shares_budget(setting.mechanism) else setting.n),
        "n": setting.n,
        "variants": variants / (len(cells) * len(plan.queries)),
        "hides_more": directions([setting.mechanism])[setting.mechanism] if mechanism is None else mechanism.hides_more,
        "pooled": pooled,
        "pooled_share": pooled / len(plan.collection) if len(plan.collection) else np.nan,
        "nothing": len(plan.queries) - len(set().union(*map(pipeline.obfuscate.asked, cells))),
        "oov": np.nan if unknown is None else unknown.unknown / unknown.tokens if unknown.tokens else 0.0,
        "oov_policy": str(getattr(mechanism, "oov", "")) if unknown is not None else "",
        **{name: float(similarity[name].mean()) for name in COLUMNS},
    }


def _spent_per_query(plan: Plan, mechanism: Mechanism | None) -> float:
    """Return what one epsilon spends on a query in the mean over the queries: L * epsilon, L its number of words."""
    if mechanism is None or mechanism.parameter != "epsilon":
        return np.nan
    return mechanism.value * float(np.mean([mechanism.spent_on(query) for query in plan.queries["query"]]))


def _unknown(plan: Plan, mechanism: Mechanism | None) -> UnknownWords | None:
    """Return the words of the queries that a mechanism's vocabulary lacks; None where it has no vocabulary."""
    if mechanism is None or mechanism.vocabulary is None:
        return None
    return unknown_words(plan.queries, mechanism.vocabulary, getattr(mechanism, "tokenizer", "clean"))


def unknown_words_summary(plan: Plan) -> dict[str, Any] | None:
    """Return how many words of the queries the vocabulary lacks, and in which queries; None without a vocabulary."""
    mechanism = next((one for one in plan.mechanisms if one.vocabulary is not None), None)
    unknown = _unknown(plan, mechanism)
    if unknown is None:
        return None
    rows = unknown.per_query.sort_values("share", ascending=False, kind="stable")
    return {
        "words": unknown.tokens,
        "unknown": unknown.unknown,
        "queries": unknown.affected,
        "mean_share": float(unknown.per_query["share"].mean()),
        "most": [[row.qid, row.unknown, row.words] for row in rows[rows["unknown"] > 0][:5].itertuples()],
    }


def covers_summary(plan: Plan) -> dict[str, Any]:
    """Return the pools of public queries that mechanisms hide queries in, by name: hashes and numbers, no query.

    ``sha256`` is over the queries of the pool, ``partition.fingerprint`` (SHA-256 too) over how it is divided, and how
    queries outside it are placed. A pool that was completed holds the queries of the run: it is said.
    """
    covers: dict[str, dict[str, Any]] = {}
    for mechanism in plan.mechanisms:
        cover = getattr(mechanism, "cover", None)
        if not isinstance(cover, Partition):
            continue
        name = cover.pool.name
        if covers.get(name, {}).get("partition", {}).get("fingerprint", cover.fingerprint) != cover.fingerprint:
            name = f"{name} ({cover.fingerprint[:12]})"  # two partitions, of mechanisms that were given as objects
        known = covers.setdefault(
            name,
            {
                "queries": len(cover.pool),
                "sha256": cover.pool.sha256,
                "completed": plan.options.pool == COMPLETED,
                "partition": {"leaf": cover.leaf, "fingerprint": cover.fingerprint},
                "settings": [],
                "k": [],
            },
        )
        known["settings"].append(repr(mechanism.spec))
        if mechanism.parameter == "k":
            known["k"] = sorted({*known["k"], int(mechanism.value)})
    return covers
