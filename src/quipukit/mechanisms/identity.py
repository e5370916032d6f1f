"""Identity: the query itself, the upper reference of every evaluation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from quipukit.guarantees import Guarantee, NoGuarantee
from quipukit.mechanisms.base import QueryMechanism, Variants, WordLaw


@dataclass(frozen=True, kw_only=True)
class Identity(QueryMechanism):
    """Send the query as it is: the most that can be found, and the least that can be hidden.

    >>> Identity().obfuscate("how tumor grows", n=2)
    ['how tumor grows', 'how tumor grows']
    """

    name: ClassVar[str] = "Identity"
    summary: ClassVar[str] = "the query as it is: the upper reference"
    strategy: ClassVar[str] = "reference"
    sends_original: ClassVar[bool] = True

    @property
    def guarantee(self) -> Guarantee:
        return NoGuarantee("the query is sent as it is")

    def log_prob(self, output_word: str, input_word: str) -> float:
        return 0.0 if output_word == input_word else -np.inf

    def word_law(self, word: str) -> WordLaw:
        return WordLaw(np.array([-1]), np.ones(1), 1.0)

    def variants(self, query: str, n: int, rngs: Callable[[int], np.random.Generator]) -> Variants:
        return Variants([query] * n)
