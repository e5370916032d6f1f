"""Plausible deniability: how often a word comes out as itself, and among how many others it can hide.

For a word x and the output M(x) of a mechanism:

- N_x = P(M(x) = x); lower is better;
- S_x, the number of distinct outputs in R runs, in expectation sum_y 1 - (1 - P(y | x))^R; it grows with R, so R is
  fixed and reported. Higher is better. Beside it ``support``, the size of the smallest set that holds a mass of
  1 - eta, which does not depend on R;
- the entropy of M(x) in bits, and its min-entropy -log2 max_y P(y | x).

Mechanisms with a law P(y | x) are asked for it; of the others R outputs are drawn and counted, and the entropy gets the
Miller-Madow correction (distinct - 1) / (2 R ln 2). A word reveals something about itself, so that results are per word
of a sample: look at the distribution, not at the mean alone.

Reference: Feyisetan, Balle, Drake, Diethe. Privacy- and utility-preserving textual analysis via calibrated multivariate
perturbations. WSDM 2020.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from quipukit.errors import InputError, NoClosedForm
from quipukit.mechanisms.base import Mechanism, RootSeed, WordLaw
from quipukit.mechanisms.words import WordMechanism
from quipukit.text import key, tokenize

RUNS = 1000
ETA = 0.05

Floats = NDArray[np.float64]


def deniability(
    mechanism: Mechanism,
    words: Sequence[str] | None = None,
    *,
    runs: int = RUNS,
    eta: float = ETA,
    sample: int = 100,
    seed: int = 0,
) -> pd.DataFrame:
    """Return N_x, S_x and the entropies of a sample of words, one row per word.

    Columns: word, n_x, s_x, support, entropy, min_entropy, runs (0 for a closed form, else the outputs that were drawn:
    a heuristic lists distinct variants, fewer than asked for, and NaN stands where it finds none). ``words`` are by
    default ``sample`` words drawn from the vocabulary. A closed form's s_x is the expectation for ``runs`` runs.
    """
    if runs < 1 or sample < 1:
        raise InputError(f"runs and sample must be at least 1 (found {runs} and {sample}).")
    if not 0 <= eta < 1:
        raise InputError(f"eta, the mass left out, must lie in [0, 1) (found {eta!r}).")
    chosen = _sample(mechanism, sample, seed) if words is None else list(dict.fromkeys(words))
    if not chosen:
        raise InputError("there is no word to look at; give at least one.")
    mechanism = mechanism.one_word()
    rows: dict[str, tuple[Any, ...]] = {}
    for word in chosen:
        try:
            law = mechanism.word_law(word)
        except NoClosedForm:
            continue
        rows[word] = _closed(law, runs, eta)
    rest = [word for word in chosen if word not in rows]
    if rest:
        # The word is its own stream: another sample, or another order, draws the same outputs for it.
        pairs = [(word, word) for word in rest]
        sampled = type(mechanism).obfuscate_batch([mechanism], pairs, runs, RootSeed(seed))[0]
        rows |= {word: _counted(word, variants.texts, eta) for word, variants in zip(rest, sampled, strict=True)}
    columns = ["word", "n_x", "s_x", "support", "entropy", "min_entropy", "runs"]
    return pd.DataFrame([(word, *rows[word]) for word in chosen], columns=columns)


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return the distribution of each measure over the sample: mean, least, quartiles, largest."""
    numbers = table[["n_x", "s_x", "support", "entropy", "min_entropy"]]
    return numbers.agg(["mean", "min"]).T.join(numbers.quantile([0.25, 0.5, 0.75]).T).join(numbers.max().rename("max"))


def entropy(probabilities: ArrayLike) -> float:
    """Return -sum p log2 p in bits.

    >>> entropy([0.5, 0.25, 0.25])
    1.5
    """
    p = np.asarray(probabilities, np.float64)
    p = p[p > 0]
    return float(-(p * np.log2(p)).sum()) + 0.0


def miller_madow(counts: ArrayLike) -> float:
    """Return the entropy in bits of what was counted, corrected for the outcomes that a sample misses.

    H = plug-in + (m - 1) / (2 R ln 2) for m distinct outcomes in R draws.
    """
    seen = np.asarray(counts, np.float64)
    seen = seen[seen > 0]
    total = seen.sum()
    if not total:
        raise InputError("an entropy needs at least one draw.")
    return entropy(seen / total) + (len(seen) - 1) / (2 * total * math.log(2))


def conditional_entropy(mechanism: Mechanism, words: Sequence[str], prior: ArrayLike | None = None) -> float:
    """Return H(X | Y) in bits: what an attacker who knows the law and the prior still does not know about the word.

        H(X | Y) = H(X) + sum_x prior(x) H(Y | X = x) - H(Y)

    ``words`` are what X can be, ``prior`` how likely each is (weights; equal by default). Needs a closed form.
    """
    if not len(words) or len(set(words)) != len(words):
        raise InputError("words must be distinct, and at least one; they are what can be asked.")
    weights = np.ones(len(words)) if prior is None else np.asarray(prior, np.float64)
    if weights.shape != (len(words),) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.sum():
        raise InputError(f"prior must hold {len(words)} weights, 0 or more and not all 0, one a word.")
    p = weights / weights.sum()
    size = len(mechanism.vectors) if isinstance(mechanism, WordMechanism) else 0
    outputs = np.zeros(size + len(words))
    given = 0.0
    for number, (word, share) in enumerate(zip(words, p, strict=True)):
        law = mechanism.word_law(word)
        given += share * entropy(law.probabilities)
        # Words that are sent as they are and stand in no vocabulary have a place of their own behind it.
        np.add.at(outputs, np.where(law.rows < 0, size + number, law.rows), share * law.probabilities)
    return max(0.0, entropy(p) + given - entropy(outputs))


# --- alpha-PUC ----------------------------------------------------------------------------------------------------

PUC_NOTE = (
    "alpha-PUC with the components named here; the published measure's components and normalization could not be "
    "checked, so numerical agreement with published PUC values is not claimed"
)


@dataclass(frozen=True)
class PUC:
    """The alpha-PUC of a setting, with what it is made of."""

    value: float
    alpha: float
    utility: float
    privacy: float
    components: Mapping[str, float] = field(default_factory=dict)
    note: str = PUC_NOTE


def puc_components(
    *, n_x: float, s_x: float, runs: int, unchanged_tokens: float, sentence_similarity: float
) -> dict[str, float]:
    """Return the default components of privacy: 1 - N, S / R, the share of changed tokens, and 1 - cosine in [0, 1]."""
    return {
        "1 - N_x": 1 - n_x,
        "S_x / R": min(1.0, s_x / runs),
        "changed tokens": 1 - unchanged_tokens,
        "1 - cosine": min(1.0, max(0.0, 1 - sentence_similarity)),
    }


def puc(utility: float, original_utility: float, components: Mapping[str, float], alpha: float = 0.5) -> PUC:
    """Return alpha U + (1 - alpha) P: preserved utility against a mean of declared measures of privacy.

    U is the utility divided by that of the original queries, at most 1; P the mean of the components, each in [0, 1].
    Numerical agreement with published PUC values is not claimed (see ``note``).

    >>> puc(0.3, 0.6, {"1 - N_x": 0.9, "1 - cosine": 0.7}).value
    0.65
    """
    if not 0 <= alpha <= 1:
        raise InputError(f"alpha must lie in [0, 1] (found {alpha!r}).")
    if not original_utility > 0 or not utility >= 0:
        raise InputError("alpha-PUC needs a utility of at least 0 and an original utility above 0.")
    if not components:
        raise InputError("alpha-PUC needs at least one component of privacy; see puc_components.")
    for name, score in components.items():
        if not 0 <= score <= 1:
            raise InputError(f"the component {name!r} is {score}, but must lie in [0, 1]; normalize it.")
    preserved = min(1.0, utility / original_utility)
    privacy = math.fsum(components.values()) / len(components)
    return PUC(alpha * preserved + (1 - alpha) * privacy, alpha, preserved, privacy, dict(components))


# --- one word -----------------------------------------------------------------------------------------------------


def _sample(mechanism: Mechanism, size: int, seed: int) -> list[str]:
    if not isinstance(mechanism, WordMechanism):
        raise InputError(f"{mechanism.name} has no vocabulary to draw a sample from; give words.")
    vectors = mechanism.vectors
    # Vocabularies hold marks and abbreviations that are no token of any query.
    tokens = (
        token
        for row in np.random.default_rng(seed).permutation(len(vectors))
        for token in tokenize(vectors.words[row], vectors.__contains__, mechanism.tokenizer)  # type: ignore[arg-type]
        if vectors.row(token) == row
    )
    return list(itertools.islice(tokens, size))


def _closed(law: WordLaw, runs: int, eta: float) -> tuple[float, float, int, float, float, int]:
    p = law.probabilities
    with np.errstate(divide="ignore"):
        # 1 - (1 - p)^R, exact for the tiny p of large vocabularies.
        distinct = float(-np.expm1(runs * np.log1p(-p)).sum())
    return law.itself, distinct, _support(p, eta), entropy(p), float(-np.log2(p.max())) + 0.0, 0


def _counted(word: str, texts: Sequence[str], eta: float) -> tuple[float, float, float, float, float, int]:
    if not texts:
        return (math.nan, math.nan, math.nan, math.nan, math.nan, 0)
    counts = pd.Series([key(text) for text in texts]).value_counts()
    p = counts.to_numpy(np.float64) / len(texts)
    itself = float(counts.get(key(word), 0)) / len(texts)
    return (
        itself,
        float(len(p)),
        float(_support(p, eta)),
        miller_madow(counts),
        float(-np.log2(p.max())) + 0.0,
        len(texts),
    )


def _support(probabilities: Floats, eta: float) -> int:
    """Return the size of the smallest set that holds a mass of 1 - eta."""
    falling = np.sort(probabilities[probabilities > 0])[::-1]
    # A sum of rounded shares may end a hair below 1; that hair is no mass of its own.
    return min(int(np.searchsorted(np.cumsum(falling), 1 - eta - 1e-12)) + 1, len(falling))
