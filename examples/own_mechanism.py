"""A mechanism of your own: drop words at random, see what it sends, and let the toolkit check it.

python examples/own_mechanism.py
"""

from dataclasses import dataclass

import quipukit as qk
from quipukit.guarantees import NoGuarantee
from quipukit.mechanisms.base import QueryMechanism, Variants
from quipukit.testing import check_mechanism


@dataclass(frozen=True, kw_only=True)
class Dropout(QueryMechanism):
    """Keeps each word with probability 1 - p."""

    name, summary, strategy = "Dropout", "drops words at random", "heuristic"
    parameter, grid, hides_more = "p", (0.25, 0.5, 0.75), "larger"
    guarantee = NoGuarantee("the words that are kept are the user's own")

    p: float = 0.5

    def variants(self, query, n, rngs):
        words = query.split()

        def one(rng):
            kept = rng.random(len(words)) >= self.p
            return " ".join(word for word, keep in zip(words, kept, strict=True) if keep)

        # rngs(v) is the generator of variant v: the same seed gives the same variants, in any order.
        return Variants([one(rngs(variant)) for variant in range(n)])


# It sends words of the query as they are, so the check has to be told that this is its purpose.
check_mechanism(Dropout(), verbatim=True)

obfuscated = qk.obfuscate({"q1": "how does a tumor grow"}, [Dropout(p=0.25), Dropout(p=0.75)], n=4, seed=7)
print(obfuscated[["mechanism", "value", "query"]].to_string(index=False))
print(Dropout().guarantee)
