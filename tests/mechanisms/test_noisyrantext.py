"""NoisyRANTEXT: lists around noisy points keep the promise that lists around words do not."""

import functools
from dataclasses import dataclass

import numpy as np
import pytest

import quipukit as qk
from quipukit.auditing.run import audit
from quipukit.errors import SpecError
from quipukit.guarantees import ForAllVariants, MetricDP
from quipukit.mechanisms.cmp import CMP
from quipukit.mechanisms.noisyrantext import NoisyRANTEXT
from quipukit.testing import check_mechanism
from quipukit.vectors.store import Vectors
from tests.stat_checks import assert_chi2, refuted

LINE = Vectors(["a", "b", "c", "d"], [[0.0], [1.0], [3.0], [3.5]])


@functools.cache
def cloud() -> Vectors:
    return Vectors([f"w{i}" for i in range(30)], np.random.default_rng(50).standard_normal((30, 3)))


def made(epsilon: float = 2.0, cls: type[NoisyRANTEXT] = NoisyRANTEXT, **options: object) -> NoisyRANTEXT:
    return cls(**{"epsilon": epsilon, "vectors": LINE, "k": 2, **options})  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class AroundTheWord(NoisyRANTEXT):
    """A wrong twin: the list is drawn around the word, without noise."""

    def choose(self, points, draw):
        still = type(draw)(draw.directions, 0 * draw.radii, draw.coins, draw.gaussian)
        return super().choose(points, still)

    @property
    def promise(self):
        return MetricDP(self.epsilon)


@dataclass(frozen=True, kw_only=True)
class Twice(NoisyRANTEXT):
    """A wrong twin: epsilon is spent twice over, on the list and on the draw."""

    def choose(self, points, draw):
        return NoisyRANTEXT(epsilon=2.5 * self.epsilon, k=self.k, vectors=self.vectors).choose(points, draw)

    @property
    def promise(self):
        return MetricDP(self.epsilon)


def law(epsilon: float, x: float, places: np.ndarray) -> np.ndarray:
    """Return the law of lists of two on a line, by a sum over a fine grid of noise."""
    noise = np.linspace(-40, 40, 400_001)
    density = np.exp(-epsilon / 2 * np.abs(noise))
    away = np.abs(places - (x + noise)[:, None])
    lists = np.argsort(away, axis=1, kind="stable")[:, :2]
    weights = np.exp(-epsilon / 4 * np.abs(places[lists] - x))
    weights *= (density / density.sum() / weights.sum(axis=1))[:, None]
    return np.bincount(lists.ravel(), weights.ravel(), minlength=len(places))


@pytest.mark.statistical
def test_samples_follow_the_law():
    """20,000 draws; false alarms: 1e-6 in the limit, 5e-5 at most, for each of two words."""
    for word, place in (("a", 0.0), ("c", 3.0)):
        sent = made().obfuscate(word, 20_000, np.random.default_rng(5))
        counts = np.bincount([LINE.row(text) for text in sent], minlength=4)
        assert_chi2(counts, law(2.0, place, LINE.matrix[:, 0].astype(float)))
        assert refuted(assert_chi2, counts, law(3.0, place, LINE.matrix[:, 0].astype(float)))


@pytest.mark.statistical
def test_a_list_of_one_is_cmp_at_half_of_epsilon():
    """The same noise from the same numbers, so the same words."""
    ours = made(3.0, k=1, vectors=cloud()).obfuscate("w1 w2 unknown", 200, np.random.default_rng(4))
    assert ours == CMP(epsilon=1.5, vectors=cloud()).obfuscate("w1 w2 unknown", 200, np.random.default_rng(4))


def test_the_audit_finds_no_violation():
    """False alarms: 1e-6."""
    assert audit(made(k=3), draws=40_000, alarm=1e-6).verdict == "not violated"


@pytest.mark.parametrize("twin", [AroundTheWord, Twice])
def test_the_audit_finds_wrong_twins(twin):
    assert audit(made(2.0, twin), draws=40_000, stop_early=True).verdict == "violated"


@pytest.mark.heavy
def test_it_keeps_what_every_mechanism_keeps():
    check_mechanism(made(k=5, vectors=cloud()), audit=True)


def test_options_of_texts():
    total = made(4.0, budget="total", shuffle=True, length="bins:3,6", vectors=cloud())
    assert isinstance(total.guarantee, ForAllVariants)
    assert {len(text.split()) for text in total.obfuscate("w1 w2 zzqq w5", 10)} == {6}
    assert total.for_variants(2).epsilon == 2
    assert made(oov="uniform").guarantee == MetricDP(2, scope="words of the vocabulary")
    assert set(made(oov="uniform").obfuscate("zzqq", 50)) <= set(LINE.words)
    with pytest.raises(SpecError, match="use oov='anchor'"):
        made(oov="gaussian")
    with pytest.raises(SpecError, match="k must be a whole number"):
        made(k=0)


def test_a_batch_sends_what_each_query_sends_alone():
    queries = {str(number): f"w{number} w{number + 1}" for number in range(9)}
    one = made(vectors=cloud())
    together = qk.obfuscate(queries, one, n=300, seed=2)
    for qid in ("0", "8"):
        alone = qk.obfuscate({qid: queries[qid]}, one, n=300, seed=2)
        assert together.loc[together["qid"] == qid, "query"].tolist() == alone["query"].tolist()
