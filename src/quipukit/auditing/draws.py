"""How releases are drawn: one text of a word mechanism, all variants of a query, or several settings at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quipukit import seeds
from quipukit.auditing.commonnoise import draw_together, is_plain_noise, placed_texts
from quipukit.auditing.outcomes import Outcome
from quipukit.auditing.sampled import Draw
from quipukit.mechanisms.base import Mechanism, OneGenerator, RootSeed, Streams
from quipukit.mechanisms.words import WordMechanism
from quipukit.seeds import Noise

_COPIES = 64  # of a word in one query
_LARGE = 2000  # words, from which on products take longer than all else
_SHARED_LOT = 1  # from which lot on inputs share their noise: all but the first hundredth


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
            if count > _COPIES and is_plain_noise(one) and len(one.tokens(text)) == 1:
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


def at_values(members: Sequence[WordMechanism], texts: Sequence[str], seed: int) -> list[Draw]:
    """Return functions that draw from a mechanism at one or more values of epsilon, from the same noise if that helps.

    In a large vocabulary nearly all the time goes into the product of directions with words. The first lot is drawn
    as a batch of real use is; the others, nearly all of the draws, share noise between all inputs (`commonnoise`).
    """
    if len(members[0].vectors) < _LARGE or not all(map(is_plain_noise, members)):
        purposes = ("own vocabulary",) if len(members) == 1 else ("own", "smaller epsilon")
        return [single(one, seed, purpose) for one, purpose in zip(members, purposes, strict=True)]
    alone: list[Any] = [one.for_variants(1) for one in members]
    together = placed_texts(alone[0], texts)
    waiting: list[dict[tuple[str, int, int], list[Outcome]]] = [{} for _ in members]

    def make(text: str, count: int, lot: int) -> None:
        key = ("audit draws", "values", seed, repr(alone[0].spec))
        if lot >= _SHARED_LOT and text in together:
            for held, drawn in zip(waiting, draw_together(alone, together, count, seeds.keyed(*key, lot)), strict=True):
                held.update({(each, count, lot): outcomes for each, outcomes in drawn.items()})
            return
        sent = type(alone[0]).obfuscate_batch(alone, [("", text)], count, _OneOwner(seeds.keyed(*key, text, lot)))
        for held, (variants,) in zip(waiting, sent, strict=True):
            held[text, count, lot] = [(each,) for each in variants.texts] or [()] * count

    def drawing(place: int) -> Draw:
        def draw(text: str, count: int, lot: int) -> list[Outcome]:
            if (text, count, lot) not in waiting[place]:
                make(text, count, lot)
            return waiting[place].pop((text, count, lot))

        return draw

    return [drawing(place) for place in range(len(members))]


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


def variant(mechanism: Mechanism, n: int, seed: int) -> Draw:
    """Return a function that draws n variants of a query, and shows the last of them."""
    together = several([mechanism.for_variants(n)], n, seed)
    return lambda text, count, lot: [sent[-1:] for sent in together(text, count, lot)]
