"""Which setting to use: the best utility among the settings whose risk is certified to keep a budget.

**Certified (statistics)** means: the upper bound of the setting's true mean risk keeps the budget. The bounds of all m
settings that could be chosen hold together, each with the error (1 - level) / m (Bonferroni), so that with level 0.95
a certified setting is over budget in at most 5 % of experiments *after* the choice, however the choice is made among
them. The bounds are those of `quipukit.measures.intervals`: exact for any number of queries. 0 hits in 43 queries among
86 settings leave a risk of 0.159 possible; 71 queries without a hit are needed for 0.1.

What it says nothing about: queries of another kind, another attacker or log, and choices made before by looking at
risks (dropping settings, trying several attackers or budgets). It is never called a theorem: a risk that a mechanism
bounds by proof under a stated prior would be *certified (theorem, prior named)*; no mechanism has such a bound yet.

The utility of the best of many settings is biased upward by the choice. `utility_low` allows for it in the same way.
"""

from quipukit.recommend.model import Choice, Recommendation
from quipukit.recommend.selection import recommend

__all__ = ["Choice", "Recommendation", "recommend"]
