"""Guess: a visitor sees what the engine saw, and guesses the query before the attackers do."""

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass
from random import SystemRandom

from quipukit.attackers.log import QueryLog
from quipukit.errors import InputError
from quipukit.search.conclusions import Conclusions, conclusions
from quipukit.web.settings import Mechanisms
from quipukit.web.tryout import variants_of

CHOICES = 6
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
        14.0,
        6,
        (
            "side effects of insulin",
            "how does a tumor grow",
            "early signs of diabetes",
            "treatment of depression",
            "is asthma dangerous for children",
            "how long does the flu last",
        ),
        "A little noise",
        "With little noise the words shine through: it takes no computer to read them.",
    ),
    Level(
        "CMP",
        9.0,
        20,
        (
            "how to file for bankruptcy",
            "average salary of a nurse",
            "can i lose my house in a divorce",
            "how to hide money from my wife",
            "best bank for a student loan",
            "do i pay tax on a gift",
        ),
        "More noise, twenty times",
        "Each text alone is gibberish. But noise averages out: whoever compares twenty texts with a log of queries "
        "sees what they have in common.",
    ),
    Level(
        "AEA",
        3.0,
        6,
        (
            "how to train a dog",
            "why does my cat cough",
            "best food for a horse",
            "can a rabbit live with a hamster",
            "how old is a turtle",
            "do bees sleep in winter",
        ),
        "Other words for the same thing",
        "Every word became a more general one. That hides the detail, not the topic, and few queries fit.",
    ),
    Level(
        "TEM",
        2.0,
        20,
        (
            "is it legal to record a call",
            "how to find a cheap lawyer",
            "can police search my phone",
            "what happens after an arrest",
            "how to report a theft",
            "sentence for drunk driving",
        ),
        "Words drawn from all words",
        "A small budget hides more from you. Attackers know how likely each word is to become another, and you do not.",
    ),
    Level(
        "Cover",
        50.0,
        1,
        (),
        "A crowd of real queries",
        "Here nothing was disturbed: the query is one of this fixed group, and any of them would have sent the same. "
        "Nobody does better than chance, however clever.",
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
    concluded: Conclusions


class Game:
    """Deals rounds, remembers the last ones, and says how they end. Nothing leaves this process."""

    def __init__(self, mechanisms: Mechanisms, log: QueryLog, kept: int = 256) -> None:
        """Keep the last rounds until they are answered: ``kept`` of them. Attackers know ``log``."""
        self._mechanisms, self._log, self._kept = mechanisms, log, kept
        self._rounds: OrderedDict[str, Round] = OrderedDict()
        self._lock = threading.Lock()
        self._lots = SystemRandom()

    def deal(self, number: int) -> Round:
        """Return a new round of a level, counted from 0."""
        if not 0 <= number < len(LEVELS):
            raise InputError(f"the game has {len(LEVELS)} rounds, counted from 0 (found {number}).")
        level = LEVELS[number]
        mechanism = self._mechanisms.bound(level.mechanism, level.value)
        # Without queries of its own, a level takes any that the mechanism hides among others.
        query = self._lots.choice(level.queries or self._log.texts)
        texts = variants_of(mechanism, query, level.n).texts
        others = dict.fromkeys(level.queries or texts)
        wrong = self._lots.sample([text for text in others if text != query], CHOICES - 1)
        choices = [query, *wrong]
        self._lots.shuffle(choices)
        dealt = Round(
            number, secrets.token_urlsafe(12), level, query, repr(mechanism.spec), tuple(texts[:_SHOWN]), tuple(choices)
        )
        with self._lock:
            self._rounds[dealt.identity] = dealt
            while len(self._rounds) > self._kept:
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
        mechanism = self._mechanisms.bound(dealt.level.mechanism, dealt.level.value)
        concluded = conclusions(dealt.texts, self._log, mechanism, query=dealt.query)
        return Verdict(dealt.query, dealt.choices[choice] == dealt.query, dealt.level.lesson, concluded)
