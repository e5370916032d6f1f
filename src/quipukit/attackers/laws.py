"""From a setting to the law of its mechanism: what an attacker that knows the mechanism starts from."""

import functools
import threading
import warnings
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from quipukit.attackers.base import KnownSetting, Sent
from quipukit.attackers.distancelaws import DistanceLaw, Normalizers, Weights
from quipukit.attackers.logsites import Floats, LogSites, Observed
from quipukit.attackers.noiselaws import NoiseLaw, Noisy, Responses
from quipukit.attackers.poollaws import PoolNoiseLaw
from quipukit.attackers.poollaws import prepare as prepare_pools
from quipukit.attackers.positionlaws import PositionLaw
from quipukit.attackers.radiuslaws import RadiusLaw, RadiusSums
from quipukit.attackers.supports import Neighborhoods, SupportLaw
from quipukit.attackers.tables import Uniform, WordLaw
from quipukit.errors import NoClosedForm, QuipukitError
from quipukit.mechanisms.base import Mechanism, QueryLaw
from quipukit.mechanisms.changes import change_since
from quipukit.mechanisms.contextual import ContextualCMP, ContextualMhl
from quipukit.mechanisms.custext import CusText
from quipukit.mechanisms.diffractor import Diffractor
from quipukit.mechanisms.identity import Identity
from quipukit.mechanisms.noisyrantext import NoisyRANTEXT
from quipukit.mechanisms.perturbation import Perturbation
from quipukit.mechanisms.random import Random
from quipukit.mechanisms.rantext import RANTEXT
from quipukit.mechanisms.sampling import Sampling
from quipukit.mechanisms.santext import SanText
from quipukit.mechanisms.tem import TEM
from quipukit.mechanisms.wbb import WBB
from quipukit.mechanisms.words import WordMechanism
from quipukit.obfuscation import mechanism as bind
from quipukit.registry import MECHANISMS, mechanism_class
from quipukit.specs import spec
from quipukit.text import key as text_key
from quipukit.vectors.store import Vectors

_MANY = 0.05  # share of words that do not fit, from which on it is said


class Laws:
    """The laws of mechanisms for one log; what settings share is computed once."""

    def __init__(self, texts: Sequence[str], vectors: Vectors) -> None:
        """Keep the queries of a log, and the vectors for mechanisms of which only the name is known."""
        self._texts, self._vectors = texts, vectors
        self._sites: dict[Hashable, LogSites] = {}
        self._normalizers: dict[int, Normalizers] = {}
        self._neighborhoods: dict[Hashable, Neighborhoods] = {}
        self._responses: dict[int, Responses] = {}
        self._radius_sums: dict[int, RadiusSums] = {}
        self._laws: dict[Hashable, WordLaw | None] = {}
        self._query_laws: dict[
            Hashable, tuple[Mechanism, QueryLaw | None]
        ] = {}  # which keeps the mechanism's id its own
        self._lock = threading.Lock()
        self.words = self.unknown_words = 0  # since the last warning

    def sites(self, mechanism: WordMechanism) -> LogSites:
        """Return the log as a mechanism sees it."""
        kind = type(mechanism)
        key = (kind.tokens, kind.passes, mechanism.words_key)
        if key not in self._sites:
            self._sites[key] = LogSites.of(mechanism, self._texts)
        return self._sites[key]

    def prepare(self, mechanisms: Sequence[Mechanism]) -> None:
        """Compute at once what many settings need."""
        wanted: dict[int, tuple[Normalizers, list[Weights]]] = {}
        noisy: dict[int, tuple[Responses, list[Noisy]]] = {}
        in_radii: dict[int, tuple[RadiusSums, list[RANTEXT]]] = {}
        for one in (each.one_word() for each in mechanisms):
            if isinstance(one, Perturbation) or type(one) is NoisyRANTEXT:
                responses = self._responses_of(self.sites(one))
                noisy.setdefault(id(responses), (responses, []))[1].append(one)
            if isinstance(one, RANTEXT) and self._has_radius_law(one):
                sums = self._radius_sums_of(self.sites(one))
                in_radii.setdefault(id(sums), (sums, []))[1].append(one)
            weights = Weights.of(one)
            if weights is not None and isinstance(one, WordMechanism):
                normalizers = self._normalizers_of(self.sites(one))
                wanted.setdefault(id(normalizers), (normalizers, []))[1].append(weights)
        for normalizers, several in wanted.values():
            normalizers.compute(several)
        for responses, those in noisy.values():
            responses.compute(those)
        for sums, of_radii in in_radii.values():
            sums.compute(of_radii)
        prepare_pools([one for one in mechanisms if isinstance(one, ContextualCMP) and _is_contextual(one)])
        for kind in dict.fromkeys(type(one) for one in mechanisms):
            kind.prepare_query_laws([one for one in mechanisms if type(one) is kind], self._texts)

    def _responses_of(self, sites: LogSites) -> Responses:
        if id(sites) not in self._responses:
            self._responses[id(sites)] = Responses(sites)
        return self._responses[id(sites)]

    def _radius_sums_of(self, sites: LogSites) -> RadiusSums:
        return self._radius_sums.setdefault(id(sites), RadiusSums(sites))

    def _has_radius_law(self, mechanism: RANTEXT) -> bool:
        """Return whether the law is that of `RadiusLaw`: a small vocabulary has an exact one, as any sampling has."""
        return (
            type(mechanism) is RANTEXT
            and not SupportLaw.fits(self.sites(mechanism), mechanism)
            and RadiusLaw.fits(mechanism)
        )

    def _normalizers_of(self, sites: LogSites) -> Normalizers:
        return self._normalizers.setdefault(id(sites), Normalizers(sites))

    def law(self, mechanism: Mechanism) -> WordLaw | None:
        """Return the law of a mechanism's words, one by one; None where none is known.

        In which order they are sent, and how many, is another matter: see `quipukit.attackers.shuffled`.
        """
        if not isinstance(mechanism, WordMechanism):
            return None
        mechanism = mechanism.one_word()
        key = (type(mechanism), mechanism.spec, mechanism.words_key)
        if key not in self._laws:
            self._laws[key] = self._made(mechanism)
        return self._laws[key]

    def query_law(self, mechanism: Mechanism) -> QueryLaw | None:
        """Return the law of a mechanism that looks at queries as a whole; None where none is known."""
        if isinstance(mechanism, WordMechanism):
            return None
        key = (id(mechanism), mechanism.spec)
        if key not in self._query_laws:
            self._query_laws[key] = mechanism, self._of_queries(mechanism)
        return self._query_laws[key][1]

    def _of_queries(self, mechanism: Mechanism) -> QueryLaw | None:
        if isinstance(mechanism, ContextualCMP) and _is_contextual(mechanism):
            return PoolNoiseLaw(mechanism, self._texts)
        if change_since(type(mechanism), "query_law"):
            return None  # the law is that of another class, which sends something else
        try:
            return mechanism.query_law(self._texts)
        except NoClosedForm:
            return None

    def _made(self, mechanism: WordMechanism) -> WordLaw | None:
        sites = self.sites(mechanism)
        if isinstance(mechanism, SanText | TEM) and Weights.of(mechanism) is not None:
            return DistanceLaw(sites, mechanism, self._normalizers_of(sites))
        if type(mechanism) is Random:
            return Uniform(sites)
        if type(mechanism) is Diffractor:
            return PositionLaw(sites, mechanism)
        if isinstance(mechanism, Perturbation) or type(mechanism) is NoisyRANTEXT:
            return NoiseLaw(sites, mechanism, self._responses_of(sites))
        if isinstance(mechanism, RANTEXT) and self._has_radius_law(mechanism):
            return RadiusLaw(sites, mechanism, self._radius_sums_of(sites))
        if isinstance(mechanism, Sampling) and SupportLaw.fits(sites, mechanism):
            return SupportLaw(sites, mechanism, self._neighborhoods_of(sites, mechanism))
        return None

    def support(self, mechanism: Mechanism) -> SupportLaw | None:
        """Return the law of a mechanism that can send a few words only for each; None for all others."""
        law = self.law(mechanism) if isinstance(mechanism, CusText | WBB) else None
        return law if isinstance(law, SupportLaw) else None

    def _neighborhoods_of(self, sites: LogSites, mechanism: Sampling) -> Neighborhoods:
        key = (id(sites), type(mechanism), mechanism.neighborhood_key)
        if key not in self._neighborhoods:
            self._neighborhoods[key] = Neighborhoods(sites, mechanism)
        return self._neighborhoods[key]

    def texts_that_differ(self, sent: Sequence[str]) -> Floats:
        """Return for every query how many of the texts are not that query."""
        counts = Counter(map(text_key, sent))
        return np.array([len(sent) - counts[one] for one in self._keys], np.float64)

    @functools.cached_property
    def _keys(self) -> list[str]:
        return [text_key(text) for text in self._texts]

    @functools.cached_property
    def families(self) -> dict[str, list[WordLaw]]:
        """Return the laws of every built-in mechanism of words, at every value of its grid, with our vectors."""
        every = {name: mechanism_class(name) for name in MECHANISMS.built_in}
        of_words = [name for name, cls in every.items() if issubclass(cls, WordMechanism) and cls.surveyed]
        bound = {name: self._named(name, None) for name in of_words}
        self.prepare([one for several in bound.values() for one in several])
        laws = {name: [law for one in several if (law := self.law(one)) is not None] for name, several in bound.items()}
        return {name: family for name, family in laws.items() if family}

    # --- words that nobody can have sent ---

    def note_unknown(self, seen: Observed) -> None:
        """Count the words of what was sent, and those among them that the mechanism cannot send."""
        with self._lock:
            self.words += int(seen.total.sum())
            self.unknown_words += int(seen.unknown.sum())

    def warn_unknown_words(self, attacker: str) -> None:
        """Say how many words do not fit, where they are many, and begin to count anew."""
        words, unknown, self.words, self.unknown_words = self.words, self.unknown_words, 0, 0
        if unknown > _MANY * words:
            warnings.warn(
                f"{unknown:,} of {words:,} words that were sent are not in the vocabulary that {attacker} takes for "
                "the mechanism's own: they count against every query alike; give the mechanism's vectors.",
                stacklevel=4,
            )

    # --- mechanisms ---

    def mechanisms(self, sent: Sent) -> list[Mechanism]:
        """Return the mechanism that made each of the texts; at every value of its grid where the value is not known.

        Empty where it cannot be told which mechanism it is.
        """
        return [one.for_variants(len(sent.texts)) for one in self._of_setting(sent.setting)]

    def _of_setting(self, setting: KnownSetting | None) -> list[Mechanism]:
        if setting is None:
            return []
        if setting.bound is None:
            return list(self._named(setting.mechanism, setting.value))
        if setting.value is not None or not setting.bound.parameter:
            return [setting.bound]
        return at_each_value(setting.bound)

    @functools.cached_property
    def _named(self) -> "functools._lru_cache_wrapper[tuple[Mechanism, ...]]":
        return functools.lru_cache(maxsize=None)(self._bind)

    def _bind(self, family: str, value: float | None) -> tuple[Mechanism, ...]:
        try:
            wanted = spec(family)
            cls = mechanism_class(wanted.name)
            if not cls.parameter:
                return (bind(wanted, vectors=self._vectors),)
            if value is not None:
                return (bind(wanted @ value, vectors=self._vectors),)
            return tuple(bind(wanted @ one, vectors=self._vectors) for one in cls.grid)
        except QuipukitError:  # another program's mechanism, or options that ours does not have
            return ()


def is_identity(mechanism: Mechanism) -> bool:
    """Return whether a mechanism sends the query as it is."""
    return type(mechanism) is Identity


def _is_contextual(mechanism: Mechanism) -> bool:
    return type(mechanism) in (ContextualCMP, ContextualMhl)  # and not a changed one


def at_each_value(mechanism: Mechanism) -> list[Mechanism]:
    """Return a mechanism at every value of its grid."""
    return [replace(mechanism, **{mechanism.parameter: value}) for value in mechanism.grid]


def warn_unknown(attacker: str, settings: "Sequence[Sent]") -> None:
    """Say for how many sets of texts an attacker has nothing to go by.

    Not of heuristics that it was given: that those have no law is known, and no mistake of the user's.
    """
    settings = [one for one in settings if not _is_heuristic(one.setting)]
    if settings:
        count = Counter("no mechanism" if one.setting is None else one.setting.mechanism for one in settings)
        names = ", ".join(f"{name} ({number})" for name, number in sorted(count.items()))
        warnings.warn(
            f"{attacker} knows no law for {names}: all queries of the log get equal scores there, so its risk is that "
            "of chance.",
            stacklevel=4,
        )


def _is_heuristic(setting: KnownSetting | None) -> bool:
    return setting is not None and setting.bound is not None and setting.bound.strategy == "heuristic"
