"""The theorem of sticky covers as a test, and wrong twins that the same test catches."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from quipukit.covers.sticky import Step, StickyClient
from quipukit.errors import InputError
from tests.covers.pools import partition, pool
from tests.covers.transcripts import SEQUENCES, K, transcripts_differ


def client(**options: object) -> StickyClient:
    return StickyClient(partition(), K, **options)  # type: ignore[arg-type]


class Nested(StickyClient):
    """A wrong twin: the smallest node that holds all that was asked so far."""

    sizes = (10, 20, 40, 80)

    def ask(self, query: str, rng: "np.random.Generator | None" = None) -> Step:
        self.asked = [*getattr(self, "asked", ()), query]
        for size in self.sizes:
            self.k = size
            if len(set(self.partition.groups_of(self.asked, size).tolist())) == 1:
                break
        self.released = [node for node, at in getattr(self, "at", ()) if at == self.k]
        step = super().ask(query, rng)
        self.at = [*getattr(self, "at", ()), (step.node, self.k)]
        return step


class Again(StickyClient):
    """A wrong twin: whoever asks for the same text again gets the list once more."""

    def ask(self, query: str, rng: "np.random.Generator | None" = None) -> Step:
        self.asked = [*getattr(self, "asked", ()), query]
        if self.asked.count(query) > 1:
            self.released.remove(self.node_of(query))
        return super().ask(query, rng)


class Fresh(StickyClient):
    """A wrong twin: the representatives of a node are drawn around the query."""

    def ask(self, query: str, rng: "np.random.Generator | None" = None) -> Step:
        self.query = query
        return super().ask(query, rng)

    def list_of(self, node: int) -> list[str]:
        own = self.partition.members(node, self.k)
        start = own.index(self.query)
        return sorted((own * 2)[start : start + 5])


class AskedFirst(StickyClient):
    """A wrong twin: the right list, in an order that begins with what was asked."""

    def ask(self, query: str, rng: "np.random.Generator | None" = None) -> Step:
        step = super().ask(query, rng)
        return dataclasses.replace(step, sends=tuple(sorted(step.sends, key=lambda text: text != query)))


def played_by(make: "Callable[[], StickyClient]") -> "Callable[[list[str]], list[tuple[str, ...]]]":
    """Return what a client sends in a session, with the same draws at the same step."""

    def play(texts: "list[str]") -> "list[tuple[str, ...]]":
        made = make()
        return [made.ask(text, np.random.default_rng(place)).sends for place, text in enumerate(texts)]

    return play


@pytest.mark.parametrize(("members", "new"), [(None, SEQUENCES[0]), (5, SEQUENCES[1])])
def test_sessions_with_the_same_new_nodes_send_the_same_texts_at_the_same_moments(
    members: int | None, new: "tuple[int, ...]"
) -> None:
    """All 800 sessions of five queries, two of each node, that come to three nodes in a given order."""
    assert not transcripts_differ(played_by(lambda: client(members=members)), new)


@pytest.mark.parametrize("twin", [Nested, Again, Fresh, AskedFirst])
def test_wrong_twins_are_caught(twin: "type[StickyClient]") -> None:
    assert transcripts_differ(played_by(lambda: twin(partition(), K)))


def test_a_node_is_sent_once_and_everything_else_is_local() -> None:
    made = client()
    one, two = partition().members(0, K)[:2]
    first, again, other = made.ask(one), made.ask(two), made.ask(partition().members(1, K)[0])
    assert sorted(first.sends) == sorted(partition().members(0, K)) and not first.local
    assert again.local and again.sends == () and again.node == 0
    assert len(other.sends) >= K and made.released == [0, 1]


def test_what_was_asked_before_changes_nothing_about_a_list() -> None:
    last = partition().members(2, K)[0]
    lists = []
    for before in ([], partition().members(0, K)[:3], partition().members(1, K)[:2]):
        made = client(members=5)
        for text in before:
            made.ask(text)
        lists.append(sorted(made.ask(last).sends))
    assert lists[0] == lists[1] == lists[2] and len(lists[0]) == 5


def test_a_further_node_waits_for_consent() -> None:
    asked = []
    made = client(consent=lambda query: bool(asked.append(query)))
    first, other = partition().members(0, K)[0], partition().members(1, K)[0]
    assert made.ask(first).sends and not asked  # the first query of a session is the user's own wish
    refused = made.ask(other)
    assert refused.refused and not refused.sends and not refused.local and asked == [other]
    assert made.released == [0] and made.ask(first).local


def test_orders_are_random_and_empty_queries_send_nothing() -> None:
    orders = {client().ask(pool().texts[0]).sends for _ in range(10)}
    assert len(orders) > 5 and client().ask(" ").local and client().ask(" ").node == -1


def test_bad_parameters_name_the_fix() -> None:
    with pytest.raises(InputError, match="at least 2 queries"):
        StickyClient(partition(), 1)
    with pytest.raises(InputError, match="give a larger pool"):
        StickyClient(partition(), 10_000)
