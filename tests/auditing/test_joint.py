"""Several releases: variants, and settings that share their noise."""

from dataclasses import replace

import pytest

import quipukit as qk
from quipukit.auditing.claims import claims_of
from quipukit.auditing.draws import several
from quipukit.auditing.findings import NOT_VIOLATED, NOTHING_CLAIMED, VIOLATED
from quipukit.auditing.joint import composition_check, joint_check, joint_guarantee
from quipukit.auditing.pairs import Pair
from quipukit.auditing.sampled import sampled_check
from quipukit.auditing.toys import toy_vectors
from quipukit.errors import InputError
from quipukit.guarantees import MetricDP, NoGuarantee
from quipukit.mechanisms.words import WordMechanism
from tests.auditing.twins import vocabulary

pytestmark = pytest.mark.heavy  # not in make quick


def settings(*specs: str) -> list[WordMechanism]:
    return [qk.mechanism(spec, vocabulary()) for spec in specs]  # type: ignore[misc]


@pytest.mark.statistical
@pytest.mark.parametrize(("noise", "verdict"), [("common", VIOLATED), ("independent", NOT_VIOLATED)])
def test_common_noise_sold_as_independent_is_found_with_1000_draws(noise, verdict) -> None:  # type: ignore[no-untyped-def]
    both = [replace(one, vectors=toy_vectors(1, 0.2)) for one in settings("CMP@1", "CMP@2")]
    pairs = [Pair("near", "orchestra", "horse")]
    sold = claims_of(both[0], MetricDP(3))
    done = sampled_check("it", several(both, 1, 1, noise), sold, pairs, draws=1000, alarm=1e-3)
    assert done.verdict == verdict, done.sentence()


@pytest.mark.slow
@pytest.mark.statistical
def test_settings_are_audited_as_one_release() -> None:
    both = settings("CMP@1", "CMP@2")
    options = {"draws": 1000, "alarm": 1e-3, "seed": 1}
    sold = joint_check(both, "common", MetricDP(3), **options)  # type: ignore[arg-type]
    assert sold.verdict == VIOLATED and sold.finding.loss > sold.finding.claimed
    few = options | {"draws": 200}
    assert joint_check(both, "common", None, **few).verdict == NOTHING_CLAIMED  # type: ignore[arg-type]
    assert joint_check(both, "independent", None, **few).verdict == NOT_VIOLATED  # type: ignore[arg-type]


def test_what_settings_promise_together() -> None:
    both = settings("CMP@1", "CMP@2")
    assert joint_guarantee(both, "independent") == MetricDP(3)
    assert isinstance(joint_guarantee(both, "common"), NoGuarantee)
    with pytest.raises(InputError, match="replace words"):
        joint_check([*both, qk.mechanism("Identity")], "common", None, draws=100, alarm=1e-3, seed=1)


@pytest.mark.statistical
def test_variants_keep_the_composed_claim_and_not_a_smaller_one() -> None:
    [mechanism] = settings("CMP@3")
    options = {"draws": 400, "alarm": 1e-3, "seed": 1}
    kept = composition_check(mechanism, 2, None, **options)  # type: ignore[arg-type]
    assert kept.verdict == NOT_VIOLATED and kept.name == "2 variants together, dimension 1"
    assert composition_check(mechanism, 2, MetricDP(0.75), **options).verdict == VIOLATED  # type: ignore[arg-type]
