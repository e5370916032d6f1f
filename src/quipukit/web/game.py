"""Guess: a visitor sees what the engine saw, and guesses the query before the attackers do."""

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass
from random import SystemRandom

from quipukit.errors import InputError
from quipukit.web.guessing import Guesses, Guessers
from quipukit.web.settings import Mechanisms
from quipukit.web.tryout import variants_of

CHOICES = 6
_KEPT = 256  # rounds that may be answered yet
_SHOWN = 60  # texts of a round


@dataclass(frozen=True)
class Level:
    """One round: how the query is hidden, and what the round shows."""

    mechanism: str
    value: float | None
    n: int
    queries: tuple[str, ...]
    title: str
    lesson: str


# From what anybody can read to what nobody can tell; the queries are public ones of the built-in collection's kind.
LEVELS = (
    Level(
        "CMP",
        50.0,
        6,
        ("how does a tumor grow", "side effects of insulin", "can i lose my house in a divorce"),
        "A little noise",
        "With little noise the words shine through: you need no computer to read them.",
    ),
    Level(
        "CMP",
        12.0,
        20,
        ("symptoms of lung cancer", "how to file for bankruptcy", "who was the first woman in space"),
        "Much noise, twenty times",
        "Each text alone is gibberish. But noise averages out: whoever compares twenty of them with a log of queries "
        "sees what they have in common.",
    ),
    Level(
        "AEA",
        3.0,
        6,
        ("treatment of depression", "how to train a dog", "best soil for roses"),
        "Other words for the same thing",
        "Every word became a more general one. That hides the detail, not the topic, and few queries fit.",
    ),
    Level(
        "TEM",
        3.0,
        20,
        ("early signs of diabetes", "average salary of a nurse", "is it legal to record a call"),
        "Words drawn from all words",
        "A smaller budget hides more from you. Attackers know which words are drawn together, and you do not.",
    ),
    Level(
        "Cover",
        50.0,
        1,
        (),
        "A crowd of real queries",
        "Here nothing was disturbed: your query is one of this fixed group, and any of them would have sent the same. "
        "Nobody can do better than chance, however clever.",
    ),
)


@dataclass(frozen=True)
class Round:
    """A round that was dealt: what is shown, and what is not."""

    number: int
    identity: str
    level: Level
    query: str
    setting: str
    texts: tuple[str, ...]
    choices: tuple[str, ...]


@dataclass(frozen=True)
class Verdict:
    """How a round ended."""

    query: str
    right: bool
    lesson: str
    attackers: tuple[Guesses, ...]


class Game:
    """Deals rounds, remembers the last ones, and says how they end. Nothing leaves this process."""

    def __init__(self, mechanisms: Mechanisms, guessers: Guessers) -> None:
        self._mechanisms, self._guessers = mechanisms, guessers
        self._rounds: OrderedDict[str, Round] = OrderedDict()
        self._lock = threading.Lock()
        self._lots = SystemRandom()

    def deal(self, number: int) -> Round:
        """Return a new round of a level, counted from 0."""
        if not 0 <= number < len(LEVELS):
            raise InputError(f"the game has {len(LEVELS)} rounds, counted from 0 (found {number}).")
        level = LEVELS[number]
        mechanism = self._mechanisms.bound(level.mechanism, level.value)
        query = self._lots.choice(level.queries or self._pool)
        texts = variants_of(mechanism, query, level.n).texts
        others = texts if mechanism.own_count else self._pool
        wrong = self._lots.sample([text for text in dict.fromkeys(others) if text != query], CHOICES - 1)
        choices = [query, *wrong]
        self._lots.shuffle(choices)
        dealt = Round(number, secrets.token_urlsafe(12), level, query, repr(mechanism.spec), tuple(texts[:_SHOWN]), tuple(choices))
        with self._lock:
            self._rounds[dealt.identity] = dealt
            while len(self._rounds) > _KEPT:
                self._rounds.popitem(last=False)
        return dealt

    def answer(self, identity: str, choice: int) -> Verdict:
        """Return how a round ends with the visitor's choice, counted from 0."""
        with self._lock:
            dealt = self._rounds.pop(identity, None)
        if dealt is None:
            raise InputError("this round is over; start a new one.")
        if not 0 <= choice < len(dealt.choices):
            raise InputError(f"choose one of the {len(dealt.choices)} queries, counted from 0.")
        guesses = self._guessers.guess(dealt.query, dealt.texts)
        return Verdict(dealt.query, dealt.choices[choice] == dealt.query, dealt.level.lesson, tuple(guesses))

    @property
    def _pool(self) -> "list[str]":
        return list(self._guessers.log.texts)
