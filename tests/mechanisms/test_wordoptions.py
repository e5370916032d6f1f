"""The order of the words, how many are sent, and what epsilon is for: what each option does, promises and refuses."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import chisquare

import quipukit as qk
from quipukit.errors import NoClosedForm, SpecError
from quipukit.guarantees import ForAllVariants, MetricDP, NoGuarantee
from quipukit.mechanisms.cmp import CMP
from quipukit.mechanisms.santext import SanText
from quipukit.mechanisms.wordoptions import Bins, with_bins
from quipukit.obfuscation import mechanism, obfuscate
from quipukit.testing import check_mechanism
from quipukit.vectors.store import Vectors
from tests.examples import slowly

WORDS = [f"x{a}{b}" for a in "bcdfgh" for b in "jklmn"]
VECTORS = Vectors(WORDS, np.random.default_rng(4).standard_normal((30, 5)))
QUERY = " ".join(WORDS[3:9])
NAMES = ("CMP", "Mahalanobis", "VickreyCMP", "VickreyMhl", "SanText", "SanText+", "TEM", "CusText", "WBB", "Random")
PADDED = tuple(name for name in NAMES if name not in ("CusText", "WBB"))


def bound(text):
    return mechanism(text, vectors=VECTORS)


def spec_of(name, options, value=3):
    return f"{name}({options})" if name == "Random" else f"{name}({options})@{value}"


def sent(text, queries=QUERY, n=4, **options):
    return obfuscate([queries], bound(text), n, seed=7, **options)["query"].tolist()


# --- shuffle ---


@pytest.mark.parametrize("name", NAMES)
def test_shuffled_texts_hold_the_words_that_were_drawn_without(name):
    plain = sent(spec_of(name, "shuffle=False"), noise="common")
    shuffled = sent(spec_of(name, "shuffle=True"), noise="common")
    assert [sorted(text.split()) for text in plain] == [sorted(text.split()) for text in shuffled]
    assert plain != shuffled


@pytest.mark.parametrize("name", ["CMP", "TEM"])
def test_the_first_variant_of_a_generator_has_the_same_words(name):
    texts = [
        bound(spec_of(name, options)).obfuscate(QUERY, 1, np.random.default_rng(1))[0]
        for options in ("shuffle=False", "shuffle=True")
    ]
    assert sorted(texts[0].split()) == sorted(texts[1].split())


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["CMP", "SanText"])
def test_every_order_is_as_likely_in_every_variant(name):
    # At this epsilon the words stay, so that what is counted is the order alone.
    texts = bound(spec_of(name, "shuffle=True", 1e5)).obfuscate(" ".join(WORDS[:3]), 6000, np.random.default_rng(5))
    counts = Counter(texts)
    assert len(counts) == 6
    assert chisquare(list(counts.values())).pvalue > 1e-6


def test_long_queries_draw_their_noise_in_parts_and_are_shuffled_as_a_whole():
    words = [WORDS[number % 30] for number in range(1500)]
    (text,) = bound("CMP(shuffle=True)@100000").obfuscate(" ".join(words), 1, np.random.default_rng(2))
    assert sorted(text.split()) == sorted(words) and text.split() != words
    assert set(words[1024:]) & set(text.split()[:200])


def test_a_kept_word_moves_with_the_others():
    text = "CMP(shuffle=True, oov='keep', unsafe=True)@100000"
    seen = {tuple(one.split()).index("zzz") for one in sent(text, f"{WORDS[0]} zzz {WORDS[1]}", 20)}
    assert seen == {0, 1, 2}
    assert isinstance(bound(text).guarantee, NoGuarantee)


# --- length ---


@pytest.mark.parametrize("name", PADDED)
def test_texts_have_the_length_of_a_bin(name):
    one = spec_of(name, "shuffle=True, length='bins:2,4'")
    for words, size in ((1, 2), (2, 2), (3, 4), (4, 4), (7, 4)):
        texts = sent(one, " ".join(WORDS[:words]))
        assert {len(text.split()) for text in texts} == {size}
    assert set(sent(one, "")) == {""}


def test_anchors_are_unknown_words_and_long_queries_send_parts():
    one = "SanText(shuffle=True, length='bins:2,4')@100000"
    anchor = set(sent("SanText@100000", "zzqqvx"))
    (other,) = {frozenset(text.split()) - {WORDS[0]} for text in sent(one, WORDS[0])}
    assert other == anchor
    texts = sent(one, QUERY, 40)
    assert all(set(text.split()) <= set(QUERY.split()) for text in texts)
    assert set(" ".join(texts).split()) == set(QUERY.split()) and len(set(map(frozenset, map(str.split, texts)))) > 1


@pytest.mark.statistical
def test_every_word_of_a_long_query_is_as_likely_to_be_sent():
    texts = bound("SanText(shuffle=True, length='bins:2')@100000").obfuscate(QUERY, 3000, np.random.default_rng(8))
    counts = Counter(" ".join(texts).split())
    assert set(counts) == set(QUERY.split())
    assert chisquare(list(counts.values())).pvalue > 1e-6


def test_bins_are_spent_on_and_stated():
    one = bound("CMP(shuffle=True, length='bins: 4, 8')@5")
    assert repr(one.spec) == "CMP(shuffle=True, length='bins:4,8')@5"
    assert [one.spent_on(" ".join(WORDS[:words])) for words in (1, 4, 5, 20)] == [4, 4, 8, 8]
    assert "bin of the length (4, 8) is released" in str(one.guarantee)
    assert "one bin (4)" in str(bound("Random(shuffle=True, length='bins:4')").guarantee)
    assert not with_bins(ForAllVariants(MetricDP(1)), Bins((4,))).private


# --- budget ---


@pytest.mark.parametrize("name", ["CMP", "TEM", "CusText"])
def test_a_shared_budget_is_divided_among_the_variants(name):
    shared, each = bound(f"{name}(budget='total')@20"), bound(f"{name}@5")
    assert shared.for_variants(4) == each and each.for_variants(4) is each
    rng = [np.random.default_rng(3) for _ in range(2)]
    assert shared.obfuscate(QUERY, 4, rng[0]) == each.obfuscate(QUERY, 4, rng[1])


def test_a_shared_budget_does_not_share_its_noise_with_the_part():
    # With one seed, two settings must not send the same: together they would promise nothing.
    table = obfuscate([QUERY], [bound("CMP(budget='total')@20"), bound("CMP@5")], 4, seed=7)
    first, second = (table.loc[table["value"] == value, "query"].tolist() for value in (20, 5))
    assert first != second


def test_the_composed_guarantee_of_a_shared_budget_does_not_grow():
    one = bound("CMP(budget='total')@20")
    assert one.guarantee.composed(50) == MetricDP(20) and "for all variants together" in str(one.guarantee)
    assert bound("CMP@20").guarantee.composed(50) == MetricDP(1000)
    assert isinstance(bound("WBB(budget='total')@20").guarantee, NoGuarantee)


def test_a_word_has_no_law_until_the_number_of_variants_is_known():
    one = bound("TEM(budget='total')@20")
    with pytest.raises(NoClosedForm, match="for_variants"):
        one.log_prob(WORDS[0], WORDS[1])
    with pytest.raises(NoClosedForm, match="for_variants"):
        one.word_law(WORDS[0])
    each = bound("TEM(shuffle=True, length='bins:4')@5")
    assert each.log_prob(WORDS[0], WORDS[1]) == bound("TEM@5").log_prob(WORDS[0], WORDS[1])
    assert each.word_law(WORDS[0]).itself == bound("TEM@5").word_law(WORDS[0]).itself
    shuffled, plain = (qk.deniability(bound(f"CMP({o})@5"), WORDS[:2], runs=50) for o in ("shuffle=True", ""))
    assert shuffled.equals(plain)


# --- refused ---


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("CMP(length='bins:4,8')@5", "add shuffle=True"),
        ("CMP(shuffle=True, length='bins:8,4')@5", "must rise.*write length='bins:4,8'"),
        ("CMP(shuffle=True, length='bins:4,4')@5", "write length='bins:4'"),
        ("CMP(shuffle=True, length='bins:0')@5", "try length='bins:4,8,12'"),
        ("CMP(shuffle=True, length='4,8')@5", "must be public bins, as in length='bins:4,8,12'"),
        ("CMP(shuffle=True, length=4)@5", "must be public bins"),
        ("CMP(shuffle=True, length='bins:')@5", "must be public bins"),
        ("CMP(shuffle=True, length='bins:4', oov='uniform')@5", "use oov='anchor'"),
        ("CMP(shuffle=True, length='bins:4', oov='drop')@5", "use oov='anchor'"),
        ("CMP(shuffle=True, length='bins:4', oov='keep', unsafe=True)@5", "use oov='anchor'"),
        ("CusText(shuffle=True, length='bins:4')@5", "leave length out"),
        ("WBB(shuffle=True, length='bins:4')@5", "leave length out"),
        ("AEA(shuffle=True)@3", "AEA has no option 'shuffle'"),
        ("Identity(budget='total')", "Identity has no option 'budget'"),
        ("Random(budget='total')", "leave out budget='total'"),
        ("CMP(budget='all')@5", "budget must be one of 'each', 'total'"),
        ("CMP(shuffle=yes)@5", "shuffle must be True or False"),
    ],
)
def test_what_does_not_hide_is_refused(text, fault):
    with pytest.raises(SpecError, match=fault):
        bound(text)


def test_a_budget_that_leaves_nothing_for_a_variant_is_refused():
    with pytest.raises(SpecError, match="ask for fewer variants"):
        sent("CMP(budget='total')@0.000001", n=2)


# --- mechanisms of others ---


@dataclass(frozen=True, kw_only=True)
class OwnBatch(CMP):
    """Makes its texts itself: it would not know of the options."""

    name = "OwnBatch"

    @classmethod
    def obfuscate_batch(cls, group, queries, n, streams, tick=lambda _: None):
        return super().obfuscate_batch(group, queries, n, streams, tick)


class Slow(SanText):
    """A plugin that changes nothing of the texts."""

    name = "Slow"


def test_options_that_a_class_would_ignore_are_refused():
    assert OwnBatch(epsilon=3, vectors=VECTORS).obfuscate(QUERY, 1)
    with pytest.raises(SpecError, match="would ignore shuffle=True; leave it out"):
        OwnBatch(epsilon=3, vectors=VECTORS, shuffle=True)
    assert Slow(epsilon=3, vectors=VECTORS, shuffle=True).guarantee == MetricDP(3)


@pytest.mark.parametrize(
    "text", ["TEM(shuffle=True, length='bins:4,8')@3", *slowly("CMP(shuffle=True)@3", "VickreyMhl(budget='total')@30")]
)
def test_the_check_for_authors_takes_options(text):
    check_mechanism(bound(text))
