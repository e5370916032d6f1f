"""Which setting to use: the best utility within a budget of risk, how sure that is, and what stands beside it.

The best setting has the highest mean utility among those whose mean risk is at most ``max_risk``. Intervals are over
queries: they are drawn with replacement, the same ones for all settings, risk and utility. Two things that a plain
bootstrap would get wrong are mended:

- **Hits not yet seen.** Where no query was found out, no replicate has a hit either, and the interval would be [0, 0].
  The upper bound of a risk is therefore never below the exact one for as many hits among as many queries (Clopper and
  Pearson 1934, with the sum of the risks for the hits): 0 of 43 can still be 0.08.
- **The winner's curse.** The best of many settings was also lucky on these queries, so its utility is flattered, and
  its risk too. The choice is repeated on every replicate: ``chosen_share`` of them choose the same setting. If
  replicate b chooses j(b), which has utility u*_b there and u on all queries, the choice flatters by the mean of
  u*_b(j(b)) - u(j(b)); ``expected_utility`` and its interval have that taken off. On few queries this takes off too
  little: what is certain comes from queries that had no say in the choice.
"""

from quipukit.recommend.model import Choice, Recommendation
from quipukit.recommend.selection import recommend

__all__ = ["Choice", "Recommendation", "recommend"]
