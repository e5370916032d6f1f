"""QuIA, the query inference attack: rank a query log by its similarity to the centroid of what was sent.

The curious system encodes the obfuscated queries that it received, takes their mean c, and ranks every query q of its
log by cos(c, T(q)). The rank of the original gives the risk.

Reference: De Faveri, Faggioli, Ferro. QuIPU. ECIR 2025.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from quipukit.attackers.base import Attacker, Floats, KnownLog, Sent
from quipukit.encoders.base import Encoder, similarities
from quipukit.encoders.encodings import Encodings
from quipukit.encoders.load import load_encoder
from quipukit.io.parts import spans_of
from quipukit.progress import Progress

_SLAB = 8192  # rows of the log that are compared at a time
_TEXTS = 50_000  # texts that were sent whose vectors are held at a time


@dataclass(kw_only=True, eq=False)
class QuIA(Attacker):
    """The score of a query of the log is cos(c, T(q)), c the mean vector of what was sent.

    Equal texts count as often as they were sent; a vector of norm 0 has similarity 0 to everything.
    """

    name = "QuIA"
    summary = "similarity of a log's query to the centroid of what was sent"
    knows = "log"
    reference = "De Faveri, Faggioli, Ferro. QuIPU. ECIR 2025."

    encoder: Encoder = field(default_factory=load_encoder)

    def __post_init__(self) -> None:
        """Begin without a log."""
        self._log = Encodings(np.empty((0, 0), np.float32), np.empty(0, np.int64))

    def prepare(self, log: KnownLog, progress: Progress | None = None) -> None:
        """Encode the log."""
        self._log = self.encoder.vectors(log.texts, "query", progress)

    @property
    def log_vectors(self) -> Encodings:
        """Return the vectors of the log."""
        return self._log

    def sent_vectors(self, batch: Sequence[Sent]) -> Floats:
        """Return the mean vector of the texts of each."""
        place: dict[str, int] = {}
        numbers = [[place.setdefault(text, len(place)) for text in sent.texts] for sent in batch]
        vectors = self.encoder.vectors(list(place))
        centroids = np.zeros((len(batch), vectors.shape[1]))
        for span in spans_of([len(texts) for texts in numbers], _TEXTS):
            # Vectors are read in the order of the disk, each once; in files of their own one set would open many.
            flat = np.fromiter(itertools.chain.from_iterable(numbers[span]), np.int64)
            distinct, own = np.unique(flat, return_inverse=True)
            rows, start = vectors[distinct], 0
            for row, texts in enumerate(numbers[span], span.start):
                # Summed in the order of the variants: the same centroid, with any other queries in the batch.
                centroids[row] = rows[own[start : start + len(texts)]].mean(axis=0, dtype=np.float64)
                start += len(texts)
        return centroids

    def scores(self, sent: Sent) -> Floats:
        """Return the cosine of every row of the log with the centroid."""
        own: Floats | None = self.sent_vectors([sent])  # none, where a class that extends this one has other scores
        (centroid,) = QuIA.sent_vectors(self, [sent]) if own is None else own
        slabs = (self._log[start : start + _SLAB] for start in range(0, len(self._log), _SLAB))
        return np.concatenate([np.empty(0), *(similarities(centroid, slab, "cosine") for slab in slabs)])
