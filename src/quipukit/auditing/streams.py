"""Streams under seeds: the same seed gives the same, and nothing else is shared: between variants, queries, settings.

Two rows of draws are compared by an outcome that is frequent in half of them: in the other half, having it in one row
must not depend on having it in the other. Fisher's exact test holds for any number of draws.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from quipukit.auditing.findings import NOT_VIOLATED, VIOLATED, Check, Finding
from quipukit.auditing.outcomes import Outcome
from quipukit.errors import SpecError
from quipukit.mechanisms.base import Mechanism, RootSeed

NAME = "streams"
_FRESH = 64  # variants without a seed


def streams_check(mechanism: Mechanism, texts: tuple[str, str], *, draws: int, alarm: float, seed: int) -> Check:
    """Compare draws under seeds: asked again, with another seed, as another variant, query or setting."""
    text, other_text = texts

    def rows(one: Mechanism, query: str, root: int, variant: int = 0, qid: str = "q") -> list[Outcome]:
        queries = [(f"{qid}{number}", query) for number in range(draws)]
        sent = type(one).obfuscate_batch([one], queries, 1 if one.own_count else variant + 1, RootSeed(root))[0]
        # A mechanism that says itself how many texts it sends makes one release of them.
        return [tuple(each.texts) if one.own_count else tuple(each.texts[variant:][:1]) for each in sent]

    first = rows(mechanism, text, seed)
    if first != rows(mechanism, text, seed):
        return _violated("the same seed gives other texts", text, text, "the outputs differ")
    [(_, times)] = Counter(first).most_common(1)
    if 2 * times < len(first) and mechanism.obfuscate(text, _FRESH) == mechanism.obfuscate(text, _FRESH):
        return _violated("without a seed, the same texts come again", text, text, f"{_FRESH} variants, twice")
    compared: dict[str, tuple[str, Callable[[], list[Outcome]]]] = {
        "another seed": (text, lambda: rows(mechanism, text, seed + 1)),
        "another query": (other_text, lambda: rows(mechanism, other_text, seed)),
        "another query id": (text, lambda: rows(mechanism, text, seed, qid="other")),
    }
    if not mechanism.own_count:
        compared["another variant"] = text, lambda: rows(mechanism, text, seed, variant=1)
    another = _other_setting(mechanism)
    if another is not None:
        compared["another setting"] = text, lambda: rows(another, text, seed)
    for name, (query, draw) in compared.items():
        p, evidence = dependence(first, draw())
        if p < alarm / len(compared):
            return _violated(f"the noise is shared with {name}", text, query, f"{evidence}; p = {p:.2g}", draws)
    return Check(NAME, "compared", NOT_VIOLATED, draws=draws, note=f"{draws:,} draws each: {', '.join(compared)}")


def dependence(one: Sequence[Outcome], other: Sequence[Outcome]) -> tuple[float, str]:
    """Return the p-value of Fisher's test that two rows of draws are independent, and the counts in words.

    >>> dependence([("a",), ("b",)] * 40, [("x",), ("y",)] * 40)[0] < 1e-6
    True
    >>> dependence([("a",), ("b",)] * 40, [("x",)] * 80)[0]
    1.0
    """
    from scipy.stats import fisher_exact

    half = min(len(one), len(other)) // 2
    frequent, companion = (_middling(row[:half]) for row in (one, other))
    table = [[0, 0], [0, 0]]
    for mine, theirs in zip(one[half:], other[half:], strict=False):
        table[mine != frequent][theirs != companion] += 1
    (both, mine_only), (theirs_only, neither) = table
    p = float(fisher_exact(table)[1])
    return p, f"frequent outcomes together {both:,} times, alone {mine_only:,} and {theirs_only:,}, never {neither:,}"


def _middling(row: Sequence[Outcome]) -> Outcome:
    """Return the outcome whose share is nearest to one half: it tells most."""
    return min(Counter(row).items(), key=lambda one: (abs(one[1] - len(row) / 2), one[0]))[0]


def _other_setting(mechanism: Mechanism) -> Mechanism | None:
    if not mechanism.parameter:
        return None
    try:
        return replace(mechanism, **{mechanism.parameter: 1.25 * mechanism.value})
    except SpecError:  # not every value is a valid one
        return None


def _violated(event: str, one: str, other: str, evidence: str, draws: int = 0) -> Check:
    finding = Finding("streams", one, other, event, 0.0, 0.0, evidence)
    return Check(NAME, "compared", VIOLATED, finding, draws=draws)
