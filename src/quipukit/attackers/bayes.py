"""Bayes: rank the log by the probability of each query, given what was sent and how the mechanism works.

log post(q) = log prior(q) + sum over texts j and positions i of ln P(y_i^(j) | x_i), with the mechanism's own law. No
attacker with the same log and prior does better on average, for P@1, R@k or RR: where the law is known in closed form
its risk is what the mechanism leaves.
"""

import functools
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from quipukit.attackers.base import Attacker, Floats, KnownLog, Sent
from quipukit.attackers.cells import Cells, rescored
from quipukit.attackers.evidence import posterior_over_laws
from quipukit.attackers.laws import Laws, is_identity, warn_unknown
from quipukit.attackers.logsites import Observed, OfLength, Rows
from quipukit.attackers.noiselaws import NoiseLaw
from quipukit.attackers.posterior import log_mean_exp, over_positions, scores_of_posterior
from quipukit.attackers.shuffled import (
    Bag,
    Candidates,
    bag_likelihoods,
    distance_to_bin,
    log_table,
    order_likelihoods,
    refined,
)
from quipukit.attackers.style import Style
from quipukit.attackers.tables import WordLaw
from quipukit.attackers.told import BATCH, Told, for_each
from quipukit.errors import SpecError
from quipukit.mechanisms.base import Mechanism, QueryLaw, check_whole
from quipukit.mechanisms.wordoptions import Bins
from quipukit.mechanisms.words import WordMechanism
from quipukit.progress import Progress
from quipukit.threads import in_threads
from quipukit.vectors.sources import load_vectors
from quipukit.vectors.store import Vectors

_T = TypeVar("_T")

_REFINED = 200  # candidates whose words get estimated probabilities


@dataclass(frozen=True, eq=False)
class _Law:
    """The law of the words, and what is known of the texts: whether their words are shuffled, and how many they are."""

    words: WordLaw
    shuffled: bool
    bins: Bins | None


_Known = dict[Hashable, list[_Law]]  # by setting and number of texts


def _made(sent: Sent) -> Hashable:
    return (sent.setting, len(sent.texts))


class _Evidence(NamedTuple):
    """What a set of texts says about some rows of the log: those with its ``length``, where ``lengths`` are given."""

    queries: Rows
    likelihood: Floats
    violations: Floats
    lengths: Rows | None = None  # of all rows
    length: int = 0

    def scores(self, log_prior: Floats) -> Floats:
        """Return a score for every row of the log."""
        off = np.zeros(len(log_prior), np.int64) if self.lengths is None else np.abs(self.lengths - self.length)
        return scores_of_posterior(log_prior, self.queries, self.likelihood, self.violations, off)


@dataclass(kw_only=True, eq=False)
class Bayes(Attacker):
    """The score of a query is the logarithm of its posterior probability, up to a constant.

    A query of which some of what was sent cannot come comes after all those with fewer such violations; queries with
    another number of words come last. ``prior`` is how often the log's queries were asked ("count"), "uniform", or
    "style": the counts times how much each looks like queries of other users (`Style.log_odds`).

    With ``epsilon="unknown"`` the likelihood is the mean over the mechanism's grid, and the value is not looked at.
    With ``mechanism="unknown"`` it is the mean over all mechanisms with a law too, each at every value of its grid:
    what was sent decides between them. That takes as long as all of them together. Where nothing is known about a
    mechanism, all queries get the same score.

    It knows the options of the texts too: of shuffled words it takes the mean over all orders, of filled-up queries all
    lengths of a bin, and of a shared budget the part that each text got.

    CMP, Mahalanobis, the Vickrey variants and NoisyRANTEXT have no closed form; a Gaussian response stands for their
    law. With ``cells`` = R the words of the 200 best candidates get probabilities from R draws of the noise instead:
    slow, and for comparison.
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
        for option, choices in (("prior", ("count", "uniform", "style")), ("epsilon", known), ("mechanism", known)):
            if getattr(self, option) not in choices:
                raise SpecError(
                    f"Bayes: {option} must be {' or '.join(map(repr, choices))} ({getattr(self, option)!r})."
                )
        check_whole(self.name, "cells", self.cells, 0)
        if self.cells and "unknown" in (self.epsilon, self.mechanism):
            raise SpecError("Bayes: cells needs a known mechanism and epsilon; leave one of them out.")
        self.learns_from_others = self.prior == "style"  # type: ignore[misc]
        if self.mechanism == "unknown":
            self.knows = "log"  # type: ignore[assignment]
        elif self.epsilon == "unknown":
            self.knows = "log+mechanism"  # type: ignore[assignment]

    def prepare(self, log: KnownLog, progress: Progress | None = None) -> None:
        """Keep the log; it is divided into words when a mechanism is seen."""
        # One for all of its kind: who differs in the prior alone learns the same laws.
        self._laws = log.derived(("laws", self.vectors.fingerprint), lambda: Laws(log.texts, self.vectors))
        self._cells: dict[NoiseLaw, Cells] = {}
        counts = np.ones(len(log)) if self.prior == "uniform" else np.maximum(log.counts, 1)
        self._log_prior = np.log(counts / counts.sum()) if len(log) else np.empty(0)
        if self.prior == "style":
            self._style = Style(vectors=self.vectors)
            self._style.prepare(log)
            self._styled = functools.lru_cache(maxsize=8)(self._with_style)

    def _with_style(self, others: tuple[str, ...]) -> Floats:
        odds = self._log_prior + self._style.log_odds(Sent((), others=others))
        top = odds.max(initial=0.0)
        return np.asarray(odds - top - np.log(np.exp(odds - top).sum()), np.float64)

    def _prior_of(self, sent: Sent) -> Floats:
        return self._styled(sent.others) if self.prior == "style" else self._log_prior

    def scores(self, sent: Sent) -> Floats:
        """Return the log-posterior of every query."""
        return next(Bayes.scores_of(self, [sent]))

    def scores_of(self, batch: Sequence[Sent]) -> Iterator[Floats]:
        """Compute what the settings share first, then set by set."""
        if self.mechanism == "unknown":
            yield from self._of_any_mechanism(batch)
            return
        laws = self._learned(batch)
        warn_unknown(self.name, [one for one in batch if not self._is_known(one, laws)])
        if self.cells:
            # One after the other: the scans of a set's words are what runs in threads.
            yield from (self._scored(one, laws[_made(one)]) for one in batch)
        else:
            yield from self._each(lambda pair: self._scored(pair[0], laws[_made(pair[0])], pair[1]), batch, laws)
        self._laws.warn_unknown_words(self.name)

    def _each(
        self,
        task: "Callable[[tuple[Sent, Told | None]], _T]",
        batch: Sequence[Sent],
        laws: "_Known",
    ) -> Iterator[_T]:
        """Run a task for each set of texts, with its table where one law alone may have made it, in order."""
        made = (laws[_made(one)] for one in batch)
        alone = [one[0].words if len(one) == 1 and not one[0].shuffled else None for one in made]
        return for_each(task, batch, alone)

    def fitting_of(self, batch: Sequence[Sent]) -> "Iterator[tuple[Rows, Floats] | None]":
        """Iterate over the rows that fit each set of texts best, with their log-posterior up to a constant.

        Those are the rows with the fewest violations: none, where the mechanism is what it is taken for; and of
        shuffled words those that are scored by all orders. None stands for a mechanism without a known law.
        """
        laws = self._learned(batch)

        def fitting(pair: "tuple[Sent, Told | None]") -> "tuple[Rows, Floats] | None":
            one, made = pair[0], laws[_made(pair[0])]
            if not self._is_known(one, laws):
                return None
            if self._is_shuffled(one, made):
                return self._in_any_order(one, made)[1:]
            return self._best(one, self._evidence(one, made, pair[1]))

        yield from self._each(fitting, batch, laws)

    def scored_and_fitting(self, batch: Sequence[Sent]) -> "Iterator[tuple[Floats, tuple[Rows, Floats]] | None]":
        """Iterate over the scores of `scores_of` together with the rows of `fitting_of`, from the same evidence."""
        laws = self._learned(batch)

        def both(pair: "tuple[Sent, Told | None]") -> "tuple[Floats, tuple[Rows, Floats]] | None":
            one, made = pair[0], laws[_made(pair[0])]
            if not self._is_known(one, laws):
                return None
            if self._is_shuffled(one, made):
                scores, best, posterior = self._in_any_order(one, made)
                return (rescored(scores, best, posterior) if len(best) else scores), (best, posterior)
            evidence = self._evidence(one, made, pair[1])
            return evidence.scores(self._prior_of(one)), self._best(one, evidence)

        yield from self._each(both, batch, laws)
        self._laws.warn_unknown_words(self.name)

    def _best(self, sent: Sent, evidence: _Evidence) -> tuple[Rows, Floats]:
        """Return the rows with the fewest violations, and their log-posterior."""
        queries, likelihood, violations = evidence[:3]
        best = violations == violations.min() if len(queries) else np.zeros(0, bool)
        return queries[best], self._prior_of(sent)[queries[best]] + likelihood[best]

    def _learned(self, batch: Sequence[Sent]) -> "_Known":
        """Learn the laws of all settings of a batch, and return those of words."""
        # Of some settings the law depends on how many texts share its budget.
        firsts = {_made(one): one for one in batch}
        mechanisms = {made: self._laws.mechanisms(one) for made, one in firsts.items()}
        self._laws.prepare([one for several in mechanisms.values() for one in several])
        self._verbatim = {made for made, several in mechanisms.items() if any(map(is_identity, several))}
        self._whole = {made: self._query_laws(several) for made, several in mechanisms.items()}
        return {made: self._known_laws(several) for made, several in mechanisms.items()}

    def _is_known(self, sent: Sent, laws: "_Known") -> bool:
        made = _made(sent)
        return bool(laws[made] or self._whole[made]) or made in self._verbatim

    def _is_shuffled(self, sent: Sent, made: "Sequence[_Law]") -> bool:
        return bool(made and made[0].shuffled and not self._whole[_made(sent)] and _made(sent) not in self._verbatim)

    def _of_any_mechanism(self, batch: Sequence[Sent]) -> Iterator[Floats]:
        families = list(self._laws.families.values())
        for start in range(0, len(batch), BATCH):
            yield from in_threads(
                lambda one: posterior_over_laws(families, one.texts, self._prior_of(one))[0],
                batch[start : start + BATCH],
            )

    def _query_laws(self, mechanisms: Sequence[Mechanism]) -> list[QueryLaw]:
        laws = [self._laws.query_law(one) for one in mechanisms]
        return [law for law in laws if law is not None]

    def _known_laws(self, mechanisms: Sequence[Mechanism]) -> "list[_Law]":
        laws = [(one, self._laws.law(one)) for one in mechanisms]
        return [
            _Law(law, one.shuffle, one.bins) for one, law in laws if law is not None and isinstance(one, WordMechanism)
        ]

    def _scored(self, sent: Sent, made: "Sequence[_Law]", told: Told | None = None) -> Floats:
        if not made and not self._whole[_made(sent)] and _made(sent) not in self._verbatim:
            return np.zeros(len(self._log_prior))
        if self._is_shuffled(sent, made):
            scores, best, posterior = self._in_any_order(sent, made)
            return rescored(scores, best, posterior) if len(best) else scores
        prior = self._prior_of(sent)
        scores = self._evidence(sent, made, told).scores(prior)
        if self.cells and made and isinstance(made[0].words, NoiseLaw):
            seen = Observed.of(made[0].words.sites, sent.texts)
            group = made[0].words.sites.of_length(seen.length)
            return self._refined(scores, prior, seen, group, made[0].words) if len(group.queries) else scores
        return scores

    def _evidence(self, sent: Sent, made: "Sequence[_Law]", told: Told | None = None) -> _Evidence:
        if _made(sent) in self._verbatim:
            differ = self._laws.texts_that_differ(sent.texts)
            every = np.arange(len(differ))
            return _Evidence(every, np.zeros(len(differ)), differ)
        if whole := self._whole[_made(sent)]:
            return self._of_whole_queries(sent, whole)
        laws = [one.words for one in made]
        sites = laws[0].sites
        seen = told.seen if told is not None else Observed.of(sites, sent.texts)
        self._laws.note_unknown(seen)
        group = sites.of_length(seen.length)
        likelihoods = []
        violations = np.zeros(len(group.queries))
        for law in laws:
            table = told.table if told is not None else law.table(seen, group.columns)
            likelihoods.append(over_positions(table.log_likelihood, group.local))
            violations = over_positions(table.violations, group.local)
        likelihood = log_mean_exp(np.array(likelihoods))
        return _Evidence(group.queries, likelihood, violations, sites.lengths, seen.length)

    def _of_whole_queries(self, sent: Sent, laws: Sequence[QueryLaw]) -> _Evidence:
        """Return what laws of whole queries say; queries that cannot have sent the texts have a violation."""
        likelihoods = np.array([law.log_likelihoods(sent.texts) for law in laws])
        impossible = np.isneginf(likelihoods).all(axis=0)
        likelihood = log_mean_exp(np.where(impossible, 0.0, likelihoods))
        every = np.arange(len(likelihood))
        return _Evidence(every, likelihood, np.asarray(impossible, np.float64))

    def _in_any_order(self, sent: Sent, made: "Sequence[_Law]") -> tuple[Floats, Rows, Floats]:
        """Score all candidates as bags of words, and the best by all orders in which their words may have been sent.

        Returned are the scores as bags, the best rows, and the log-posterior of these.
        """
        laws, bins = [one.words for one in made], made[0].bins
        sites, prior = laws[0].sites, self._prior_of(sent)
        seen = Observed.of(sites, sent.texts)
        self._laws.note_unknown(seen)
        bag, candidates = Bag.of(sites, sent.texts, seen.length), Candidates.of(sites, seen.length, bins)
        queries = candidates.queries
        off = distance_to_bin(sites.lengths, seen.length, bins)
        if not len(queries) or not seen.length:
            none = np.zeros(len(queries))
            return scores_of_posterior(prior, queries, none, none, off), np.empty(0, np.int64), np.empty(0)
        bags = log_mean_exp(np.array([bag_likelihoods(law, bag, candidates) for law in laws]))
        scores = scores_of_posterior(prior, queries, bags, np.zeros(len(queries)), off)
        best = np.argsort(-scores[queries], kind="stable")[: refined(bag, candidates)]
        tables = [partial(self._any_order_table, law, bag) for law in laws]
        likelihood = log_mean_exp(np.array([order_likelihoods(bag, candidates, best, table) for table in tables]))
        return scores, queries[best], prior[queries[best]] + likelihood

    def _any_order_table(self, law: WordLaw, bag: Bag, columns: Rows) -> Floats:
        """Return ln P(y | x) for the words of a bag; by estimates of the law itself, where they are asked for."""
        table = log_table(law, bag, columns)
        if self.cells and isinstance(law, NoiseLaw):
            inside = np.flatnonzero(bag.rows < len(law.sites.vectors))
            places = np.flatnonzero(law.sites.kinds[columns] == 0)
            estimates = self._cells_of(law).log_likelihood(bag.rows[inside], np.eye(len(inside)), columns[places])
            table[np.ix_(inside, places)] = estimates
        return table

    def _refined(self, scores: Floats, prior: Floats, seen: Observed, group: OfLength, law: NoiseLaw) -> Floats:
        """Score the best candidates by estimates of the law itself."""
        best = np.argsort(-scores[group.queries], kind="stable")[:_REFINED]
        columns = np.unique(group.local[best])
        places = columns[law.sites.kinds[group.columns[columns]] == 0]
        table = law.table(seen, group.columns).log_likelihood.copy()
        inside = seen.rows < len(law.sites.vectors)
        estimates = self._cells_of(law).log_likelihood(seen.rows[inside], seen.counts[:, inside], group.columns[places])
        table[:, places] = estimates
        queries = group.queries[best]
        return rescored(scores, queries, prior[queries] + over_positions(table, group.local[best]))

    def _cells_of(self, law: NoiseLaw) -> Cells:
        if law not in self._cells:
            self._cells = {law: Cells(law.sites, law.mechanism, self.cells)}  # the last one alone: they are large
        return self._cells[law]
