"""RANTEXT: its law against a program of its own, and what becomes of the promise that was published with it."""

import functools
from dataclasses import dataclass

import numpy as np
import pytest

from quipukit.auditing.run import audit
from quipukit.guarantees import LocalDP, NoGuarantee
from quipukit.mechanisms.rantext import RANTEXT, radius_law
from quipukit.testing import check_mechanism
from quipukit.vectors.store import Vectors
from tests.stat_checks import assert_chi2, refuted

LINE = Vectors(["a", "b", "c"], [[0.0], [1.0], [3.0]])


@functools.cache
def cloud() -> Vectors:
    return Vectors([f"w{i}" for i in range(30)], np.random.default_rng(50).standard_normal((30, 4)))


def channel(one: RANTEXT) -> np.ndarray:
    return np.exp([[one.log_prob(output, word) for output in one.vectors.words] for word in one.vectors.words])


def as_published(vectors: Vectors, epsilon: float, row: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return the law by simulation, word by word as the paper has it: noise on every coordinate, then a list."""
    matrix = vectors.matrix.astype(float)
    ranges = matrix.max(axis=0) - matrix.min(axis=0)
    scale = (
        epsilon
        if epsilon < 2
        else 0.01658160142016071 * np.log(19.064721649556482 * epsilon - 38.1294334077209) + 9.311083811697406
    )
    noisy = matrix[row] + rng.laplace(0, ranges / scale, (count, matrix.shape[1]))
    reach = np.linalg.norm(noisy - matrix[row], axis=1)[:, None]
    away = np.linalg.norm(matrix - matrix[row], axis=1)[None]
    weights = np.where(away < reach, np.exp(epsilon / 2 * (reach - away) / reach), 0.0)
    return (weights / weights.sum(axis=1, keepdims=True)).mean(axis=0)


@pytest.mark.parametrize("epsilon", [0.5, 1.5, 2.5, 6.0])
@pytest.mark.parametrize("vectors", [LINE, cloud()])
def test_the_law_is_that_of_the_published_program(vectors, epsilon):
    """Within 0.004 of 100,000 simulated lists: their error, and that of 236 radii in the place of all."""
    rng = np.random.default_rng(3)
    laws = channel(RANTEXT(epsilon=epsilon, vectors=vectors))
    np.testing.assert_allclose(laws.sum(axis=1), 1)
    for row in range(0, len(vectors), 7):
        np.testing.assert_allclose(laws[row], as_published(vectors, epsilon, row, 100_000, rng), atol=0.004)
    # From 2 on the radius hardly depends on epsilon, and far below 1 most lists hold all words: a twin in between.
    wrong = channel(RANTEXT(epsilon=1.0 if epsilon == 1.5 else 1.9, vectors=vectors))
    assert np.abs(wrong[0] - as_published(vectors, epsilon, 0, 100_000, rng)).max() > 0.01


def test_the_radius_has_the_law_of_laplace_noise():
    """Quantiles against 200,000 draws: within 1 % where these say enough."""
    ranges = cloud().matrix.max(axis=0) - cloud().matrix.min(axis=0)
    drawn = np.linalg.norm(np.random.default_rng(1).laplace(0, ranges, (200_000, 4)), axis=1)
    radii, chances = radius_law(cloud())
    assert chances.sum() == pytest.approx(1) and (np.diff(radii) >= 0).all()
    centers = np.cumsum(chances) - chances / 2
    for quantile in (0.05, 0.25, 0.5, 0.9, 0.99, 0.999):
        assert np.interp(quantile, centers, radii) == pytest.approx(np.quantile(drawn, quantile), rel=0.02)
    same = Vectors(["a", "b"], [[1.0], [1.0]])
    assert radius_law(same)[0].tolist() == [0.0]
    assert channel(RANTEXT(epsilon=1, vectors=same)).sum() == pytest.approx(2)


@pytest.mark.statistical
def test_samples_follow_the_law():
    """20,000 draws of two words; false alarms: 1e-6 in the limit, 5e-5 at most, for each."""
    one = RANTEXT(epsilon=1.5, vectors=cloud())
    laws = channel(one)
    for row in (3, 8):
        sent = one.obfuscate(f"w{row}", 20_000, np.random.default_rng(5))
        counts = np.bincount([cloud().row(text) for text in sent], minlength=30)
        assert_chi2(counts, laws[row])
        assert refuted(assert_chi2, counts, channel(RANTEXT(epsilon=1.9, vectors=cloud()))[row])


# --- the promise -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "loss"), [(1.0, 1.95), (1.5, 2.70), (6.0, 12.5)])
def test_the_published_promise_does_not_hold_on_three_words(epsilon, loss):
    logs = np.log(channel(RANTEXT(epsilon=epsilon, vectors=LINE)))
    assert (logs[:, None] - logs[None]).max() == pytest.approx(loss, rel=0.02)
    assert loss > 1.5 * epsilon


def test_inside_one_list_it_would_hold():
    """What the published proof shows: for one radius, two words whose lists coincide are within epsilon."""
    distances = np.abs(np.array([[0.0], [1.0], [3.0]]) - np.array([0.0, 1.0, 3.0]))
    for radius in (3.5, 10.0):
        weights = np.exp(2.0 / 2 * (1 - distances / radius))
        logs = np.log(weights / weights.sum(axis=1, keepdims=True))
        assert (logs[:, None] - logs[None]).max() <= 2.0


@dataclass(frozen=True, kw_only=True)
class AsClaimed(RANTEXT):
    """With the promise that was published."""

    @property
    def promise(self):
        return LocalDP(self.epsilon, "all words")


@pytest.mark.parametrize(("epsilon", "vectors"), [(1.0, LINE), (6.0, cloud())])
def test_the_audit_refutes_it(epsilon, vectors):
    done = audit(AsClaimed(epsilon=epsilon, vectors=vectors), draws=2000, inputs=30, stop_early=True)
    assert done.verdict == "violated"
    own = RANTEXT(epsilon=epsilon, vectors=vectors)
    assert isinstance(own.guarantee, NoGuarantee) and "depends on the word itself" in str(own.guarantee)


def test_the_audit_has_nothing_to_say_of_ours():
    assert audit(RANTEXT(epsilon=1, vectors=cloud()), draws=2000, inputs=30, alarm=1e-6).verdict != "violated"


# --- as any other mechanism --------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_it_keeps_what_every_mechanism_keeps():
    check_mechanism(RANTEXT(epsilon=1, vectors=cloud()), audit=True)


def test_unknown_words_are_never_sent():
    assert set(" ".join(RANTEXT(epsilon=3, vectors=cloud()).obfuscate("zzqq w3", 100)).split()) <= set(cloud().words)
