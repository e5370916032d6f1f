"""How releases are drawn: one text of a word mechanism, all variants of a query, or several settings at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from quipukit import seeds
from quipukit.auditing.outcomes import Outcome
from quipukit.auditing.sampled import Draw
from quipukit.mechanisms.base import Mechanism, OneGenerator, RootSeed, Streams
from quipukit.mechanisms.perturbation import Perturbation
from quipukit.mechanisms.words import WordMechanism
from quipukit.seeds import Noise

_COPIES = 64  # of a word in one query
_LARGE = 2000  # words, from which on products take longer than all else


def single(mechanism: Mechanism, seed: int, purpose: str) -> Draw:
    """Return a function that draws releases of one variant each.

    Words are drawn as variants of one query, which is fast: that these are independent is for `streams` to check.
    Other mechanisms may make the variants of a query together, so each release is a query of its own.
    """
    one = mechanism.for_variants(1)
    spec = repr(one.spec)

    def draw(text: str, count: int, lot: int) -> list[Outcome]:
        streams = OneGenerator(seeds.keyed("audit draws", purpose, seed, spec, text, lot))
        if isinstance(one, WordMechanism):
            if count > _COPIES and _is_plain_noise(one) and len(one.tokens(text)) == 1:
                packed = _packed(one, text, count, streams)
                if packed is not None:
                    return packed
            texts = type(one).obfuscate_batch([one], [("", text)], count, streams)[0][0].texts
            return [(sent,) for sent in texts] if texts else [()] * count
        sent = type(one).obfuscate_batch([one], [(str(number), text) for number in range(count)], 1, streams)
        return [tuple(variants.texts) for variants in sent[0]]

    return draw


@dataclass(frozen=True)
class _OneOwner(OneGenerator):
    """One generator, whose noise all mechanisms of a batch share."""

    def owner(self, mechanism: Mechanism) -> str:
        return "shared"


def at_two_values(one: WordMechanism, other: WordMechanism, seed: int) -> tuple[Draw, Draw]:
    """Return functions that draw from a mechanism at two values of epsilon, from the same noise where that saves work.

    In a large vocabulary nearly all the time goes into the product of directions with words, which both can use. Each
    has its own exact law; that their draws are not independent of each other matters to no bound.
    """
    if len(one.vectors) < _LARGE or not (_is_plain_noise(one) and _is_plain_noise(other)):
        return single(one, seed, "own"), single(other, seed, "smaller epsilon")
    first, second = one.for_variants(1), other.for_variants(1)
    waiting: dict[tuple[str, int, int], list[Outcome]] = {}

    def draw(text: str, count: int, lot: int) -> list[Outcome]:
        rng = seeds.keyed("audit draws", "two values", seed, repr(first.spec), text, lot)
        sent = type(first).obfuscate_batch([first, second], [("", text)], count, _OneOwner(rng))
        mine: list[Outcome] = [(each,) for each in sent[0][0].texts]
        waiting[text, count, lot] = [(each,) for each in sent[1][0].texts]
        return mine

    def draw_other(text: str, count: int, lot: int) -> list[Outcome]:
        if (text, count, lot) not in waiting:
            draw(text, count, lot)
        return waiting.pop((text, count, lot))

    return draw, draw_other


def _is_plain_noise(one: WordMechanism) -> bool:
    """Return whether the words of a query get independent noise by code that is known here, and are sent in order."""
    own = getattr(type(one).obfuscate_batch, "__func__", None)
    known = getattr(Perturbation.obfuscate_batch, "__func__", None)
    return isinstance(one, Perturbation) and own is known and not one.shuffle and one.length is None


def _packed(one: WordMechanism, text: str, count: int, streams: Streams) -> list[Outcome] | None:
    """Draw noise for many copies of a word at once, which is faster; None where what comes out cannot be divided."""
    variants = -(-count // _COPIES)
    sent = type(one).obfuscate_batch([one], [("", " ".join([text] * _COPIES))], variants, streams)[0][0].texts
    words = [each.split() for each in sent]
    if any(len(each) != _COPIES for each in words):
        return None  # a word was left out, or holds a blank
    drawn: list[Outcome] = [(word,) for each in words for word in each]
    return drawn[:count]


def several(mechanisms: Sequence[Mechanism], n: int, seed: int, noise: Noise = "independent") -> Draw:
    """Return a function that draws n variants of a query by each of several settings, as they would be sent.

    With the streams of real use: one for each setting, query and variant, or one for settings that share their noise.
    """

    def draw(text: str, count: int, lot: int) -> list[Outcome]:
        queries = [(f"{lot}.{number}", text) for number in range(count)]
        streams = RootSeed(seed, noise)
        sent = [type(one).obfuscate_batch([one], queries, n, streams)[0] for one in mechanisms]
        return [tuple(text for variants in releases for text in variants.texts) for releases in zip(*sent, strict=True)]

    return draw
