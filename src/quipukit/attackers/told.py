"""Tables of likelihoods for many sets of texts at once, where the law that made them gains by it.

The places of a log are read and multiplied once for all of these sets. What follows from the tables, such as a score
for every row of a long log, takes more room: it is made for fewer at a time.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from quipukit.attackers.base import Sent
from quipukit.attackers.logsites import Observed
from quipukit.attackers.tables import Table, WordLaw
from quipukit.threads import in_threads

BATCH = 16  # sets of texts whose scores are in memory at a time
_TABLES, _COLUMNS = 64, 50_000  # sets whose tables are, where the log has no more columns than these
_TOGETHER = 4  # sets from which on their tables are made at once

_T = TypeVar("_T")


class Told(NamedTuple):
    """What was sent, counted as a law of words needs it, and its table under that law."""

    seen: Observed
    table: Table


def for_each(
    task: "Callable[[tuple[Sent, Told | None]], _T]", batch: Sequence[Sent], laws: "Sequence[WordLaw | None]"
) -> Iterator[_T]:
    """Run a task for each set of texts and its table, or None where ``laws`` has no law that makes many at once."""
    columns = max([1, *(len(law.sites.kinds) for law in {id(law): law for law in laws}.values() if law is not None)])
    at_once = max(BATCH, min(_TABLES, _TABLES * _COLUMNS // columns))
    for start in range(0, len(batch), at_once):
        told = _told(batch[start : start + at_once], laws[start : start + at_once])
        for first in range(0, len(told), BATCH):
            yield from in_threads(task, told[first : first + BATCH])


def _told(batch: Sequence[Sent], laws: "Sequence[WordLaw | None]") -> "list[tuple[Sent, Told | None]]":
    alike: dict[Hashable, list[tuple[int, WordLaw, Observed]]] = {}
    for place, (one, law) in enumerate(zip(batch, laws, strict=True)):
        if law is not None and law.together != "none":
            seen = Observed.of(law.sites, one.texts)
            alike.setdefault((id(law), law.together == "any" or seen.length), []).append((place, law, seen))
    told: dict[int, Told] = {}
    for several in alike.values():
        if len(several) >= _TOGETHER:
            law = several[0][1]
            asked = [(seen, law.sites.of_length(seen.length).columns) for _, _, seen in several]
            for (place, _, seen), table in zip(several, law.tables(asked), strict=True):
                told[place] = Told(seen, table)
    return [(one, told.get(place)) for place, one in enumerate(batch)]
