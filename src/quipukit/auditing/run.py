"""`quipukit.audit`: plan the checks of a mechanism, divide the alarm rate among them, and run them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from quipukit.auditing.agreement import agreement_check
from quipukit.auditing.claims import Claims, Nothing, claims_of
from quipukit.auditing.draws import at_values, single, variant
from quipukit.auditing.exact import exact_check
from quipukit.auditing.findings import VIOLATED, Audit, Check
from quipukit.auditing.joint import composition_check, joint_check, joint_guarantee
from quipukit.auditing.laws import has_law
from quipukit.auditing.pairs import Pair, pairs_of
from quipukit.auditing.postprocessing import postprocessing_check
from quipukit.auditing.sampled import LEAST, Draw, sampled_check
from quipukit.auditing.streams import streams_check
from quipukit.auditing.toys import DIMENSIONS, REACH, on_toy, toy_pairs
from quipukit.auditing.whole import groups_check
from quipukit.errors import InputError, SpecError
from quipukit.guarantees import ForAllVariants, Guarantee, LocalDP, MetricDP, WithinGroup
from quipukit.mechanisms.base import EPSILON_RANGE, Mechanism, check_epsilon
from quipukit.mechanisms.roundoff import in_words
from quipukit.mechanisms.words import WordMechanism
from quipukit.obfuscation import mechanism as bind
from quipukit.progress import Progress, part_of
from quipukit.seeds import Noise
from quipukit.specs import Spec

ALARM = 0.001
DRAWS = 200_000
INPUTS = 1000
SEED = 7

_QUERY_DRAWS = 2000  # of each query, where a mechanism makes the texts of a query in one piece
_HEURISTIC_DRAWS = 40  # where that takes long and nothing is claimed
_STREAM_DRAWS = 2000
_COMPOSED_DRAWS = 10_000  # of each query: with the streams of real use, which are slow
_MANY_VARIANTS = 50  # as experiments send them

Run = Callable[[float, Progress | None], Check]  # with a share of the alarm rate
One = str | Spec | Mechanism


def audit(
    mechanism: "One | Sequence[One]",
    *,
    claim: Guarantee | float | None = None,
    vectors: Any = None,
    wordnet: Any = None,
    collection: Any = None,
    cover: Any = None,
    draws: int = DRAWS,
    inputs: int = INPUTS,
    n: int = 2,
    noise: Noise = "independent",
    alarm: float = ALARM,
    seed: int = SEED,
    stop_early: bool = False,
    progress: Progress | None = None,
) -> Audit:
    """Say whether a mechanism keeps what it claims: "holds", "not violated", or "violated", with a counter-example.

    Where the law of the outputs has a closed form, the worst loss is exact, over ``inputs`` words or queries. In any
    case ``draws`` samples from the mechanism's own vocabulary, and as many on toy vocabularies in one to three
    dimensions, give lower bounds on the loss. The probability that a mechanism which keeps its claims is called
    "violated" is ``alarm`` at most, over all checks together. ``claim``, a guarantee or an epsilon, is audited in the
    place of the mechanism's own. ``n`` variants are audited together. Several mechanisms are audited as one release,
    with ``noise`` independent or common. ``stop_early`` ends with the first check that is violated.

    >>> import quipukit as qk
    >>> line = qk.Vectors(["cat", "dog", "fish"], [[0.0], [1.0], [3.0]])
    >>> qk.audit("SanText@2", vectors=line, draws=2000).verdict
    'holds'
    >>> qk.audit("SanText@2", vectors=line, draws=2000, claim=qk.MetricDP(0.5)).verdict
    'violated'
    """
    _check_numbers(draws, inputs, n, alarm)
    given = {"vectors": vectors, "wordnet": wordnet, "collection": collection, "cover": cover}
    if isinstance(mechanism, str | Spec | Mechanism):
        one = bind(mechanism, **given)
        claim = _as_guarantee(one, claim)
        runs, skipped = _plan(one, claim, draws=draws, inputs=inputs, n=n, seed=seed)
        guarantee, name, about = one.guarantee if claim is None else claim, repr(one.spec), _about(one)
        floating_point = in_words(one, n)
    else:
        bound = [bind(each, **given) for each in mechanism]
        if len(bound) < 2:
            raise InputError("to audit settings together, name at least two of them.")
        claim = _as_guarantee(bound[0], claim)
        guarantee = joint_guarantee(bound, noise) if claim is None else claim
        name, about, skipped = " + ".join(repr(one.spec) for one in bound), f"{noise} noise", []
        floating_point = ""

        def together(share: float, shown: Progress | None) -> Check:
            per_input = max(LEAST, draws // 10)
            return joint_check(bound, noise, claim, draws=per_input, alarm=share, seed=seed, progress=shown)

        runs = [(True, together)]
    sampled = sum(uses_alarm for uses_alarm, _ in runs)
    checks: list[Check] = []
    for place, (_, run) in enumerate(runs):
        checks.append(run(alarm / max(1, sampled), part_of(progress, place, 1, len(runs))))
        if stop_early and checks[-1].verdict == VIOLATED:
            break
    return Audit(
        name, str(guarantee), guarantee.private, tuple(checks), alarm, seed, about, tuple(skipped), floating_point
    )


def _as_guarantee(one: Mechanism, claim: Guarantee | float | None) -> Guarantee | None:
    """Return a claim as a guarantee; an epsilon means the mechanism's own guarantee at that epsilon."""
    if claim is None or isinstance(claim, Guarantee):
        return claim
    own = one.guarantee
    inner = own.whole if isinstance(own, ForAllVariants) else own
    if not isinstance(inner, MetricDP | LocalDP):
        raise InputError(
            f"{one.spec!r} claims no epsilon in whose place another one could be audited.", argument="claim"
        )
    other = replace(inner, epsilon=check_epsilon(one.name, claim))
    return ForAllVariants(other) if isinstance(own, ForAllVariants) else other


def _plan(
    one: Mechanism, claim: Guarantee | None, *, draws: int, inputs: int, n: int, seed: int
) -> tuple[list[tuple[bool, Run]], list[str]]:
    """Return the checks of a mechanism, each with whether it takes part of the alarm rate, and what is left out."""
    claims = claims_of(one.for_variants(1), claim)
    runs: list[tuple[bool, Run]] = []
    pairs = pairs_of(one, seed)
    law = has_law(one.for_variants(1))
    guarantee = one.guarantee if claim is None else claim
    if law:
        alone = one.for_variants(1)
        runs.append((False, lambda _, shown: exact_check(alone, claims, inputs=inputs, seed=seed, progress=shown)))
    if law and isinstance(guarantee, ForAllVariants):
        runs += [(False, _exact_for_all(one, claims, count, inputs, seed)) for count in (n, _MANY_VARIANTS)]
    if isinstance(one, WordMechanism):
        return _plan_words(one, claim, claims, pairs, law, runs, draws=draws, n=n, seed=seed)
    if isinstance(guarantee, WithinGroup):
        queries = [pair.one for pair in pairs]
        runs.append((False, lambda _, __: groups_check(one, guarantee, queries, seed=seed)))
    heuristic = isinstance(claims, Nothing) and one.strategy == "heuristic"
    kept = pairs[:4] if heuristic else pairs
    each = min(_HEURISTIC_DRAWS if heuristic else _QUERY_DRAWS, _per_input(draws, kept))
    runs.append((True, _sampled("own queries", one, claims, kept, each, seed)))
    if law:
        texts = _inputs(kept)[:4]
        runs.append(
            (True, lambda share, _: agreement_check(one, single(one, seed, "law"), texts, draws=each, alarm=share))
        )
    if law and n > 1:
        # A claim of N variants rests on all of them having the law, and, which the streams show, on independence.
        last = f"variant {n} against the closed form"
        runs.append(
            (
                True,
                lambda share, _: agreement_check(one, variant(one, n, seed), texts, draws=each, alarm=share, name=last),
            )
        )
    if not heuristic:
        count = min(_STREAM_DRAWS // 5, each)
        runs.append((True, _streams(one, (pairs[0].one, pairs[-1].other), count, seed)))
    return runs, []


def _plan_words(
    one: WordMechanism,
    claim: Guarantee | None,
    claims: Claims,
    pairs: list[Pair],
    law: bool,
    runs: list[tuple[bool, Run]],
    *,
    draws: int,
    n: int,
    seed: int,
) -> tuple[list[tuple[bool, Run]], list[str]]:
    skipped: list[str] = []
    if len(one.vectors) == 1:
        skipped.append(
            "the vocabulary has one word: no two of its words can be compared, and only unknown words and the toy "
            "vocabularies can show a loss"
        )
    each = _per_input(draws, pairs)
    weaker = None if law or claim is not None else _at_smaller_epsilon(one, claims, pairs)
    members = [one] if weaker is None else [one, weaker]
    for place, (member, draw) in enumerate(zip(members, at_values(members, _inputs(pairs), seed), strict=True)):
        name = "own vocabulary" if place == 0 else f"own vocabulary at epsilon {member.value:.3g}"
        runs.append((True, _drawn(name, draw, claims_of(member.for_variants(1)) if place else claims, pairs, each)))
    if law:
        runs.append((True, _law(one, _inputs(pairs)[:8], max(LEAST, draws // 20), seed)))
    toys: list[WordMechanism] = []
    for dimension in DIMENSIONS:
        try:
            toy, toy_claims = on_toy(one, dimension, claim)
        except (SpecError, TypeError) as fault:
            skipped.append(f"dimension {dimension} is left out: {fault}")
            continue
        toys.append(toy)
        name = f"toy vocabulary, dimension {dimension}"
        runs.append((True, _sampled(name, toy, toy_claims, toy_pairs(toy, seed), max(LEAST, draws // 20), seed)))
    if toys:
        count = max(LEAST, draws // 20)
        if not isinstance(claims, Nothing):
            # By chance alone only a random order can look wrong.
            runs.append((toys[0].shuffle, _postprocessing(toys[0].for_variants(1), count, seed)))
            few = min(count, _COMPOSED_DRAWS)
            runs.append((True, lambda share, _: composition_check(one, n, claim, draws=few, alarm=share, seed=seed)))
        runs.append((True, _streams(toys[0].for_variants(1), ("cat", "dog"), min(_STREAM_DRAWS, count), seed)))
    return runs, skipped


def _at_smaller_epsilon(one: WordMechanism, claims: Claims, pairs: list[Pair]) -> WordMechanism | None:
    """Return a mechanism at an epsilon at which near pairs claim what can be seen; None where they do already."""
    near = [claims.loss(pair.one, pair.other) for pair in pairs if pair.kind in ("near", "frequent", "outlier")]
    largest = max((loss for loss in near if loss < float("inf")), default=0.0)
    if largest <= REACH or one.parameter != "epsilon":
        return None
    changes: dict[str, Any] = {"epsilon": max(one.value * REACH / largest, EPSILON_RANGE[0])}
    return replace(one, **changes)


def _sampled(name: str, one: Mechanism, claims: Claims, pairs: list[Pair], each: int, seed: int) -> Run:
    return _drawn(name, single(one, seed, name), claims, pairs, each)


def _drawn(name: str, draw: Draw, claims: Claims, pairs: list[Pair], each: int) -> Run:
    return lambda share, shown: sampled_check(name, draw, claims, pairs, draws=each, alarm=share, progress=shown)


def _postprocessing(toy: WordMechanism, draws: int, seed: int) -> Run:
    return lambda share, _: postprocessing_check(toy, draws=draws, alarm=share, seed=seed)


def _streams(one: Mechanism, texts: tuple[str, str], draws: int, seed: int) -> Run:
    return lambda share, _: streams_check(one, texts, draws=draws, alarm=share, seed=seed)


def _exact_for_all(one: Mechanism, claims: Claims, count: int, inputs: int, seed: int) -> Run:
    """Audit the variants that share one budget: all of them together must keep what one alone may spend."""
    name = f"closed form, {count} variants together"
    return lambda _, shown: exact_check(
        one.for_variants(count), claims, inputs=inputs, seed=seed, times=count, name=name, progress=shown
    )


def _law(one: Mechanism, texts: list[str], draws: int, seed: int) -> Run:
    word = one.for_variants(1).one_word()  # a law is that of one word: neither shuffled nor padded
    return lambda share, _: agreement_check(word, single(word, seed, "law"), texts, draws=draws, alarm=share)


def _inputs(pairs: Sequence[Pair]) -> list[str]:
    return list(dict.fromkeys(text for pair in pairs for text in (pair.one, pair.other)))


def _per_input(draws: int, pairs: Sequence[Pair]) -> int:
    return max(LEAST, draws // max(1, len(_inputs(pairs))))


def _about(one: Mechanism) -> str:
    if isinstance(one, WordMechanism):
        return f"{one.vectors.name}, {len(one.vectors):,} {'word' if len(one.vectors) == 1 else 'words'}"
    pool = getattr(getattr(one, "cover", None), "pool", None)
    return f"pool {pool.name}, {len(pool):,} queries" if pool is not None else "fixed queries"


def _check_numbers(draws: int, inputs: int, n: int, alarm: float) -> None:
    if draws < 1000:
        raise InputError(f"draws must be at least 1,000 (found {draws}); fewer can show nothing.", argument="draws")
    if inputs < 2:
        raise InputError(f"inputs must be at least 2 (found {inputs}); a loss needs two of them.", argument="inputs")
    if not 1 <= n <= 10:
        raise InputError(f"n must be from 1 to 10 (found {n}).", argument="n")
    if not 0 < alarm < 1:
        raise InputError(f"alarm must lie between 0 and 1 (found {alarm:g}); try 0.001.", argument="alarm")
