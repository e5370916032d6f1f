"""What sessions send, over all choices of what is asked: sessions with the same new nodes must send the same."""

import itertools
from collections.abc import Callable, Iterator, Sequence

from tests.covers.pools import partition

K = 20
SEQUENCES = ((0, 1, 2), (2, 0, 3))  # new nodes, in the order in which a session comes to them
ASKED = 2  # members of each node that may be asked
Transcript = list[tuple[str, ...]]


def sessions(new: Sequence[int], length: int = 5) -> "Iterator[tuple[tuple[int, ...], list[str]]]":
    """Iterate over all sessions that come to some nodes in this order: when they do, and the texts that are asked.

    Every member that may be asked of a new node is; and at every other step each of those of all nodes before it.
    """
    members = {node: partition().members(node, K)[:: len(partition().members(node, K)) - 1][:ASKED] for node in new}
    for later in itertools.combinations(range(1, length), len(new) - 1):
        moments = (0, *later)
        steps, reached = [], 0
        for place in range(length):
            reached += place in moments
            nodes = [new[reached - 1]] if place in moments else new[:reached]
            steps.append([text for node in nodes for text in members[node]])
        for texts in itertools.product(*steps):
            yield moments, list(texts)


def transcripts_differ(play: "Callable[[list[str]], Transcript]", new: Sequence[int] = SEQUENCES[0]) -> bool:
    """Return whether two sessions with the same new nodes at the same moments ever send something different.

    ``play`` returns what is sent at each step of a session, with the same draws at the same step.
    """
    seen: dict[tuple[int, ...], Transcript] = {}
    for moments, texts in sessions(new):
        sent = play(texts)
        if seen.setdefault(moments, sent) != sent:
            return True
    return False
