"""Do the draws follow the law? An exact audit is about the law that a mechanism states; its code may differ."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from quipukit.auditing.events import Event, lower, upper
from quipukit.auditing.findings import NOT_VIOLATED, VIOLATED, Check, Finding
from quipukit.auditing.laws import ITSELF, Floats, log_law
from quipukit.auditing.outcomes import Counts, Outcomes
from quipukit.auditing.sampled import LEAST, Draw
from quipukit.errors import NoClosedForm
from quipukit.mechanisms.base import Mechanism
from quipukit.mechanisms.words import WordMechanism

NAME = "draws against the closed form"


def agreement_check(
    mechanism: Mechanism, draw: Draw, inputs: Sequence[str], *, draws: int, alarm: float, name: str = NAME
) -> Check:
    """Draw from some inputs, and compare with their laws the events that differ most in half of the draws."""
    outcomes, laws = Outcomes(), dict[str, dict[str, float]]()
    wanted = max(LEAST, draws)
    for text in dict.fromkeys(inputs):
        try:
            law = log_law(mechanism, text)
        except NoClosedForm:
            continue  # several words, or an unknown one at a random place
        outcomes.add(text, draw(text, wanted, 0))
        names = _names(mechanism, text)
        laws[text] = dict(zip(map(names, law.rows.tolist()), np.exp(law.logs).tolist(), strict=True))
    if not laws:
        return Check(name, "sampled", NOT_VIOLATED, note="no input with a closed form")
    alpha = alarm / (len(laws) * 2 * 2)
    worst: tuple[float, Finding] | None = None
    for text, chances in laws.items():
        choosing, testing = outcomes.halves(text)
        total = int(testing.sum())
        expected = np.array([chances.get(sent[0] if sent else "", 0.0) for sent in outcomes.known])
        for event in _events(outcomes, choosing, expected):
            hits, p = event.hits(testing), min(1.0, float(expected[event.codes].sum()))
            low, high = float(lower(hits, total, alpha)), float(upper(hits, total, alpha))
            # Outcomes with a law of 0 make p exact; sums of many are as exact as their rounding.
            gap = max(low - p, p - high) - 1e-12
            with np.errstate(divide="ignore"):
                loss = float(np.log(low) - np.log(p)) if low > p else float(np.log(p) - np.log(high))
            evidence = f"{hits:,} of {total:,} draws where the law says {p * total:,.1f}"
            finding = Finding("law", text, "its law", event.name, loss, 0.0, evidence)
            if worst is None or gap > worst[0]:
                worst = gap, finding
    assert worst is not None
    broken = worst[0] > 0
    note = f"{len(laws)} inputs"
    verdict = VIOLATED if broken else NOT_VIOLATED
    return Check(name, "sampled", verdict, worst[1] if broken else None, draws=wanted, limit=math.inf, note=note)


def _events(outcomes: Outcomes, choosing: Counts, expected: Floats) -> list[Event]:
    """Return the outcome that deviates most, and the set of all that came too often."""
    total = int(choosing.sum())
    deviation = (choosing - total * expected) / np.sqrt(total * expected + 1)
    code = int(np.argmax(np.abs(deviation)))
    name = outcomes.known[code][0] if outcomes.known[code] else ""
    often = np.flatnonzero(deviation > 0)
    return [
        Event(f"the output is {name!r}", np.array([code])),
        Event(f"the output is one of {len(often):,} that came often", often),
    ]


def _names(mechanism: Mechanism, text: str) -> Callable[[int], str]:
    if isinstance(mechanism, WordMechanism):
        own = mechanism.tokens(text)[0]
        return lambda row: own if row == ITSELF else str(mechanism.vectors.words[row])
    return lambda row: str(mechanism.cover.pool.texts[row])  # type: ignore[attr-defined]
