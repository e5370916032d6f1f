"""Mechanisms that hide in a group: queries of one group send the same, and the groups do not depend on who asks."""

from collections.abc import Sequence

from quipukit import seeds
from quipukit.auditing.findings import HOLDS, VIOLATED, Check, Finding
from quipukit.guarantees import WithinGroup
from quipukit.mechanisms.base import Mechanism
from quipukit.text import key

NAME = "groups"
_LOOKED_AT = 20  # queries of each group
_AGAIN = 3  # times each is asked


def groups_check(mechanism: Mechanism, guarantee: WithinGroup, queries: Sequence[str], *, seed: int) -> Check:
    """Ask queries, and all that was sent for them in turn: whoever is in a group must send that group, each time.

    This asks the mechanism alone, and not its partition: groups that are made around each query overlap, so that a
    query of the group sends another one.
    """
    rng = seeds.keyed("audit groups", seed)
    owner: dict[str, tuple[str, frozenset[str]]] = {}  # of a text: who sent it, and with which others

    def ask(query: str) -> tuple[frozenset[str], str]:
        """Return the texts of a query, and a fault: that they change from time to time."""
        asked = [frozenset(map(key, mechanism.obfuscate(query, 1, rng))) for _ in range(_AGAIN)]
        return asked[0], "" if len(set(asked)) == 1 else _difference(asked[0], next(a for a in asked if a != asked[0]))

    chosen = getattr(mechanism, "members", None) is not None  # only some of a group are sent
    pairs = 0
    for query in queries:
        group, fault = ask(query)
        if fault:
            return _violated("asked again, it sends other texts", query, query, fault, pairs)
        if not group:
            continue  # nothing is sent, and nothing seen
        if not chosen and len(group) < guarantee.k:
            event = "its group is smaller than claimed"
            return _violated(event, query, query, f"{len(group):,} queries, {guarantee.k:,} claimed", pairs)
        members = sorted(group)
        for member in (members[place] for place in rng.permutation(len(members))[:_LOOKED_AT]):
            own, fault = ask(member)
            pairs += 2
            if fault:
                return _violated("asked again, it sends other texts", member, member, fault, pairs)
            if own != group:
                event = "a query that is sent for another one sends other texts itself"
                return _violated(event, query, member, _difference(group, own), pairs)
        for text in members:
            first, known = owner.setdefault(text, (query, group))
            if known != group:
                event = "two queries send groups that overlap and differ"
                return _violated(event, first, query, _difference(known, group), pairs)
    note = f"{len(queries)} queries and up to {_LOOKED_AT} of each group, each asked {_AGAIN} times"
    return Check(NAME, "exact", HOLDS, pairs=pairs, note=note)


def _difference(one: frozenset[str], other: frozenset[str]) -> str:
    mine, theirs = sorted(one - other)[:1], sorted(other - one)[:1]
    parts = [f"only the first sends {mine[0]!r}"] if mine else []
    parts += [f"only the second sends {theirs[0]!r}"] if theirs else []
    return ", ".join(parts)


def _violated(event: str, one: str, other: str, evidence: str, pairs: int) -> Check:
    finding = Finding("group", one, other, event, float("inf"), 0.0, evidence)
    return Check(NAME, "exact", VIOLATED, finding, pairs, pairs)
