"""What was drawn, as numbers: every distinct outcome has a code, and its features are computed once."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.text import key

Counts = NDArray[np.int64]
Outcome = tuple[str, ...]  # the texts of one release

# What may tell inputs apart without any of them being looked at.
FEATURES: dict[str, Callable[[Outcome], Any]] = {
    "number of texts": len,
    "numbers of words": lambda outcome: tuple(sorted({len(text.split()) for text in outcome})),
    "emptiness": lambda outcome: not "".join(outcome).strip(),
    "upper case": lambda outcome: any(text != text.lower() for text in outcome),
    "number of letters": lambda outcome: sum(map(len, outcome)),
    "first text": lambda outcome: outcome[0] if len(outcome) > 1 else "",
    "texts in any order": lambda outcome: tuple(sorted(outcome)) if len(outcome) > 1 else (),
}


class Outcomes:
    """The draws of several inputs."""

    def __init__(self) -> None:
        """Begin without any."""
        self.known: list[Outcome] = []
        self._codes: dict[Outcome, int] = {}
        self._drawn: dict[str, list[int]] = {}
        self._values: dict[str, dict[Any, int]] = {name: {} for name in FEATURES}
        self._features: dict[str, list[int]] = {name: [] for name in FEATURES}
        self._arrays: tuple[int, list[tuple[str, list[Any], Counts]]] = (0, [])
        self._with_text: dict[str, list[int]] = {}
        self._with_word: dict[str, list[int]] = {}

    def add(self, text: str, drawn: Sequence[Outcome]) -> None:
        """Keep some more draws of an input."""
        codes = self._drawn.setdefault(text, [])
        for outcome in drawn:
            code = self._codes.get(outcome)
            codes.append(self._new(outcome) if code is None else code)

    def _new(self, outcome: Outcome) -> int:
        code = self._codes[outcome] = len(self.known)
        self.known.append(outcome)
        for name, feature in FEATURES.items():
            values = self._values[name]
            self._features[name].append(values.setdefault(feature(outcome), len(values)))
        for text in set(outcome):
            self._with_text.setdefault(text, []).append(code)
        for word in {word for text in outcome for word in key(text).split()}:
            self._with_word.setdefault(word, []).append(code)
        return code

    @property
    def inputs(self) -> list[str]:
        """Return what was drawn from."""
        return list(self._drawn)

    def halves(self, text: str) -> tuple[Counts, Counts]:
        """Return how often each outcome was drawn, in the draws that choose events and in those that test them."""
        codes = np.array(self._drawn[text], np.int64)
        half = len(codes) // 2
        parts = codes[:half], codes[half : 2 * half]
        first, second = (np.bincount(part, minlength=len(self.known)).astype(np.int64) for part in parts)
        return first, second

    def partitions(self) -> Iterator[tuple[str, list[Any], Counts]]:
        """Iterate over the features: their names, their values, and the number of the value of every outcome."""
        if self._arrays[0] != len(self.known):
            several = [(name, list(values)) for name, values in self._values.items() if len(values) > 1]
            arrays = [(name, values, np.array(self._features[name], np.int64)) for name, values in several]
            self._arrays = len(self.known), arrays
        yield from self._arrays[1]

    def about(self, one: str, other: str) -> Iterator[tuple[str, Counts]]:
        """Iterate over sets of outcomes that show one of two inputs: verbatim, by a word, by its place."""
        for name, text in (("the input as it was typed", one), ("the other input as it was typed", other)):
            yield f"the output holds {name}", np.array(self._with_text.get(text, ()), np.int64)
        words, others = (frozenset(key(text).split()) for text in (one, other))
        for word in words - others:
            yield f"the output holds the input's word {word!r}", np.array(self._with_word.get(word, ()), np.int64)
        places: dict[int, list[int]] = {}
        for code in self._with_text.get(one, ()):
            if len(self.known[code]) > 1:
                places.setdefault(self.known[code].index(one), []).append(code)
        for place, codes in places.items():
            yield f"the input is text {place + 1} of the output", np.array(codes, np.int64)
