"""Bayes on a toy vocabulary: it reaches the Bayes vulnerability, nobody beats it, and a wrong law is noticed."""

import itertools

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.attackers.base import KnownLog, KnownSetting, Sent
from quipukit.attackers.bayes import Bayes
from quipukit.attackers.distancelaws import DistanceLaw, Normalizers, Weights
from quipukit.attackers.laws import Laws
from quipukit.attackers.logsites import LogSites, Observed
from quipukit.attackers.noiselaws import NoiseLaw, Responses
from quipukit.attackers.positional import Positional
from quipukit.attackers.posterior import log_mean_exp, scores_of_posterior
from quipukit.attackers.support import Support
from quipukit.attackers.supports import SupportLaw
from quipukit.attackers.tables import Uniform
from quipukit.attackers.words import Words
from quipukit.errors import SpecError
from quipukit.mechanisms.words import find_sites
from quipukit.testing import check_attacker
from tests.attackers import small, toy
from tests.examples import slowly

PLACES = toy.vectors()
METRIC = ["SanText@1.5", "SanText@4", "TEM@2", "TEM(gamma=1)@3"]
SETS = ["CusText(k=3)@2", "CusText(k=4, mapping='topk')@2", "WBB(k=1, n=4, all_tokens=True)@5"]
CLOSED = [*METRIC, *SETS, "SanText+@2", "SanText+(p=0)@2", "SanText+(p=1)@2", "Random", "RANTEXT@1.5"]
ONE_OF_EACH = (METRIC[0], METRIC[3], SETS[0], SETS[2], "SanText+@2")
COUNTED, EVEN = toy.COUNTS / toy.COUNTS.sum(), np.full(10, 0.1)


def mechanism(spec, vectors=PLACES):
    return qk.mechanism(spec, vectors=vectors)


def prepared(log=None, **options):
    attacker = Bayes(vectors=PLACES, **options)
    attacker.prepare(log or toy.log())
    return attacker


# --- optimal ---


@pytest.mark.parametrize(("prior", "weights"), [("count", COUNTED), ("uniform", EVEN)])
@pytest.mark.parametrize("spec", CLOSED)
def test_its_first_guess_reaches_the_bayes_vulnerability(spec, prior, weights):
    one = mechanism(spec)
    assert toy.first_guess(prepared(prior=prior), one, weights) == pytest.approx(toy.vulnerability(one, weights))


@pytest.mark.heavy
@pytest.mark.statistical
@pytest.mark.parametrize(
    "spec", [pytest.param(one, marks=[pytest.mark.slow] * (one not in ONE_OF_EACH)) for one in CLOSED]
)
def test_nobody_beats_it_on_queries_from_its_prior(spec):
    count = 2000
    one = mechanism(spec)
    words, sent = toy.sample(one, COUNTED, count)
    asked = pd.DataFrame({"qid": [str(number) for number in range(count)], "query": words})
    # Equal pairs of a word and what was sent for it are attacked once, and counted as often as they came.
    pairs = sent.merge(asked, on="qid", suffixes=("_sent", ""), validate="1:1").groupby(["query", "query_sent"])["qid"]
    times = pairs.agg(["first", "size"]).set_index("first")["size"]
    log = [word for word, often in zip(toy.WORDS, toy.COUNTS, strict=True) for _ in range(often)]
    attackers = [Bayes(vectors=PLACES), Support(vectors=PLACES), Words(vectors=PLACES), Positional(vectors=PLACES)]
    sent, asked = (frame[frame["qid"].isin(times.index)] for frame in (sent, asked))
    ranks = qk.attack(sent, asked, log, attackers=attackers, mechanisms=[one])
    scores = qk.risk(ranks).query("measure == 'P@1'").pivot(index="qid", columns="attacker", values="score")
    assert times.sum() == count and set(scores.index) == set(times.index)
    found = scores.mul(times, axis=0).sum() / count
    # Hoeffding: the mean of 2,000 numbers in [0, 1] is off by .059 or more with probability 1e-6.
    assert found["Bayes"] == pytest.approx(toy.vulnerability(one, COUNTED), abs=0.059)
    assert found.max() <= toy.vulnerability(one, COUNTED) + 0.059


@pytest.mark.parametrize(
    ("true", "believed"),
    [
        ("SanText@4", "SanText@0.2"),
        ("TEM@3", "TEM@0.1"),
        ("SanText@4", "TEM(gamma=0.1)@4"),
        ("CusText(k=4, mapping='topk')@2", "SanText@0.1"),
        ("WBB(k=1, n=4, all_tokens=True)@5", "SanText@5"),
        ("RANTEXT@6", "RANTEXT@0.05"),
    ],
)
def test_another_law_is_weaker(true, believed):
    best = toy.vulnerability(mechanism(true), COUNTED)
    assert toy.first_guess(prepared(), mechanism(true), COUNTED, mechanism(believed)) < best - 0.01


@pytest.mark.parametrize("spec", METRIC)
def test_the_odds_change_by_no_more_than_the_guarantee_allows(spec):
    one = mechanism(spec)
    rng, flat = np.random.default_rng(4), prepared(prior="uniform")
    for number in (1, 3, 20):
        found = toy.scores(flat, one, rng.choice(toy.WORDS, number))
        for a, b in itertools.combinations(range(len(toy.WORDS)), 2):
            distance = np.linalg.norm(PLACES.vector(toy.WORDS[a]) - PLACES.vector(toy.WORDS[b]))
            assert abs(found[a] - found[b]) <= number * one.epsilon * distance + 1e-9


def test_scores_are_log_posteriors():
    one = mechanism("SanText@2")
    found = toy.scores(prepared(), one, ["bee", "bee", "cat"])
    law = np.log(toy.probability(one))
    assert found == pytest.approx(np.log(COUNTED) + 2 * law[:, 1] + law[:, 2], rel=1e-6)


def test_words_are_independent_and_texts_add_up():
    texts = [" ".join(pair) for pair in itertools.product(toy.WORDS, repeat=2)]
    attacker = prepared(KnownLog(texts, np.ones(100, np.int64)))
    one = mechanism("TEM@2")
    found = toy.scores(attacker, one, ["ant bee", "fox gnu"])
    law = np.log(toy.probability(one))
    expected = [law[a, 0] + law[a, 5] + law[b, 1] + law[b, 6] for a in range(10) for b in range(10)]
    assert found - found[0] == pytest.approx(np.array(expected) - expected[0], abs=1e-5)


# --- what it does not know ---


def test_an_unknown_epsilon_is_averaged_over_the_grid():
    one = mechanism("SanText@2")
    unknown = Bayes(vectors=PLACES, epsilon="unknown")
    assert unknown.knows == "log+mechanism" and Bayes(vectors=PLACES).knows == "log+mechanism+epsilon"
    unknown.prepare(toy.log())
    found = unknown.scores(Sent(("bee", "cat"), KnownSetting("SanText", "epsilon", None, one)))
    laws = [np.log(toy.probability(mechanism(f"SanText@{value:g}"))) for value in one.grid]
    mean = np.log(np.mean([np.exp(law[:, 1] + law[:, 2]) for law in laws], axis=0))
    assert found == pytest.approx(np.log(COUNTED) + mean, rel=1e-6)


def test_a_mechanism_known_by_name_alone_is_bound_to_the_attacker_s_vectors():
    by_name = Sent(("bee",), KnownSetting("SanText", "epsilon", 2.0))
    assert np.array_equal(prepared().scores(by_name), toy.scores(prepared(), mechanism("SanText@2"), ["bee"]))


@pytest.mark.parametrize("name", ["Elsewhere", "SanText(depth=3)", "FEA"])
def test_a_mechanism_without_a_law_gives_equal_scores_and_says_so(name):
    batch = [Sent((text,), KnownSetting(name, "epsilon", 3.0)) for text in ("bee", "cat")]
    with pytest.warns(UserWarning, match=rf"Bayes knows no law for {name.split('(')[0]}.* \(2\): all queries"):
        found = list(prepared().scores_of(batch))
    assert [np.ptp(one) for one in found] == [0, 0]


def test_words_outside_every_vocabulary_do_not_rule_everything_out():
    one = mechanism("SanText@3")
    clean = toy.scores(prepared(), one, ["bee", "cat"])
    with pytest.warns(UserWarning, match="1 of 3 words that were sent are not in the vocabulary that Bayes takes"):
        (mixed,) = prepared().scores_of([Sent(("bee", "qqq", "cat"), toy.setting(one))])
    assert np.isfinite(mixed).all() and np.array_equal(np.argsort(clean), np.argsort(mixed))
    with pytest.warns(UserWarning, match="2 of 2 words"):
        (none,) = prepared(prior="uniform").scores_of([Sent(("qqq", "www"), toy.setting(one))])
    assert np.ptp(none) == 0


def test_what_is_sent_as_it_is_is_found():
    log = KnownLog(["Bee Cat", "cat bee", "bee cat dog"], np.array([1, 9, 9]))
    found = toy.scores(prepared(log), qk.Identity(), ["bee  cat", "bee cat"])
    assert np.argsort(-found, kind="stable").tolist() == [0, 1, 2] and found[1] == found[2]


# --- words outside the vocabulary, by the mechanism's own policy ---


def _both(one, word):
    return one.log_prob("bee", word) + one.log_prob("cat", word)


@pytest.mark.parametrize("policy", ["anchor", "uniform", "keep", "gaussian"])
def test_unknown_words_follow_the_policy(policy):
    options = "oov=keep, unsafe=True" if policy == "keep" else f"oov={policy}"
    one = mechanism(f"SanText({options})@2")
    log = KnownLog(["bee", "owl", "rat"], np.ones(3, np.int64))
    found = toy.scores(prepared(log), one, ["bee", "cat"])
    if policy == "keep":
        assert found[0] > found[1] == found[2]
        kept = toy.scores(prepared(log), one, ["owl", "owl"])
        assert kept.argmax() == 1
        return
    expected = {
        "anchor": lambda word: _both(one, word),
        "uniform": lambda word: _both(one, word),
        "gaussian": lambda word: (
            -2 * np.log(10) if word != "bee" else one.log_prob("bee", "bee") + one.log_prob("cat", "bee")
        ),
    }[policy]
    assert found - np.log(1 / 3) == pytest.approx([expected(word) for word in ("bee", "owl", "rat")], rel=1e-6)


def test_a_dropped_word_shortens_the_query():
    one = mechanism("SanText(oov=drop)@9")
    log = KnownLog(["bee cat", "bee owl", "owl rat"], np.ones(3, np.int64))
    assert toy.scores(prepared(log), one, ["bee"]).argmax() == 1
    assert toy.scores(prepared(log), one, [""]).argmax() == 2
    assert toy.scores(prepared(log), one, ["bee cat"]).argmax() == 0


def test_other_lengths_come_last_by_how_far_off_they_are():
    log = KnownLog(["bee", "bee cat", "cat bee", "bee cat dog", "bee cat dog eel"], np.array([9, 1, 1, 9, 9]))
    found = toy.scores(prepared(log), mechanism("SanText@9"), ["bee cat", "bee cat", "bee"])
    assert np.argsort(-found, kind="stable").tolist() == [1, 2, 0, 3, 4]


# --- the harness ---


@pytest.mark.heavy
def test_it_is_an_attacker():
    from quipukit.testing.attackers import _WORDS

    places = qk.Vectors(_WORDS, np.random.default_rng(1).normal(size=(len(_WORDS), 8)))
    check_attacker(Bayes(vectors=places))
    check_attacker(Bayes(vectors=places, prior="uniform", epsilon="unknown"))


def test_order_and_duplicates_of_the_log_do_not_change_ranks():
    one = mechanism("TEM@2")
    words, sent = toy.sample(one, EVEN, 40)
    asked = pd.DataFrame({"qid": [str(number) for number in range(40)], "query": words})

    def ranks(log):
        return qk.attack(sent, asked, log, attackers=[Bayes(vectors=PLACES, prior="uniform")], mechanisms=[one])

    expected = ranks(toy.WORDS)
    pd.testing.assert_frame_equal(ranks(toy.WORDS[::-1]), expected)
    pd.testing.assert_frame_equal(ranks([*toy.WORDS, "BEE", "bee ", "cat"]), expected)


@pytest.mark.filterwarnings("ignore:.*not in the vocabulary that Bayes takes")
@pytest.mark.parametrize("spec", ["CMP@5", "TEM@2", "SanText+@2", "CusText(k=3)@2"])
def test_many_sets_at_once_have_the_scores_and_the_best_rows_of_each_alone(spec):
    """Tables of many sets come from one product: lengths differ, and so do the words that are unknown."""
    texts = [*itertools.permutations(toy.WORDS[:4], 2), *toy.WORDS[:4], *itertools.combinations(toy.WORDS[3:7], 3)]
    log = KnownLog([one if isinstance(one, str) else " ".join(one) for one in texts], np.arange(1, len(texts) + 1))
    attacker, one = prepared(log), toy.setting(mechanism(spec))
    distinct = [
        Sent((text, text if place % 3 else "owl " * len(text.split())), one) for place, text in enumerate(log.texts)
    ]
    batch = 4 * distinct  # more than tables are made of at once
    alone = 4 * [next(attacker.scores_of([sent])) for sent in distinct]
    best = 4 * [next(attacker.fitting_of([sent])) for sent in distinct]
    both = list(attacker.scored_and_fitting(batch))
    for found in (list(attacker.scores_of(batch)), [scores for scores, _ in both]):
        np.testing.assert_allclose(found, alone, rtol=1e-12, atol=1e-12)
    for found in (list(attacker.fitting_of(batch)), [rows for _, rows in both]):
        for (rows, weights), (own_rows, own_weights) in zip(found, best, strict=True):
            assert rows.tolist() == own_rows.tolist()
            np.testing.assert_allclose(weights, own_weights, rtol=1e-12, atol=1e-12)


def test_scores_do_not_depend_on_the_batch():
    specs = ["SanText@1.5", "TEM@3", "SanText+@2"]
    batch = [Sent((word, "cat"), toy.setting(mechanism(spec))) for spec in specs for word in toy.WORDS]
    together = list(prepared().scores_of(batch))
    for sent, found in zip(batch, together, strict=True):
        assert np.array_equal(prepared().scores(sent), found)


@pytest.mark.parametrize("option", ["prior", "epsilon"])
def test_options_are_checked(option):
    with pytest.raises(SpecError, match=f"Bayes: {option} must be"):
        Bayes(vectors=PLACES, **{option: "guessed"})


def test_small_sums():
    assert log_mean_exp(np.log([[1.0, 4.0], [3.0, 4.0]])) == pytest.approx(np.log([2.0, 4.0]))
    found = scores_of_posterior(
        np.log([0.5, 0.25, 0.25]), np.array([0, 1]), np.array([-50.0, -1.0]), np.array([0.0, 1.0]), np.array([0, 0, 1])
    )
    assert np.argsort(-found).tolist() == [0, 1, 2] and np.isfinite(found).all()


# --- laws ---


@pytest.mark.parametrize(
    ("spec", "kind"),
    [("SanText@1", DistanceLaw), ("SanText+@1", DistanceLaw), ("TEM@1", DistanceLaw), ("CusText(k=3)@1", SupportLaw),
     ("WBB(k=1, n=4)@1", SupportLaw), ("Random", Uniform), ("CMP@1", NoiseLaw),
     ("NoisyRANTEXT(k=3)@1", NoiseLaw), ("VickreyMhl(lam=0.5)@1", NoiseLaw)],
)  # fmt: skip
def test_every_mechanism_has_the_law_of_its_kind(spec, kind):
    laws = Laws(toy.WORDS, PLACES)
    assert type(laws.law(mechanism(spec))) is kind
    assert laws.law(mechanism(spec)) is laws.law(mechanism(spec))


def test_a_changed_law_is_not_taken_for_the_one_it_derives_from():
    class Steep(type(mechanism("SanText@1"))):
        name = "Steep"

        def law(self, near):
            rows, weights = super().law(near)
            return rows, 3 * weights

    steep = Steep(epsilon=1.0, vectors=PLACES)
    assert Weights.of(steep) is None
    found = toy.scores(prepared(prior="uniform"), steep, ["bee"])
    assert found + np.log(10) == pytest.approx(np.log(toy.probability(steep))[:, 1])


@pytest.mark.parametrize("oov", ["anchor", "uniform", "drop", "gaussian"])
@pytest.mark.parametrize("tokenizer", ["clean", "whitespace"])
def test_the_log_is_divided_as_the_mechanism_divides_queries(oov, tokenizer):
    known = small.vectors()
    one = qk.mechanism("SanText@1", vectors=known).__class__(epsilon=1, vectors=known, oov=oov, tokenizer=tokenizer)
    texts = ["Bab, dad!", "bab-dad qqq", "bab's  DAL's's", "", "qqq", "dal/gub zzz-bab"]
    sites = LogSites.of(one, texts)
    theirs = find_sites(one, [("", text) for text in texts])
    assert sites.starts.tolist() == theirs.starts
    for token, site in enumerate(theirs.site_of):
        column = sites.ids[token]
        if site >= 0:
            assert sites.kinds[column] == 0 and sites.rows[column] == theirs.rows[site]
            assert np.array_equal(sites.places(np.array([column]))[0], theirs.points[site])
        else:
            assert sites.kinds[column] == site


def test_normalizers_do_not_depend_on_what_else_is_asked_for():
    sites = LogSites.of(mechanism("SanText@1"), toy.WORDS)
    several = [Weights(slope, gamma, first) for slope in (0.5, 30) for gamma in (0.7, np.inf) for first in (0, 4)]
    together = Normalizers(sites)
    together.compute(several)
    for one in several:
        assert np.array_equal(Normalizers(sites).of(one), together.of(one))
        distances = np.linalg.norm(PLACES.matrix[:, None].astype(float) - PLACES.matrix[None, one.first :], axis=2)
        expected = np.log(np.exp(-one.slope * np.minimum(distances, one.gamma)).sum(axis=1))
        # After the words comes the anchor, where unknown words stand.
        assert together.of(one)[: len(expected)] == pytest.approx(expected, abs=1e-5)


def test_a_sum_of_which_few_terms_are_below_gamma_is_that_of_all_terms():
    known = small.vectors()
    sites = LogSites.of(qk.mechanism("TEM@5", vectors=known), small.queries(50))
    points, matrix = sites.places(np.arange(len(sites.kinds))), known.matrix.astype(float)
    distances = np.linalg.norm(points[:, None] - matrix, axis=2)
    for gamma in (2.0, 4.5, 5.0, 7.0):  # none but the word itself, one in 200, one in 35, half of all
        weights = Weights(0.5, gamma, 0)
        expected = np.log(np.exp(-0.5 * np.minimum(distances, gamma)).sum(axis=1))
        found = Normalizers(sites).of(weights)
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6)
        wrong = np.log(np.exp(-0.5 * np.minimum(distances, 1.001 * gamma)).sum(axis=1))
        assert np.abs(found - wrong).max() > 1e-4


def test_observations_are_counted_by_position_and_other_lengths_left_out():
    sites = LogSites.of(mechanism("SanText@1"), toy.WORDS)
    seen = Observed.of(sites, ["cat bee", "cat qqq", "ant bee", "ant"])
    assert (seen.length, seen.left_out, seen.rows.tolist()) == (2, 1, [0, 1, 2])
    assert seen.counts.tolist() == [[1, 0, 2], [0, 2, 0]] and seen.unknown.tolist() == [0, 1]


# --- noise ---


NOISY = ["CMP@6", "Mahalanobis@6", "VickreyCMP@8", "VickreyMhl@8"]


@pytest.mark.parametrize(
    "spec",
    [
        NOISY[0],
        pytest.param("TEM@2", marks=pytest.mark.heavy),
        pytest.param("NoisyRANTEXT(k=5)@6", marks=pytest.mark.heavy),
        *slowly(*NOISY[1:], "CusText@1", "SanText@1", "WBB(all_tokens=True)@1"),
    ],
)
def test_noise_that_averages_out_hides_nothing_and_exchanged_sets_reveal_nothing(spec):
    known, log = small.vectors(), small.queries(2000)
    one = qk.mechanism(spec, vectors=known)
    texts = log[:60]
    asked = pd.DataFrame({"qid": [str(number) for number in range(1, 61)], "query": texts})
    sent = qk.obfuscate(asked, one, n=30, seed=3)

    def found(obfuscated, attacker):
        ranks = qk.attack(obfuscated, asked, log, attackers=[attacker], mechanisms=[one])
        return qk.risk(ranks).query("measure == 'R@10'")["score"].mean()

    bayes = Bayes(vectors=toy.vectors())  # of no use: the mechanism brings its own
    assert found(sent, bayes) >= max(0.9, found(sent, Positional(vectors=known)))
    # Ten of some 500 queries of equal length would be .02 by chance; 60 queries: at most .10 with p > .999
    assert found(small.exchanged(sent, texts), bayes) <= 0.10


@pytest.mark.statistical
def test_random_words_are_worth_nothing():
    known, log = small.vectors(), small.queries(2000)
    one = qk.mechanism("Random", vectors=known)
    asked = pd.DataFrame({"qid": [str(number) for number in range(60)], "query": log[:60]})
    sent = qk.obfuscate(asked, one, n=20, seed=3)
    ranks = qk.attack(sent, asked, log, attackers=[Bayes(vectors=known)], mechanisms=[one])
    assert qk.risk(ranks).query("measure == 'R@10'")["score"].mean() <= 0.03


def test_a_simulation_is_shared_and_says_the_same_alone():
    known = small.vectors()
    sites = LogSites.of(qk.mechanism("CMP@1", vectors=known), small.queries(50))
    several = [qk.mechanism(spec, vectors=known) for spec in ("CMP@2", "VickreyCMP@9", "CMP@9", "Mahalanobis@2")]
    together = Responses(sites)
    together.compute(several)
    for one in several:
        assert np.array_equal(Responses(sites).of(one).pull, together.of(one).pull)


def test_without_noise_the_response_is_the_word_itself():
    known = small.vectors()
    sites = LogSites.of(qk.mechanism("CMP@1", vectors=known), small.queries(50))
    law = NoiseLaw(sites, qk.mechanism("CMP@1000", vectors=known), Responses(sites))
    for column in range(0, len(sites.kinds), 40):
        seen = Observed.of(sites, [known.words[sites.rows[column]]])
        table = law.table(seen, np.arange(len(sites.kinds)))
        assert table.log_likelihood[0].argmax() == column and not table.violations.any()


def test_who_differs_in_the_prior_alone_learns_the_same_laws_once() -> None:
    log = KnownLog(toy.WORDS, np.ones(len(toy.WORDS), np.int64))
    attackers = [Bayes(vectors=PLACES), Bayes(vectors=PLACES, prior="style"), Support(vectors=PLACES)]
    for one in attackers:
        one.prepare(log.copied())
    assert len({id(one._laws) for one in attackers}) == 1
