"""QueryExp: its guarantee by exact ratios, its law by samples, its attacker by the vulnerability of a toy pool."""

import itertools
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import quipukit as qk
from quipukit.attackers.attack import attack
from quipukit.attackers.log import QueryLog
from quipukit.covers.distances import log_normalizers
from quipukit.covers.make import make_partition
from quipukit.covers.pool import QueryPool
from quipukit.errors import SpecError
from quipukit.frames import queries_frame
from quipukit.guarantees import MetricDP, NoGuarantee, joint
from quipukit.mechanisms.queryexp import Floats, QueryExp
from quipukit.testing import check_mechanism
from tests.covers.pools import STATIC, partition, pool
from tests.examples import slowly
from tests.stat_checks import assert_chi2, refuted

QUERIES = [
    "cat",
    "dog history",
    "what do horses eat",
    "income tax for students",
    "куда идём",
    "qqzzxv",
    "violin and song",
]
TOY = ["cat", "dog", "tax", "loan", "piano", "cat food"]


def made(epsilon: float = 20, cls: type[QueryExp] = QueryExp, **options: object) -> QueryExp:
    return cls(**{"epsilon": epsilon, "cover": partition(), **options})  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class Neighbors(QueryExp):
    """A wrong twin: only the 20 nearest queries can come out, so what comes out tells where the query is."""

    def log_probs(self, query: str) -> Floats:
        logs = super().log_probs(query)
        kept = np.full(len(logs), -np.inf)
        near = np.argsort(-logs, kind="stable")[:20]
        kept[near] = logs[near] - np.log(np.exp(logs[near]).sum())
        return kept


@dataclass(frozen=True, kw_only=True)
class WithoutHalf(QueryExp):
    """A wrong twin: exp(-epsilon d), which forgets that Z depends on the query too."""

    def log_probs(self, query: str) -> Floats:
        return QueryExp(epsilon=2 * self.epsilon, cover=self.cover).log_probs(query)


def worst_excess(mechanism: QueryExp) -> float:
    """Return the largest ln P(y | q) - ln P(y | q') - epsilon d(q, q') over all outputs y and pairs of queries."""
    laws = {query: mechanism.log_probs(query) for query in [*QUERIES, *pool().texts[::9]]}
    excess = -np.inf
    with np.errstate(invalid="ignore"):  # impossible either way: no ratio
        for one, other in itertools.permutations(laws, 2):
            far = np.linalg.norm(
                mechanism.encoded.point(one).astype(float) - mechanism.encoded.point(other).astype(float)
            )
            excess = max(excess, float(np.nanmax(laws[one] - laws[other])) - mechanism.epsilon * float(far))
    return excess


@pytest.mark.parametrize("epsilon", [5, 500, *slowly(0.1, 20, 60)])
def test_no_ratio_exceeds_the_guarantee(epsilon: float) -> None:
    """Closed form over all outputs; what rounding may add is 1e-9."""
    assert worst_excess(made(epsilon)) <= 1e-9


@pytest.mark.parametrize(("twin", "least"), [(Neighbors, np.inf), (WithoutHalf, 1.0)])
def test_wrong_twins_exceed_it(twin: type[QueryExp], least: float) -> None:
    assert worst_excess(made(20, twin)) >= least
    assert isinstance(made(20, twin).guarantee, NoGuarantee)


@pytest.mark.parametrize("query", ["cat", "what do horses eat", "qqzzxv"])
def test_the_law_is_the_exponential_of_distances(query: str) -> None:
    exp = made(8)
    points = exp.encoded.rows.astype(np.float64)
    far = np.sqrt(((points - exp.encoded.point(query)) ** 2).sum(axis=1))
    weights = np.exp(-8 * far / 2)
    np.testing.assert_allclose(np.exp(exp.log_probs(query)), weights / weights.sum(), rtol=1e-9)


@pytest.mark.statistical
def test_samples_follow_the_law() -> None:
    """10,000 draws for each of two queries; false alarms: 1e-6 in the limit, 5e-5 at most, for each."""
    exp = made(10)
    for query in ("cat", "what do horses eat"):
        sent = exp.obfuscate(query, 10_000, np.random.default_rng(5))
        counts = np.bincount([pool().row(text) for text in sent], minlength=len(pool()))
        assert_chi2(counts, np.exp(exp.log_probs(query)))
        assert refuted(assert_chi2, counts, np.exp(made(20).log_probs(query)))  # epsilon doubled


def test_exact_sampling_draws_the_same_queries_from_the_same_numbers() -> None:
    """But for the few numbers that rounding decides; the law is enumerated in test_exactsampling.py."""
    usual, exact = made(15), made(15, exact=True)
    for query in ("cat", "qqzzxv"):
        draws = [one.obfuscate(query, 500, np.random.default_rng(5)) for one in (usual, exact)]
        assert draws[0] == draws[1]
    assert repr(exact.spec) == "QueryExp(exact=True)@15"
    assert str(exact.guarantee).startswith(f"{usual.guarantee}, sampled exactly (rounding adds ")
    assert 1e-13 < exact.guarantee.rounding < 1e-10


def test_every_query_of_the_pool_can_come_out_whatever_is_asked() -> None:
    for query in QUERIES:
        logs = made(60).log_probs(query)
        assert np.isfinite(logs).all() and np.exp(logs).sum() == pytest.approx(1)


def test_queries_without_a_known_word_are_alike() -> None:
    """Both have the vector 0, at distance 1 of all that have another: one and the same point."""
    one, other = made().log_probs("qqzzxv"), made().log_probs("zzqqvx qqzzxv")
    assert np.array_equal(one, other) and np.ptp(one) < 1e-5
    assert made().obfuscate("  ") == []


# --- the strongest attacker --------------------------------------------------------------------------------------


def toy(epsilon: float) -> QueryExp:
    return QueryExp(epsilon=epsilon, cover=make_partition(QueryPool.of(TOY, "toy"), 2, STATIC))


@pytest.mark.parametrize("epsilon", [1, 4, 12])
def test_likelihoods_are_those_of_the_law(epsilon: float) -> None:
    exp = toy(epsilon)
    law = exp.query_law([*TOY, "horse", "qqzzxv"])
    texts = ["dog", "tax", "dog"]
    rows = [exp.cover.pool.row(text) for text in texts]
    exact = [exp.log_probs(query)[rows].sum() for query in [*TOY, "horse", "qqzzxv"]]
    # Of ln Z: `error_bound` for each text, less than 0.001 at epsilon 12.
    np.testing.assert_allclose(law.log_likelihoods(texts), exact, atol=3 * 0.001)
    assert np.isneginf(law.log_likelihoods(["dog", "something else"])).all()


@pytest.mark.parametrize("epsilon", [1, 3])
def test_bayes_reaches_the_vulnerability_and_nobody_more(epsilon: float) -> None:
    """The probability that one guess is right, after one text, is sum_y max_q pi(q) P(y | q): computed, not drawn."""
    exp = toy(epsilon)
    texts = exp.cover.pool.texts
    prior = np.array([5, 1, 2, 1, 1, 3]) / 13
    channel = np.exp([exp.log_probs(text) for text in texts])
    vulnerability = (prior[:, None] * channel).max(axis=0).sum()
    log = QueryLog.of(texts, (prior * 13).round().astype(int).tolist())
    queries = {f"{q}-{y}": texts[q] for q in range(len(texts)) for y in range(len(texts))}
    weights = {f"{q}-{y}": prior[q] * channel[q, y] for q in range(len(texts)) for y in range(len(texts))}
    sent = qk.obfuscate(queries, exp, n=1, seed=1)
    sent["query"] = [texts[int(qid.split("-")[1])] for qid in sent["qid"]]  # each text once, for each query
    names = ["Bayes", "Bayes(prior=uniform)", "Words", "MaxSim", "Lexical", "Positional"]
    ranks = attack(sent, queries_frame(queries), log, attackers=names, mechanisms=[exp])
    scores = qk.risk(ranks)
    hits = scores[scores["measure"] == "P@1"].assign(weight=lambda rows: rows["qid"].map(weights))
    success = (hits["score"] * hits["weight"]).groupby(hits["attacker"]).sum()
    assert success["Bayes"] == pytest.approx(vulnerability, abs=1e-9)
    assert success.max() <= vulnerability + 1e-9
    assert success.min() < vulnerability - 0.01  # the comparison can tell attackers apart


def test_settings_share_one_pass_over_log_and_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[list[float]] = []

    def counted(points: Any, rows: Any, epsilons: list[float]) -> Floats:
        passes.append(epsilons)
        return log_normalizers(points, rows, epsilons)

    monkeypatch.setattr("quipukit.covers.encoded.log_normalizers", counted)
    settings = [made(4), made(6), made(9)]
    queries = {"1": "cat", "2": "loan history"}
    log = QueryLog.of([*pool().texts, "a log of its own"])
    sent = qk.obfuscate(queries, settings, n=2, seed=1)
    attack(sent, queries_frame(queries), log, attackers=["Bayes"], mechanisms=settings)
    assert passes == [[4, 6, 9]]


# --- as any other mechanism --------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_it_keeps_what_every_mechanism_keeps() -> None:
    check_mechanism(made())


def test_settings_in_one_batch_send_what_they_send_alone() -> None:
    settings = [made(5), made(20), made(20, encoder="static")]
    together = qk.obfuscate(QUERIES, settings, n=5, seed=3)
    alone = [qk.obfuscate(QUERIES, one, n=5, seed=3) for one in settings]
    assert together["query"].tolist() == [text for table in alone for text in table["query"]]


def test_the_guarantee_is_per_query_and_adds_up() -> None:
    promised = made(20).guarantee
    assert promised == MetricDP(20, "euclidean, sentence encodings", "query")
    assert str(promised.composed(5)) == "100-metric DP (euclidean, sentence encodings) per query"
    other = made(20, encoder="minilm").guarantee
    assert "+" in str(joint([("a", promised), ("b", other)]))  # two distances do not add up
    assert not made().sends_original


def test_specs_and_copies_say_the_same() -> None:
    exp = qk.mechanism("QueryExp(encoder='static')@7", cover=partition())
    assert repr(exp.spec) == "QueryExp(encoder='static')@7" and repr(made(7).spec) == "QueryExp@7"
    rng = np.random.default_rng
    assert pickle.loads(pickle.dumps(exp)).obfuscate("cat", 3, rng(1)) == exp.obfuscate("cat", 3, rng(1))


def test_bad_parameters_name_the_fix() -> None:
    with pytest.raises(SpecError, match="epsilon must lie in"):
        made(0)
    with pytest.raises(SpecError, match="encoder must be the name of an encoder"):
        made(5, encoder=3)
