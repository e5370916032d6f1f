"""Try: the variants of a query, what is promised, and where the setting lies in the results that are open."""

from dataclasses import dataclass

from quipukit.errors import InputError
from quipukit.mechanisms.base import Mechanism, Variants
from quipukit.mechanisms.base import RootSeed as Streams
from quipukit.specs import format_value
from quipukit.text import key, tokenize
from quipukit.web.settings import MOST_VARIANTS, Mechanisms
from quipukit.web.wording import in_plain_words

MOST_LETTERS = 1_000  # of a query

# What a mechanism notes about a query, as the page says it; {} is the count.
_NOTES = {
    "oov": "{} of its words are not in the vocabulary",
    "empty": "there is nothing to hide in it",
    "outside": "it is not in the public pool, so it is not among what is sent and finds less",
    "fewer": "there are fewer variants than asked for",
    "no_obfuscation": "the mechanism finds nothing to send",
}


@dataclass(frozen=True)
class Trial:
    """What a setting makes of a query."""

    setting: str
    texts: tuple[str, ...]
    guarantee: str
    composed: str
    plain: tuple[str, ...]
    notes: tuple[str, ...]
    sends_original: bool
    contains_original: bool


def checked_query(query: str) -> str:
    """Return a query that can be worked on, without quoting it where it cannot."""
    if len(query) > MOST_LETTERS:
        raise InputError(f"a query has at most {MOST_LETTERS:,} letters (found {len(query):,}); shorten it.")
    if not key(query):
        raise InputError("the query is empty; type some words.")
    return query


def variants_of(mechanism: Mechanism, query: str, n: int) -> Variants:
    """Return n variants, each with a key from the OS, and what the mechanism notes about the query."""
    return type(mechanism).obfuscate_batch([mechanism], [("", query)], n, Streams(None))[0][0]


def try_setting(mechanisms: Mechanisms, query: str, name: str, value: float | None, n: int) -> Trial:
    """Return what a mechanism at a value makes of a query, n times."""
    if not 1 <= n <= MOST_VARIANTS:
        raise InputError(f"N, the number of variants, is 1 to {MOST_VARIANTS} (found {n}).")
    checked_query(query)
    mechanism = mechanisms.bound(name, value)
    sent = variants_of(mechanism, query, n)
    guarantee = mechanism.guarantee
    count = 1 if mechanism.own_count else n
    return Trial(
        setting=repr(mechanism.spec),
        texts=tuple(sent.texts),
        guarantee=str(guarantee),
        composed=str(guarantee.composed(count)),
        plain=tuple(in_plain_words(guarantee, count, max(1, len(tokenize(query))))),
        notes=tuple(_note(flag, times) for flag, times in sent.flags.items()),
        sends_original=mechanism.sends_original,
        contains_original=key(query) in set(map(key, sent.texts)),
    )


def _note(flag: str, count: int) -> str:
    known = _NOTES.get(flag)
    return known.format(format_value(count)) if known else f"{flag.replace('_', ' ')}: {format_value(count)}"
