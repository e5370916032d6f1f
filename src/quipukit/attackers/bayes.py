"""Bayes: rank the log by the probability of each query, given what was sent and how the mechanism works.

log post(q) = log prior(q) + sum over texts j and positions i of ln P(y_i^(j) | x_i), with the mechanism's own law. No
attacker with the same log and prior does better on average, for P@1, R@k or RR: where the law is known in closed form
its risk is what the mechanism leaves.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from quipukit.attackers.base import Attacker, Floats, KnownLog, Sent
from quipukit.attackers.cells import Cells, rescored
from quipukit.attackers.evidence import posterior_over_laws
from quipukit.attackers.laws import Laws, is_identity, warn_unknown
from quipukit.attackers.logsites import Observed, OfLength
from quipukit.attackers.noiselaws import NoiseLaw
from quipukit.attackers.posterior import log_mean_exp, over_positions, scores_of_posterior
from quipukit.attackers.tables import WordLaw
from quipukit.errors import SpecError
from quipukit.mechanisms.base import Mechanism, QueryLaw, check_whole
from quipukit.progress import Progress
from quipukit.threads import in_threads
from quipukit.vectors.sources import load_vectors
from quipukit.vectors.store import Vectors

_REFINED = 200  # candidates whose words get estimated probabilities
_BATCH = 16  # sets of texts whose scores are in memory at a time


@dataclass(kw_only=True, eq=False)
class Bayes(Attacker):
    """The score of a query is the logarithm of its posterior probability, up to a constant.

    A query of which some of what was sent cannot come comes after all those with fewer such violations; queries with
    another number of words come last. ``prior`` is how often the log's queries were asked ("count"), or "uniform".
    With ``epsilon="unknown"`` the likelihood is the mean over the mechanism's grid, and the value is not looked at.
    With ``mechanism="unknown"`` it is the mean over all mechanisms with a law too, each at every value of its grid:
    what was sent decides between them. That takes as long as all of them together. Where nothing is known about a
    mechanism, all queries get the same score.

    CMP, Mahalanobis and the Vickrey variants have no closed form; a Gaussian response stands for their law. With
    ``cells`` = R the words of the 200 best candidates get probabilities from R draws of the noise instead: slow, and
    for comparison.
    """

    name = "Bayes"
    summary = "the most probable query, given what was sent and the mechanism's own law"
    knows = "log+mechanism+epsilon"

    vectors: Vectors = field(default_factory=load_vectors)
    prior: str = "count"
    epsilon: str = "known"
    mechanism: str = "known"
    cells: int = 0

    def __post_init__(self) -> None:
        """Check the options."""
        known = ("known", "unknown")
        for option, choices in (("prior", ("count", "uniform")), ("epsilon", known), ("mechanism", known)):
            if getattr(self, option) not in choices:
                raise SpecError(
                    f"Bayes: {option} must be {' or '.join(map(repr, choices))} ({getattr(self, option)!r})."
                )
        check_whole(self.name, "cells", self.cells, 0)
        if self.cells and "unknown" in (self.epsilon, self.mechanism):
            raise SpecError("Bayes: cells needs a known mechanism and epsilon; leave one of them out.")
        if self.mechanism == "unknown":
            self.knows = "log"  # type: ignore[assignment]
        elif self.epsilon == "unknown":
            self.knows = "log+mechanism"  # type: ignore[assignment]

    def prepare(self, log: KnownLog, progress: Progress | None = None) -> None:
        """Keep the log; it is divided into words when a mechanism is seen."""
        self._laws = Laws(log.texts, self.vectors)
        self._cells: dict[NoiseLaw, Cells] = {}
        counts = np.maximum(log.counts, 1) if self.prior == "count" else np.ones(len(log))
        self._log_prior = np.log(counts / counts.sum()) if len(log) else np.empty(0)

    def scores(self, sent: Sent) -> Floats:
        """Return the log-posterior of every query."""
        return next(self.scores_of([sent]))

    def scores_of(self, batch: Sequence[Sent]) -> Iterator[Floats]:
        """Compute what the settings share first, then set by set."""
        if self.mechanism == "unknown":
            yield from self._of_any_mechanism(batch)
            return
        mechanisms = {one.setting: self._laws.mechanisms(one.setting) for one in batch}
        self._laws.prepare([one for several in mechanisms.values() for one in several])
        laws = {setting: self._known_laws(several) for setting, several in mechanisms.items()}
        self._verbatim = {setting for setting, several in mechanisms.items() if any(map(is_identity, several))}
        self._whole = {setting: self._query_laws(several) for setting, several in mechanisms.items()}
        known = {setting for setting in mechanisms if laws[setting] or self._whole[setting]} | self._verbatim
        warn_unknown(self.name, [one for one in batch if one.setting not in known])
        if self.cells:
            # One after the other: the scans of a set's words are what runs in threads.
            yield from (self._scored(one, laws[one.setting]) for one in batch)
        else:
            for start in range(0, len(batch), _BATCH):
                yield from in_threads(lambda one: self._scored(one, laws[one.setting]), batch[start : start + _BATCH])
        self._laws.warn_unknown_words(self.name)

    def _of_any_mechanism(self, batch: Sequence[Sent]) -> Iterator[Floats]:
        families = list(self._laws.families.values())
        for start in range(0, len(batch), _BATCH):
            yield from in_threads(
                lambda one: posterior_over_laws(families, one.texts, self._log_prior)[0], batch[start : start + _BATCH]
            )

    def _query_laws(self, mechanisms: Sequence[Mechanism]) -> list[QueryLaw]:
        laws = [self._laws.query_law(one) for one in mechanisms]
        return [law for law in laws if law is not None]

    def _known_laws(self, mechanisms: Sequence[Mechanism]) -> list[WordLaw]:
        laws = [self._laws.law(one) for one in mechanisms]
        return [law for law in laws if law is not None]

    def _scored(self, sent: Sent, laws: Sequence[WordLaw]) -> Floats:
        if sent.setting in self._verbatim:
            differ = self._laws.texts_that_differ(sent.texts)
            every = np.arange(len(differ))
            return scores_of_posterior(self._log_prior, every, np.zeros(len(differ)), differ, np.zeros_like(every))
        if whole := self._whole[sent.setting]:
            return self._of_whole_queries(sent, whole)
        if not laws:
            return np.zeros(len(self._log_prior))
        sites = laws[0].sites
        seen = Observed.of(sites, sent.texts)
        self._laws.note_unknown(seen)
        group = sites.of_length(seen.length)
        likelihoods = []
        violations = np.zeros(len(group.queries))
        for law in laws:
            table = law.table(seen, group.columns)
            likelihoods.append(over_positions(table.log_likelihood, group.local))
            violations = over_positions(table.violations, group.local)
        likelihood = log_mean_exp(np.array(likelihoods))
        off = np.abs(sites.lengths - seen.length)
        scores = scores_of_posterior(self._log_prior, group.queries, likelihood, violations, off)
        if self.cells and isinstance(laws[0], NoiseLaw) and len(group.queries):
            return self._refined(scores, seen, group, laws[0])
        return scores

    def _of_whole_queries(self, sent: Sent, laws: Sequence[QueryLaw]) -> Floats:
        """Return the log-posterior by laws of whole queries; those that cannot have sent the texts come last."""
        likelihoods = np.array([law.log_likelihoods(sent.texts) for law in laws])
        impossible = np.isneginf(likelihoods).all(axis=0)
        likelihood = log_mean_exp(np.where(impossible, 0.0, likelihoods))
        every = np.arange(len(likelihood))
        violations = np.asarray(impossible, np.float64)
        return scores_of_posterior(self._log_prior, every, likelihood, violations, np.zeros_like(every))

    def _refined(self, scores: Floats, seen: Observed, group: OfLength, law: NoiseLaw) -> Floats:
        """Score the best candidates by estimates of the law itself."""
        best = np.argsort(-scores[group.queries], kind="stable")[:_REFINED]
        columns = np.unique(group.local[best])
        places = columns[law.sites.kinds[group.columns[columns]] == 0]
        table = law.table(seen, group.columns).log_likelihood.copy()
        inside = seen.rows < len(law.sites.vectors)
        estimates = self._cells_of(law).log_likelihood(seen.rows[inside], seen.counts[:, inside], group.columns[places])
        table[:, places] = estimates
        queries = group.queries[best]
        return rescored(scores, queries, self._log_prior[queries] + over_positions(table, group.local[best]))

    def _cells_of(self, law: NoiseLaw) -> Cells:
        if law not in self._cells:
            self._cells = {law: Cells(law.sites, law.mechanism, self.cells)}  # the last one alone: they are large
        return self._cells[law]
