"""The statistical audit: a lower bound on the loss of pairs, with a stated probability that any of its bounds is wrong.

A third of the alarm rate is spent on each of three stages with more and more draws, so that what leaks much is found
with few. Within a stage it is divided by the ordered pairs, by the events of each, and by the two sides of a ratio:
the largest of all bounds is then as true as any.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from quipukit.auditing.claims import Claims, Nothing
from quipukit.auditing.events import EVENTS, Event, choose_events, largest_bound, loss_bound
from quipukit.auditing.findings import NOT_VIOLATED, NOTHING_CLAIMED, VIOLATED, Check, Finding
from quipukit.auditing.outcomes import Outcome, Outcomes
from quipukit.auditing.pairs import Pair
from quipukit.progress import Progress

Draw = Callable[[str, int, int], list[Outcome]]  # of an input: so many releases, the n-th lot of them

STAGES = (0.01, 0.1, 1.0)  # of the draws
LEAST = 20  # draws of each input


@dataclass(frozen=True)
class _Test:
    """A bound on the loss of one event."""

    pair: Pair
    event: Event
    bound: float
    claimed: float
    hits: int
    against: int
    total: int


def sampled_check(
    name: str,
    draw: Draw,
    claims: Claims,
    pairs: Sequence[Pair],
    *,
    draws: int,
    alarm: float,
    note: str = "",
    progress: Progress | None = None,
) -> Check:
    """Draw from the inputs of some pairs, and bound the loss of each pair in both directions.

    ``draws`` is the number of each input. If the mechanism keeps the claims, the check says "violated" with probability
    ``alarm`` at most.
    """
    nothing = isinstance(claims, Nothing)
    ordered = [
        (one, math.inf if nothing else claims.loss(one.one, one.other))
        for pair in pairs
        for one in (pair, Pair(pair.kind, pair.other, pair.one))
    ]
    ordered = [(pair, claim) for pair, claim in ordered if nothing or claim < math.inf]
    if not ordered:
        verdict = NOTHING_CLAIMED if nothing else NOT_VIOLATED
        return Check(name, "sampled", verdict, note=f"{note}no pair of inputs about which anything is claimed")
    alpha = alarm / (len(STAGES) * len(ordered) * EVENTS * 2)
    inputs = list(dict.fromkeys(text for pair, _ in ordered for text in (pair.one, pair.other)))
    outcomes, drawn, tests = Outcomes(), 0, list[_Test]()
    for stage, share in enumerate(STAGES):
        wanted = max(LEAST, int(draws * share))
        if wanted == drawn:
            continue  # nothing new to see
        for place, text in enumerate(inputs):
            outcomes.add(text, draw(text, wanted - drawn, stage))
            if progress is not None:
                progress(wanted * (place + 1) + drawn * (len(inputs) - place - 1), draws * len(inputs))
        drawn = wanted
        tests += _tests(outcomes, ordered, alpha)
        if any(test.bound > test.claimed + claims.slack(test.claimed) for test in tests):
            break
    limit = largest_bound(drawn // 2, alpha)
    if nothing:
        verdict, best = NOTHING_CLAIMED, max(tests, key=lambda test: test.bound)
    else:
        best = max(tests, key=lambda test: test.bound - test.claimed - claims.slack(test.claimed))
        verdict = VIOLATED if best.bound > best.claimed + claims.slack(best.claimed) else NOT_VIOLATED
        if verdict == NOT_VIOLATED:  # a pair that claims nothing and loses nothing tells nothing: show the largest loss
            best = max(tests, key=lambda test: test.bound)
    reachable = sum(claim < limit for _, claim in ordered)
    return Check(name, "sampled", verdict, _finding(best), len(ordered), reachable, drawn, limit, note)


def _tests(outcomes: Outcomes, ordered: Sequence[tuple[Pair, float]], alpha: float) -> list[_Test]:
    halves = {text: outcomes.halves(text) for text in outcomes.inputs}
    chosen: list[tuple[Pair, float, Event, int, int]] = []
    total = 0
    for pair, claim in ordered:
        (choosing, testing), (choosing_other, testing_other) = halves[pair.one], halves[pair.other]
        total = int(testing.sum())
        for event in choose_events(outcomes, choosing, choosing_other, pair.one, pair.other, alpha):
            chosen.append((pair, claim, event, event.hits(testing), event.hits(testing_other)))
    bounds = loss_bound([one[3] for one in chosen], [one[4] for one in chosen], total, alpha)
    return [
        _Test(pair, event, max(0.0, float(bound)), claim, hits, against, total)
        for (pair, claim, event, hits, against), bound in zip(chosen, bounds, strict=True)
    ]


def _finding(test: _Test) -> Finding:
    evidence = f"{test.hits:,} against {test.against:,} of {test.total:,} draws"
    return Finding(test.pair.kind, test.pair.one, test.pair.other, test.event.name, test.bound, test.claimed, evidence)
