"""Options: what a user chose for an experiment, as plain values."""

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quipukit.attackers.registry import with_panel
from quipukit.errors import InputError
from quipukit.experiment.grid import REFERENCES
from quipukit.measures.utility import parse_measures
from quipukit.mechanisms.base import Mechanism, check_count
from quipukit.registry import mechanism_class
from quipukit.retrieval.consent import check_flag, sends_original
from quipukit.retrieval.system import SystemSpec, parse_systems
from quipukit.seeds import Noise
from quipukit.specs import Spec, spec

MEASURES = ("nDCG@10", "SetR")
SYSTEMS = (SystemSpec("bm25", "minilm"),)
ATTACKERS = ("panel", "Bayes")  # the mechanisms are our own here, and so known
STYLE_PRIOR = "Bayes(prior=style)"  # ranks the queries of a group, which what was sent does not tell apart

# Which settings, attackers, seeds and numbers of variants are run, and not what is done with each: a finished run can
# be extended by more of them.
EXTENDABLE = ("specs", "n", "seeds", "attackers", "skip_invalid", "send_originals", "growth", "sessions")

PLANTED = "planted"  # in place of a file of sessions

_COUNTS = ("seeds", "k", "examples")
_OPTIONAL_COUNTS = ("topics", "depth", "log_sample")


@dataclass(frozen=True)
class Options:
    """What a user chose: enough to run the experiment again, and to tell two experiments apart.

    What is named in `EXTENDABLE` may change between two runs in one folder; a change of anything else is another
    experiment. Inputs given as objects are named here, and passed beside the options. Nothing here is secret: an
    engine's address holds no login.
    """

    collection: str = "wordnet"
    queries: str | None = None
    qrels: str | None = None
    topics: int | None = None
    obfuscated: str | None = None
    specs: tuple[Spec, ...] = ()
    n: tuple[int, ...] = (50,)
    seed: int = 7
    seeds: int = 1
    noise: Noise = None  # type: ignore[assignment]  # common; where variants are really sent, independent
    vectors: str | None = None
    vocabulary_filter: str | None = None
    pool: str | None = None  # public queries for mechanisms that hide one among others; None: the log
    partition: str | None = None
    systems: tuple[SystemSpec, ...] = SYSTEMS
    depth: int | None = None
    measures: tuple[str, ...] = MEASURES
    log: str | None = None
    log_sample: int | None = None
    inject: bool = True
    attackers: tuple[str, ...] = ATTACKERS
    encoder: str = "minilm"
    k: int = 10
    examples: int = 5
    skip_invalid: bool = False
    send_originals: bool = False
    growth: bool = True
    sessions: str | None = None

    def __post_init__(self) -> None:
        # What is written down comes back as plain values, and has to be equal to what was given.
        for name, value in vars(self).items():
            if isinstance(value, np.integer):
                self._set(name, int(value))
        for name in ("specs", "measures", "attackers"):
            given = getattr(self, name)
            self._set(name, (given,) if isinstance(given, str) else tuple(given))
        # By their names: a run that is resumed has the attackers that it was begun with, whoever joins the panel later.
        self._set("attackers", tuple(map(str, with_panel(self.attackers))))
        names: Sequence[str | Spec] = self.specs
        self._set("specs", tuple(one if isinstance(one, Spec) else spec(one) for one in names))
        given_n: Any = self.n
        several = given_n if isinstance(given_n, list | tuple | range | np.ndarray) else (given_n,)
        self._set("n", tuple(sorted({check_count(one) for one in several})))
        self._set("systems", parse_systems(self.systems))
        if self.vocabulary_filter is not None:
            self._set("vocabulary_filter", os.fspath(self.vocabulary_filter))
        check_flag(self.send_originals)
        if self.remote and self.noise == "common":
            raise InputError(
                f"noise='common' has no joint guarantee over several settings, and {self.remote[0]} receives them all; "
                "use noise='independent', which is the default for search systems over the network.",
                argument="noise",
            )
        if self.noise is None:
            self._set("noise", "independent" if self.remote else "common")
        self._check()

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check(self) -> None:
        for name in (*_COUNTS, *_OPTIONAL_COUNTS):
            number = getattr(self, name)
            if number is None and name in _OPTIONAL_COUNTS:
                continue
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise InputError(f"{name} must be a whole number of at least 1 (found {number!r}).", argument=name)
        if not self.n:
            raise InputError("n must name at least one number of variants, for instance 50.", argument="n")
        if self.noise not in ("common", "independent"):
            raise InputError(f"noise must be 'common' or 'independent' (found {self.noise!r}).", argument="noise")
        if not self.systems:
            raise InputError("no search system is given; name one, for instance bm25.", argument="systems")
        if not self.attackers:
            raise InputError("no attacker is given; name at least one, for instance QuIA.", argument="attackers")
        parse_measures(self.measures)

    @property
    def remote(self) -> list[str]:
        """Return the search systems over the network."""
        return list(dict.fromkeys(system.retriever_name for system in self.systems if system.remote))

    @property
    def private(self) -> bool:
        """Return whether no original may be sent: where a system is over the network, unless the user allows it."""
        return bool(self.remote) and not self.send_originals

    @property
    def references(self) -> tuple[str, ...]:
        """Return the references that the experiment adds to what is named."""
        return tuple(name for name in REFERENCES if not (self.private and sends_original(name)))

    def to_json(self) -> dict[str, Any]:
        """Return the options as JSON can hold them."""
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {**plain, "specs": list(map(repr, self.specs)), "systems": [system.names for system in self.systems]}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Options":
        """Read options that were written down, by this version or an earlier one."""
        return cls(**content)


def usual_attackers(mechanisms: "Iterable[str | Spec | Mechanism]") -> tuple[str, ...]:
    """Return who attacks where nobody was named: all that is known about the mechanisms is used.

    >>> usual_attackers(["CMP@10"]), usual_attackers(["Cover@50"])
    (('panel', 'Bayes'), ('panel', 'Bayes', 'Bayes(prior=style)'))
    """
    strategies = (
        one.strategy if isinstance(one, Mechanism) else mechanism_class(spec(one).name).strategy for one in mechanisms
    )
    return (*ATTACKERS, STYLE_PRIOR) if "cover" in strategies else ATTACKERS
