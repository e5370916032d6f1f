"""Choice and Recommendation: what the answer holds."""

from dataclasses import dataclass

import pandas as pd

from quipukit.measures.frontier import MOST_POOLED
from quipukit.recommend import wording
from quipukit.richtext import block, table
from quipukit.specs import format_value

_SHOWN = ("mechanism", "parameter", "value", "n", "risk", "risk_high", "utility", "utility_low", "certified")
# Means of many numbers may pass a limit by their last digits.
SLACK = 1e-9


@dataclass(frozen=True)
class Choice:
    """A setting: what it sends and promises, its risk and utility, and the share of the original's utility it keeps.

    ``risk`` and ``utility`` are means on these queries. ``risk_high`` and ``utility_low`` are bounds for new queries
    that hold for all settings together, and so for a chosen one. ``kept`` is the share of what the original finds among
    as many documents as the setting pooled, None where that was not measured (no Identity in the result) or is 0;
    ``budget`` is the epsilon of all N variants together, None without epsilon; ``pooled_share`` is the share of the
    collection that the setting pools for a query, None where it is not known.
    """

    mechanism: str
    parameter: str
    value: float
    strategy: str
    guarantee: str
    private: bool
    n: int
    variants: float
    budget: float | None
    nothing: int
    pooled_share: float | None
    risk: float
    risk_high: float
    utility: float
    utility_low: float
    kept: float | None
    certified: bool

    @property
    def name(self) -> str:
        """Return the setting as a spec: CMP@12.5."""
        return f"{self.mechanism}@{format_value(self.value)}" if self.parameter else self.mechanism

    def _repr_html_(self) -> str:
        facts = {"risk": self.risk, "risk at most": self.risk_high, "utility": self.utility}
        return block(self.words, {**facts, "utility at least": self.utility_low, "guarantee": self.guarantee})

    @property
    def pools_much(self) -> bool:
        """Return whether it pools so much of the collection that even random words would find relevant documents."""
        return self.pooled_share is not None and self.pooled_share > MOST_POOLED

    @property
    def words(self) -> str:
        """Return the setting in words: CMP at epsilon 12.5 with 50 variants per query."""
        at = f" at {self.parameter} {format_value(self.value)}" if self.parameter else ""
        fewer = self.variants < self.n - 0.05
        count = f"{self.variants:.1f} of {self.n}" if fewer else f"{self.sent}"
        return f"{self.mechanism}{at} with {count} variant{'s' * (self.sent != 1)} per query"

    @property
    def sent(self) -> int:
        """Return how many variants a query sends: N, or more where a mechanism has a number of its own."""
        return max(self.n, round(self.variants))


@dataclass(frozen=True, eq=False)
class Recommendation:
    """What to use within a budget of risk; ``best`` is None where no setting can be certified to keep it.

    ``best`` is the certified setting of highest mean utility, ``runner_up`` that of another mechanism, and ``lead`` how
    much less the runner-up finds on these queries. ``gain`` is the difference to random words (Random), where these
    were measured, with a p-value corrected for the number of settings: a safe setting that finds no more than they do
    is of no use.

    ``best`` is chosen from the frontier of the certified settings that count: those that pool at most 2 % of the
    collection, unless none of these keeps the limits. ``beaten_by`` is a setting that beats it on these queries, but
    cannot be certified; ``passed_over`` a certified one that finds more and pools too much to count.

    Where nothing is certified, ``candidate`` is the best of those whose mean risk keeps the budget on these queries,
    and ``candidate_needs`` how many queries like these it would take to certify it; ``least_risky`` has the least mean
    risk, and needs ``least_needs``; ``any_needs`` is what a setting without a single hit would need. ``within_risk`` is
    the best within the budget at any utility, ``within_utility`` the least risky one that reaches
    ``min_utility``, both by their means.

    ``attacker`` and ``persona`` say whose risk it is; ``other_attackers`` and, of a sweep over N, ``other_ns`` are not
    looked at. Risks are means over ``queries``, all that were sent; their bounds are over the ``covered`` ones, whose
    originals the attacker's log holds; no risk can exceed their share, ``coverage``. Utilities are over ``judged``
    queries. ``settings`` holds all candidates, with ``fits`` (by their means), ``certified``, ``front`` (no
    other one beats it in both risk and utility) and ``frontier``: the same among those that count.
    """

    attacker: str
    persona: str
    other_attackers: tuple[str, ...]
    other_ns: tuple[int, ...]
    measure: str
    system: str
    max_risk: float
    min_utility: float | None
    level: float
    queries: int
    covered: int
    judged: int
    coverage: float
    original: float | None  # utility of the original queries with one list of documents, where it was measured
    best: Choice | None
    runner_up: Choice | None
    lead: float | None
    gain: tuple[float, float] | None
    beaten_by: Choice | None
    passed_over: Choice | None
    candidate: Choice | None
    candidate_needs: float | None
    least_risky: Choice
    least_needs: float
    any_needs: float
    within_risk: Choice | None
    within_utility: Choice | None
    settings: pd.DataFrame

    def _repr_html_(self) -> str:
        columns = [name for name in _SHOWN if name in self.front.columns]
        return block(self.sentence, notes=self.notes, below=table(columns, self.front[columns].itertuples(index=False)))

    @property
    def front(self) -> pd.DataFrame:
        """Return the settings that no other one beats in both risk and utility, in order of risk."""
        return self.settings[self.settings["front"]].sort_values("risk", kind="stable").reset_index(drop=True)

    @property
    def frontier(self) -> pd.DataFrame:
        """Return the same among the settings that pool at most 2 % of the collection (`quipukit.measures.frontier`)."""
        return self.settings[self.settings["frontier"]].sort_values("risk", kind="stable").reset_index(drop=True)

    @property
    def sentence(self) -> str:
        """Return the recommendation, or why there is none, in a sentence or two."""
        return wording.sentence(self)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what to know beside the sentence, a sentence or two each."""
        return wording.notes(self)
