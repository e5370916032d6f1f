"""Words in any order, filled-up queries and shared budgets: Bayes that knows them against exact sums."""

import itertools
import math

import numpy as np
import pytest

import quipukit as qk
from quipukit.attackers.base import KnownLog, KnownSetting, Sent
from quipukit.attackers.bayes import Bayes
from quipukit.attackers.logsites import LogSites
from quipukit.attackers.shuffled import Bag, Candidates, distance_to_bin, order_likelihoods, refined
from quipukit.attackers.support import Support
from quipukit.mechanisms.wordoptions import Bins
from tests.attackers import toy

PLACES = toy.vectors()
LAWS = [
    pytest.param("SanText({})@2", marks=pytest.mark.slow),
    "TEM({})@3",
    pytest.param("TEM({}, gamma=1)@4", marks=pytest.mark.slow),
    "SanText+({})@2",
    "CusText({}, k=3)@2",
]


def mechanism(spec, vectors=PLACES):
    return qk.mechanism(spec, vectors=vectors)


def prepared(texts, counts=None, **options):
    attacker = Bayes(vectors=PLACES, **options)
    attacker.prepare(KnownLog(list(texts), np.ones(len(texts), np.int64) if counts is None else np.array(counts)))
    return attacker


def told(one, texts):
    return Sent(tuple(texts), KnownSetting(one.spec.family, one.parameter, one.value, one))


def word_laws(one):
    """Return P(y | x) of one word, for all words and for an anchor (the last row)."""
    plain = one.one_word()
    rows = [[plain.log_prob(output, word) for output in toy.WORDS] for word in (*toy.WORDS, "unknownword")]
    return np.exp(rows)


def sent_law(one, query, law):
    """Return P(text | query) of every text that may be sent, by adding up all orders, all parts and all outputs."""
    inputs = [toy.WORDS.index(word) for word in query.split()]
    size = len(inputs) if one.bins is None else one.bins.of(len(inputs))
    inputs += [len(toy.WORDS)] * (size - len(inputs))
    found: dict[str, float] = {}
    ways = list(itertools.permutations(inputs, size)) if one.shuffle else [tuple(inputs)]
    for way in ways:
        for outputs in itertools.product(range(len(toy.WORDS)), repeat=size):
            text = " ".join(toy.WORDS[output] for output in outputs)
            chance = math.prod(law[x, y] for x, y in zip(way, outputs, strict=True))
            found[text] = found.get(text, 0.0) + chance / len(ways)
    return found


def p_at_1(attacker, one, believed, queries, prior):
    """Return the exact P@1 for one text, over all texts and queries; and the most that anybody can reach."""
    law = word_laws(one)
    laws = [sent_law(one, query, law) for query in queries]
    total = most = 0.0
    for text in {text for law in laws for text in law}:
        joint = np.array([weight * law.get(text, 0.0) for weight, law in zip(prior, laws, strict=True)])
        scores = attacker.scores(told(believed, [text]))
        best = np.isclose(scores, scores.max(), rtol=1e-12, atol=1e-9)
        total += joint[best].sum() / best.sum()
        most += joint.max()
    return total, most


QUERIES = ["ant bee", "bee ant", "cat ant", "dog eel", "fox gnu", "eel hen", "gnu gnu"]
COUNTS = np.array([5, 1, 3, 2, 4, 1, 2])


# --- the most that anybody can reach ---


@pytest.mark.parametrize("law", LAWS)
def test_it_reaches_the_vulnerability_of_shuffled_words(law):
    one = mechanism(law.format("shuffle=True"))
    found, most = p_at_1(prepared(QUERIES, COUNTS), one, one, QUERIES, COUNTS / COUNTS.sum())
    assert found == pytest.approx(most, abs=1e-9)


@pytest.mark.parametrize("law", ["SanText({})@3", "TEM({})@4"])
def test_who_ignores_the_order_is_weaker(law):
    one, other = mechanism(law.format("shuffle=True")), mechanism(law.format("shuffle=False"))
    found, most = p_at_1(prepared(QUERIES, COUNTS), one, other, QUERIES, COUNTS / COUNTS.sum())
    assert found < most - 0.01


MIXED = ["ant", "bee", "ant cat", "dog bee", "eel fox gnu", "hen ant bee cat", "jay ibis eel dog"]


@pytest.mark.parametrize("law", [pytest.param("SanText({})@2", marks=pytest.mark.slow), "TEM({})@3"])
def test_it_reaches_the_vulnerability_of_filled_up_queries_and_of_parts(law):
    one = mechanism(law.format("shuffle=True, length='bins:2,3'"))
    found, most = p_at_1(prepared(MIXED, COUNTS), one, one, MIXED, COUNTS / COUNTS.sum())
    assert found == pytest.approx(most, abs=1e-9)


def test_who_takes_anchors_for_words_is_weaker():
    one, other = mechanism("SanText(shuffle=True, length='bins:2,3')@3"), mechanism("SanText(shuffle=True)@3")
    found, most = p_at_1(prepared(MIXED, COUNTS), one, other, MIXED, COUNTS / COUNTS.sum())
    assert found < most - 0.05


@pytest.mark.parametrize(
    "options", [pytest.param("shuffle=True", marks=pytest.mark.slow), "shuffle=True, length='bins:2,3'"]
)
def test_scores_are_log_posteriors_of_all_texts(options):
    one = mechanism(f"TEM({options})@2")
    law = word_laws(one)
    laws = [sent_law(one, query, law) for query in MIXED]
    texts = one.obfuscate("ant cat", 6, np.random.default_rng(3))
    chances = [math.prod(law.get(text, 0.0) for text in texts) for law in laws]
    expected = {query: math.log(chance) for query, chance in zip(MIXED, chances, strict=True) if chance}
    scores = dict(zip(MIXED, prepared(MIXED).scores(told(one, texts)), strict=True))
    first = next(iter(expected))
    for query, value in expected.items():
        assert scores[query] - scores[first] == pytest.approx(value - expected[first], abs=1e-6)
    assert len(expected) == (4 if "length" in options else 2)


# --- the guarantee, by all that may be sent ---


def worst_log_ratio(one, left, right):
    law = word_laws(one)
    a, b = sent_law(one, left, law), sent_law(one, right, law)
    assert a.keys() == b.keys()
    return max(abs(math.log(a[text] / b[text])) for text in a)


def distance(left, right):
    def place(word):
        return PLACES.mean if word is None else PLACES.vector(word)

    return float(np.linalg.norm(place(left) - place(right)))


@pytest.mark.parametrize("law", ["SanText({})@2", "TEM({})@3"])
def test_shuffled_words_keep_the_guarantee(law):
    one = mechanism(law.format("shuffle=True"))
    for left, right in (("ant bee", "ant cat"), ("ant bee", "dog fox"), ("gnu hen", "hen eel")):
        bound = one.epsilon * sum(map(distance, left.split(), right.split()))
        assert worst_log_ratio(one, left, right) <= bound + 1e-9
    # The order is hidden for good, which no epsilon promises.
    assert worst_log_ratio(one, "ant bee", "bee ant") == pytest.approx(0, abs=1e-9)


def test_the_length_inside_a_bin_costs_the_way_to_the_anchor():
    one = mechanism("SanText(shuffle=True, length='bins:2,3')@2")
    bound = one.epsilon * distance("bee", None)
    found = worst_log_ratio(one, "ant", "ant bee")
    assert 0 < found <= bound + 1e-9
    assert "N*epsilon*|phi(x) - mu| per word" in str(one.guarantee) and "(2, 3) is released" in str(one.guarantee)


def test_beyond_the_largest_bin_the_distances_between_words_count():
    one = mechanism("SanText(shuffle=True, length='bins:2')@2")
    broken = 0
    for short, extra in (
        (("ant", "bee"), "cat"),
        (("dog", "dog"), "eel"),
        (("fox", "gnu"), "hen"),
        (("jay", "jay"), "ibis"),
    ):
        found = worst_log_ratio(one, " ".join(short), " ".join((*short, extra)))
        # Each part of the longer query against the shorter one, its words matched as well as they can be.
        parts = itertools.combinations((*short, extra), 2)
        matched = [min(sum(map(distance, part, way)) for way in itertools.permutations(short)) for part in parts]
        assert found <= one.epsilon * max(matched) + 1e-9
        broken += found > one.epsilon * distance(extra, None)
    assert broken  # so that the way to the anchor, which holds inside a bin, may not be promised here
    assert "beyond 2 words by their distances to each other" in str(one.guarantee)


# --- a shared budget ---


def test_a_shared_budget_is_attacked_at_the_part_that_each_text_got():
    texts = ["ant", "bee", "bee", "cat"]
    shared, each = mechanism("SanText(budget='total')@8"), mechanism("SanText@2")
    attacker = prepared(toy.WORDS)
    assert np.array_equal(attacker.scores(told(shared, texts)), attacker.scores(told(each, texts)))
    assert not np.array_equal(attacker.scores(told(shared, texts[:2])), attacker.scores(told(each, texts[:2])))


def test_an_unknown_epsilon_of_a_shared_budget_is_divided_too():
    shared, each = mechanism("SanText(budget='total')@8"), mechanism("SanText@2")
    unknown = prepared(toy.WORDS, epsilon="unknown")
    scores = unknown.scores(Sent(("ant", "bee"), KnownSetting(shared.spec.family, "epsilon", None, shared)))
    laws = [np.log(toy.probability(mechanism(f"SanText@{value / 2:g}"))) for value in each.grid]
    mean = np.log(np.mean([np.exp(law[:, 0] + law[:, 1]) for law in laws], axis=0))
    assert scores - scores[0] == pytest.approx(mean - mean[0], abs=1e-6)


# --- parts of it ---


def test_support_counts_words_that_no_word_can_have_given():
    one = mechanism("CusText(shuffle=True, k=3)@2")
    law = word_laws(one)
    queries = ["ant bee", "dog cat", "eel fox"]
    attacker = Support(vectors=PLACES)
    attacker.prepare(KnownLog(queries, np.ones(3, np.int64)))
    texts = one.obfuscate("ant bee", 5, np.random.default_rng(0))
    scores = attacker.scores(told(one, texts))
    missing = [
        sum(
            all(law[toy.WORDS.index(x), toy.WORDS.index(y)] == 0 for x in query.split())
            for y in " ".join(texts).split()
        )
        for query in queries
    ]
    assert missing[0] == 0 and max(missing) > 0
    assert (scores[0] - scores).tolist() == pytest.approx(missing)


def test_candidates_of_a_bin_are_filled_up_and_longer_ones_stand_as_they_are():
    texts = ["ant", "ant bee cat", "bee cat dog eel fox", ""]
    sites = LogSites.of(mechanism("SanText@2"), texts)
    bins = Bins((2, 3))
    found = Candidates.of(sites, 3, bins)
    assert found.queries.tolist() == [1, 2] and found.local.shape == (2, 5)
    assert (found.local[0] >= 0).tolist() == [True] * 3 + [False] * 2 and (found.local[1] >= 0).all()
    short = Candidates.of(sites, 2, bins)
    assert short.queries.tolist() == [0] and short.columns[short.local[0]].tolist() == [sites.ids[0], sites.anchor]
    assert len(Candidates.of(sites, 7, bins).queries) == 0
    assert distance_to_bin(sites.lengths, 2, bins).tolist() == [0, 1, 3, 1]
    assert distance_to_bin(sites.lengths, 3, bins).tolist() == [2, 0, 0, 3]


@pytest.mark.parametrize(("length", "width"), [(1, 1), (3, 3), (5, 5), (2, 4), (3, 5)])
def test_the_sum_over_subsets_is_the_sum_over_all_assignments(length, width):
    rng = np.random.default_rng(length)
    table = rng.normal(size=(6, width)) * 8
    bag = Bag(length, np.arange(6), rng.integers(0, 6, (4, length)), np.ones(6))
    candidates = Candidates(np.array([0]), np.arange(width), np.arange(width)[None])
    (found,) = order_likelihoods(bag, candidates, np.array([0]), lambda columns: table[:, columns])
    ways = list(itertools.permutations(range(width), length))
    sums = [
        sum(math.exp(sum(table[y, x] for y, x in zip(words, way, strict=True))) for way in ways) for words in bag.words
    ]
    assert found == pytest.approx(sum(math.log(one / len(ways)) for one in sums), abs=1e-9)


def test_long_texts_get_their_best_assignment_and_few_candidates_get_it():
    length = 18
    rng = np.random.default_rng(1)
    table = rng.normal(size=(length, length)) - 40 * (1 - np.eye(length))  # one assignment is all that counts
    bag = Bag(length, np.arange(length), np.array([rng.permutation(length)]), np.ones(length))
    candidates = Candidates(np.array([0]), np.arange(length), np.arange(length)[None])
    (found,) = order_likelihoods(bag, candidates, np.array([0]), lambda columns: table[:, columns])
    assert found == pytest.approx(np.trace(table) - math.lgamma(length + 1))
    assert refined(bag, candidates) == 50
    short = Bag(2, np.arange(2), np.zeros((50, 2), np.int64), np.ones(2))
    assert refined(short, Candidates(np.array([0]), np.arange(2), np.arange(2)[None])) == 1000
