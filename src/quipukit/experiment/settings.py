"""The formal side of every setting: what is promised, what is spent, and what became of the texts."""

from typing import Any

import numpy as np
import pandas as pd

from quipukit.experiment.inputs import Inputs
from quipukit.experiment.likeness import COLUMNS
from quipukit.experiment.stages import Cell, Stages
from quipukit.frames import SETTING
from quipukit.mechanisms.base import Mechanism
from quipukit.mechanisms.words import WordMechanism
from quipukit.registry import directions
from quipukit.results import SETTINGS
from quipukit.vectors.unknown import unknown_words


def settings_frame(stages: Stages) -> pd.DataFrame:
    """Return the Settings of a result, one row a setting; what depends on the noise is the mean over the seeds."""
    cells: dict[Any, list[Cell]] = {}
    for cell in stages.cells:
        cells.setdefault(cell.setting.key, []).append(cell)
    return SETTINGS.check(pd.DataFrame([_row(stages, mine) for mine in cells.values()]))


def _row(stages: Stages, cells: list[Cell]) -> dict[str, Any]:
    setting, inputs = cells[0].setting, stages.inputs
    likeness = pd.concat([stages.pieces.load("likeness", stages.likeness_name(cell)) for cell in cells])
    sent = pd.concat([stages.obfuscated(cell)[["qid"]].assign(seed=cell.seed) for cell in cells])
    counts = sent.groupby(["seed", "qid"]).size()
    mechanism = setting.bound
    pooled = float(np.mean([stages.pooled(cell) for cell in cells]))
    asked = inputs.options.n if mechanism is not None else int(counts.max()) if len(counts) else 0
    return {
        **dict(zip(SETTING, setting.key, strict=True)),
        "strategy": setting.strategy,
        "guarantee": "not known: obfuscated elsewhere" if mechanism is None else str(mechanism.guarantee),
        "private": int(mechanism is not None and mechanism.guarantee.private),
        "budget": setting.value * asked if setting.parameter == "epsilon" else np.nan,
        "budget_query": _per_query(stages, mechanism) * asked,
        "n": asked,
        "variants": len(sent) / (len(cells) * len(inputs.queries)),
        "hides_more": directions([setting.mechanism])[setting.mechanism] if mechanism is None else mechanism.hides_more,
        "pooled": pooled,
        "pooled_share": pooled / len(inputs.collection),
        "nothing": len(inputs.queries) - sent["qid"].nunique(),
        "oov": _unknown_share(stages, cells[0]),
        "oov_policy": mechanism.oov if isinstance(mechanism, WordMechanism) else "",
        **{name: float(likeness[name].mean()) for name in COLUMNS},
    }


def _per_query(stages: Stages, mechanism: Mechanism | None) -> float:
    """Return what one variant of a query spends in the mean over the queries: L * epsilon, L its number of words."""
    if mechanism is None or mechanism.parameter != "epsilon":
        return np.nan
    return mechanism.value * float(np.mean([mechanism.spent_on(query) for query in stages.inputs.queries["query"]]))


def _unknown_share(stages: Stages, cell: Cell) -> float:
    mechanism = cell.setting.bound
    if not isinstance(mechanism, WordMechanism):
        return np.nan
    found = unknown_words(stages.inputs.queries, mechanism.vectors, mechanism.tokenizer)  # type: ignore[arg-type]
    return found.unknown / found.tokens if found.tokens else 0.0


def unknown_in_short(inputs: Inputs) -> dict[str, Any] | None:
    """Return how many words of the queries the vocabulary lacks, and in which queries; None without a vocabulary."""
    mechanism = next((one.bound for one in inputs.settings if isinstance(one.bound, WordMechanism)), None)
    if mechanism is None:
        return None
    found = unknown_words(inputs.queries, mechanism.vectors, mechanism.tokenizer)  # type: ignore[arg-type]
    rows = found.per_query.sort_values("share", ascending=False, kind="stable")
    return {
        "words": found.tokens,
        "unknown": found.unknown,
        "queries": found.affected,
        "mean_share": float(found.per_query["share"].mean()),
        "most": [[row.qid, row.unknown, row.words] for row in rows[rows["unknown"] > 0][:5].itertuples()],
    }
