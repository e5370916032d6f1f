"""What a mechanism is, what it promises, and how words outside the vocabulary are treated."""

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from quipukit import seeds
from quipukit.errors import InputError, NoClosedForm, SpecError
from quipukit.guarantees import Guarantee
from quipukit.progress import Progress
from quipukit.registry import HidesMore
from quipukit.specs import Option, Spec, format_value

if TYPE_CHECKING:
    from quipukit.vectors.store import Vectors

RESOURCES = ("vectors", "wordnet", "collection", "cover")
MOST_VARIANTS = 1_000_000
EPSILON_RANGE = (1e-6, 1e6)
EPSILON_GRID = (1.0, 5.0, 10.0, 12.5, 15.0, 17.5, 20.0, 25.0, 30.0, 50.0)


class Streams(Protocol):
    """Where a batch takes its generators from: one per variant of a query."""

    def owner(self, mechanism: "Mechanism") -> str:
        """Return whose noise a mechanism draws: mechanisms with equal owners share it."""

    def stream(self, owner: str, qid: str, text: str, variant: int) -> np.random.Generator:
        """Return the generator of one variant of one query."""


@dataclass(frozen=True)
class RootSeed:
    """Streams by identity from one root seed; without a seed, each has a key from the OS."""

    root: int | None
    mode: seeds.Noise = "independent"

    def owner(self, mechanism: "Mechanism") -> str:
        owner = mechanism.noise_family if self.mode == "common" else repr(mechanism.spec)
        # A seed gives what it gave when this tokenizer had its old name.
        return owner.replace("tokenizer='whitespace'", "tokenizer='peer'")

    def stream(self, owner: str, qid: str, text: str, variant: int) -> np.random.Generator:
        return seeds.stream(self.root, self.mode, owner, qid, text, variant)


@dataclass(frozen=True)
class OneGenerator:
    """The caller's own generator, drawn from variant after variant."""

    rng: np.random.Generator

    def owner(self, mechanism: "Mechanism") -> str:
        return repr(mechanism.spec)

    def stream(self, owner: str, qid: str, text: str, variant: int) -> np.random.Generator:
        return self.rng


@dataclass(frozen=True)
class WordLaw:
    """The outputs of a word as rows of the vocabulary (-1 for the word itself, where it is not in it) and P(y | x)."""

    rows: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    itself: float  # P(x | x)


class QueryLaw(Protocol):
    """What an attacker that knows a mechanism knows about some queries, the candidates."""

    def log_likelihoods(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return ln P(texts | candidate) for each, up to a constant; minus infinity where they cannot come from it."""


@dataclass(frozen=True)
class Variants:
    """What became of one query: its obfuscated variants, and flags with counts for the notes."""

    texts: list[str]
    flags: dict[str, int] = field(default_factory=dict)


Tick = Callable[[float], None]


@dataclass(frozen=True, kw_only=True)
class Mechanism(ABC):
    """An obfuscation mechanism bound to its parameter, options and resources; immutable.

    A subclass is a frozen dataclass whose fields are its options. The field named by ``parameter`` is the privacy
    parameter (what ``@`` sets in a spec); fields named in ``RESOURCES`` are bound, not part of the spec.

    ``shares_work`` is not inherited: a class that does not set it itself works alone, one setting at a time. Setting it
    promises that members of one batch, as its ``batch_key`` forms them, may call each other's methods.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    strategy: ClassVar[str]
    reference: ClassVar[str] = ""
    parameter: ClassVar[str] = ""
    grid: ClassVar[tuple[float, ...]] = ()
    default: ClassVar[float | None] = None
    shares_work: ClassVar[bool] = False
    hides_more: ClassVar[HidesMore] = "smaller"  # which values of the parameter hide more: curves begin there
    sends_original: ClassVar[bool] = False  # whether the whole query is, by design, among what is sent
    own_count: ClassVar[bool] = False  # whether the mechanism itself says how many texts it sends, whatever n is
    surveyed: ClassVar[bool] = True  # whether what goes over all mechanisms includes it unless it is named

    # --- what it is ---

    @property
    def value(self) -> float:
        """Return the privacy parameter; 0 for a mechanism without one."""
        return float(getattr(self, self.parameter)) if self.parameter else 0.0

    @property
    def spec(self) -> Spec:
        """Return the canonical spec: options at their default are left out."""
        options = tuple(
            (option.name, getattr(self, option.name))
            for option in option_fields(type(self))
            if getattr(self, option.name) != option.default
        )
        return Spec(self.name, options, self.value if self.parameter else None)

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """Return what is promised, in which metric, per what."""

    @property
    def noise_family(self) -> str:
        """Return the family whose noise this mechanism shares in common mode: by default all its settings."""
        return self.spec.family

    def for_variants(self, n: int) -> Self:
        """Return the mechanism as it makes each of n variants; by default it does not depend on n."""
        return self

    def one_word(self) -> Self:
        """Return the mechanism as it treats one word in one variant; by default it is what it is."""
        return self

    def spent_on(self, query: str) -> int:
        """Return how often one variant of a query spends the parameter: once, or once per word."""
        return 1

    def log_prob(self, output_word: str, input_word: str) -> float:
        """Return ln P(output | input) for one word, where a closed form exists."""
        raise NoClosedForm(f"{self.name} has no closed form for P(output | input); estimate it by sampling.")

    @property
    def vocabulary(self) -> "Vectors | None":
        """Return the word vectors that the mechanism looks words up in; None where it uses none."""
        return getattr(self, "vectors", None)

    @property
    def by_query(self) -> bool:
        """Return whether the law of a word depends on the query that it stands in."""
        return False

    def word_law(self, word: str) -> "WordLaw":
        """Return the law of a word's output, where a closed form exists."""
        raise NoClosedForm(f"{self.name} has no closed form for P(output | input); estimate it by sampling.")

    def query_law(self, candidates: "Sequence[str]") -> "QueryLaw":
        """Return the law of what is sent for each of some queries, where it is known for queries as a whole."""
        raise NoClosedForm(f"{self.name} has no closed form for what it sends for a query.")

    @classmethod  # noqa: B027 - most have nothing to share
    def prepare_query_laws(cls, group: "Sequence[Any]", candidates: "Sequence[str]") -> None:
        """Compute at once what the laws of several settings share; by default they share nothing."""

    def in_session(self, alone: "Sequence[tuple[str, ...]]") -> "list[tuple[str, ...]]":
        """Return what is sent for the queries of a session, one after the other, given what each alone would send.

        By default the same: most mechanisms remember nothing.
        """
        return list(alone)

    @classmethod
    def shared_resources(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return resources as several settings can share them; by default as they were given."""
        return given

    # --- what it does ---

    def prepare(self, progress: Progress | None = None) -> None:  # noqa: B027 - most have nothing to prepare
        """Make what takes long, once, before anything is obfuscated; without this call it is made when it is needed.

        ``progress(done, total)`` is called now and then, if there is something to do.
        """

    def obfuscate(self, query: str, n: int = 1, rng: np.random.Generator | None = None) -> list[str]:
        """Return n obfuscated variants of a query (fewer or none where a heuristic finds none).

        Without ``rng`` every variant has a cryptographic generator with a key from the OS, as real use must have.
        """
        n = check_count(n, least=0)
        if not isinstance(query, str):
            raise InputError(f"a query must be a text (found {type(query).__name__}); pass one string.")
        if rng is not None and not isinstance(rng, np.random.Generator):
            raise InputError(
                f"rng must be a NumPy generator (found {type(rng).__name__}); pass numpy.random.default_rng(seed), or "
                "leave it out."
            )
        streams: Streams = RootSeed(None) if rng is None else OneGenerator(rng)
        return type(self).obfuscate_batch([self], [("", query)], n, streams)[0][0].texts

    @property
    def batch_key(self) -> Hashable:
        """Return a key that is equal for mechanisms which can share work in one batch.

        Work is shared by asking one member on behalf of all. A subclass may override any method that is asked, or read
        options and the parameter in it, so only a class that declares ``shares_work`` itself is put beside others.
        """
        return self.shared_key if vars(type(self)).get("shares_work", False) else (type(self), self.spec)

    @property
    def shared_key(self) -> Hashable:
        """Return what mechanisms that share work have in common; asked only where the class declares that it does."""
        return (type(self), self.spec)

    @classmethod
    @abstractmethod
    def obfuscate_batch(
        cls,
        group: "Sequence[Any]",
        queries: Sequence[tuple[str, str]],
        n: int,
        streams: Streams,
        tick: Tick = lambda _: None,
    ) -> list[list[Variants]]:
        """Obfuscate (qid, query) pairs with every mechanism of a group; element [m][q] is mechanism m on query q.

        All members of ``group`` have the same ``batch_key``. ``tick`` is called with how many (mechanism, query) pairs
        are done; its arguments add up to len(group) * len(queries).
        """


class QueryMechanism(Mechanism):
    """A mechanism that looks at the query as a whole; each one works alone."""

    @abstractmethod
    def variants(self, query: str, n: int, rngs: "Callable[[int], np.random.Generator]") -> Variants:
        """Return the variants of one query; ``rngs(v)`` is the generator of variant v."""

    @classmethod
    def obfuscate_batch(
        cls,
        group: Sequence[Any],
        queries: Sequence[tuple[str, str]],
        n: int,
        streams: Streams,
        tick: Tick = lambda _: None,
    ) -> list[list[Variants]]:
        def one(mechanism: "QueryMechanism", qid: str, query: str) -> Variants:
            owner = streams.owner(mechanism)
            variants = mechanism.variants(query, n, lambda variant: streams.stream(owner, qid, query, variant))
            tick(1)
            return variants

        return [[one(mechanism, qid, query) for qid, query in queries] for mechanism in group]


# --- parameters and options ---------------------------------------------------------------------------------------


def option_fields(cls: type[Mechanism]) -> list["dataclasses.Field[Any]"]:
    """Return the fields that are options: neither the privacy parameter nor a resource."""
    return [f for f in dataclasses.fields(cls) if f.name != cls.parameter and f.name not in RESOURCES]


def default_value(cls: type[Mechanism]) -> float:
    """Return the value of the parameter where none is named: the class's ``default``, else its field's, else a fault.

    Never 0 for want of anything better: at 0 some mechanisms send the query as it is.
    """
    for value in (cls.default, *(f.default for f in dataclasses.fields(cls) if f.name == cls.parameter)):
        if value is not None and value is not dataclasses.MISSING:
            return check_number(cls.name, cls.parameter, value)
    raise SpecError(
        f"{cls.name} has no default {cls.parameter}; name one, as in {cls.name}@1, or set 'default' in the class."
    )


def check_count(n: object, least: int = 1) -> int:
    """Return the number of variants, or say what is wrong with it."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < least:
        raise InputError(f"n, the number of variants, must be a whole number of at least {least} (found {n!r}).")
    if n > MOST_VARIANTS:
        raise InputError(f"n, the number of variants, must be at most {MOST_VARIANTS:,} (found {n}); ask for fewer.")
    return int(n)


def check_epsilon(mechanism: str, epsilon: float) -> float:
    """Return epsilon as a float, or say what is wrong with it."""
    low, high = EPSILON_RANGE
    number = check_number(mechanism, "epsilon", epsilon)
    if not low <= number <= high:
        raise SpecError(f"{mechanism}: epsilon must lie in [{low:g}, {high:g}] (found {number:g}); try 10.")
    return number


def check_number(mechanism: str, name: str, value: object) -> float:
    """Return a finite number as a float, or say what is wrong with it."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise SpecError(f"{mechanism}: {name} must be a number (found {value!r}).")
    if not math.isfinite(value):
        raise SpecError(f"{mechanism}: {name} must be a finite number (found {value}).")
    return float(value)


def check_whole(mechanism: str, name: str, value: object, low: int, high: int | None = None) -> int:
    """Return a whole number in [low, high], or say what is wrong with it."""
    number = check_number(mechanism, name, value)
    if number != int(number) or number < low or (high is not None and number > high):
        limits = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise SpecError(f"{mechanism}: {name} must be a whole number {limits} (found {format_value(number)}).")
    return int(number)


def check_flag(mechanism: str, name: str, value: object) -> None:
    """Refuse anything but True and False: a string such as "no" counts as true, and flags here open doors."""
    if not isinstance(value, bool):
        raise SpecError(f"{mechanism}: {name} must be True or False (found {value!r}).")


def check_share(mechanism: str, name: str, value: object) -> float:
    """Return a number in [0, 1], or say what is wrong with it."""
    number = check_number(mechanism, name, value)
    if not 0 <= number <= 1:
        raise SpecError(f"{mechanism}: {name} must lie in [0, 1] (found {number:g}).")
    return number


def check_choice(mechanism: str, name: str, value: object, choices: Sequence[Option]) -> None:
    """Say what may be chosen where something else was."""
    if value not in choices:
        allowed = ", ".join(map(repr, choices))
        raise SpecError(f"{mechanism}: {name} must be one of {allowed} (found {value!r}).")
