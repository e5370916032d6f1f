"""The harness: attackers score a log, and it knows which row is the original, what a tie is worth and how ranks count.

For every setting and query the attackers see the texts that were sent, in the order of the variants, and as much about
the setting as their ``knows`` allows. They see the log in alphabetical order: no position reveals which of its queries
are the originals that it was completed with.
"""

import copy
import functools
import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.attackers.base import RESOURCES, Attacker, Floats, KnownLog, Sent
from quipukit.attackers.checks import check_log_vectors, checked_scores, checked_vectors
from quipukit.attackers.found import Found, ranked
from quipukit.attackers.guessing import best_of_several, guess_table
from quipukit.attackers.log import QueryLog
from quipukit.attackers.registry import attacker as bind
from quipukit.attackers.registry import check_distinct, with_panel
from quipukit.attackers.scorer import Asked, Elsewhere, Scorer
from quipukit.attackers.scratch import room, stored
from quipukit.attackers.spread import SharedLog, is_spread, lots, spread
from quipukit.attackers.task import GROUP, Task, by_setting
from quipukit.attackers.texts import Texts, alphabetical, chosen
from quipukit.attackers.ties import best as best_places
from quipukit.attackers.vectorlog import VectorLog
from quipukit.encoders.base import Encoder
from quipukit.encoders.load import load_encoder
from quipukit.encoders.store import EncodingStore, PrivateStore
from quipukit.encoders.stored import StoredEncoder
from quipukit.errors import InputError
from quipukit.executors.base import Executor
from quipukit.frames import RANKS
from quipukit.plugins import named_each, naming
from quipukit.progress import Progress, part_of
from quipukit.specs import Spec

if TYPE_CHECKING:
    from quipukit.mechanisms.base import Mechanism
    from quipukit.vectors.store import Vectors

Rows = NDArray[np.int64]
StoreOf = Callable[[Encoder], PrivateStore]


class Panel:
    """Attackers that know one log.

    The log is what the caller makes of it: completed with the originals, or not. Each attacker learns it once, when it
    is first asked or by `prepare`.
    """

    def __init__(
        self,
        attackers: "Sequence[str | Spec | Attacker]",
        log: QueryLog,
        *,
        encoder: str | Encoder = "minilm",
        vectors: "str | Vectors | None" = None,
        store_of: StoreOf | None = None,
        mechanisms: "Sequence[Mechanism]" = (),
    ) -> None:
        """Bind attackers by name, or take them as they are.

        ``encoder`` and ``vectors`` are for those that need one and name none. ``store_of`` says where the vectors of
        an encoder are kept: by default those of the public log in the cache that all runs share, all others in memory.
        ``mechanisms`` made what was sent, as far as they are known: attackers that know the mechanism get them.
        """
        if isinstance(attackers, str | Spec | Attacker):
            attackers = [attackers]
        attackers = with_panel(attackers)
        self.log = log
        self._store_of = store_of or _in_memory
        self._stored: dict[str, StoredEncoder] = {}
        self._mechanisms = by_setting(mechanisms)
        self.attackers = [self._bound(attacker, encoder, vectors) for attacker in attackers]
        self.names = [repr(attacker.spec) for attacker in self.attackers]
        if not self.names:
            raise InputError("no attacker is given; name at least one, for instance QuIA.")
        check_distinct(self.attackers)
        # places[row] is where a row of our log stands in the attackers' log. By identity: how a query is written (in
        # capitals, say) depends on who came first, and may tell the originals.
        order = alphabetical(log.texts)
        self._places = room((len(log),), np.int64)
        self._places[order] = np.arange(len(log))
        # An original that was added looks like the rarest query of the log: a count of its own would give it away.
        public = len(log) - log.added
        rarest = max(1, int(log.counts[:public].min())) if public else 1
        counts = stored(log.counts[order])
        counts[order >= public] = rarest
        self._known = KnownLog(chosen(log.texts, order), counts)
        self._prepared: set[str] = set()
        self._vector_logs: dict[str, VectorLog] = {}

    def _bound(self, given: "str | Spec | Attacker", encoder: str | Encoder, vectors: Any) -> Attacker:
        # A copy: the caller's own attacker keeps its encoder and its log.
        attacker = copy.copy(bind(given, encoder=encoder, vectors=vectors))
        own = getattr(attacker, "encoder", None)
        if isinstance(own, Encoder):
            attacker.encoder = self._kept(own)  # type: ignore[attr-defined]
        return attacker

    def _kept(self, encoder: Encoder) -> StoredEncoder:
        """Return the same encoder with its vectors kept; attackers that share an encoder share its vectors."""
        if encoder.fingerprint not in self._stored:
            long = isinstance(self.log.texts, Texts)
            self._stored[encoder.fingerprint] = StoredEncoder(
                self._store_of(encoder), self.log.public, self._reordered if long else None
            )
        return self._stored[encoder.fingerprint]

    def _reordered(self) -> tuple[Sequence[str], Sequence[str], Rows]:
        """Return the log as attackers see it, the originals that were added to it, and the order of both."""
        return self._known.texts, self.log.texts[len(self.log) - self.log.added :], self._rows

    def fingerprint(self, name: str) -> str:
        """Return a hash over an attacker's spec and the resources that it is bound to; not over its code."""
        (attacker,) = self._named([name])
        resources = ((part, getattr(getattr(attacker, part, None), "fingerprint", "")) for part in RESOURCES)
        return hashlib.sha256(repr((name, *resources)).encode()).hexdigest()

    # --- what they do ---

    def prepare(
        self,
        progress: Progress | None = None,
        names: Sequence[str] | None = None,
        executor: Executor | None = None,
    ) -> None:
        """Let attackers (all, or some by name) learn the log, unless they know it.

        Those that the workers of an executor score for learn it there.
        """
        chosen, rows = [one for one in self._named(names) if not self.is_spread(one, executor)], len(self.log)
        for number, attacker in enumerate(chosen):
            if repr(attacker.spec) not in self._prepared:
                # Of its own: what one attacker does to its log is none of the others' business.
                with naming("attacker", attacker):
                    attacker.prepare(self._known.copied(), part_of(progress, number * rows, rows, len(chosen) * rows))
                check_log_vectors(attacker)
                self._prepared.add(repr(attacker.spec))

    def is_spread(self, attacker: Attacker, executor: Executor | None) -> bool:
        """Return whether an attacker scores on the workers of an executor; one that knows the log already need not."""
        return repr(attacker.spec) not in self._prepared and is_spread(attacker, len(self.log), executor)

    def encode(
        self, texts: Sequence[str], progress: Progress | None = None, names: Sequence[str] | None = None
    ) -> None:
        """Encode what was sent ahead of time, for the attackers that encode; it changes no result."""
        encoders = {id(own): own for one in self._named(names) if (own := getattr(one, "encoder", None)) is not None}
        distinct = list(dict.fromkeys(texts))
        for number, encoder in enumerate(encoders.values()):
            part = part_of(progress, number * len(distinct), len(distinct), len(encoders) * len(distinct))
            encoder.vectors(distinct, "query", part)

    def ranks(
        self,
        obfuscated: pd.DataFrame,
        queries: pd.DataFrame,
        *,
        settings: pd.DataFrame | None = None,
        names: Sequence[str] | None = None,
        progress: Progress | None = None,
        executor: Executor | None = None,
    ) -> pd.DataFrame:
        """Return the rank of every original in the log, as a Ranks table: for each attacker, every setting and query.

        A query for which a setting sent nothing cannot be guessed: it is not found, and its risk is 0. A setting that
        sent nothing at all is known from ``settings`` (mechanism, parameter, value) alone. ``executor`` counts in other
        processes, for attackers whose scores are cosines.
        """
        return self.ranks_of(Task.of(obfuscated, queries, self.log, settings), names, progress, executor)

    def ranks_of(
        self,
        task: Task,
        names: Sequence[str] | None = None,
        progress: Progress | None = None,
        executor: Executor | None = None,
    ) -> pd.DataFrame:
        """Return the ranks of a task; see `ranks`."""
        self.prepare(names=names, executor=executor)
        chosen = self._named(names)
        counts = self._counts(chosen, task, progress, executor)
        tables = [ranked(attacker, task, found) for attacker, found in zip(chosen, counts, strict=True)]
        return RANKS.check(pd.concat(tables, ignore_index=True))

    def ranks_and_guesses(
        self,
        task: Task,
        names: Sequence[str] | None = None,
        progress: Progress | None = None,
        executor: Executor | None = None,
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the ranks of a task, and the first of each attacker's `guesses`: (setting, attacker, qid, query).

        Together they take hardly more than the ranks alone: both need the scores of the whole log.
        """
        self.prepare(names=names, executor=executor)
        ranks, guesses = [], []
        chosen = self._named(names)
        for attacker, found in zip(chosen, self._counts(chosen, task, progress, executor, guess=True), strict=True):
            ranks.append(ranked(attacker, task, found))
            first = found.first
            unknown = np.flatnonzero(first < 0)  # the original is not in the log, so nothing was counted
            if len(unknown):
                self.prepare(names=[repr(attacker.spec)])
                sent = task.sent_to(attacker, self._mechanisms)
                first[unknown] = self._best(attacker, [sent[place] for place in unknown], 1, executor)[0][:, 0]
            texts = [self.log.texts[row] for row in first.tolist()]
            guesses.append(task.groups[list(GROUP)].assign(attacker=repr(attacker.spec), query=texts))
        return RANKS.check(pd.concat(ranks, ignore_index=True)), pd.concat(guesses, ignore_index=True)

    def guesses(
        self,
        obfuscated: pd.DataFrame,
        queries: pd.DataFrame,
        top: int = 10,
        names: Sequence[str] | None = None,
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> pd.DataFrame:
        """Return the best guesses: setting, attacker, qid, guess (from 1), query, similarity (the score), hit.

        Of equal scores any may come first, whatever its place in the log: who is asked for often stands at its top.
        """
        if top < 1:
            raise InputError(f"top is {top}; ask for one guess at least.")
        task = Task.of(obfuscated, queries, self.log)
        self.prepare(names=names)
        tables, chosen = [], self._named(names)
        seen = [(attacker, task.sent_to(attacker, self._mechanisms)) for attacker in chosen]
        alike = [one for one in seen if one[0].knows == "log" and one[0].log_vectors is None]
        best = functools.partial(self._best, top=top)
        found = best_of_several(alike, len(self.log), best, progress) if task.texts else []
        known = {id(attacker): own for (attacker, _), own in zip(alike, found, strict=bool(task.texts))}
        for attacker, sent in seen:
            rows, scores = known.get(id(attacker)) or self._best(attacker, sent, top, executor)
            tables.append(guess_table(attacker, task, self.log, rows, scores))
        self._known.release()
        return pd.concat(tables, ignore_index=True)

    def _named(self, names: Sequence[str] | None) -> list[Attacker]:
        known = dict(zip(self.names, self.attackers, strict=True))
        for name in names or ():
            if name not in known:
                raise InputError(f"there is no attacker {name!r} in the panel; it has {', '.join(self.names)}.")
        return [known[name] for name in (self.names if names is None else names)]

    def _counts(
        self,
        chosen: Sequence[Attacker],
        task: Task,
        progress: Progress | None,
        executor: Executor | None,
        guess: bool = False,
    ) -> list[Found]:
        """Return what each attacker finds for every target; with ``guess`` also its first guess, where it scores."""
        there = np.flatnonzero(task.targets >= 0)
        targets = task.targets[there]
        found = [Found.none(there, len(task.targets)) for _ in chosen]
        scored = []
        for number, attacker in enumerate(chosen):
            seen = task.sent_to(attacker, self._mechanisms)
            sent = [seen[place] for place in there]
            vectors = checked_vectors(attacker, sent)
            if vectors is None or not sent:
                scored.append((number, attacker, sent))
            else:
                part = part_of(progress, number * len(there), len(there), len(chosen) * len(there))
                own = self._vector_log(attacker)
                found[number].better[:], found[number].tied[:] = own.counts(vectors, targets, part, executor)
        # Some sets of texts for one attacker after the other: what one has found is still at hand for the next. Those
        # that know the mechanism get all at once: what they compute for a setting, or for several, is what takes long.
        alike: dict[bool, list[Any]] = {False: [], True: []}  # by whether workers score for them
        for one in scored:
            if one[1].knows == "log":
                alike[self.is_spread(one[1], executor)].append(one)
        rounds = [([one], max(1, len(there))) for one in scored if one[1].knows != "log"]
        done = len(chosen) - len(scored)
        places = self._places[targets].tolist()
        for attackers, step in rounds:
            part = part_of(progress, done * len(there), len(attackers) * len(there), len(chosen) * len(there))
            done += len(attackers)
            self._scorer.count(attackers, places, step, found, part, guess)
        for spread_out, attackers in alike.items():
            if attackers:
                part = part_of(progress, done * len(there), len(attackers) * len(there), len(chosen) * len(there))
                done += len(attackers)
                elsewhere = self._elsewhere(executor) if spread_out and executor is not None else None
                self._scorer.count_distinct(attackers, places, found, part, guess, elsewhere)
        self._known.release()
        return found

    def _vector_log(self, attacker: Attacker) -> VectorLog:
        name = repr(attacker.spec)
        if name not in self._vector_logs:
            self._vector_logs[name] = VectorLog(attacker, self._places)
        return self._vector_logs[name]

    def _elsewhere(self, executor: Executor) -> Elsewhere:
        log = self._shared

        def count(attackers: Asked, places: Any, found: Any, progress: Progress | None, guess: bool) -> None:
            spread(executor, log, attackers, places, self._rows, found, progress, guess)

        return count

    def _best(
        self, attacker: Attacker, sent: Sequence[Sent], top: int, executor: Executor | None = None
    ) -> tuple[Rows, Floats]:
        """Return the rows of the highest scores and these scores, one line for each."""
        if not sent:
            return np.empty((0, 0), np.int64), np.empty((0, 0))
        vectors = checked_vectors(attacker, sent)
        if vectors is not None:
            return self._vector_log(attacker).best(vectors, self._turns, top, executor)
        rows, best = [], []
        for scored in named_each("attacker", attacker, attacker.scores_of(sent)):
            scores, limits = checked_scores(attacker, scored, len(self.log))
            places = best_places(scores, self._lots, top, limits)
            rows.append(self._rows[places])
            best.append(scores[places])
        return np.array(rows), np.array(best)

    @functools.cached_property
    def _scorer(self) -> Scorer:
        return Scorer(len(self.log), self._lots, self._rows)

    @functools.cached_property
    def _lots(self) -> Rows:
        """Return for every row of the attackers' log when it is its turn among rows of equal scores."""
        return lots(len(self.log))

    @functools.cached_property
    def _shared(self) -> SharedLog:
        """Return the log as it travels to workers."""
        return SharedLog(self._known.texts, self._known.counts)

    @functools.cached_property
    def _turns(self) -> Rows:
        """Return the same for every row of our log: by lot, from what it says."""
        return self._lots[self._places]

    @functools.cached_property
    def _rows(self) -> Rows:
        """Return for every row of the attackers' log which of ours it is."""
        rows = room((len(self.log),), np.int64)
        rows[self._places] = np.arange(len(self.log))
        return rows


def _in_memory(encoder: Encoder) -> PrivateStore:
    return PrivateStore(EncodingStore(load_encoder(encoder)))
