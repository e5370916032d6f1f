"""Two results side by side: which scores differ, whether chance explains it, and what else differs between the runs.

Where both results have queries in common, differences are formed query by query: what makes a query easy or hard for
both stays out of them. Where they are of other queries, the difference is that of two independent samples. Intervals
and p-values are those of `quipukit.measures.resampling`.

Differences are first - second. Mechanisms are scored on the settings that both results have: a QuIPU score depends on
its grid; the hypervolume is reported next to it. Risks are over all queries sent, utilities over those judged.
``p_holm`` is corrected for all mechanisms of the same attacker, persona and score, or for all settings of the same risk
or measure.
"""

from quipukit.comparison.compare import Comparison, compare_results

__all__ = ["Comparison", "compare_results"]
