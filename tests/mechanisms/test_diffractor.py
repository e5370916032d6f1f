"""1-Diffractor: its law by enumeration and by samples, its guarantee by exact ratios, and what Bayes makes of it."""

import functools
from dataclasses import dataclass

import numpy as np
import pytest

import quipukit as qk
from quipukit.attackers.attack import attack
from quipukit.attackers.log import QueryLog
from quipukit.attackers.positionlaws import PositionLaw
from quipukit.auditing.run import audit
from quipukit.errors import SpecError
from quipukit.frames import queries_frame
from quipukit.guarantees import MetricDP, NoGuarantee
from quipukit.mechanisms.diffractor import Diffractor
from quipukit.testing import check_mechanism
from quipukit.vectors.store import Vectors
from tests.stat_checks import assert_chi2, refuted

VARIANTS = ("geometric", "tem")


@functools.cache
def cloud() -> Vectors:
    return Vectors([f"w{i}" for i in range(40)], np.random.default_rng(50).standard_normal((40, 4)))


@functools.cache
def line() -> Vectors:
    """Words whose list is their own order."""
    return Vectors([f"w{i}" for i in range(12)], 1.1 ** np.arange(12)[:, None])


def made(epsilon: float = 0.5, cls: type[Diffractor] = Diffractor, **options: object) -> Diffractor:
    return cls(**{"epsilon": epsilon, "vectors": line(), **options})  # type: ignore[arg-type]


def law(one: Diffractor, word: str) -> np.ndarray:
    return np.exp([one.log_prob(output, word) for output in one.vectors.words])


@dataclass(frozen=True, kw_only=True)
class Rescaled(Diffractor):
    """A wrong twin: what lies beyond an end is thrown away, and the rest scaled up by what depends on the word."""

    def _in_list(self, outputs, inputs):
        logs = -self.epsilon * np.abs(outputs[:, None] - inputs)
        every = np.abs(np.arange(len(self.vectors))[:, None] - inputs)
        return logs - np.log(np.exp(-self.epsilon * every).sum(axis=0))

    @property
    def promise(self):
        return MetricDP(self.epsilon, "list positions")


@dataclass(frozen=True, kw_only=True)
class Windowed(Diffractor):
    """A wrong twin: noise is cut off after three steps, so that what comes out rules words out."""

    def _in_list(self, outputs, inputs):
        apart = np.abs(outputs[:, None] - inputs)
        return np.where(apart <= 3, super()._in_list(outputs, inputs), -np.inf)

    @property
    def promise(self):
        return MetricDP(self.epsilon, "list positions")


# --- the law -----------------------------------------------------------------------------------------------------


def test_the_geometric_law_is_that_of_two_geometric_numbers_within_the_ends():
    """The difference of two geometric variables with success probability 1 - exp(-epsilon), added up term by term."""
    a = np.exp(-0.5)
    chances = (1 - a) * a ** np.arange(400)
    for at in (0, 3, 11):
        expected = np.zeros(12)
        for up, p in enumerate(chances):
            np.add.at(expected, np.clip(at + up - np.arange(400), 0, 11), p * chances)
        np.testing.assert_allclose(law(made(), f"w{at}"), expected, atol=1e-12)


def test_the_law_of_tem_is_that_of_capped_positions():
    one = made(4, variant="tem", beta=0.2)
    assert one.truncation == pytest.approx(0.5 * np.log(0.8 * 11 / 0.2))
    for at in (0, 5):
        weights = np.exp(-2 * np.minimum(np.abs(np.arange(12) - at), one.truncation))
        np.testing.assert_allclose(law(one, f"w{at}"), weights / weights.sum(), rtol=1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("words", [1, 2, 3])
def test_small_vocabularies(variant, words):
    vectors = Vectors([f"w{i}" for i in range(words)], np.arange(words)[:, None])
    for epsilon in (1e-6, 1.0, 1e6):
        one = made(epsilon, vectors=vectors, variant=variant)
        for word in vectors.words:
            assert law(one, word).sum() == pytest.approx(1)
        assert set(one.obfuscate("w0 unknown", 5, np.random.default_rng(1))[0].split()) <= set(vectors.words)


@pytest.mark.statistical
@pytest.mark.parametrize("variant", VARIANTS)
def test_samples_follow_the_law(variant):
    """20,000 draws of a word at the end and of one inside; false alarms: 1e-6 in the limit, 5e-5 at most, for each."""
    one = made(0.4, vectors=cloud(), variant=variant)
    words = list(cloud().words)
    ends = [words[int(one.positions[0].argmin())], words[int(np.argsort(one.positions[0])[17])]]
    for word in ends:
        sent = one.obfuscate(word, 20_000, np.random.default_rng(5))
        counts = np.bincount([cloud().row(text) for text in sent], minlength=len(words))
        assert_chi2(counts, law(one, word))
        assert refuted(assert_chi2, counts, law(made(0.8, vectors=cloud(), variant=variant), word))  # epsilon doubled
        if variant == "geometric" and word == ends[0]:
            assert refuted(assert_chi2, counts, law(made(0.4, Rescaled, vectors=cloud()), word))


def test_exact_sampling_draws_the_same_words_from_the_same_numbers():
    usual, exact = made(vectors=cloud()), made(vectors=cloud(), exact=True)
    draws = [one.obfuscate("w1 w2 unknown", 300, np.random.default_rng(5)) for one in (usual, exact)]
    assert draws[0] == draws[1]
    assert 0 < exact.guarantee.rounding < 1e-11 and usual.guarantee.rounding is None


# --- the guarantee -----------------------------------------------------------------------------------------------


def worst_share(one: Diffractor) -> float:
    """Return the largest loss over epsilon times the distance, over all outputs and pairs of words."""
    logs = np.array([[one.log_prob(output, word) for output in one.vectors.words] for word in one.vectors.words])
    apart = np.abs(one.positions[:, :, None] - one.positions[:, None, :]).max(axis=0)
    loss = (logs[:, None, :] - logs[None, :, :]).max(axis=2)
    others = apart > 0
    return float((loss[others] / (one.epsilon * apart[others])).max())


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 3.0])
def test_no_ratio_exceeds_the_guarantee(epsilon):
    assert worst_share(made(epsilon, vectors=cloud())) == pytest.approx(1)  # which the geometric law uses up
    assert worst_share(made(epsilon, vectors=cloud(), variant="tem")) <= 1 + 1e-9
    assert worst_share(made(epsilon, Rescaled, vectors=cloud())) > 1.01


@pytest.mark.parametrize("options", [{}, {"variant": "tem"}, {"oov": "uniform"}, {"shuffle": True}])
def test_the_audit_finds_that_it_holds(options):
    """False alarms: 1e-6."""
    done = audit(made(vectors=cloud(), **options), draws=4000, inputs=60, alarm=1e-6)
    assert done.verdict == "holds", done


@pytest.mark.parametrize("twin", [Rescaled, Windowed])
def test_the_audit_finds_wrong_twins(twin):
    assert audit(made(0.5, twin, vectors=cloud()), draws=1000, inputs=60, stop_early=True).verdict == "violated"


def test_the_guarantee_names_its_metric():
    assert made(2).guarantee == MetricDP(2, "list positions")
    assert str(made(2).guarantee.composed(5)) == "10-metric DP (list positions) per word"
    assert isinstance(made(2, oov="keep", unsafe=True).guarantee, NoGuarantee)


# --- several lists -----------------------------------------------------------------------------------------------


def with_two_lists(tmp_path, cls: type[Diffractor] = Diffractor) -> Diffractor:
    rng = np.random.default_rng(8)
    rows = [f"w{i} " + " ".join(f"{x:.4f}" for x in rng.standard_normal(3)) for i in range(0, 40, 2)]
    path = tmp_path / "other.txt"
    path.write_text("\n".join(rows), encoding="utf-8")
    return made(0.3, cls, vectors=cloud(), lists=str(path))


def test_one_of_several_lists_is_drawn(tmp_path):
    both = with_two_lists(tmp_path)
    assert both.positions.shape == (2, 40)
    lacking = np.sort(both.positions[1, 1::2])
    assert np.ptp(lacking) == 19  # words that the other vectors lack stand at one place, and so side by side
    expected = np.zeros(40)
    for places in both.positions:
        alone = np.array([f"w{row}" for row in np.argsort(places)])
        vectors = Vectors(alone, 1.1 ** np.arange(40)[:, None])
        expected += [np.exp(made(0.3, vectors=vectors).log_prob(word, "w7")) / 2 for word in cloud().words]
    np.testing.assert_allclose(law(both, "w7"), expected, rtol=1e-6)
    assert worst_share(both) <= 1 + 1e-9
    assert audit(both, draws=2000, inputs=60, alarm=1e-6).verdict == "holds"
    assert "the largest with" in str(both.guarantee)


# --- unknown words and options -----------------------------------------------------------------------------------


def test_unknown_words_are_never_sent_and_all_alike():
    one = made(vectors=cloud())
    nearest = int(np.argmin(np.linalg.norm(cloud().matrix - cloud().mean, axis=1)))
    np.testing.assert_allclose(law(one, "zzqq"), law(one, f"w{nearest}"))
    assert set(" ".join(one.obfuscate("zzqq qqzz", 200)).split()) <= set(cloud().words)


@pytest.mark.heavy
@pytest.mark.parametrize("variant", VARIANTS)
def test_it_keeps_what_every_mechanism_keeps(variant):
    check_mechanism(made(vectors=cloud(), variant=variant), audit=True)


def test_bad_parameters_name_the_fix():
    for options, message in (
        ({"variant": "laplace"}, "variant must be one of"),
        ({"beta": 2}, "beta must lie between 0 and 1"),
        ({"lists": 3}, "lists must name word vectors"),
        ({"lists": "other", "exact": True}, "exact=True is for one list"),
        ({"lists": "a,,b"}, "lists must name word vectors"),
        ({"length": "bins:4", "shuffle": True}, "leave length out"),
    ):
        with pytest.raises(SpecError, match=message):
            made(**options)


# --- the strongest attacker --------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_bayes_reaches_the_vulnerability(variant):
    """The probability that one guess is right, after one text, is sum_y max_q pi(q) P(y | q): computed, not drawn."""
    one = made(0.7, variant=variant)
    words = list(line().words)
    log = QueryLog.of([*words, "unknown"], [5, *[1] * 11, 2])
    prior = np.array([5, *[1] * 11, 2]) / 18
    inputs = [*words, "unknown"]
    channel = np.array([law(one, word) for word in inputs])
    queries = {f"{q}-{y}": inputs[q] for q in range(13) for y in range(12)}
    sent = qk.obfuscate(queries, one, n=1, seed=1)
    sent["query"] = [words[int(qid.split("-")[1])] for qid in sent["qid"]]
    scores = qk.risk(attack(sent, queries_frame(queries), log, attackers=["Bayes"], mechanisms=[one], vectors=line()))
    hits = scores[scores["measure"] == "P@1"].set_index("qid")["score"]
    success = sum(hits[f"{q}-{y}"] * prior[q] * channel[q, y] for q in range(13) for y in range(12))
    assert success == pytest.approx((prior[:, None] * channel).max(axis=0).sum(), abs=1e-9)
    assert PositionLaw.__doc__


def test_the_list_can_be_made_beforehand_with_progress(monkeypatch):
    reports = []
    vectors = Vectors([f"w{i}" for i in range(300)], np.random.default_rng(5).standard_normal((300, 4)))
    made(vectors=vectors).prepare(lambda done, total: reports.append(done / total))
    assert reports and reports[-1] == 1
    monkeypatch.setattr("quipukit.vectors.chaining._chained", None)  # whoever makes it again fails
    assert len(made(vectors=vectors).obfuscate("w1 w2", 3)) == 3
