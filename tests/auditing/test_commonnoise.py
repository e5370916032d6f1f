"""Draws of many words from the same noise: each word keeps its law, and the noise is indeed the same."""

import numpy as np
import pytest

import quipukit as qk
from quipukit.auditing.commonnoise import draw_together, is_plain_noise, placed_texts
from quipukit.auditing.draws import at_values
from tests.auditing import twins
from tests.examples import slowly
from tests.stat_checks import assert_chi2, refuted

LINE = qk.Vectors(["cat", "dog", "fish"], [[0.0], [1.0], [3.0]])
PLANE = qk.Vectors([f"w{i}" for i in range(60)], np.random.default_rng(1).standard_normal((60, 4)))


def counts(drawn: list[tuple[str, ...]], vectors: qk.Vectors) -> list[int]:
    return [drawn.count((word,)) for word in vectors.words]


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["CMP", *slowly("Mahalanobis", "VickreyCMP")])
def test_each_word_keeps_its_law(name: str) -> None:
    """Against as many draws of the usual way; 1-D, where Mahalanobis is CMP. False alarms: 1e-6 each."""
    from scipy.stats import chi2_contingency

    members = [qk.mechanism(f"{name}@{value}", vectors=LINE) for value in (2, 0.7)]
    drawn = draw_together(members, ["cat", "fish", "unknown"], 5000, np.random.default_rng(2))  # type: ignore[arg-type]
    for member, mine in zip(members, drawn, strict=True):
        for text, outcomes in mine.items():
            usual = [(sent,) for sent in member.obfuscate(text, 5000, np.random.default_rng(3))]
            assert chi2_contingency([counts(outcomes, LINE), counts(usual, LINE)]).pvalue > 1e-6
    if name == "CMP":  # by its law, and the twin with another epsilon
        law = [1 - np.exp(-1) / 2, (np.exp(-1) - np.exp(-4)) / 2, np.exp(-4) / 2]
        assert_chi2(counts(drawn[0]["cat"], LINE), law)
        assert refuted(assert_chi2, counts(drawn[1]["cat"], LINE), law)


def test_the_outcome_is_that_of_each_word_alone_with_the_same_noise() -> None:
    """The search that shares directions against the search of one word: the same noise, the same words."""
    members = [qk.mechanism(f"VickreyMhl@{value}", vectors=PLANE) for value in (3, 1)]
    texts = ["w0", "w7", "w59"]
    together = draw_together(members, texts, 300, np.random.default_rng(2))  # type: ignore[arg-type]
    for text in texts:
        alone = draw_together(members, [text], 300, np.random.default_rng(2))  # type: ignore[arg-type]
        assert [one[text] for one in together] == [one[text] for one in alone]
    assert together[0]["w0"] != together[0]["w7"]


@pytest.mark.statistical
def test_the_words_of_a_query_have_noise_of_their_own() -> None:
    """Pairs of words follow the product of the laws of the words; shared noise would not. False alarms: 1e-6."""
    cmp = qk.mechanism("CMP@2", vectors=LINE)
    drawn = draw_together([cmp], ["cat cat"], 5000, np.random.default_rng(4))  # type: ignore[list-item]
    law = np.array([1 - np.exp(-1) / 2, (np.exp(-1) - np.exp(-4)) / 2, np.exp(-4) / 2])
    pairs = [(f"{a} {b}",) for a in LINE.words for b in LINE.words]
    found = np.array([drawn[0]["cat cat"].count(pair) for pair in pairs])
    assert_chi2(found, np.outer(law, law).ravel())
    equal = np.diag(found.reshape(3, 3).sum(axis=1)).ravel()  # the twin: one noise for both words
    assert refuted(assert_chi2, equal, np.outer(law, law).ravel())


def test_only_words_with_a_place_share_noise() -> None:
    cmp = qk.mechanism("CMP@2", vectors=LINE)
    texts = ["cat", "cat dog", "unknown", "", "CAT"]
    assert placed_texts(cmp, texts) == ["cat", "cat dog", "unknown", "CAT"]  # type: ignore[arg-type]
    for policy in ("uniform", "drop", "gaussian"):
        other = qk.mechanism(f"CMP(oov='{policy}')@2", vectors=LINE)
        assert placed_texts(other, texts) == ["cat", "cat dog", "CAT"]  # type: ignore[arg-type]
    assert is_plain_noise(cmp)  # type: ignore[arg-type]
    assert not is_plain_noise(qk.mechanism("CMP(shuffle=True)@2", vectors=LINE))  # type: ignore[arg-type]
    assert not is_plain_noise(qk.mechanism("SanText@2", vectors=LINE))  # type: ignore[arg-type]


def test_the_first_lot_is_drawn_as_real_use_draws_and_the_others_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quipukit.auditing.draws._LARGE", 0)  # as if three words were many
    members = [qk.mechanism(f"CMP@{value}", vectors=LINE) for value in (2, 1)]
    draw, draw_other = at_values(members, ["cat", "dog", "cat dog"], 1)  # type: ignore[arg-type]
    first = {text: draw(text, 500, 0) for text in ("cat", "dog")}
    shared = {text: draw(text, 500, 2) for text in ("cat", "dog")}

    def moved_left(drawn: list[tuple[str, ...]], least: str) -> list[bool]:
        return [LINE.words.index(sent[0]) > LINE.words.index(least) for sent in drawn]

    # With the same noise, whatever carries "cat" as far as "fish" carries "dog" there, too.
    carried = [i for i, sent in enumerate(shared["cat"]) if sent == ("fish",)]
    assert carried and all(shared["dog"][i] == ("fish",) for i in carried)
    apart = [i for i, sent in enumerate(first["cat"]) if sent == ("fish",)]
    assert apart and not all(first["dog"][i] == ("fish",) for i in apart)
    assert len(draw("cat dog", 40, 2)) == len(draw_other("cat dog", 40, 2)) == 40
    assert len(draw_other("dog", 500, 2)) == 500


def test_a_wrong_twin_on_many_words_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quipukit.auditing.draws._LARGE", 0)
    done = qk.audit(twins.LooksAgain(epsilon=3, vectors=twins.vocabulary()), draws=5000, stop_early=True)
    assert done.verdict == "violated" and done.counter_example.name == "own vocabulary"  # type: ignore[union-attr]
