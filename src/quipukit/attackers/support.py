"""Support: what can come out of a word are a few words, and every one that came out narrows down which word it was.

Of CusText and WBB each output must be a candidate of the original's word. The union of what stood at a position is
soon nearly the whole set, which few words have. Neither probabilities nor epsilon are needed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from quipukit.attackers.base import Attacker, Floats, KnownLog, Sent
from quipukit.attackers.laws import Laws, warn_unknown
from quipukit.attackers.logsites import Observed
from quipukit.attackers.posterior import over_positions, scores_of_posterior
from quipukit.attackers.shuffled import Bag, Candidates, impossible_words
from quipukit.attackers.supports import SupportLaw
from quipukit.progress import Progress
from quipukit.threads import in_threads
from quipukit.vectors.sources import load_vectors
from quipukit.vectors.store import Vectors

_BATCH = 16


@dataclass(kw_only=True, eq=False)
class Support(Attacker):
    """The score of a query falls with the positions that something impossible was sent at, then with how much was.

    Of shuffled words it counts those that none of a query's words can have given. Queries with another number of words
    come last. Under mechanisms that may send any word for any other, all queries
    get the same score.
    """

    name = "Support"
    summary = "rules out every query of which something that was sent cannot come (CusText, WBB)"
    knows = "log+mechanism"

    vectors: Vectors = field(default_factory=load_vectors)

    def prepare(self, log: KnownLog, progress: Progress | None = None) -> None:
        """Keep the log; it is divided into words when a mechanism is seen."""
        self._laws = log.derived(("laws", self.vectors.fingerprint), lambda: Laws(log.texts, self.vectors))
        self._size = len(log)

    def scores(self, sent: Sent) -> Floats:
        """Return minus the number of violations."""
        return next(Support.scores_of(self, [sent]))

    def scores_of(self, batch: Sequence[Sent]) -> Iterator[Floats]:
        """Find the candidates of a mechanism once."""
        mechanisms = {one.setting: self._laws.mechanisms(one)[:1] for one in batch}
        warn_unknown(self.name, [one for one in batch if not mechanisms[one.setting]])
        laws = {setting: self._laws.support(*several) if several else None for setting, several in mechanisms.items()}
        shuffled = {
            setting: any(getattr(one, "shuffle", False) for one in those) for setting, those in mechanisms.items()
        }

        def scored(one: Sent) -> Floats:
            return self._scored(one, laws[one.setting], shuffled[one.setting])

        for start in range(0, len(batch), _BATCH):
            yield from in_threads(scored, batch[start : start + _BATCH])

    def _scored(self, sent: Sent, law: SupportLaw | None, shuffled: bool) -> Floats:
        if law is None:
            return np.zeros(self._size)
        seen = Observed.of(law.sites, sent.texts)
        if shuffled:
            candidates = Candidates.of(law.sites, seen.length, None)
            missing = impossible_words(law, Bag.of(law.sites, sent.texts, seen.length), candidates)
            off = np.abs(law.sites.lengths - seen.length)
            return scores_of_posterior(np.zeros(self._size), candidates.queries, -missing, np.zeros(len(missing)), off)
        group = law.sites.of_length(seen.length)
        violations = law.table(seen, group.columns).violations
        positions = over_positions((violations > 0).astype(np.float64), group.local)
        number = over_positions(violations, group.local)
        off = np.abs(law.sites.lengths - seen.length)
        return scores_of_posterior(np.zeros(self._size), group.queries, -number, positions, off)
