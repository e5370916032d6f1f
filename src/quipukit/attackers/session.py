"""Session: guess the last query of a session from all that was sent in it.

Queries of a session are related. With r_t the texts that were sent for an earlier query and a a candidate for the last,

    score(a) = log post(a) + sum over t of log sum over b of P(b | r_t) exp(12 cos(a, b)),

where log post is the score of `Bayes` for the last query alone, and b runs over the queries that are plausible for the
earlier one. A query that was asked before is among these b, with the cosine 1: what two transcripts of one query have
in common needs no term of its own.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers.base import Attacker, Floats, KnownLog, Sent
from quipukit.attackers.bayes import Bayes
from quipukit.attackers.cells import highest_of_others, rescored
from quipukit.attackers.quia import QuIA
from quipukit.attackers.recent import held
from quipukit.encoders.base import Encoder
from quipukit.encoders.load import load_encoder
from quipukit.errors import SpecError
from quipukit.progress import Progress
from quipukit.threads import in_threads
from quipukit.vectors.sources import load_vectors
from quipukit.vectors.store import Vectors

_RANKED = 1000  # candidates for the last query that are ranked anew; all others keep their order behind them
_PLAUSIBLE = 200  # candidates for an earlier query
_LEVEL = 4000  # where more candidates for an earlier query than that are level, some of them stand for all
_LEVEL_LAST = 20_000  # and for the last query: one that is left out is not found
_SOME, _SOME_LAST = 500, 2000  # as many
_STEP = 1024  # candidates for the last query that are compared with those for an earlier one at a time
_SHARED = 64  # earlier sets of texts for which what was computed is kept for further sessions
_REACH = 25.0  # nats: what is less plausible than the best by more has no weight
_BLOCK = 64  # sets of texts that are compared with the log at a time
_HELD = 16  # whose sessions are scored at a time

Rows = NDArray[np.int64]


class Candidates(NamedTuple):
    """Rows of the log that are plausible for one query, and the logarithm of the weight of each."""

    rows: Rows
    weights: Floats


@dataclass(kw_only=True, eq=False)
class Session(Attacker):
    """Ranks the log for the last query of a session; without earlier queries (`Sent.earlier`) it is Bayes.

    ``sharpness`` is how closely queries of a session are expected to be related. Where a mechanism has no known law,
    what QuIA sees stands for it: sharpness * cos(a, mean of what was sent).
    """

    name = "Session"
    summary = "the most probable last query of a session, given all that was sent in it"
    knows = "log+mechanism+epsilon"

    encoder: Encoder = field(default_factory=load_encoder)
    vectors: Vectors = field(default_factory=load_vectors)
    prior: str = "count"
    sharpness: float = 12.0

    def __post_init__(self) -> None:
        """Check the options."""
        if not 0 < self.sharpness < 1000:
            raise SpecError(f"Session: sharpness must lie between 0 and 1000 (found {self.sharpness!r}); try 12.")

    def prepare(self, log: KnownLog, progress: Progress | None = None) -> None:
        """Encode the log, and let Bayes learn it."""
        self._bayes = Bayes(vectors=self.vectors, prior=self.prior)
        self._bayes.prepare(log)
        self._quia = QuIA(encoder=self.encoder)
        self._quia.prepare(log, progress)
        vectors = self._quia.log_vectors
        starts = range(0, len(vectors), 8192)
        norms = in_threads(lambda start: np.linalg.norm(vectors[start : start + 8192], axis=1), starts)
        self._norms = np.concatenate([np.empty(0, np.float32), *norms])

    def scores(self, sent: Sent) -> Floats:
        """Return a score for every query as the last of the session."""
        return next(Session.scores_of(self, [sent]))

    def scores_of(self, batch: Sequence[Sent]) -> Iterator[Floats]:
        """Score setting by setting: the earlier queries first, each set of texts once."""
        for setting, some in itertools.groupby(batch, lambda one: one.setting):
            own = [_in_order(one) for one in some]
            distinct = dict.fromkeys(texts for one in own for texts in one.earlier)
            # By length: laws of words look at the queries of one length, and share what those need.
            texts = sorted(distinct, key=lambda texts: (len(texts[0].split()), texts))
            plausible = dict(zip(texts, self._plausible([Sent(one, setting) for one in texts]), strict=True))
            yield from self._scored(own, plausible)

    def _scored(self, batch: Sequence[Sent], plausible: "dict[tuple[str, ...], Candidates]") -> Iterator[Floats]:
        """Score the last queries; those that follow one another and differ in what came before share their posterior.

        Rows that Bayes finds possible come before all others, whatever the session says. Sessions of covers share
        their sets of texts: what relates two of them is computed once.
        """
        known: dict[tuple[str, ...], Floats] = {}  # how every row is related to an earlier set; nan where not known
        runs = [list(run) for _, run in itertools.groupby(batch, lambda one: one.texts)]
        before = [dict.fromkeys(texts for one in run for texts in one.earlier) for run in runs]
        often = Counter(itertools.chain.from_iterable(before))

        def scored(run: "tuple[list[Sent], dict[tuple[str, ...], None], Floats, Candidates]") -> list[Floats]:
            sessions, earlier, scores, candidates = run
            related, rows = {}, candidates.rows
            vectors = self._unit(rows) if any(often[texts] == 1 for texts in earlier) else None
            for texts in earlier:
                if often[texts] == 1 and vectors is not None:
                    related[texts] = self._related(vectors, plausible[texts])
                    continue
                sums = known[texts]
                missing = np.isnan(sums[rows])
                if missing.any():
                    vectors = self._unit(rows) if vectors is None else vectors
                    sums[rows[missing]] = self._related(vectors[missing], plausible[texts])
                related[texts] = sums[rows]
            highest = highest_of_others(scores, rows) if earlier else None
            return [_with_earlier(one, scores, candidates, related, highest) for one in sessions]

        posteriors = self._posteriors([Sent(run[0].texts, run[0].setting) for run in runs])
        for start in range(0, len(runs), _HELD):
            span = slice(start, start + _HELD)
            for texts in itertools.chain.from_iterable(before[span]):
                if often[texts] > 1 and texts not in known:
                    known[texts] = np.full(len(self._norms), np.nan)
            own = itertools.islice(posteriors, _HELD)
            sessions = [(run, earlier, *one) for run, earlier, one in zip(runs[span], before[span], own, strict=True)]
            yield from itertools.chain.from_iterable(in_threads(scored, sessions))
            for texts in list(known)[:-_SHARED]:
                del known[texts]

    def _related(self, vectors: NDArray[np.float32], earlier: Candidates) -> Floats:
        """Return log sum over b of w(b) exp(sharpness cos(a, b)) for candidates a."""
        if not len(earlier.rows):
            return np.zeros(len(vectors))
        others = np.float32(self.sharpness) * self._unit(earlier.rows).T
        weights, related = earlier.weights.astype(np.float32), np.empty(len(vectors))
        for start in range(0, len(vectors), _STEP):
            terms = vectors[start : start + _STEP] @ others
            terms += weights
            top = terms.max(axis=1, keepdims=True)
            terms -= top
            sums = np.exp(terms, out=terms).sum(axis=1, dtype=np.float64)
            related[start : start + _STEP] = top[:, 0] + np.log(sums)
        return related

    # --- one query at a time ---

    def _plausible(self, batch: Sequence[Sent]) -> Iterator[Candidates]:
        """Iterate over the plausible queries for each set of texts, with weights that add up to 1."""
        for start in range(0, len(batch), _BLOCK):
            some = batch[start : start + _BLOCK]
            fitting = list(self._bayes.fitting_of(some))
            guesses = iter(self._by_similarity([one for one, law in zip(some, fitting, strict=True) if law is None]))
            every = np.arange(len(self._norms))
            yield from in_threads(_weighted, [law if law is not None else (every, next(guesses)) for law in fitting])

    def _posteriors(self, batch: Sequence[Sent]) -> "Iterator[tuple[Floats, Candidates]]":
        """Iterate over the scores of all rows for each set of texts, and the candidates that are ranked anew."""
        every, block = np.arange(len(self._norms)), max(_HELD, held(len(self._norms)))
        for start in range(0, len(batch), block):
            some = batch[start : start + block]
            both = list(self._bayes.scored_and_fitting(some))
            guesses = iter(self._by_similarity([one for one, law in zip(some, both, strict=True) if law is None]))
            laws = [law if law is not None else (own := next(guesses), (every, own)) for law in both]
            best = in_threads(_ranked_anew, [law[1] for law in laws])
            yield from ((law[0], candidates) for law, candidates in zip(laws, best, strict=True))

    def _by_similarity(self, batch: Sequence[Sent]) -> list[Floats]:
        if not batch:
            return []
        centers = unit(self._quia.sent_vectors(batch).astype(np.float32))
        log = self._quia.log_vectors
        blocks = (range(start, min(start + 8192, len(log))) for start in range(0, len(log), 8192))
        cosines = np.vstack([unit(log[block.start : block.stop]) @ centers.T for block in blocks])
        return list(self.sharpness * np.round(cosines.T.astype(np.float64), 6))

    def _unit(self, rows: Rows) -> NDArray[np.float32]:
        return unit(self._quia.log_vectors[rows], self._norms[rows])


def _in_order(one: Sent) -> Sent:
    """Return the same with the texts of each query sorted: their order says nothing, and equal sets become one."""
    return replace(one, texts=tuple(sorted(one.texts)), earlier=tuple(tuple(sorted(texts)) for texts in one.earlier))


def _ranked_anew(law: "tuple[Rows, Floats]") -> Candidates:
    """Return those of some rows that may have been the last query."""
    return best_of(law[0], law[1], _RANKED, np.inf, _LEVEL_LAST, _SOME_LAST)


def _weighted(law: "tuple[Rows, Floats]") -> Candidates:
    """Return the plausible of some rows, with weights that add up to 1."""
    rows, weights = best_of(law[0], law[1], _PLAUSIBLE)
    if not len(rows):
        return Candidates(rows, weights)
    weights = weights - weights.max()
    return Candidates(rows, weights - np.log(np.exp(weights).sum()))


def _with_earlier(
    one: Sent,
    scores: Floats,
    candidates: Candidates,
    related: "dict[tuple[str, ...], Floats]",
    highest: float | None,
) -> Floats:
    if not one.earlier or not len(candidates.rows):
        return scores
    total = candidates.weights.copy()
    for texts in one.earlier:
        total += related[texts]
    return rescored(scores, candidates.rows, total, highest)


def best_of(
    rows: Rows, weights: Floats, most: int, reach: float = _REACH, level: int = _LEVEL, some: int = _SOME
) -> Candidates:
    """Return the rows with the highest weights: ``most`` of them, and those that are level with the last of these.

    Where more than ``level`` are, ``some`` stand for all: spread evenly over the log, whose order says nothing.

    >>> best_of(np.arange(5), np.log([4.0, 1, 1, 1, 0.5]), 2).rows.tolist()
    [0, 1, 2, 3]
    """
    if len(rows) > most:
        bar = np.partition(weights, len(weights) - most)[len(weights) - most]
        kept = weights >= max(bar, weights.max() - reach)
        rows, weights = rows[kept], weights[kept]
        if len(rows) > max(most, level):
            chosen = np.linspace(0, len(rows) - 1, max(most, some)).astype(np.int64)
            rows, weights = rows[chosen], weights[chosen]
    return Candidates(rows, weights)


def unit(rows: NDArray[np.float32], norms: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
    """Return vectors of norm 1; those of norm 0 as they are. ``norms`` are theirs, where they are known.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32)).round(1).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    norms = np.linalg.norm(rows, axis=1) if norms is None else norms
    return np.asarray(rows / np.where(norms > 0, norms, 1)[:, None], np.float32)
