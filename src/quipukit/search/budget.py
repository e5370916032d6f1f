"""What a draft would release, as the ledger counts it, and what to say about it beforehand."""

from collections import OrderedDict
from collections.abc import Sequence

from quipukit.guarantees import LocalDP, MetricDP
from quipukit.mechanisms.base import Mechanism
from quipukit.mechanisms.cover import Cover
from quipukit.search.drafts import Draft
from quipukit.search.ledger import Ledger, Release
from quipukit.search.narrowing import Narrowing
from quipukit.search.topics import Topics, query_hash

_TOGETHER = 8  # the last groups of a session, which are looked at together
_NARROW = 0.5  # of a group's queries: where fewer are still likely, it is said


class Budget:
    """Counts for one mechanism and one engine: in the ledger, and for the groups of this session."""

    def __init__(self, mechanism: Mechanism, n: int, engine: str, topics: Topics, ledger: Ledger) -> None:
        self._mechanism, self._n, self._engine = mechanism, n, engine
        self._topics, self._ledger = topics, ledger
        self._narrowing = Narrowing()
        self._groups: OrderedDict[int, Sequence[str]] = OrderedDict()  # of this session

    @property
    def setting(self) -> str:
        """Return what the ledger calls the setting."""
        return repr(self._mechanism.spec) + ("" if self._mechanism.own_count else f" x {self._n}")

    def release(self, query: str, draft: Draft, original: bool) -> Release:
        """Return what a draft would release."""
        topic, group = self._topics.hash_of(draft.node), isinstance(self._mechanism, Cover)
        repeated = self._ledger.released(self._engine, topic, self.setting) if group else draft.repeated
        return Release(
            engine=self._engine,
            topic=topic,
            query=query_hash(query),
            setting=self.setting,
            kind="group" if group else "noise",
            texts=len(draft.texts),
            epsilon=None if group else epsilon_of(self._mechanism, self._n, query),
            original=original,
            repeated=repeated,
        )

    def sent(self, draft: Draft) -> None:
        """Take note that a draft leaves."""
        if isinstance(self._mechanism, Cover):
            self._groups[draft.node] = self._members(draft.node)
            self._groups.move_to_end(draft.node)
            while len(self._groups) > _TOGETHER:
                self._groups.popitem(last=False)

    def forget(self) -> None:
        """Begin a new session."""
        self._groups.clear()

    def composed(self, release: Release) -> str:
        """Return in plain words what the engine would have received with this release."""
        if release.kind == "group":
            count = self._ledger.groups(self._engine) + (0 if release.repeated else 1)
            topics = "1 topic" if count == 1 else f"{count} topics"
            again = " This one has been, before." if release.repeated else ""
            return f"With this, {topics} in all will have been revealed to this engine.{again}"
        if release.epsilon is None:
            return "Nothing bounds what several texts tell together."
        if release.repeated:
            return "The same texts leave as before: that the query is asked again is all that is added."
        total = self._ledger.spent(self._engine, release.topic) + release.epsilon
        return (
            f"All {release.texts} texts spend epsilon {release.epsilon:g} together, over all words of the query; with "
            f"what was sent on its topic before, {total:g}."
        )

    def narrowed(self, draft: Draft) -> list[str]:
        """Return, in words, which groups the queries of this session have narrowed down."""
        if not isinstance(self._mechanism, Cover) or not draft.texts or draft.node in self._groups:
            return []
        groups = dict(list(self._groups.items())[1 - _TOGETHER :]) | {draft.node: self._members(draft.node)}
        counts = self._narrowing.counts(groups)
        share, least = min((counts[node] / len(texts), node) for node, texts in groups.items())
        if share >= _NARROW:
            return []
        whose = "this query's topic" if least == draft.node else "an earlier query's topic"
        return [
            f"Related queries narrow each other down: of the {len(groups[least]):,} queries of {whose}, about "
            f"{counts[least]:,} remain likely to who sees the {len(groups)} topics of this session together."
        ]

    def _members(self, node: int) -> list[str]:
        return self._topics.partition.members(node, self._topics.k)


def epsilon_of(mechanism: Mechanism, n: int, query: str) -> float | None:
    """Return the budget that n variants of a query spend, over all its words; None where nothing bounds it."""
    guarantee = mechanism.guarantee.composed(n)
    if not isinstance(guarantee, MetricDP | LocalDP):
        return None
    return guarantee.epsilon * max(1, mechanism.spent_on(query))
