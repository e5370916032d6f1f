"""Several releases about one query: N variants, or several settings, independent or with common noise."""

from collections.abc import Sequence
from dataclasses import replace

from quipukit.auditing.claims import Claims, Nothing, Sum, claims_of
from quipukit.auditing.draws import several
from quipukit.auditing.findings import Check
from quipukit.auditing.pairs import pairs_of
from quipukit.auditing.sampled import sampled_check
from quipukit.auditing.toys import REACH, on_toy, toy_vectors
from quipukit.errors import InputError
from quipukit.guarantees import Guarantee, NoGuarantee, joint
from quipukit.mechanisms.base import Mechanism, RootSeed
from quipukit.mechanisms.words import WordMechanism
from quipukit.progress import Progress
from quipukit.seeds import Noise

_PAIRS = 1  # of each kind: the outcomes are many, and few draws must do


def composition_check(
    mechanism: WordMechanism, n: int, claim: Guarantee | None, *, draws: int, alarm: float, seed: int
) -> Check:
    """Audit n variants of one query as one release, on a line, with the streams of real use."""
    toy, _ = on_toy(mechanism, 1, claim)
    composed = (toy.guarantee if claim is None else claim).composed(n)
    name = f"{n} variants together, dimension 1"
    pairs = pairs_of(toy, seed, _PAIRS)
    return sampled_check(name, several([toy], n, seed), claims_of(toy, composed), pairs, draws=draws, alarm=alarm)


def joint_guarantee(mechanisms: Sequence[Mechanism], noise: Noise) -> Guarantee:
    """Return what several settings promise together: nothing, where they share their noise."""
    streams = RootSeed(None, noise)
    return joint([(streams.owner(one), one.guarantee) for one in mechanisms])


def joint_check(
    mechanisms: Sequence[Mechanism],
    noise: Noise,
    claim: Guarantee | None,
    *,
    draws: int,
    alarm: float,
    seed: int,
    progress: Progress | None = None,
) -> Check:
    """Audit one variant by each of several settings as one release about a word, on a line."""
    words = [one for one in mechanisms if isinstance(one, WordMechanism)]
    if len(words) < len(mechanisms):
        raise InputError("settings are audited together where all of them replace words; audit the others one by one.")
    unit = _on_line(words, 1.0)
    pairs = pairs_of(unit[0], seed, _PAIRS)
    claims = _claims(unit, noise, claim)
    largest = max((loss for one in pairs if (loss := claims.loss(one.one, one.other)) < float("inf")), default=0.0)
    if largest > 0:
        unit = _on_line(words, REACH / largest)
        claims = _claims(unit, noise, claim)
    draw = several(unit, 1, seed, noise)
    name = f"{len(words)} settings together, {noise} noise, dimension 1"
    return sampled_check(name, draw, claims, pairs, draws=draws, alarm=alarm, progress=progress)


def _on_line(mechanisms: Sequence[WordMechanism], scale: float) -> list[WordMechanism]:
    vectors = toy_vectors(1, scale)
    return [replace(one, vectors=vectors) for one in mechanisms]


def _claims(mechanisms: Sequence[WordMechanism], noise: Noise, claim: Guarantee | None) -> Claims:
    if claim is not None:
        return claims_of(mechanisms[0], claim)
    if isinstance(joint_guarantee(mechanisms, noise), NoGuarantee):
        return Nothing()
    return Sum(tuple(map(claims_of, mechanisms)))
