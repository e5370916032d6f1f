"""N_x, S_x, entropies, H(X | Y) and alpha-PUC: closed forms against sums by hand and against sampling."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.errors import InputError, NoClosedForm
from quipukit.measures.deniability import (
    PUC_NOTE,
    conditional_entropy,
    deniability,
    entropy,
    miller_madow,
    puc,
    puc_components,
    summary,
)
from quipukit.mechanisms.base import Mechanism
from quipukit.obfuscation import mechanism
from quipukit.vectors.store import Vectors
from tests.stat_checks import assert_binomial, assert_chi2, refuted

NAMES = ["cat", "dog", "fish", "bird", "horse", "mouse", "cow", "hen"]
CLOSED = [
    "SanText@1.5",
    "TEM@1.5",
    "CusText(k=3)@2",
    "CusText(k=3, mapping='topk')@2",
    "WBB(all_tokens=True)@3",
    "Random",
]


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    return Vectors(NAMES, np.random.default_rng(2).normal(size=(len(NAMES), 3)))


def bound(spec: str, vectors: Vectors) -> Mechanism:
    return mechanism(spec, vectors)


# --- the law of a word ---


@pytest.mark.parametrize("spec", CLOSED)
def test_the_law_is_the_mechanisms_own(spec: str, vectors: Vectors) -> None:
    one = bound(spec, vectors)
    for word in NAMES[:3]:
        law = one.word_law(word)
        assert law.probabilities.sum() == pytest.approx(1)
        for row, p in zip(law.rows, law.probabilities, strict=True):
            assert p == pytest.approx(math.exp(one.log_prob(NAMES[row], word)), rel=1e-12)
        assert law.itself == pytest.approx(math.exp(one.log_prob(word, word)), rel=1e-12)


def test_words_that_are_sent_as_they_are(vectors: Vectors) -> None:
    for spec, word in (("Identity", "cat"), ("SanText(oov='keep', unsafe=True)@1", "unheard")):
        row = deniability(bound(spec, vectors), [word]).iloc[0]
        assert (row["n_x"], row["s_x"], row["support"], row["entropy"], row["min_entropy"]) == (1, 1, 1, 0, 0)


def test_an_unknown_word_never_comes_out(vectors: Vectors) -> None:
    for policy in ("anchor", "uniform"):
        assert deniability(bound(f"SanText(oov={policy})@1", vectors), ["unheard"])["n_x"].item() == 0
    uniform = deniability(bound("SanText(oov=uniform)@1", vectors), ["unheard"]).iloc[0]
    assert uniform["entropy"] == pytest.approx(3) and uniform["runs"] == 0
    assert deniability(bound("SanText(oov=gaussian)@1", vectors), ["unheard"], runs=20)["runs"].item() == 20


# --- closed forms ---


def test_measures_by_hand(vectors: Vectors) -> None:
    one = bound("SanText@1.5", vectors)
    p = np.exp([one.log_prob(name, "cat") for name in NAMES])
    row = deniability(one, ["cat"], runs=7, eta=0.2).iloc[0]
    assert row["n_x"] == pytest.approx(p[0])
    assert row["s_x"] == pytest.approx((1 - (1 - p) ** 7).sum())
    falling = np.sort(p)[::-1]
    assert row["support"] == next(n for n in range(1, 9) if falling[:n].sum() >= 0.8)
    assert row["entropy"] == pytest.approx(-(p * np.log2(p)).sum())
    assert row["min_entropy"] == pytest.approx(-np.log2(p.max()))


def test_random_words_hide_among_all(vectors: Vectors) -> None:
    row = deniability(bound("Random", vectors), ["cat"], eta=0.0, runs=1000).iloc[0]
    assert row[["n_x", "support", "entropy", "min_entropy"]].tolist() == pytest.approx([1 / 8, 8, 3, 3])
    assert row["s_x"] == pytest.approx(8)


def test_more_epsilon_means_less_to_hide_behind(vectors: Vectors) -> None:
    tables = [deniability(bound(f"SanText@{epsilon}", vectors), runs=10) for epsilon in (0.1, 1, 10)]
    for loose, tight in zip(tables[1:], tables, strict=False):
        assert (loose["n_x"] > tight["n_x"]).all() and (loose["s_x"] < tight["s_x"]).all()
        assert (loose["entropy"] < tight["entropy"]).all() and (loose["support"] <= tight["support"]).all()


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=30))
def test_entropies_are_in_order(weights: list[float]) -> None:
    p = np.array(weights) / sum(weights)
    assert -1e-12 <= -math.log2(p.max()) <= entropy(p) + 1e-9 <= math.log2(len(p)) + 2e-9


# --- sampling ---


@pytest.mark.statistical
def test_counting_agrees_with_the_closed_form(vectors: Vectors) -> None:
    """Draws of a mechanism with a law, counted as if it had none. False alarms: about 2e-6."""
    one, other, runs = bound("SanText@1.5", vectors), bound("SanText@3", vectors), 20_000
    law = one.word_law("cat")
    texts = pd.Series(one.obfuscate("cat", runs, np.random.default_rng(6))).value_counts()
    counts = [int(texts.get(NAMES[row], 0)) for row in law.rows]
    assert_chi2(counts, law.probabilities, smallest=50)
    doubled = other.word_law("cat")
    by_row = dict(zip(doubled.rows.tolist(), doubled.probabilities.tolist(), strict=True))
    assert refuted(assert_chi2, counts, [by_row[row] for row in law.rows.tolist()], smallest=50)
    assert_binomial(int(texts["cat"]), runs, law.itself)
    assert refuted(assert_binomial, int(texts["cat"]), runs, doubled.itself)


def test_mechanisms_without_a_law_are_sampled(vectors: Vectors) -> None:
    one = bound("CMP@4", vectors)
    with pytest.raises(NoClosedForm):
        one.word_law("cat")
    table = deniability(one, ["cat", "dog"], runs=300)
    assert table["runs"].tolist() == [300, 300]
    assert table["n_x"].between(0, 1).all() and (table["s_x"] <= 8).all()
    # A word draws the same outputs in any company.
    pd.testing.assert_frame_equal(deniability(one, ["dog"], runs=300), table.iloc[[1]].reset_index(drop=True))
    assert deniability(bound("CMP@500", vectors), ["cat"], runs=50)["n_x"].item() == 1


def test_a_heuristic_without_output_has_no_numbers() -> None:
    row = deniability(mechanism("AEA@3"), ["zzzqqq"], runs=5).iloc[0]
    assert row["runs"] == 0 and math.isnan(row["n_x"]) and math.isnan(row["entropy"])


@pytest.mark.statistical
def test_miller_madow_takes_the_bias_away() -> None:
    """500 samples of 50 draws from 20 words: the mean of plug-in entropies lies low. False alarms: below 1e-6."""
    p = np.full(20, 0.05)
    counts = np.random.default_rng(4).multinomial(50, p, size=500)
    exact = entropy(p)
    plain = np.array([entropy(row / 50) for row in counts])
    corrected = np.array([miller_madow(row) for row in counts])
    error = 5 * plain.std() / math.sqrt(500)
    assert exact - plain.mean() > 0.15 > abs(exact - corrected.mean()) + error


def test_miller_madow_by_hand() -> None:
    assert miller_madow([2, 2, 0]) == pytest.approx(1 + 1 / (8 * math.log(2)))
    assert miller_madow([5]) == 0
    with pytest.raises(InputError, match="at least one draw"):
        miller_madow([0])


# --- samples of words ---


def test_the_sample_is_of_the_vocabulary_and_the_same_each_time(vectors: Vectors) -> None:
    one = bound("SanText@1", vectors)
    table = deniability(one, sample=5)
    assert len(set(table["word"])) == 5 and set(table["word"]) <= set(NAMES)
    pd.testing.assert_frame_equal(table, deniability(one, sample=5))
    assert len(deniability(one, sample=100)) == 8


def test_marks_are_no_sample() -> None:
    marks = Vectors(["cat", "--", "c++", "dog's", "hen"], np.eye(5))
    assert sorted(deniability(bound("SanText@1", marks))["word"]) == ["cat", "hen"]


def test_a_cased_vocabulary_has_a_sample() -> None:
    cased = Vectors(["Cat", "DOG", "hen"], np.eye(3))
    assert sorted(deniability(bound("SanText@1", cased))["word"]) == ["cat", "dog", "hen"]


def test_the_summary_shows_the_distribution(vectors: Vectors) -> None:
    table = deniability(bound("SanText@1", vectors))
    found = summary(table)
    assert list(found.columns) == ["mean", "min", 0.25, 0.5, 0.75, "max"]
    assert found.loc["n_x", "mean"] == pytest.approx(table["n_x"].mean())
    assert found.loc["entropy", 0.5] == pytest.approx(table["entropy"].median())


# --- what an attacker does not know ---


def direct(one: Mechanism, words: list[str], prior: list[float]) -> float:
    """H(X | Y) = sum_y P(y) H(X | Y = y), from the joint table."""
    joint = np.array(
        [[p * math.exp(one.log_prob(name, word)) for name in NAMES] for word, p in zip(words, prior, strict=True)]
    )
    output = joint.sum(axis=0)
    return sum(output[y] * entropy(joint[:, y] / output[y]) for y in range(len(NAMES)) if output[y] > 0)


@pytest.mark.parametrize("spec", CLOSED)
def test_conditional_entropy_is_that_of_the_joint_table(spec: str, vectors: Vectors) -> None:
    one, words = bound(spec, vectors), NAMES[:5]
    assert conditional_entropy(one, words) == pytest.approx(direct(one, words, [0.2] * 5), abs=1e-12)
    prior = [0.5, 0.2, 0.1, 0.1, 0.1]
    assert conditional_entropy(one, words, [5, 2, 1, 1, 1]) == pytest.approx(direct(one, words, prior), abs=1e-12)


def test_nothing_and_everything_is_learnt(vectors: Vectors) -> None:
    assert conditional_entropy(bound("Random", vectors), NAMES) == pytest.approx(3)
    assert conditional_entropy(bound("Identity", vectors), NAMES) == pytest.approx(0, abs=1e-12)
    kept = bound("SanText(oov='keep', unsafe=True)@1", vectors)
    assert conditional_entropy(kept, ["unheard", "unseen"]) == pytest.approx(0, abs=1e-12)
    with pytest.raises(NoClosedForm):
        conditional_entropy(bound("CMP@1", vectors), NAMES)


# --- alpha-PUC ---


def test_puc_by_hand() -> None:
    parts = puc_components(n_x=0.2, s_x=300, runs=1000, unchanged_tokens=0.4, sentence_similarity=0.5)
    assert list(parts.values()) == pytest.approx([0.8, 0.3, 0.6, 0.5])
    found = puc(0.45, 0.6, parts)
    assert found.utility == pytest.approx(0.75) and found.privacy == pytest.approx(0.55)
    assert found.value == pytest.approx(0.65) and dict(found.components) == parts
    assert puc(0.9, 0.6, parts, alpha=1).value == 1 and puc(0.9, 0.6, parts, alpha=0).value == found.privacy
    assert found.note == PUC_NOTE and "not claimed" in PUC_NOTE


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (lambda v: deniability(bound("SanText@1", v), ["two words"]), "single words"),
        (lambda v: deniability(bound("SanText@1", v), []), "at least one"),
        (lambda v: deniability(bound("SanText@1", v), runs=0), "runs"),
        (lambda v: deniability(bound("SanText@1", v), eta=1), "eta"),
        (lambda v: deniability(bound("Identity", v)), "give words"),
        (lambda v: conditional_entropy(bound("SanText@1", v), ["cat", "cat"]), "distinct"),
        (lambda v: conditional_entropy(bound("SanText@1", v), ["cat"], [0.0]), "prior"),
        (lambda v: conditional_entropy(bound("SanText@1", v), ["cat"], [1, 2]), "prior"),
        (lambda v: puc(0.5, 0, {"a": 1}), "original utility"),
        (lambda v: puc(0.5, 1, {}), "component"),
        (lambda v: puc(0.5, 1, {"a": 1.2}), "normalize"),
        (lambda v: puc(0.5, 1, {"a": 1}, alpha=2), "alpha"),
    ],
)
def test_bad_input_says_the_fix(call, part: str, vectors: Vectors) -> None:
    with pytest.raises(InputError, match=part):
        call(vectors)
