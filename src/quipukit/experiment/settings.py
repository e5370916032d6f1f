"""The formal side of every setting: what is promised, what is spent, and what became of the texts."""

from typing import Any

import numpy as np
import pandas as pd

from quipukit.experiment.likeness import COLUMNS
from quipukit.experiment.stages import Cell, Stages
from quipukit.frames import SETTING
from quipukit.mechanisms.words import WordMechanism
from quipukit.registry import directions
from quipukit.results import SETTINGS
from quipukit.text import tokenise


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


def _unknown_share(stages: Stages, cell: Cell) -> float:
    mechanism = cell.setting.bound
    if not isinstance(mechanism, WordMechanism):
        return np.nan
    vectors = mechanism.vectors
    tokens = [
        tokenise(query, vectors.__contains__, mechanism.tokenizer)  # type: ignore[arg-type]
        for query in stages.inputs.queries["query"]
    ]
    total = sum(map(len, tokens))
    flags = stages.notes(cell)
    return float(flags.loc[flags["flag"] == "oov", "count"].sum()) / total if total else 0.0
