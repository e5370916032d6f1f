"""AEA: known chains, the product and its sampling, and what must never be sent."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from quipukit.errors import SpecError
from quipukit.guarantees import NoGuarantee
from quipukit.lexical import STOP_WORDS
from quipukit.mechanisms.aea import AEA, _below, _combination, _draw, _relatives
from quipukit.mechanisms.base import RootSeed, Variants
from quipukit.specs import spec
from quipukit.text import key, tokenize
from quipukit.wordnet.database import POS, load_wordnet
from tests.examples import examples

QUERIES = [
    "how tumour grows",
    "do goldfish grow",
    "what is wifi vs bluetooth",
    "causes of left ventricular hypertrophy",
    "what are the social determinants of health",
    "who is robert gray",
    "example of monotonic function",
    "crime offense crimes",
]


def run(query: str, n: int = 50, seed: int = 7, **options: object) -> Variants:
    mechanism = AEA(**({"level": 3} | options))  # type: ignore[arg-type]
    return AEA.obfuscate_batch([mechanism], [("q", query)], n, RootSeed(seed))[0][0]


def test_chain_of_crime() -> None:
    assert AEA(level=0).candidates("crime") == (
        "criminal offence",
        "criminal offense",
        "law-breaking",
        "offence",
        "offense",
    )
    by_level = [AEA(level=level).candidates("crime") for level in range(6)]
    assert by_level[1][5:] == ("evildoing", "transgression")
    assert by_level[2][7:] == ("actus reus", "misconduct", "wrongdoing", "wrongful conduct")
    assert by_level[3][11:] == ("activity",)
    assert by_level[4][12:] == ("act", "deed", "human action", "human activity")
    assert by_level[5][16:] == ("event",)


@pytest.mark.parametrize("word", ["crime", "tumour", "sing", "jamaica", "dog", "city"])
def test_levels_grow(word: str) -> None:
    candidates = [set(AEA(level=level).candidates(word)) for level in range(21)]
    assert all(low <= high for low, high in itertools.pairwise(candidates))
    assert candidates[3] < candidates[5]
    assert AEA(level=5).candidates(word)[: len(candidates[3])] == AEA(level=3).candidates(word)


def test_holonyms_are_followed() -> None:
    assert "water" in AEA(level=1).candidates("oxygen")  # substance
    assert "genus canis" in AEA(level=1).candidates("wolf")  # member
    found = AEA(level=1).candidates("finger")
    assert "hand" in found and "dactyl" not in AEA(level=0).candidates("hand")
    assert "digit" in found  # the hypernym
    assert "france" in AEA(level=1).candidates("paris")  # part holonym of an instance
    assert "national capital" in AEA(level=1).candidates("paris")  # its class


def test_adjectives_know_synonyms_and_similar_words_only() -> None:
    assert AEA(level=0).candidates("big") == ("large",)
    assert AEA(level=0).candidates("rapid") == ()
    assert "fast" in AEA(level=1).candidates("rapid")
    assert AEA(level=1).candidates("rapid") == AEA(level=9).candidates("rapid")


def test_first_sense_or_all_senses() -> None:
    first, two, every = (set(AEA(level=2, senses=s).candidates("bank")) for s in (1, 2, "all"))
    assert first < two < every
    assert "slope" in first and "financial institution" not in first and "financial institution" in two


def test_inflected_words_have_the_candidates_of_their_base_form() -> None:
    assert AEA(level=3).candidates("mice") == AEA(level=3).candidates("mouse")
    assert "crime" not in AEA(level=3).candidates("crimes")


@pytest.mark.parametrize("word", ["the", "who", "very", "don't", "bluetooth", "qzx", "", "_", "\u00e9"])
def test_stop_words_and_unknown_words_have_no_candidates(word: str) -> None:
    assert AEA(level=5).candidates(word) == ()


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("options", [{}, {"level": 5, "senses": "all"}, {"keep_stopwords": True}])
def test_no_word_of_the_query_is_sent(query: str, options: dict[str, object]) -> None:
    wordnet = load_wordnet()
    tokens = tokenize(query)
    found = run(query, 200, **options)
    assert found.texts
    assert len(set(found.texts)) == len(found.texts)
    content = set(tokens) - STOP_WORDS
    own = content.union(*(wordnet.base_forms(token, pos) for token in content for pos in POS))
    for text in found.texts:
        assert "_" not in text and text == text.lower() and text == " ".join(text.split())
        assert not own & set(text.replace("-", " ").split())
        assert key(text) != key(query)


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


@pytest.mark.parametrize("every", [150, pytest.param(5, marks=pytest.mark.slow)])
def test_no_lemma_has_a_candidate_that_differs_in_punctuation_alone(every: int) -> None:
    wordnet = load_wordnet()
    lemmas = list(dict.fromkeys(lemma for lemma in wordnet.lemmas() if lemma.isalpha()))[::every]
    mechanism = AEA(level=3)
    same = [lemma for lemma in lemmas if letters(lemma) in map(letters, mechanism.candidates(lemma))]
    assert len(lemmas) > 50_000 / every and same == []


@pytest.mark.parametrize(
    ("query", "spelling"),
    [
        ("babysitter", "baby-sitter"),
        ("babysitter", "baby sitter"),
        ("baby sitter", "babysitter"),
        ("tshirt", "T-shirt"),
    ],
)
def test_a_word_is_not_sent_in_another_spelling(query: str, spelling: str) -> None:
    mechanism = AEA(level=3)
    relatives = (spelling, f"the {spelling} of the house", "else")
    assert mechanism._without(relatives, mechanism._forms(query.split())) == ("else",)


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("sable", "sable's hair pencil"),
        ("sneeze", "sneezing"),
        ("group", "grouping"),
        ("abc", "abc's"),
        ("rasp", "rasping"),
    ],
)
def test_a_word_is_not_sent_as_a_possessive_or_inflected(word: str, form: str) -> None:
    mechanism = AEA(level=3)
    assert form in _relatives(mechanism.wordnet, word, 3, None), "the test has lost its object"
    assert form not in AEA(level=3, senses="all").candidates(word)
    assert form not in run(f"{word} crime", 500, senses="all").texts
    # The other way round, too: what is asked for is the possessive.
    assert mechanism._without((word, "else"), mechanism._forms(tokenize(f"{word}'s"))) == ("else",)


@pytest.mark.parametrize("every", [150, pytest.param(9, marks=pytest.mark.slow)])
def test_no_lemma_has_a_candidate_that_is_an_inflection_of_it(every: int) -> None:
    wordnet = load_wordnet()
    lemmas = list(dict.fromkeys(lemma for lemma in wordnet.lemmas() if lemma.isalpha()))[::every]
    mechanism = AEA(level=3)
    bad = [
        (lemma, candidate)
        for lemma in lemmas
        for candidate in mechanism.candidates(lemma)
        for word in candidate.replace("-", " ").replace("'s", "").split()
        if any(lemma in wordnet.base_forms(word, pos) for pos in POS)
    ]
    assert len(lemmas) > 45_000 / every and bad == []


def test_a_candidate_may_hold_a_stop_word_that_is_in_the_query() -> None:
    """As the class says: a stop word of the query is dropped, and one that belongs to a candidate comes with it."""
    assert "period of time" in AEA(level=3).candidates("season")
    assert any("period of time" in text for text in run("photo of a season", 500).texts)


def test_the_whole_query_is_not_sent_in_another_spelling() -> None:
    found = run("babysitter", 50, include_original=True)
    assert found.texts and "babysitter" not in map(letters, found.texts)


def test_candidates_that_hold_another_word_of_the_query_are_left_out() -> None:
    # Alone, each of the two may become the other; together they must not change places.
    assert "offense" in AEA(level=0, senses="all").candidates("crime")
    assert "crime" in AEA(level=0, senses="all").candidates("offense")
    for text in run("offense crime", 500, level=0, senses="all").texts:
        assert not {"crime", "offense"} & set(text.split())


def test_the_whole_product_comes_when_it_is_small() -> None:
    mechanism = AEA(level=0)
    crime, health = mechanism.candidates("crime"), mechanism.candidates("health")
    product = {f"{a} {b}" for a in crime for b in health}
    found = run("crime and health", 1000, level=0)
    assert sorted(found.texts) == sorted(product)
    assert len(found.texts) == len(crime) * len(health)
    assert found.flags == {"fewer": 1000 - len(product)}


def test_the_same_seed_gives_the_same_variants() -> None:
    assert run("how tumour grows") == run("how tumour grows")
    assert run("how tumour grows").texts != run("how tumour grows", seed=8).texts
    rng = np.random.default_rng
    assert AEA(level=3).obfuscate("how tumour grows", 9, rng(1)) == AEA(level=3).obfuscate(
        "how tumour grows", 9, rng(1)
    )
    assert AEA(level=3).obfuscate("how tumour grows", 9) != AEA(level=3).obfuscate("how tumour grows", 9)


@pytest.mark.parametrize("query", QUERIES)
def test_the_first_variants_do_not_depend_on_how_many_are_asked_for(query: str) -> None:
    most = run(query, 2000).texts
    for n in (0, 1, 7, 50):
        assert run(query, n).texts == most[:n]


@pytest.mark.statistical
def test_variants_are_uniform_over_the_product() -> None:
    """Chi-square over the 20 ordered pairs of distinct texts out of 5; false-alarm rate 1e-6 over seeds."""
    product = AEA(level=0).candidates("crime")
    assert len(product) == 5
    pairs = [tuple(run("crime", 2, seed=seed, level=0).texts) for seed in range(800)]
    counts = [pairs.count(pair) for pair in itertools.permutations(product, 2)]
    assert sum(counts) == 800
    assert stats.chisquare(counts).pvalue > 1e-6
    # Twin: drawing the first uniformly and the second always as its successor must fail.
    wrong = [pairs.count(pair) if product.index(pair[0]) + 1 == product.index(pair[1]) else 0 for pair in set(pairs)]
    assert stats.chisquare(np.array(wrong) * (800 / sum(wrong))).pvalue < 1e-6


def test_a_product_too_large_to_write_out() -> None:
    query = " ".join(["crime tumour health weather jamaica function"] * 15)
    size = math.prod(len(AEA(level=5).candidates(word)) for word in query.split())
    assert size > 2**200
    found = run(query, 30, level=5)
    assert len(set(found.texts)) == 30


def test_mixed_radix_counts_every_combination_once() -> None:
    choices = [("a", "b"), ("c",), ("d", "e", "f")]
    texts = [_combination(choices, number) for number in range(6)]
    assert sorted(texts) == sorted(" ".join(parts) for parts in itertools.product(*choices))


def test_banned_and_repeated_texts_are_passed_over() -> None:
    choices = [("a", "a b"), ("b c", "c")]  # "a b c" comes from two combinations
    found = _draw(choices, 10, np.random.default_rng, {"ac"})
    assert sorted(found) == ["a b b c", "a b c"]


@pytest.mark.parametrize("bound", [1, 2, 3, 255, 256, 257, 2**64 + 1])
def test_numbers_below_a_bound(bound: int) -> None:
    rng = np.random.default_rng(1)
    drawn = [_below(rng, bound) for _ in range(300)]
    assert min(drawn) >= 0 and max(drawn) < bound
    assert bound > 300 or set(drawn) >= {0, bound - 1} or bound > 50


def test_unknown_words_are_dropped_and_counted() -> None:
    found = run("bluetooth crime bluetooth", 5)
    assert found.flags == {"oov": 2}
    assert len(found.texts) == 5
    assert not any("blue" in text or text.startswith("b ") for text in found.texts)


@pytest.mark.parametrize("query", ["bluetooth", "what is the", "bluetooth volunterilay", "who's"])
@pytest.mark.parametrize("keep_stopwords", [False, True])
def test_nothing_to_replace_gives_no_variant(query: str, keep_stopwords: bool) -> None:
    found = run(query, 5, keep_stopwords=keep_stopwords)
    assert found.texts == []
    assert found.flags["no_obfuscation"] == 1


@pytest.mark.parametrize("query", ["", "   ", "?!", "_____."])
def test_empty_queries(query: str) -> None:
    assert run(query, 3) == Variants(["", "", ""], {"empty": 1})


def test_stop_words_can_be_kept() -> None:
    texts = run("what is the crime of a tumour", 20, keep_stopwords=True).texts
    assert all(text.startswith("what is the ") and " of a " in text for text in texts)
    assert run("what is the crime", 20).texts and not any(
        "what" in t.split() for t in run("what is the crime", 20).texts
    )


def test_a_word_may_stand_for_itself_but_not_the_whole_query() -> None:
    found = run("crime health", 10_000, level=0, include_original=True)
    assert "crime health" not in found.texts
    assert any(text.startswith("crime ") for text in found.texts)
    alone = len(AEA(level=0).candidates("crime")) + 1, len(AEA(level=0).candidates("health")) + 1
    assert len(found.texts) == alone[0] * alone[1] - 1
    assert run("crime", 100, level=0, include_original=True).texts.count("crime") == 0


def test_keeping_unknown_words_must_be_asked_for_twice() -> None:
    with pytest.raises(SpecError, match="unsafe=True"):
        AEA(level=3, oov="keep")
    kept = AEA(level=3, oov="keep", unsafe=True)
    assert all("bluetooth" in text for text in kept.obfuscate("bluetooth crime", 5))
    assert isinstance(kept.guarantee, NoGuarantee) and "verbatim" in str(kept.guarantee)


def test_it_promises_nothing_and_says_so() -> None:
    mechanism = AEA(level=3)
    assert isinstance(mechanism.guarantee, NoGuarantee) and not mechanism.guarantee.private
    assert mechanism.strategy == "heuristic" and mechanism.grid == (3, 4, 5)


def test_spec() -> None:
    assert repr(AEA(level=3).spec) == "AEA@3"
    assert repr(AEA(level=4, senses="all", keep_stopwords=True).spec) == "AEA(senses='all', keep_stopwords=True)@4"
    assert spec("aed@3") == AEA(level=3.0).spec  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        {"level": -1},
        {"level": 21},
        {"level": 2.5},
        {"level": math.nan},
        {"level": "3"},
        {"level": True},
        {"level": 3, "senses": 0},
        {"level": 3, "senses": "some"},
        {"level": 3, "oov": "anchor"},
        {"level": 3, "tokenizer": "other"},
        {"level": 3, "keep_stopwords": "yes"},
    ],
)
def test_wrong_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(SpecError, match="AEA"):
        AEA(**options)  # type: ignore[arg-type]


@examples(50)
@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(
            st.sampled_from(["crime", "Tumours", "the", "bluetooth", "été", "co-op", "dog's", "12", "?!", "rapid"])
        ).map(" ".join),
    ),
    st.sampled_from([{}, {"keep_stopwords": True}, {"tokenizer": "whitespace"}, {"senses": "all", "level": 20}]),
)
def test_any_query(query: str, options: dict[str, object]) -> None:
    found = run(query, 4, **options)
    if "empty" in found.flags:
        assert found.texts == [""] * 4
    else:
        assert len(found.texts) <= 4
        assert (not found.texts) == ("no_obfuscation" in found.flags)
        assert key(query) not in map(key, found.texts)
        assert "" not in found.texts
