"""Sampling mechanisms in general: the inverse transform, the closed forms, and audits of what they promise."""

import functools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from quipukit.errors import InputError, NoClosedForm
from quipukit.mechanisms.custext import CusText
from quipukit.mechanisms.random import Random
from quipukit.mechanisms.sampling import Place, Sampling, by_distance, invert
from quipukit.mechanisms.santext import SanText, SanTextPlus
from quipukit.mechanisms.tem import TEM
from quipukit.mechanisms.wbb import WBB
from quipukit.vectors.store import Vectors
from tests.examples import examples, slowly

UNKNOWN = "zyzzyva"


@functools.cache
def cloud() -> Vectors:
    # 60 words in 8 dimensions, as in the specification's example of an audit.
    words = [f"x{a}{b}" for a in "bcdfgh" for b in ("ab", "ec", "id", "of", "ug", "al", "em", "in", "op", "ur")]
    return Vectors(words, np.random.default_rng(8).standard_normal((60, 8)) / 2)


@functools.cache
def lopsided() -> Vectors:
    """One lonely word and a crowd: the normalizing sums differ as much as they can."""
    rng = np.random.default_rng(9)
    crowd = 2 + 1e-3 * rng.standard_normal((40, 2))
    return Vectors([f"xx{a}{b}" for a in "abcdefgh" for b in "abcde"] + ["lonely"], np.vstack([crowd, [[0.0, 0.0]]]))


MECHANISMS = {
    "SanText": lambda vectors: SanText(epsilon=3, vectors=vectors),
    "SanText+": lambda vectors: SanTextPlus(epsilon=3, vectors=vectors),
    "SanText+ p=0": lambda vectors: SanTextPlus(epsilon=3, p=0, vectors=vectors),
    "SanText+ p=1": lambda vectors: SanTextPlus(epsilon=3, p=1, vectors=vectors),
    "TEM": lambda vectors: TEM(epsilon=3, vectors=vectors),
    "TEM gamma": lambda vectors: TEM(epsilon=3, gamma=1.8, vectors=vectors),
    "TEM gamma=0": lambda vectors: TEM(epsilon=3, gamma=0, vectors=vectors),
    "CusText": lambda vectors: CusText(epsilon=3, vectors=vectors),
    "CusText topk": lambda vectors: CusText(epsilon=3, mapping="topk", vectors=vectors),
    "CusText cosine": lambda vectors: CusText(epsilon=3, similarity="cosine", vectors=vectors),
    "WBB": lambda vectors: WBB(epsilon=3, all_tokens=True, vectors=vectors),
    "WBB published": lambda vectors: WBB(epsilon=3, mode="published", all_tokens=True, vectors=vectors),
    "Random": lambda vectors: Random(vectors=vectors),
}


def table(mechanism: Sampling, inputs=None) -> np.ndarray:
    """ln P[x, y] for all words, through the public closed form."""
    words = mechanism.vectors.words
    return np.array([[mechanism.log_prob(y, x) for y in words] for x in (inputs or words)])


# --- the inverse transform ----------------------------------------------------------------------------------------


@given(
    hnp.arrays(np.float64, st.integers(1, 30), elements=st.one_of(st.just(0.0), st.floats(1e-9, 1))).filter(np.any),
    st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=30),
)
@examples(150)
def test_invert_never_chooses_a_weight_of_zero(weights, uniforms):
    uniforms = [*uniforms, 0.0, math.nextafter(1.0, 0.0)]
    positions = invert(weights, np.array(uniforms))
    assert (weights[positions] > 0).all()
    # Monotone, and each position owns its share of the interval.
    order = np.argsort(uniforms)
    assert (np.diff(positions[order]) >= 0).all()
    shares = np.concatenate([[0], np.cumsum(weights) / weights.sum()])
    assert (shares[positions] <= np.array(uniforms) + 1e-12).all()
    assert (np.array(uniforms) <= shares[positions + 1] + 1e-12).all()


def test_invert_gives_every_position_its_share():
    weights = np.array([3.0, 0.0, 1.0, 4.0, 0.0])
    grid = (np.arange(8000) + 0.5) / 8000
    assert np.bincount(invert(weights, grid), minlength=5).tolist() == [3000, 0, 1000, 4000, 0]


@pytest.mark.parametrize("word", [0, 17, 59, UNKNOWN])
@pytest.mark.parametrize("name", MECHANISMS)
def test_samples_follow_the_closed_form(name, word):
    # No chance involved: a fine grid of uniform numbers must fall into the cells in proportion, to the last point.
    mechanism = MECHANISMS[name](cloud())
    if word == UNKNOWN:
        place, token = Place(cloud().mean, -1), UNKNOWN
    else:
        place, token = Place(cloud().matrix[word].astype(np.float64), word), cloud().words[word]
    points = 100_000
    if name == "WBB published":
        place = Place(place.point, place.row, mechanism.query_context([place]))
    rows = mechanism.sample(mechanism.neighborhood(place), (np.arange(points) + 0.5) / points)
    counts = np.bincount(rows, minlength=60)
    law = np.exp([mechanism.log_prob(y, token) for y in cloud().words])
    assert np.abs(counts - points * law).max() <= 2
    assert (counts[law == 0] == 0).all()


# --- closed forms -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("vectors", [cloud, lopsided])
def test_probabilities_sum_to_one(name, vectors):
    mechanism = MECHANISMS[name](vectors())
    law = np.exp(table(mechanism, [*vectors().words[:12], vectors().words[-1], UNKNOWN]))
    np.testing.assert_allclose(law.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("epsilon", [1e-6, 1e3, 1e6])
@pytest.mark.parametrize("cls", [SanText, SanTextPlus, TEM, CusText, WBB])
def test_probabilities_sum_to_one_at_the_ends_of_the_range(cls, epsilon):
    options = {"all_tokens": True} if cls is WBB else {}
    mechanism = cls(epsilon=epsilon, vectors=cloud(), **options)
    law = np.exp(table(mechanism, [cloud().words[5], UNKNOWN]))
    np.testing.assert_allclose(law.sum(axis=1), 1, rtol=1e-12)
    texts = mechanism.obfuscate(f"{cloud().words[5]} {UNKNOWN}", 20)
    assert all(len(text.split()) == 2 for text in texts)


@pytest.mark.parametrize("name", MECHANISMS)
def test_log_prob_of_what_cannot_come_out(name):
    mechanism = MECHANISMS[name](cloud())
    assert mechanism.log_prob(UNKNOWN, cloud().words[0]) == -math.inf
    assert mechanism.log_prob(UNKNOWN, UNKNOWN) == -math.inf


@pytest.mark.parametrize("name", ["SanText", "TEM", "CusText"])
def test_log_prob_under_every_policy(name):
    cls = {"SanText": SanText, "TEM": TEM, "CusText": CusText}[name]
    uniform = cls(epsilon=3, oov="uniform", vectors=cloud())
    assert uniform.log_prob(cloud().words[3], UNKNOWN) == pytest.approx(-math.log(60))
    keep = cls(epsilon=3, oov="keep", unsafe=True, vectors=cloud())
    assert keep.log_prob(UNKNOWN, UNKNOWN) == 0
    assert keep.log_prob(cloud().words[3], UNKNOWN) == -math.inf
    with pytest.raises(NoClosedForm):
        cls(epsilon=3, oov="gaussian", vectors=cloud()).log_prob(cloud().words[3], UNKNOWN)


@pytest.mark.parametrize("text", ["xbab xbec", "", "?"])
def test_log_prob_takes_one_word(text):
    with pytest.raises(InputError, match="one word"):
        SanText(epsilon=3, vectors=cloud()).log_prob("xbab", text)


def test_log_prob_reads_a_word_as_queries_are_read():
    mechanism = SanText(epsilon=3, vectors=cloud())
    assert mechanism.log_prob("xbec", "XBAB?") == mechanism.log_prob("xbec", "xbab")


# --- audits -------------------------------------------------------------------------------------------------------


def audit(logs: np.ndarray, gaps: np.ndarray) -> float:
    """max (ln P[x, y] - ln P[x', y]) / d(x, x') over x != x' and y."""
    worst = 0.0
    for x, row in enumerate(logs):
        possible = np.isfinite(row)
        ratios = np.max(row[possible] - logs[:, possible], axis=1)
        ratios[np.abs(ratios) < 1e-12] = 0  # rounding, where two words stand at one place
        others = np.arange(len(logs)) != x
        worst = max(worst, float(np.max(ratios[others] / gaps[x, others])))
    return worst


def gaps_with_anchor(vectors: Vectors) -> np.ndarray:
    """Distances among all words and the place of unknown ones, which comes last."""
    places = np.vstack([vectors.matrix.astype(np.float64), vectors.mean])
    return np.linalg.norm(places[:, None] - places[None], axis=2)


@dataclass(frozen=True, kw_only=True)
class WithoutHalf(SanText):
    """The wrong twin: weights exp(-epsilon d), without the half."""

    def law(self, near):
        rows, logs = super().law(near)
        return rows, 2 * logs


@pytest.mark.heavy
@pytest.mark.parametrize("vectors", [cloud, lopsided])
@pytest.mark.parametrize("epsilon", [3.0, *slowly(0.5, 20.0)])
def test_metric_audit(vectors, epsilon):
    some = np.append(np.arange(0, len(vectors()), 4), len(vectors()))
    inputs = [[*vectors().words, UNKNOWN][row] for row in some]
    gaps = gaps_with_anchor(vectors())[np.ix_(some, some)]
    mechanisms = [SanText(epsilon=epsilon, vectors=vectors())]
    mechanisms += [TEM(epsilon=epsilon, gamma=gamma, vectors=vectors()) for gamma in (None, 0, 1, 2.5)]
    for mechanism in mechanisms:
        assert audit(table(mechanism, inputs), gaps) <= epsilon * (1 + 1e-9), repr(mechanism.spec)


@pytest.mark.heavy
def test_metric_audit_notices_a_missing_half():
    gaps = gaps_with_anchor(lopsided())
    logs = table(WithoutHalf(epsilon=3, vectors=lopsided()), [*lopsided().words, UNKNOWN])
    assert audit(logs, gaps) > 3.5


@pytest.mark.heavy
def test_metric_audit_of_the_plus_variant():
    mechanism = SanTextPlus(epsilon=3, vectors=cloud())
    logs, gaps = table(mechanism), gaps_with_anchor(cloud())[:60, :60]
    rare = slice(30, 60)
    assert audit(logs[rare], gaps[rare, rare]) <= 3
    # A frequent word shows itself: nothing holds across the border, and the guarantee says so.
    assert audit(logs, gaps) == math.inf
    assert "only" in mechanism.guarantee.scope


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("similarity", "epsilon"),
    [
        ("euclidean", 3.0),
        ("cosine", 20.0),
        *(
            pytest.param(similarity, epsilon, marks=pytest.mark.slow)
            for similarity, epsilon in [("euclidean", 0.5), ("euclidean", 20.0), ("cosine", 0.5), ("cosine", 3.0)]
        ),
    ],
)
def test_audit_inside_groups(similarity, epsilon):
    mechanism = CusText(epsilon=epsilon, k=7, similarity=similarity, vectors=cloud())
    logs = table(mechanism)
    for members in mechanism.grouping.members:
        inside = logs[members]
        outside = np.delete(inside, members, axis=1)
        assert (outside == -math.inf).all()
        ones = np.ones((len(members), len(members)))
        assert audit(inside[:, members], ones) <= epsilon * (1 + 1e-12)
    # The place of unknown words belongs to one of the groups.
    unknown = table(mechanism, [UNKNOWN])[0]
    support = set(np.flatnonzero(np.isfinite(unknown)))
    assert support in [set(members.tolist()) for members in mechanism.grouping.members]
    assert audit(logs, np.ones((60, 60))) == math.inf


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["CusText topk", "WBB", "WBB published"])
def test_mechanisms_without_a_guarantee_have_an_infinite_audit(name):
    mechanism = MECHANISMS[name](cloud())
    some = cloud().words[:8]  # two would do
    assert audit(table(mechanism, some), np.ones((8, 8))) == math.inf
    assert not mechanism.guarantee.private


def test_random_words_say_nothing():
    assert audit(table(Random(vectors=cloud()), [*cloud().words, UNKNOWN]), np.ones((61, 61))) == 0


# --- batches ------------------------------------------------------------------------------------------------------


def test_a_neighborhood_is_made_once_for_all_settings(monkeypatch):
    made = []
    build = Sampling.neighborhood

    def record(self, place):
        made.append(place.row)
        return build(self, place)

    monkeypatch.setattr(Sampling, "neighborhood", record)
    from quipukit.obfuscation import obfuscate

    specs = ["SanText@1", "SanText@5", "TEM@1", "TEM@5"]
    obfuscate(["xbab xbec xbab", "xbec xbid"], specs, 4, vectors=cloud(), seed=1)
    assert sorted(made) == [0, 1, 2]


def test_rows_by_distance_are_those_of_a_stable_sort():
    rng = np.random.default_rng(3)
    for ties in (False, True):
        distance = rng.random(5000)
        if ties:
            distance = np.round(distance, 2)
        assert (by_distance(distance) == np.argsort(distance, kind="stable")).all()
    assert by_distance(np.array([0.0])).tolist() == [0]
