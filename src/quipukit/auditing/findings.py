"""What an audit found, as values: a finding, a check, and the verdict over all checks."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Verdict = Literal["holds", "not violated", "violated", "nothing claimed"]
HOLDS: Verdict = "holds"
NOT_VIOLATED: Verdict = "not violated"
VIOLATED: Verdict = "violated"
NOTHING_CLAIMED: Verdict = "nothing claimed"

Method = Literal["exact", "sampled", "compared"]


@dataclass(frozen=True)
class Finding:
    """Two inputs, and something that comes out of the first one more often than out of the second.

    ``loss`` is ln P(event | one) - ln P(event | other): the number itself where it is exact, otherwise a lower bound
    that holds together with all other bounds of the audit.
    """

    kind: str  # of the pair: near, unknown, twins ...
    one: str
    other: str
    event: str
    loss: float
    claimed: float
    evidence: str

    @property
    def excess(self) -> float:
        """Return by how much the loss exceeds the claim; minus infinity where nothing is claimed."""
        return -math.inf if self.claimed == math.inf else self.loss - self.claimed

    def sentence(self, method: Method) -> str:
        """Return the finding in words and numbers."""
        if method == "compared":  # no probabilities were compared, and no loss follows
            inputs = repr(self.one) if self.one == self.other else f"{self.one!r} and {self.other!r}"
            return f"{inputs}: {self.event}: {self.evidence}"
        exact = method == "exact"
        least = "" if exact else "at least "
        loss = "infinite" if self.loss == math.inf else f"{least}{self.loss:.4g} nats"
        claim = "nothing is claimed" if self.claimed == math.inf else f"{self.claimed:.4g} claimed"
        return f"{self.one!r} and {self.other!r} ({self.kind}): {self.event}: {self.evidence}; loss {loss}, {claim}"


@dataclass(frozen=True)
class Check:
    """One check of an audit, and what became of it."""

    name: str
    method: Method
    verdict: Verdict
    finding: Finding | None = None
    pairs: int = 0  # ordered pairs that were compared
    reachable: int = 0  # of these, pairs whose claim is below what the check could have seen
    draws: int = 0  # of each input
    limit: float = math.inf  # the largest loss that could have been seen
    note: str = ""

    def sentence(self) -> str:
        """Return the outcome in words and numbers."""
        parts = [self.finding.sentence(self.method)] if self.finding else []
        if self.method == "sampled" and self.limit < math.inf:
            reach = f", and {self.reachable:,} of {self.pairs:,} ordered pairs claim less"
            parts.append(
                f"{self.draws:,} draws of each input; the largest loss that could have been seen is {self.limit:.3g} "
                f"nats{'' if self.verdict == NOTHING_CLAIMED else reach}"
            )
        elif self.pairs:
            parts.append(f"{self.pairs:,} ordered pairs")
        if self.note:
            parts.append(self.note)
        return "; ".join(parts)


@dataclass(frozen=True)
class Audit:
    """The outcome of an audit.

    ``holds``: the exact loss stays within the claim for every pair of the sample, and no draw contradicts the law that
    it was computed from. ``not violated``: nothing was found; each check says the largest loss that it could have seen.
    ``violated``: there is a counter-example; with a sampled one, the alarm is false with probability ``alarm`` at most.
    """

    mechanism: str
    guarantee: str
    private: bool
    checks: tuple[Check, ...]
    alarm: float
    seed: int
    about: str  # the vocabulary or the pool
    skipped: tuple[str, ...] = ()
    floating_point: str = ""  # what rounding does, as far as it is proved

    @property
    def verdict(self) -> Verdict:
        """Return the verdict over all checks."""
        verdicts = {one.verdict for one in self.checks}
        if VIOLATED in verdicts:
            return VIOLATED
        if not self.private:
            return NOTHING_CLAIMED
        return HOLDS if any(one.verdict == HOLDS and one.method == "exact" for one in self.checks) else NOT_VIOLATED

    @property
    def counter_example(self) -> Check | None:
        """Return the first check that is violated, the exact ones first."""
        broken = [one for one in self.checks if one.verdict == VIOLATED]
        return min(broken, key=lambda one: one.method != "exact", default=None)

    @property
    def seen(self) -> float:
        """Return the largest loss that was seen, claimed or not."""
        return max((one.finding.loss for one in self.checks if one.finding), default=0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, in types that JSON has; an infinite number is the text "infinity"."""
        checks = [{**asdict(one), "sentence": one.sentence()} for one in self.checks]
        return _plain(
            {
                "mechanism": self.mechanism,
                "guarantee": self.guarantee,
                "verdict": self.verdict,
                "alarm": self.alarm,
                "seed": self.seed,
                "about": self.about,
                "checks": checks,
                "skipped": list(self.skipped),
                "floating_point": self.floating_point,
            }
        )

    def __str__(self) -> str:
        lines = [f"{self.mechanism}: {self.verdict} ({self.guarantee})"]
        lines += [f"- {one.name}: {one.verdict}. {one.sentence()}" for one in self.checks]
        lines += [f"- {one}" for one in (*self.skipped, self.floating_point) if one]
        return "\n".join(lines)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and math.isinf(value):
        return "infinity" if value > 0 else "-infinity"
    return value
