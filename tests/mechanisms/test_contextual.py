"""Contextual CMP and Mahalanobis: the law of their noise, exact search, independence, and claims on toy pools."""

import functools
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

import quipukit as qk
from quipukit.attackers.attack import attack
from quipukit.attackers.log import QueryLog
from quipukit.attackers.poollaws import PoolNoiseLaw
from quipukit.auditing.claims import claims_of
from quipukit.auditing.run import audit
from quipukit.covers.make import make_partition
from quipukit.covers.partition import Partition
from quipukit.covers.pool import QueryPool
from quipukit.errors import SpecError
from quipukit.frames import queries_frame
from quipukit.guarantees import MetricDP, NoGuarantee, joint
from quipukit.mechanisms.contextual import ContextualCMP, ContextualMhl
from quipukit.mechanisms.queryexp import QueryExp
from quipukit.testing import check_mechanism
from tests.covers.pools import STATIC, partition, pool
from tests.stat_checks import assert_chi2, assert_ks, refuted

BOTH = (ContextualCMP, ContextualMhl)
QUERIES = ["cat", "dog history", "what do horses eat", "куда идём", "qqzzxv", ""]


def made(epsilon: float = 100, cls: type[ContextualCMP] = ContextualCMP, **options: object) -> ContextualCMP:
    return cls(**{"epsilon": epsilon, "cover": partition(), **options})  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def small(tmp_path_factory) -> str:
    """Return the name of an encoder in three dimensions: there, noise is small enough for an audit to see."""
    path = tmp_path_factory.mktemp("vectors") / "small.txt"
    rng = np.random.default_rng(4)
    words = ("cat", "dog", "horse", "tax", "loan", "bank", "piano", "song", "fever", "pain")
    path.write_text("\n".join(f"{word} {' '.join(map(str, rng.standard_normal(3)))}" for word in words))
    return f"static:{path}"


@functools.cache
def toy() -> Partition:
    words = ("cat", "dog", "horse", "tax", "loan", "bank", "piano", "song", "fever", "pain")
    return make_partition(QueryPool.of([*words, "cat tax", "dog song", "loan pain"], "toy"), 2, STATIC)


@dataclass(frozen=True, kw_only=True)
class Scaled(ContextualCMP):
    """A wrong twin: noise is divided by sqrt(n), as in released code, and the promise is not; n is that of real use."""

    def stretch(self, directions):
        return directions / np.sqrt(384)

    @property
    def guarantee(self):
        return MetricDP(self.epsilon, f"euclidean, sentence encodings by {self.encoder}", "query")


@dataclass(frozen=True, kw_only=True)
class Renormalized(ContextualMhl):
    """A wrong twin: A u is brought back to length 1, as in released code."""

    def stretch(self, directions):
        stretched = super().stretch(directions)
        return stretched / np.linalg.norm(stretched, axis=1, keepdims=True)


@dataclass(frozen=True, kw_only=True)
class OneNoise(ContextualCMP):
    """A wrong twin: one vector of noise for all queries and variants, as in released code."""

    def _draw(self, rng, count=1):
        return super()._draw(np.random.default_rng(1), count)

    @property
    def guarantee(self):
        return MetricDP(self.epsilon, f"euclidean, sentence encodings by {self.encoder}", "query")


# --- the law -----------------------------------------------------------------------------------------------------


@pytest.mark.statistical
def test_the_noise_has_the_law_of_the_guarantee():
    """Its length in the metric is Gamma(n, 1/epsilon); false alarms: 1e-6 for each of two."""
    rng, n = np.random.default_rng(3), 384
    plain = np.linalg.norm(made(50).noise(rng, 4000), axis=1)
    assert_ks(plain, stats.gamma(n, scale=1 / 50).cdf)
    assert refuted(
        assert_ks, np.linalg.norm(made(50, Scaled).noise(rng, 4000), axis=1), stats.gamma(n, scale=1 / 50).cdf
    )
    inverse = np.linalg.inv(made(50, ContextualMhl).ellipsoid.factor)
    for cls, right in ((ContextualMhl, True), (Renormalized, False)):
        lengths = np.linalg.norm(made(50, cls).noise(rng, 4000) @ inverse.T, axis=1)
        assert refuted(assert_ks, lengths, stats.gamma(n, scale=1 / 50).cdf) is not right


def test_the_ellipsoid_is_that_of_the_pool():
    one = made(50, ContextualMhl)
    sigma = np.cov(one.encoded.rows.astype(float).T, bias=True)
    sigma *= 384 / np.trace(sigma)
    factor = one.ellipsoid.factor
    np.testing.assert_allclose(factor @ factor.T, 0.75 * sigma + 0.25 * np.eye(384), atol=1e-9)


@pytest.mark.parametrize("cls", BOTH)
def test_the_nearest_query_of_the_pool_is_sent(cls):
    """Brute force in float64, from the same noise: nearest, not largest inner product, and the noise is not scaled."""
    one = made(60, cls)
    rows = one.encoded.rows.astype(float)
    for query in ("cat", "what do horses eat", "qqzzxv"):
        rng = np.random.default_rng(9)
        points = [one.encoded.point(query).astype(float) + one.noise(rng, 1)[0] for _ in range(50)]
        expected = [pool().texts[int(((rows - point) ** 2).sum(axis=1).argmin())] for point in points]
        # The coin that other mechanisms throw is drawn too: one generator for all variants gives the same noise.
        assert one.obfuscate(query, 50, np.random.default_rng(9)) == expected


@pytest.mark.statistical
def test_samples_on_a_toy_pool_follow_the_law(small):
    """Against 200,000 draws by a program of its own; false alarms: about 1e-5, for both laws are estimates."""
    one = made(4, cover=toy(), encoder=small)
    rows, point = one.encoded.rows.astype(float), one.encoded.point("cat").astype(float)
    rng = np.random.default_rng(7)
    ways = rng.standard_normal((200_000, 3))
    noise = ways / np.linalg.norm(ways, axis=1, keepdims=True) * rng.gamma(3, 1 / 4, (200_000, 1))
    away = ((rows[None] - (point + noise)[:, None]) ** 2).sum(axis=2)
    law = np.bincount(away.argmin(axis=1), minlength=len(rows)) / 200_000
    sent = one.obfuscate("cat", 10_000, np.random.default_rng(2))
    counts = np.bincount([toy().pool.row(text) for text in sent], minlength=len(rows))
    kept = law > 1e-3
    pooled = np.append(counts[kept], counts[~kept].sum()), np.append(law[kept], law[~kept].sum())
    assert_chi2(*pooled)
    wrong = made(8, cover=toy(), encoder=small).obfuscate("cat", 10_000, np.random.default_rng(2))
    doubled = np.bincount([toy().pool.row(text) for text in wrong], minlength=len(rows))
    assert refuted(assert_chi2, np.append(doubled[kept], doubled[~kept].sum()), pooled[1])


def test_every_query_and_variant_has_noise_of_its_own():
    one = made(60)
    sent = qk.obfuscate(["cat", "cat", "dog"], one, n=30, seed=1)
    texts = [tuple(own["query"]) for _, own in sent.groupby("qid")]
    assert len(set(texts)) == 3 and all(len(set(own)) > 5 for own in texts)


# --- the guarantee -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", BOTH)
def test_the_audit_finds_no_violation(cls, small):
    """False alarms: 1e-6."""
    done = audit(made(2, cls, cover=toy(), encoder=small), draws=20_000, alarm=1e-6)
    assert done.verdict == "not violated", done


@pytest.mark.parametrize("twin", [Scaled, OneNoise])
def test_the_audit_finds_wrong_twins(twin, small):
    done = audit(made(2, twin, cover=toy(), encoder=small), draws=20_000, stop_early=True)
    assert done.verdict == "violated", done


def test_claims_are_in_the_stated_metric():
    one = made(5, ContextualMhl)
    apart = one.encoded.point("cat").astype(float) - one.encoded.point("tax").astype(float)
    sigma = one.ellipsoid.factor @ one.ellipsoid.factor.T
    expected = 5 * np.sqrt(apart @ np.linalg.solve(sigma, apart))
    assert claims_of(one).loss("cat", "tax") == pytest.approx(expected)
    assert claims_of(made(5)).loss("cat", "tax") == pytest.approx(5 * np.linalg.norm(apart))


def test_the_guarantee_is_per_query_in_its_own_metric():
    cmp, mhl = made(20).guarantee, made(20, ContextualMhl).guarantee
    assert cmp == MetricDP(20, "euclidean, sentence encodings", "query")
    assert str(mhl) == "20-metric DP (mahalanobis, sentence encodings, lam=0.75) per query"
    assert made(20, ContextualMhl, lam=0).guarantee == cmp
    exp = QueryExp(epsilon=5, cover=partition()).guarantee
    assert joint([("a", cmp), ("b", exp)]) == MetricDP(25, "euclidean, sentence encodings", "query")
    assert "+" in str(joint([("a", cmp), ("b", mhl)]))
    assert isinstance(made(20, Renormalized).guarantee, NoGuarantee)
    with pytest.warns(UserWarning, match="the pool's ellipsoid is flat"):
        assert isinstance(made(20, ContextualMhl, lam=1).guarantee, NoGuarantee)


# --- the strongest attacker ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", BOTH)
def test_bayes_finds_more_than_attackers_that_do_not_know_the_mechanism(cls):
    """A stand-in for the law, so no proof that nobody finds more; texts that the pool lacks rule all queries out."""
    one = made(40, cls)
    queries = {str(number): text for number, text in enumerate(pool().texts[::4])}
    sent = qk.obfuscate(queries, one, n=8, seed=1)
    log = QueryLog.of(pool().texts)
    ranks = attack(
        sent, queries_frame(queries), log, attackers=["Bayes", "Words", "Lexical"], mechanisms=[one], encoder="static"
    )
    found = qk.risk(ranks).query("measure == 'R@10'").groupby("attacker")["score"].mean()
    assert found["Bayes"] > 0.2 and found["Bayes"] > found[["Words", "Lexical"]].max()
    law = PoolNoiseLaw(one, ["cat", "dog"])
    assert np.isneginf(law.log_likelihoods(["something else"])).all()
    assert np.isfinite(law.log_likelihoods(["cat", "dog history"])).all()


# --- as any other mechanism --------------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize("cls", BOTH)
def test_it_keeps_what_every_mechanism_keeps(cls, small):
    check_mechanism(made(3, cls, cover=toy(), encoder=small), audit=True)


@pytest.mark.parametrize("noise", ["independent", "common"])
def test_settings_in_one_batch_send_what_they_send_alone(noise):
    settings = [
        made(50),
        made(90),
        made(90, ContextualMhl),
        made(90, ContextualMhl, lam=0.5),
        made(90, encoder="static"),
    ]
    together = qk.obfuscate(QUERIES, settings, n=5, seed=3, noise=noise)
    alone = [qk.obfuscate(QUERIES, one, n=5, seed=3, noise=noise) for one in settings]
    assert together["query"].tolist() == [text for table in alone for text in table["query"]]


def test_a_large_epsilon_sends_the_nearest_query():
    for cls in BOTH:
        assert set(made(1e6, cls).obfuscate("dog history", 3)) == {"dog history"}
        assert made(1e6, cls).obfuscate("  ", 3) == []
    assert not ContextualCMP.sends_original


def test_bad_parameters_name_the_fix():
    for options, message in (
        ({"epsilon": 0}, "epsilon must lie in"),
        ({"encoder": ""}, "encoder must be the name of an encoder"),
        ({"lam": 2}, r"lam must lie in \[0, 1\]"),
    ):
        with pytest.raises(SpecError, match=message), warnings.catch_warnings():
            made(**{"epsilon": 10, "cls": ContextualMhl, **options})
    assert repr(qk.spec("contextual-mahalanobis@5")) == "ContextualMhl@5"
