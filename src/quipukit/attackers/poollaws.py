"""A stand-in for the law of ContextualCMP and ContextualMhl, which has no closed form.

To these mechanisms a pool is a vocabulary whose words are queries, so what stands in for CMP and Mahalanobis
(`quipukit.attackers.noiselaws`) stands in for them too: a Gaussian response of what is sent to what was asked.
"""

from collections.abc import Sequence

import numpy as np

from quipukit.attackers.logsites import Floats, LogSites
from quipukit.attackers.noiselaws import Responses
from quipukit.mechanisms.cmp import CMP
from quipukit.mechanisms.contextual import ContextualCMP, ContextualMhl
from quipukit.mechanisms.mahalanobis import Mahalanobis
from quipukit.mechanisms.perturbation import Perturbation
from quipukit.vectors.store import Vectors

_ROWS = 8192  # candidates at a time


def prepare(mechanisms: "Sequence[ContextualCMP]") -> None:
    """Simulate at once what shares its noise."""
    pools = {id(one.encoded): one.encoded.vectors for one in mechanisms}
    for number, vectors in pools.items():
        _responses(vectors).compute([_on_words(one) for one in mechanisms if id(one.encoded) == number])


class PoolNoiseLaw:
    """ln P(texts | candidate) up to a constant, as the density of a Gaussian around the candidate's response."""

    def __init__(self, mechanism: ContextualCMP, candidates: Sequence[str]) -> None:
        """Encode the candidates, and take the response of the mechanism."""
        self._mechanism = mechanism
        self._response = _responses(mechanism.encoded.vectors).of(_on_words(mechanism))
        self._points = mechanism.encoded.candidates(candidates).points

    def log_likelihoods(self, texts: Sequence[str]) -> Floats:
        """Return the logarithms, in the order of the candidates; minus infinity if a text is not of the pool."""
        pool, response = self._mechanism.cover.pool, self._response
        rows = np.array([pool.row(text) for text in texts], np.int64)
        likelihoods = np.full(len(self._points), -np.inf)
        if (rows < 0).any():
            return likelihoods
        pull = ((self._mechanism.encoded.rows[rows].astype(np.float64) - response.b) @ response.root).sum(axis=0)
        for start in range(0, len(self._points), _ROWS):
            part = slice(start, start + _ROWS)
            leads = (self._points[part].astype(np.float64) - response.c) @ response.lead
            likelihoods[part] = leads @ pull - len(rows) / 2 * (leads**2).sum(axis=1)
        return likelihoods


def _on_words(one: ContextualCMP) -> Perturbation:
    """Return the mechanism that does to words what a contextual one does to queries."""
    vectors = one.encoded.vectors
    if isinstance(one, ContextualMhl):
        return Mahalanobis(epsilon=one.epsilon, lam=one.lam, vectors=vectors)
    return CMP(epsilon=one.epsilon, vectors=vectors)


def _responses(vectors: Vectors) -> Responses:
    """Return the responses of a pool, all of whose queries are as likely."""

    def build() -> Responses:
        every = np.arange(len(vectors))
        kinds = np.zeros(len(vectors), np.int32)
        starts = np.arange(len(vectors) + 1)
        return Responses(LogSites(vectors, every.astype(np.int32), starts, kinds, every, vectors.matrix, {}, {}, -1))

    return vectors.derived("responses", build)
