"""How releases are drawn: one text of a word mechanism, all variants of a query, or several settings at once."""

from collections.abc import Sequence

from quipukit import seeds
from quipukit.auditing.outcomes import Outcome
from quipukit.auditing.sampled import Draw
from quipukit.mechanisms.base import Mechanism, OneGenerator, RootSeed, Streams
from quipukit.mechanisms.perturbation import Perturbation
from quipukit.mechanisms.words import WordMechanism
from quipukit.seeds import Noise

_COPIES = 64  # of a word in one query


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
