"""Choice and Recommendation: what the answer holds."""

from dataclasses import dataclass

import pandas as pd

from quipukit.recommend import wording
from quipukit.specs import format_value

# Means of many numbers may pass a limit by their last digits.
SLACK = 1e-9


@dataclass(frozen=True)
class Choice:
    """A setting: what it sends and promises, its risk and utility, and the share of the original's utility it keeps.

    ``kept`` is None where the original's utility was not measured (no Identity in the result) or is 0; ``budget`` is
    N * epsilon, None without epsilon. ``chosen`` is the share of replicates that choose this setting.
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
    risk: float
    risk_low: float
    risk_high: float
    utility: float
    utility_low: float
    utility_high: float
    kept: float | None
    kept_low: float | None
    kept_high: float | None
    chosen: float

    @property
    def name(self) -> str:
        """Return the setting as a spec: CMP@12.5."""
        return f"{self.mechanism}@{format_value(self.value)}" if self.parameter else self.mechanism

    @property
    def words(self) -> str:
        """Return the setting in words: CMP at epsilon 12.5 with 50 variants per query."""
        at = f" at {self.parameter} {format_value(self.value)}" if self.parameter else ""
        fewer = self.variants < self.n - 0.05
        count = f"{self.variants:.1f} of {self.n}" if fewer else f"{self.n}"
        return f"{self.mechanism}{at} with {count} variant{'s' * (self.n != 1)} per query"


@dataclass(frozen=True, eq=False)
class Recommendation:
    """What to use within a budget of risk; ``best`` is None where no setting fits.

    ``runner_up`` is the best fitting setting of another mechanism and ``lead`` the difference of utility to it, as
    (difference, low, high, p); p holds for two settings named beforehand, so it too is flattered by the choice.
    ``gain`` is the same over random words (Random), where these were measured: a safe setting that finds no more than
    they do is of no use.
    ``safe`` is the best setting whose upper bound of risk keeps the budget, ``least_risky`` the one of least risk,
    ``within_risk`` the best within the budget whatever its utility, ``within_utility`` the least risky one that reaches
    ``min_utility``. ``settings`` holds all candidates, with ``fits`` and ``front``: on the Pareto front of least risk
    and most utility.
    """

    attacker: str
    measure: str
    system: str
    max_risk: float
    min_utility: float | None
    level: float
    replicates: int
    queries: int
    original: float | None  # utility of the original queries, where it was measured
    best: Choice | None
    runner_up: Choice | None
    lead: tuple[float, float, float, float] | None
    gain: tuple[float, float, float, float] | None
    safe: Choice | None
    least_risky: Choice
    within_risk: Choice | None
    within_utility: Choice | None
    nothing_share: float  # of replicates, in which no setting fits
    expected_utility: float | None  # without what the choice flatters; None where nothing fits
    expected_low: float | None
    expected_high: float | None
    expected_risk: float | None
    settings: pd.DataFrame

    @property
    def chosen_share(self) -> float:
        """Return the share of replicates that choose the best setting again; 0 where nothing fits."""
        return self.best.chosen if self.best else 0.0

    @property
    def keeps_budget(self) -> bool:
        """Tell whether the upper bound of the best setting's risk keeps the budget too."""
        return self.best is not None and self.best.risk_high <= self.max_risk + SLACK

    @property
    def front(self) -> pd.DataFrame:
        """Return the settings that no other one beats in both risk and utility, in order of risk."""
        return self.settings[self.settings["front"]].sort_values("risk", kind="stable").reset_index(drop=True)

    @property
    def sentence(self) -> str:
        """Return the recommendation, or why there is none, in a sentence or two."""
        return wording.sentence(self)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what to know beside the sentence, a sentence or two each."""
        return wording.notes(self)
