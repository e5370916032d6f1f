"""The formal and traditional side of every setting: what is promised, what is spent, what changed in the texts."""

from typing import Any

import numpy as np
import pandas as pd

from quipukit.experiment.stages import Cell, Stages
from quipukit.frames import SETTING
from quipukit.measures.deniability import word_law
from quipukit.mechanisms.base import Mechanism
from quipukit.mechanisms.sampling import Sampling
from quipukit.mechanisms.words import WordMechanism
from quipukit.results import SETTINGS
from quipukit.text import tokenise

# Words of the queries whose law is looked up: an exact mean over some says enough, and all would take minutes.
_WORDS = 40
_MEANS = ("jaccard", "sentence_similarity", "verbatim", "any_verbatim", "distinct")


def settings_frame(stages: Stages) -> pd.DataFrame:
    """Return the Settings of a result, one row a setting; what depends on the noise is the mean over the seeds."""
    cells: dict[Any, list[Cell]] = {}
    for cell in stages.cells:
        cells.setdefault(cell.setting.key, []).append(cell)
    words = _query_words(stages.inputs.queries)
    return SETTINGS.check(pd.DataFrame([_row(stages, mine, words) for mine in cells.values()]))


def _row(stages: Stages, cells: list[Cell], words: list[str]) -> dict[str, Any]:
    setting, inputs = cells[0].setting, stages.inputs
    likeness = pd.concat([stages.pieces.load("likeness", stages.likeness_name(cell)) for cell in cells])
    sent = pd.concat([stages.obfuscated(cell).assign(seed=cell.seed) for cell in cells])
    counts = sent.groupby(["seed", "qid"]).size()
    asked = inputs.options.n if inputs.given is None else int(counts.max()) if len(counts) else 0
    kept = float(likeness["tokens"].mean()) if len(likeness) else np.nan
    mechanism = setting.bound
    return {
        **dict(zip(SETTING, setting.key, strict=True)),
        "strategy": setting.strategy,
        "guarantee": "not known: obfuscated elsewhere" if mechanism is None else str(mechanism.guarantee),
        "private": int(mechanism is not None and mechanism.guarantee.private),
        "budget": setting.value * asked if setting.parameter == "epsilon" else np.nan,
        "n": asked,
        "variants": len(sent) / (len(cells) * len(inputs.queries)),
        "nothing": len(inputs.queries) - sent["qid"].nunique(),
        "oov": _unknown_share(stages, cells, mechanism),
        "oov_policy": mechanism.oov if isinstance(mechanism, WordMechanism) else "",
        "kept_words": kept,
        "n_x": _kept_probability(mechanism, words, kept),
        **{name: float(likeness[name].mean()) if len(likeness) else np.nan for name in _MEANS},
    }


def _query_words(queries: pd.DataFrame) -> list[str]:
    words = list(dict.fromkeys(word for query in queries["query"] for word in tokenise(query)))
    count = min(_WORDS, len(words))
    return [words[number * len(words) // count] for number in range(count)]


def _unknown_share(stages: Stages, cells: list[Cell], mechanism: Mechanism | None) -> float:
    if not isinstance(mechanism, WordMechanism):
        return np.nan
    vectors = mechanism.vectors
    total = sum(
        len(tokenise(query, vectors.__contains__, mechanism.tokenizer))  # type: ignore[arg-type]
        for query in stages.inputs.queries["query"]
    )
    flags = stages.notes(cells[0])
    return float(flags.loc[flags["flag"] == "oov", "count"].sum()) / total if total else 0.0


def _kept_probability(mechanism: Mechanism | None, words: list[str], kept: float) -> float:
    """Return N_x, the mean of P(M(x) = x) over words of the queries: from the law, where there is one."""
    if isinstance(mechanism, Sampling) and not mechanism.by_query:
        known = [word for word in words if mechanism.vectors.row(word) >= 0]
        return float(np.mean([word_law(mechanism, word).itself for word in known])) if known else np.nan
    # Without a closed form: as often as it happened, N times for every word of every query.
    return kept if isinstance(mechanism, WordMechanism) else np.nan
