"""Guarantees in plain words, for somebody who has not read the papers."""

import math

from quipukit.guarantees import ForAllVariants, Guarantee, LocalDP, MetricDP, NoGuarantee, Together, WithinGroup
from quipukit.specs import format_value

_NO_LIMIT = 10.0  # exponents above this are factors above 22,000


def in_plain_words(guarantee: Guarantee, n: int, words: int) -> list[str]:
    """Return what a guarantee means for n variants of a query with some words, sentence by sentence.

    >>> in_plain_words(NoGuarantee("the query is sent as it is"), 1, 3)
    ['Nothing is promised: the query is sent as it is.']
    """
    whole = guarantee.composed(n)
    if isinstance(whole, ForAllVariants):
        whole = whole.whole
    if isinstance(whole, NoGuarantee):
        return [f"Nothing is promised: {whole.reason}."]
    if isinstance(whole, WithinGroup):
        return [*whole.promises, *whole.limits]
    if isinstance(whole, Together):
        return [sentence for part in whole.parts for sentence in in_plain_words(part, 1, words)]
    if not isinstance(whole, MetricDP | LocalDP):
        return [str(whole)]
    per_query = whole.epsilon * (words if whole.per == "word" else 1)
    sentences = [_odds(whole, n)]
    if whole.per == "word":
        sentences.append(
            f"Each word is protected by itself; all {words} of this query together spend {format_value(per_query)}. "
            "How many words there are is seen."
        )
    if per_query > _NO_LIMIT:
        sentences.append(
            "At this budget the bound is too weak to protect anything by itself: what protects, if anything does, is "
            "what attackers fail to find out. Look at their guesses."
        )
    return sentences


def _odds(whole: "MetricDP | LocalDP", n: int) -> str:
    sent = "The text that is sent shifts" if n == 1 else f"The {n} texts that are sent shift"
    factor = _factor(whole.epsilon)
    if isinstance(whole, LocalDP):
        return f"{sent} the odds between any two of {whole.among} by {factor}."
    return (
        f"{sent} the odds between two words at distance 1 in the {whole.metric} metric by {factor}; words that are "
        "closer in meaning are harder to tell apart, distant ones easier."
    )


def _factor(exponent: float) -> str:
    if exponent > _NO_LIMIT:
        return f"a factor of up to e^{format_value(exponent)} (practically no limit)"
    factor = math.exp(exponent)
    return f"a factor of {factor:.2f} at most" if factor < 10 else f"a factor of {factor:,.0f} at most"
