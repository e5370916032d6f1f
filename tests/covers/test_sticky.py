"""The theorem of sticky covers as a test, and a wrong twin that the same test catches."""

import itertools

import numpy as np
import pytest

from quipukit.covers.sticky import StickyClient
from quipukit.errors import InputError
from tests.covers.pools import partition, pool

K = 20


def client(**options: object) -> StickyClient:
    return StickyClient(partition(), K, **options)  # type: ignore[arg-type]


class Nested(StickyClient):
    """A wrong twin: the smallest node that holds all that was asked so far."""

    sizes = (10, 20, 40, 80)

    def ask(self, query: str, rng: "np.random.Generator | None" = None):  # type: ignore[no-untyped-def]
        self.asked = [*getattr(self, "asked", ()), query]
        for size in self.sizes:
            self.k = size
            if len(set(self.partition.groups_of(self.asked, size).tolist())) == 1:
                break
        self.released = [node for node, at in getattr(self, "at", ()) if at == self.k]
        step = super().ask(query, rng)
        self.at = [*getattr(self, "at", ()), (step.node, self.k)]
        return step


def transcripts_differ(make: "type[StickyClient]") -> bool:
    """Return whether two sessions with the same sequence of new nodes ever send different texts."""
    rng = np.random.default_rng(3)
    seen: dict[tuple[int, ...], list[tuple[str, ...]]] = {}
    # Sessions of one node or two, whose queries are drawn anew each time.
    for first, second in itertools.product(range(4), repeat=2):
        for _ in range(6):
            nodes = [first, *rng.permutation([first, first, second])]
            texts = [str(rng.choice(partition().members(int(node), K))) for node in nodes]
            made = make(partition(), K)
            sent = [tuple(sorted(step.sends)) for step in (made.ask(text) for text in texts) if step.sends]
            new = tuple(dict.fromkeys(int(node) for node in nodes))
            if seen.setdefault(new, sent) != sent:
                return True
    return False


def test_sessions_with_the_same_new_nodes_send_the_same_texts_in_the_same_order() -> None:
    assert not transcripts_differ(StickyClient)


def test_nested_nodes_do_not() -> None:
    assert transcripts_differ(Nested)


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
