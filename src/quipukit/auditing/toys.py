"""Small vocabularies in one to three dimensions: here losses are small enough to be seen in samples.

In many dimensions a mechanism claims more than any number of draws can show. The code is the same for a small
vocabulary, scaled so that no pair claims more than `REACH` nats at the mechanism's own epsilon.
"""

import itertools
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from quipukit.auditing.claims import Claims, Nothing, claims_of
from quipukit.auditing.pairs import Pair, pairs_of
from quipukit.guarantees import Guarantee
from quipukit.mechanisms.words import WordMechanism
from quipukit.vectors.store import Vectors

REACH = 5.0

# Stop words, words of many lengths; the last word is the twin of the third. The line has words beyond words, where
# noise uses up its whole claim. The plane and the space are long and thin, as real vocabularies are: noise that is
# drawn out along them and made round again tells neighbors apart there.
_WORDS = ("the", "of", "cat", "dog", "horse", "tax", "hippopotamus", "violin", "loan", "orchestra", "fever", "bank")
_TWIN = "twin"
_PLACES = {
    1: ((0.0,), (1.0,), (3.0,), (-2.0,), (1.2,), (4.5,), (-2.2,), (6.0,), (-5.0,), (2.0,), (-0.5,), (-1.0,)),
    2: (
        (0.23, -0.48), (-0.27, 1.03), (0.37, -0.24), (1.64, 0.06), (2.07, -0.25), (0.66, 0.58),
        (3.89, -0.62), (9.0, 0.29), (-6.26, -0.06), (5.91, 0.32), (-6.6, -0.08), (0.4, 0.13),
    ),
    3: (
        (4.2, 0.0, -0.04), (-0.48, 0.16, 0.3), (0.53, 0.01, -0.04), (2.78, -0.06, 0.02), (-0.2, -0.13, -0.12),
        (3.33, 0.65, 0.01), (-1.41, 0.19, -0.17), (11.5, -0.22, -0.09), (-10.58, -0.04, -0.06), (5.7, -0.2, -0.1),
        (-9.08, 0.19, 0.05), (-1.84, -0.11, -0.23),
    ),
}  # fmt: skip
DIMENSIONS = tuple(_PLACES)


def toy_vectors(dimension: int, scale: float = 1.0) -> Vectors:
    """Return the vocabulary of some dimension."""
    places = np.array(_PLACES[dimension])
    matrix = scale * np.concatenate([places, places[2:3]])
    return Vectors((*_WORDS, _TWIN), matrix, name=f"toy vocabulary in dimension {dimension}")


def toy_pairs(toy: WordMechanism, seed: int) -> list[Pair]:
    """Return the pairs of any vocabulary, and all pairs of words: there are few."""
    pairs = pairs_of(toy, seed, each=1)
    chosen = {frozenset((pair.one, pair.other)) for pair in pairs}
    every = itertools.combinations(toy.vectors.words, 2)
    return [*pairs, *(Pair("toy", *both) for both in every if frozenset(both) not in chosen)]


def on_toy(mechanism: WordMechanism, dimension: int, claim: Guarantee | None = None) -> tuple[WordMechanism, Claims]:
    """Return a mechanism on a toy vocabulary, scaled by what it claims there, and its claims.

    Where the claim is about no distance, scaling changes nothing: then epsilon itself is made smaller.
    """
    toy, claims = _bound(mechanism, {"vectors": toy_vectors(dimension)}, claim)
    largest = _largest(toy, claims)
    if not 0 < largest < np.inf:
        return toy, claims
    toy, claims = _bound(mechanism, {"vectors": toy_vectors(dimension, REACH / largest)}, claim)
    if _largest(toy, claims) > 1.01 * REACH and toy.parameter == "epsilon" and claim is None:
        return _bound(toy, {"epsilon": toy.value * REACH / largest}, None)
    return toy, claims


def _bound(mechanism: WordMechanism, changes: dict[str, Any], claim: Guarantee | None) -> tuple[WordMechanism, Claims]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a toy vocabulary is flat is no news to anybody
        made = replace(mechanism, **changes)
    return made, claims_of(made, claim)


def _largest(mechanism: WordMechanism, claims: Claims) -> float:
    if isinstance(claims, Nothing):
        return 0.0
    words = list(mechanism.vectors.words)
    found = [float(loss) for word in words for loss in claims.losses(word, words) if loss < np.inf]
    return max(found, default=0.0)
