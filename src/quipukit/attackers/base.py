"""What an attacker is: it knows a query log, sees what the search system received, and scores every query of the log.

An attacker never gets the originals. Which row of the log is the right one, what a tie is worth and how ranks are
counted is the business of the harness (`quipukit.attackers.panel`).
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers.buffers import Buffers
from quipukit.attackers.tokens import LogTokens
from quipukit.progress import Progress
from quipukit.specs import Spec

if TYPE_CHECKING:
    from quipukit.mechanisms.base import Mechanism

Knowledge = Literal["log", "log+mechanism", "log+mechanism+epsilon"]
RESOURCES = ("encoder", "vectors")

Floats = NDArray[np.float64]
_T = TypeVar("_T")


@dataclass(frozen=True)
class KnownSetting:
    """What an attacker knows about the obfuscation; ``value`` is None where it does not know the parameter's value.

    ``bound`` is the mechanism itself, with its options and resources (what is secret is the query, not the mechanism);
    None where only its name is known. To one that does not know the value it is given at another: the first of its
    grid.
    """

    mechanism: str
    parameter: str
    value: float | None = None
    bound: "Mechanism | None" = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Sent:
    """The texts that the search system received for one query, in order; ``setting`` only if the attacker knows it.

    ``others`` are queries of other users, for attackers that learn from them; never the one that is to be guessed.
    ``earlier`` holds what was sent for other queries of the same session, where there is one: the texts of each.
    """

    texts: tuple[str, ...]
    setting: KnownSetting | None = None
    others: tuple[str, ...] = ()
    earlier: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, eq=False)
class KnownLog:
    """The query log as an attacker gets it: distinct queries in alphabetical order, and how often each was asked.

    A log may have been completed with the originals. Neither their places nor their counts (those of the rarest query
    of the log) tell which they are.
    """

    texts: Sequence[str]
    counts: NDArray[np.int64]
    _memo: "dict[Hashable, Any]" = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def tokens(self) -> LogTokens:
        """Return the words of every query, divided once for all attackers that share a log."""
        return self.derived("tokens", lambda: LogTokens.of(self.texts))

    def derived(self, key: Hashable, build: "Callable[[], _T]") -> "_T":
        """Return something computed from the log, computing it once for all attackers that share it."""
        if key not in self._memo:
            self._memo[key] = build()
        value: _T = self._memo[key]
        return value

    def release(self) -> None:
        """Free the memory that attackers keep for their next scores."""
        if "tokens" in self._memo:  # else no attacker has looked at words
            Buffers.of(self.tokens).release()

    def copied(self) -> "KnownLog":
        """Return a copy of its own for an attacker; what was computed from it, which cannot be changed, is shared.

        The texts of a long log cannot be changed either.
        """
        texts = list(self.texts) if isinstance(self.texts, list) else self.texts
        return KnownLog(texts, self.counts.copy(), self._memo)


class LogVectors(Protocol):
    """A vector for every row of a log: an array, or something that reads or makes its rows where they are used."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> "NDArray[Any]": ...


class Attacker(ABC):
    """Scores the queries of a log by how likely each is the original of what was sent.

    ``knows`` says what it knows besides the texts. Options are the fields of a dataclass; fields named in
    ``RESOURCES`` are bound by whoever runs the attack, and are part of the name only where a spec names them. The
    smallest attacker counts common words:

    >>> class Overlap(Attacker):
    ...     name, summary = "Overlap", "counts the words that a query shares with what was sent"
    ...     def prepare(self, log, progress=None):
    ...         self.words = [set(text.lower().split()) for text in log.texts]
    ...     def scores(self, sent):
    ...         seen = set(" ".join(sent.texts).lower().split())
    ...         return np.array([len(words & seen) for words in self.words], float)
    >>> overlap = Overlap()
    >>> overlap.prepare(KnownLog(["cat food", "dog"], np.ones(2, np.int64)))
    >>> overlap.scores(Sent(("food for cats", "dear cat"))).tolist()
    [2.0, 0.0]
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    reference: ClassVar[str] = ""
    learns_from_others: ClassVar[bool] = False  # whether it is given queries of other users, see `Sent.others`

    knows: Knowledge = "log"  # of a class, or of an object whose options decide it
    written: Spec | None = None  # the spec that it was made from, where there was one

    def __init_subclass__(cls, **options: Any) -> None:
        """Let what a class changes count: faster ways to the scores of the class that it extends are not its own."""
        super().__init_subclass__(**options)
        one, many, vectors = (_place(cls, name) for name in ("scores", "scores_of", "sent_vectors"))
        if one < many:
            cls.scores_of = Attacker.scores_of  # type: ignore[method-assign]
        elif many < one:
            own = cls.scores_of
            cls.scores = lambda self, sent: next(iter(own(self, [sent])))  # type: ignore[method-assign]
        if min(one, many) < vectors:
            cls.sent_vectors = Attacker.sent_vectors  # type: ignore[method-assign]

    @property
    def spec(self) -> Spec:
        """Return what it is called: the spec that it was made from, else its name and the options that differ."""
        if self.written is not None:
            return self.written
        options = [(option.name, getattr(self, option.name), option.default) for option in option_fields(type(self))]
        return Spec(self.name, tuple((name, value) for name, value, default in options if value != default))

    @abstractmethod
    def prepare(self, log: KnownLog, progress: Progress | None = None) -> None:
        """Learn a log, in place of any log learned before; it may call ``progress(done, total)``."""

    @abstractmethod
    def scores(self, sent: Sent) -> Floats:
        """Return one finite score for every row of the log; higher is more likely.

        A score may depend on the row's text and count, on the rest of the log and on what was sent, but not on the
        place of the row, nor on what was sent for other queries.
        """

    def scores_of(self, batch: Sequence[Sent]) -> Iterator[Floats]:
        """Iterate over the scores for each of many; to be overridden where some work can be done for all at once."""
        return map(self.scores, batch)

    def expect(self, batch: Sequence[Sent]) -> None:  # noqa: B027 (most attackers have nothing to do)
        """Hear what is asked for next, a few at a time, where a log is long.

        To be overridden where reading the log once for all of these saves work. It must change no score.
        """

    @property
    def log_vectors(self) -> LogVectors | None:
        """Return a vector for every row of the log, where scores are cosines to a vector; see `sent_vectors`."""
        return None

    def sent_vectors(self, batch: Sequence[Sent]) -> Floats | None:
        """Return a vector for each of many, whose cosines with `log_vectors` are the scores; None where they are not.

        An attacker whose scores are cosines is ranked by it much faster (`quipukit.attackers.ranks`).
        """
        return None


def _place(cls: type[Attacker], name: str) -> int:
    """Return how many classes a class asks before one has a method."""
    return next(place for place, one in enumerate(cls.__mro__) if name in vars(one))


def fault_of(attacker: "Attacker | type[Attacker]") -> str | None:
    """Return what an attacker says wrongly about itself, with the fix; None where it says all that it must.

    >>> fault_of(type("Overlap", (Attacker,), {"name": "Overlap"}))
    "the attacker class Overlap must set 'summary', a text that is not empty (found nothing)."
    """
    kind = attacker.__name__ if isinstance(attacker, type) else type(attacker).__name__
    for attribute in ("name", "summary"):
        text = getattr(attacker, attribute, None)
        if not isinstance(text, str) or not text.strip():
            stated = "nothing" if text is None else repr(text)
            return f"the attacker class {kind} must set {attribute!r}, a text that is not empty (found {stated})."
    if attacker.knows not in get_args(Knowledge):
        allowed = ", ".join(map(repr, get_args(Knowledge)))
        return f"the attacker class {kind} must set 'knows' to one of {allowed} (found {attacker.knows!r})."
    return None


def option_fields(cls: type[Attacker]) -> "list[dataclasses.Field[Any]]":
    """Return the fields that are options: those of a dataclass that are no resources."""
    return [field for field in _fields(cls) if field.init and field.name not in RESOURCES]


def resource_names(cls: type[Attacker]) -> list[str]:
    """Return which resources an attacker takes."""
    return [field.name for field in _fields(cls) if field.name in RESOURCES]


def _fields(cls: type[Attacker]) -> "tuple[dataclasses.Field[Any], ...]":
    made: Any = cls  # not every attacker is a dataclass
    return dataclasses.fields(made) if dataclasses.is_dataclass(made) else ()
