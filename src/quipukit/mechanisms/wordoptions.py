"""Options of all mechanisms that replace words: the order of the words, how many are sent, and what epsilon is for.

``shuffle`` sends the words of every variant in a random order, ``length`` hides how many words a query has inside a
public bin, and ``budget`` says whether epsilon is that of each variant or of all variants together.
"""

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from quipukit.errors import SpecError
from quipukit.guarantees import Guarantee, LocalDP, MetricDP, NoGuarantee

if TYPE_CHECKING:
    from quipukit.mechanisms.words import WordMechanism

WORD_OPTIONS = {"shuffle": False, "length": None, "budget": "each"}  # and their defaults
BUDGETS = ("each", "total")
PADDED_OOV = ("anchor", "subword")  # policies under which an unknown word looks like a pad, or like a word
_BINS = re.compile(r"bins:\s*(\d{1,4}(?:\s*,\s*\d{1,4})*)\s*")
_EXAMPLE = "length='bins:4,8,12'"


@dataclass(frozen=True)
class Bins:
    """Numbers of words that are sent: a query gets the least one that holds it, and at most the largest.

    >>> bins = Bins((4, 8))
    >>> bins.of(1), bins.of(5), bins.of(20)
    (4, 8, 8)
    """

    sizes: tuple[int, ...]

    @classmethod
    def parse(cls, mechanism: str, text: object) -> "Bins":
        """Read bins as a spec writes them, or say what is wrong with them."""
        shape = _BINS.fullmatch(text) if isinstance(text, str) else None
        if shape is None:
            raise SpecError(f"{mechanism}: length must be public bins, as in {_EXAMPLE} (found {text!r}).")
        sizes = tuple(map(int, shape[1].split(",")))
        if sizes[0] < 1 or any(a >= b for a, b in pairwise(sizes)):
            ordered = ",".join(map(str, sorted({size for size in sizes if size})))
            fix = f"write length='bins:{ordered}'" if ordered else f"try {_EXAMPLE}"
            raise SpecError(f"{mechanism}: the bins of length must rise, from 1 on (found {text!r}); {fix}.")
        return cls(sizes)

    def __str__(self) -> str:
        return "bins:" + ",".join(map(str, self.sizes))

    @property
    def largest(self) -> int:
        """Return the largest number of words that is sent."""
        return self.sizes[-1]

    def of(self, length: int) -> int:
        """Return how many words are sent for a query of some length; an empty one stays empty."""
        return self.sizes[min(bisect_left(self.sizes, length), len(self.sizes) - 1)] if length else 0

    def held_by(self, size: int) -> tuple[int, int | None]:
        """Return the least and the largest length that a size stands for; None for "any"; (1, 0) for none.

        >>> Bins((4, 8)).held_by(4), Bins((4, 8)).held_by(8), Bins((4, 8)).held_by(5)
        ((1, 4), (5, None), (1, 0))
        """
        if size not in self.sizes:
            return (0, 0) if size == 0 else (1, 0)
        place = self.sizes.index(size)
        return (self.sizes[place - 1] + 1 if place else 1), (None if size == self.largest else size)


def check_word_options(one: "WordMechanism") -> None:
    """Refuse options that a mechanism does not have, or that would not hide what they say they hide."""
    chosen = [f"{name}={value!r}" for name, value in _chosen(one).items()]
    if not chosen:
        return
    maker = next(cls for cls in type(one).__mro__ if "obfuscate_batch" in vars(cls))
    if not vars(maker).get("applies_word_options", False):
        raise SpecError(
            f"{one.name} makes its texts in its own way (obfuscate_batch) and would ignore {', '.join(chosen)}; leave "
            "it out."
        )
    if one.budget == "total" and one.parameter != "epsilon":
        raise SpecError(f"{one.name} has no epsilon that its variants could share; leave out budget='total'.")
    if one.length is None:
        return
    if not one.can_be_padded:
        raise SpecError(
            f"{one.name}: the anchors that length= adds would all come out of one small set of words and show "
            "themselves; leave length out, or use CMP, Mahalanobis, SanText or TEM."
        )
    if not one.shuffle:
        raise SpecError(
            f"{one.name}: length= without shuffle shows by their place which words are anchors; add shuffle=True."
        )
    if one.oov not in PADDED_OOV:
        raise SpecError(
            f"{one.name}: with length=, unknown words must look like the anchors that are added, and oov={one.oov!r} "
            "makes them different; use oov='anchor'."
        )


def _chosen(one: "WordMechanism") -> dict[str, object]:
    return {name: getattr(one, name) for name, default in WORD_OPTIONS.items() if getattr(one, name) != default}


def with_bins(promise: Guarantee, bins: Bins) -> Guarantee:
    """Return a promise that says what becomes of the length: it is not protected as the words are."""
    sizes = ", ".join(map(str, bins.sizes))
    if isinstance(promise, MetricDP):
        text = (
            f"{promise.scope}; the bin of the length ({sizes}) is released, and the length inside the bin is protected "
            f"only by N*epsilon*|phi(x) - mu| per word, beyond {bins.largest} words by their distances to each other"
        )
        return replace(promise, scope=text)
    if isinstance(promise, LocalDP):
        return replace(promise, among=f"{promise.among} and lengths of one bin ({sizes})")
    return promise if isinstance(promise, NoGuarantee) else NoGuarantee("length= changes what its promise is about")


def random_order(rng: np.random.Generator, length: int) -> NDArray[np.int64]:
    """Return a random permutation; the last that a variant takes from its stream."""
    return np.argsort(rng.random(length), kind="stable")
