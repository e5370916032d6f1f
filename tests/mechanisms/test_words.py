"""Word mechanisms in general: tokens and lengths, words outside the vocabulary, flags, and what is promised."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.errors import SpecError
from quipukit.guarantees import LocalDP, MetricDP, NoGuarantee
from quipukit.mechanisms.base import Mechanism, RootSeed
from quipukit.mechanisms.cmp import CMP
from quipukit.mechanisms.custext import CusText
from quipukit.mechanisms.identity import Identity
from quipukit.mechanisms.mahalanobis import Mahalanobis
from quipukit.mechanisms.random import Random
from quipukit.mechanisms.santext import SanText, SanTextPlus
from quipukit.mechanisms.tem import TEM
from quipukit.mechanisms.vickrey import VickreyCMP, VickreyMhl
from quipukit.mechanisms.wbb import WBB
from quipukit.mechanisms.words import OOV_POLICIES, WordMechanism, find_sites, uniform_rows
from quipukit.text import tokenize
from quipukit.vectors.store import Vectors
from tests.examples import examples

WORDS = ["cat", "dog", "house", "garden", "river", "city", "train", "music", "green", "cold", "ocean", "paper"]

# Every word mechanism, with what it needs besides epsilon to run on a dozen words.
MECHANISMS = {
    "CMP": (CMP, {}),
    "Mahalanobis": (Mahalanobis, {}),
    "VickreyCMP": (VickreyCMP, {}),
    "VickreyMhl": (VickreyMhl, {}),
    "CusText": (CusText, {"k": 3}),
    "CusText topk": (CusText, {"k": 3, "mapping": "topk"}),
    "CusText cosine": (CusText, {"k": 3, "similarity": "cosine"}),
    "SanText": (SanText, {}),
    "SanText+": (SanTextPlus, {}),
    "TEM": (TEM, {}),
    "WBB": (WBB, {"n": 4}),
    "WBB all": (WBB, {"n": 4, "all_tokens": True}),
    "WBB published": (WBB, {"n": 4, "mode": "published"}),
    "Random": (Random, {}),
}
PRIVATE_POLICIES = [policy for policy in OOV_POLICIES if policy != "keep"]


@functools.cache
def vocabulary() -> Vectors:
    matrix = np.random.default_rng(12).standard_normal((len(WORDS), 4))

    def compose(word: str) -> np.ndarray | None:
        return np.full(4, len(word) / 10) if word.isascii() else None

    return Vectors(WORDS, matrix, compose=compose)


def make(name: str, epsilon: float = 3.0, **options) -> WordMechanism:
    cls, own = MECHANISMS[name]
    given_epsilon = {} if cls is Random else {"epsilon": epsilon}
    return cls(vectors=vocabulary(), **own, **given_epsilon, **options)


# --- words outside the vocabulary ---------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", PRIVATE_POLICIES)
@pytest.mark.parametrize("name", MECHANISMS)
def test_an_unknown_word_is_never_sent(name, policy):
    query = "zyzzyva cat quux's zyzzyva (blorb-blorb) don't dog 12345 \u4e2d\u6587 ZYZZYVA"
    for epsilon in (1e-6, 1.0, 50.0, 1e6):
        texts = make(name, epsilon, oov=policy).obfuscate(query, 20, np.random.default_rng(1))
        assert len(texts) == 20
        assert {token for text in texts for token in text.split()} <= set(WORDS)


@given(
    query=st.lists(st.one_of(st.text(max_size=8), st.sampled_from(WORDS)), max_size=8).map(" ".join),
    name=st.sampled_from(sorted(MECHANISMS)),
    policy=st.sampled_from(PRIVATE_POLICIES),
    tokenizer=st.sampled_from(["clean", "whitespace"]),
    epsilon=st.sampled_from([1e-6, 0.5, 10.0, 1e6]),
    seed=st.integers(0, 9),
)
@examples(150)
def test_whatever_is_asked_only_words_of_the_vocabulary_come_out(query, name, policy, tokenizer, epsilon, seed):
    mechanism = make(name, epsilon, oov=policy, tokenizer=tokenizer)
    tokens = tokenize(query, vocabulary().__contains__, tokenizer)
    kept = [token for token in tokens if policy != "drop" or token in WORDS]
    texts = mechanism.obfuscate(query, 3, np.random.default_rng(seed))
    assert len(texts) == 3
    for text in texts:
        # One word of the vocabulary for each token: neither an unknown word nor the query as a whole.
        assert len(text.split()) == len(kept)
        assert set(text.split()) <= set(WORDS)


@pytest.mark.parametrize("policy", ["anchor", "uniform", "drop", "gaussian"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_unknown_words_look_alike(name, policy):
    # Perfect secrecy among unknown words: with one generator, another unknown word gives the same variants.
    mechanism = make(name, oov=policy)
    one = mechanism.obfuscate("cat zyzzyva dog", 30, np.random.default_rng(2))
    other = mechanism.obfuscate("cat \u4e2d\u6587 dog", 30, np.random.default_rng(2))
    assert one == other


@pytest.mark.parametrize("name", MECHANISMS)
def test_drop_leaves_unknown_words_out(name):
    mechanism = make(name, oov="drop")
    assert all(len(text.split()) == 2 for text in mechanism.obfuscate("cat zyzzyva dog", 5, np.random.default_rng(3)))
    assert mechanism.obfuscate("zyzzyva quux", 3) == ["", "", ""]


@pytest.mark.parametrize("name", MECHANISMS)
def test_keep_is_refused_unless_it_is_called_unsafe(name):
    with pytest.raises(SpecError, match=r"oov='keep' .*unsafe=True"):
        make(name, oov="keep")
    mechanism = make(name, oov="keep", unsafe=True)
    for text in mechanism.obfuscate("zyzzyva cat quux", 5):
        first, middle, last = text.split()
        assert (first, last) == ("zyzzyva", "quux")
        assert middle in WORDS
    # And every result is labeled.
    assert not mechanism.guarantee.private
    assert "verbatim" in str(mechanism.guarantee)


@pytest.mark.parametrize("unsafe", ["no", "False", 1, 0.5, None, "yes"])
def test_unsafe_is_true_or_false_and_nothing_else(unsafe):
    # "no" is true to Python: taken at its word it would open the door that it means to shut.
    with pytest.raises(SpecError, match="unsafe must be True or False"):
        make("CMP", oov="keep", unsafe=unsafe)


def test_unsafe_alone_opens_nothing():
    mechanism = make("CMP", unsafe=True)
    assert "zyzzyva" not in " ".join(mechanism.obfuscate("zyzzyva zyzzyva", 50))
    assert mechanism.guarantee.private


@pytest.mark.parametrize("name", MECHANISMS)
def test_subword_needs_vectors_that_can(name):
    cls, own = MECHANISMS[name]
    given_epsilon = {} if cls is Random else {"epsilon": 1.0}
    plain = Vectors(WORDS, vocabulary().matrix, name="plain")
    with pytest.raises(SpecError, match=r"'plain' does not; use oov='anchor'"):
        cls(vectors=plain, oov="subword", **own, **given_epsilon)


@pytest.mark.parametrize(("option", "value"), [("oov", "verbatim"), ("oov", None), ("tokenizer", "words")])
def test_another_policy_or_tokenizer_is_refused(option, value):
    with pytest.raises(SpecError, match=f"{option} must be one of"):
        make("CMP", **{option: value})


def test_gaussian_points_are_fresh_at_each_occurrence():
    # At a large epsilon the word nearest to the point comes out: one frozen point would give one word.
    texts = make("SanText", 1e6, oov="gaussian").obfuscate("zyzzyva zyzzyva", 60, np.random.default_rng(4))
    columns = list(zip(*(text.split() for text in texts), strict=True))
    assert len(set(columns[0])) > 3
    assert columns[0] != columns[1]


def test_the_anchor_is_the_mean_of_the_vocabulary():
    sites = find_sites(make("CMP"), [("q", "zyzzyva cat other zyzzyva")])
    assert sites.words == ["zyzzyva", "cat", "other", "zyzzyva"]
    assert sites.site_of.tolist() == [0, 1, 0, 0]
    np.testing.assert_allclose(sites.points[0], vocabulary().matrix.astype(np.float64).mean(axis=0))
    assert sites.rows == [-1, 0]


# --- tokens, lengths, flags ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["", "   ", "\t\n", "?!", "\u00a0", "...", "''"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_an_empty_query_gives_empty_variants(name, query):
    assert make(name).obfuscate(query, 4) == [""] * 4


def flags(mechanism: Mechanism, query: str) -> dict[str, int]:
    [[found]] = type(mechanism).obfuscate_batch([mechanism], [("q", query)], 2, RootSeed(1))
    return dict(found.flags)


@pytest.mark.parametrize("name", MECHANISMS)
def test_flags_count_what_happened(name):
    mechanism = make(name)
    assert flags(mechanism, "") == {"empty": 1}
    assert flags(mechanism, "cat zyzzyva quux").get("oov") == 2
    assert "oov" not in flags(mechanism, "cat dog")
    assert flags(make(name, oov="drop"), "zyzzyva") == {"oov": 1, "empty": 1}


def test_words_that_pass_are_counted():
    assert flags(make("WBB"), "cat") == {}
    stopping = Vectors(["the", *WORDS], np.eye(13))
    mechanism = CusText(epsilon=1, k=3, keep_stopwords=True, vectors=stopping)
    assert flags(mechanism, "the cat the dog") == {"passed": 2}
    assert all(text.split()[0] == "the" for text in mechanism.obfuscate("the cat", 20))


@pytest.mark.parametrize("name", MECHANISMS)
def test_punctuation_and_case_do_not_make_a_word_unknown(name):
    mechanism = make(name)
    clean = mechanism.obfuscate("cat dog", 10, np.random.default_rng(5))
    assert mechanism.obfuscate("  CAT's,\t(dog?)", 10, np.random.default_rng(5)) == clean
    peer = make(name, tokenizer="whitespace")
    assert peer.obfuscate("CAT Dog", 10, np.random.default_rng(5)) == clean
    assert flags(peer, "cat, dog?") == {"oov": 2}


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("n", [0, 1, 7])
def test_as_many_variants_as_asked(name, n):
    assert len(make(name).obfuscate("cat dog", n)) == n


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_generator_makes_it_repeatable(name):
    mechanism = make(name, 1.0)
    first = mechanism.obfuscate("cat dog house green", 20, np.random.default_rng(6))
    assert mechanism.obfuscate("cat dog house green", 20, np.random.default_rng(6)) == first
    assert mechanism.obfuscate("cat dog house green", 20, np.random.default_rng(7)) != first


@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms_are_values(name):
    mechanism = make(name)
    assert mechanism == make(name)
    assert hash(mechanism) == hash(make(name))
    with pytest.raises(AttributeError):
        mechanism.oov = "keep"


@pytest.mark.parametrize("name", [name for name in MECHANISMS if name != "Random"])
@pytest.mark.parametrize("epsilon", [0, -1, 9e-7, 1.1e6, float("nan"), float("inf"), "10", None, True])
def test_an_epsilon_that_is_none_is_refused(name, epsilon):
    with pytest.raises(SpecError, match="epsilon must"):
        make(name, epsilon)


@pytest.mark.parametrize("name", [name for name in MECHANISMS if name not in ("Random", "WBB", "WBB published")])
def test_one_word_is_all_there_is(name):
    cls, own = MECHANISMS[name]
    if cls is WBB:
        with pytest.raises(SpecError, match="fewer than 2 candidates"):
            WBB(epsilon=1, vectors=Vectors(["only"], [[1.0]]), all_tokens=True)
        return
    mechanism = cls(epsilon=1, vectors=Vectors(["only"], [[1.0, 2.0]]), **own)
    for policy_query in ("only", "other only"):
        assert set(" ".join(mechanism.obfuscate(policy_query, 10)).split()) == {"only"}


@pytest.mark.parametrize("name", [name for name in MECHANISMS if not name.startswith("WBB")])
def test_equal_vectors_are_no_obstacle(name):
    cls, own = MECHANISMS[name]
    given_epsilon = {} if cls is Random else {"epsilon": 5.0}
    for matrix in (np.ones((12, 3)), np.zeros((12, 3)), np.repeat(np.eye(3), 4, axis=0)):
        vectors = Vectors(WORDS, matrix)
        options = {**own, "lam": 0.5} if cls in (Mahalanobis, VickreyMhl) else own
        texts = cls(vectors=vectors, **options, **given_epsilon).obfuscate("cat paper zyzzyva", 20)
        assert {token for text in texts for token in text.split()} <= set(WORDS)


# --- promises -----------------------------------------------------------------------------------------------------


def test_guarantees():
    assert make("CMP", 10).guarantee == MetricDP(10, "euclidean", "word", "all words")
    assert make("VickreyCMP", 10).guarantee == MetricDP(10)
    assert make("Mahalanobis", 10).guarantee == MetricDP(10, "mahalanobis")
    assert make("VickreyMhl", 10).guarantee == MetricDP(10, "mahalanobis")
    assert make("SanText", 10).guarantee == MetricDP(10)
    assert make("TEM", 10).guarantee == MetricDP(10)
    assert make("Random").guarantee == LocalDP(0, "all words")
    groups = make("CusText", 10).guarantee
    assert isinstance(groups, LocalDP)
    assert groups.epsilon == 10
    assert groups.among.startswith("the words of one group of 3")
    plus = make("SanText+", 10).guarantee
    assert isinstance(plus, MetricDP)
    assert plus.scope != "all words"
    for name in ("CusText topk", "WBB", "WBB all", "WBB published"):
        assert isinstance(make(name).guarantee, NoGuarantee)
        assert len(make(name).guarantee.reason) > 20
    assert isinstance(Identity().guarantee, NoGuarantee)


def test_what_is_promised_is_true_of_the_options():
    # A dropped word shows in the length: only words of the vocabulary look alike.
    assert make("Random", oov="drop").guarantee == LocalDP(0, "words of the vocabulary")
    for policy in ("anchor", "uniform", "gaussian"):
        assert make("Random", oov=policy).guarantee == LocalDP(0, "all words")
    plus = make("SanText+", 10)
    count = len(plus.vectors)
    # By the order of the rows, whatever that is; nothing here counts how rare a word is.
    assert plus.guarantee.scope == f"only the last {count - plus.first_sensitive:,} of {count:,} words in file order"
    assert "rare" not in str(plus.guarantee)
    assert isinstance(make("CusText", 10, keep_stopwords=True).guarantee, NoGuarantee)


@pytest.mark.parametrize("name", ["CMP", "Mahalanobis", "VickreyCMP", "SanText", "TEM"])
def test_a_metric_guarantee_says_for_which_words_it_holds(name):
    # Only a policy that gives unknown words a fixed place of their own extends the metric to them.
    for policy, scope in [
        ("anchor", "all words"),
        ("subword", "all words, unknown ones by their parts"),
        ("uniform", "words of the vocabulary"),
        ("gaussian", "words of the vocabulary"),
        ("drop", "words of the vocabulary"),
    ]:
        assert make(name, oov=policy).guarantee.scope == scope


@pytest.mark.parametrize("count", [1, 2, 3, 1000])
def test_uniform_rows_stay_inside(count):
    largest = np.nextafter(1.0, 0.0)
    rows = uniform_rows(np.array([0.0, 0.5, largest]), count)
    assert rows[0] == 0
    assert rows[-1] == count - 1
    grid = uniform_rows((np.arange(count * 10) + 0.5) / (count * 10), count)
    assert np.bincount(grid).tolist() == [10] * count


def test_identity_sends_the_query_as_it_is():
    assert Identity().obfuscate("  Any TEXT, \u4e2d ", 2) == ["  Any TEXT, \u4e2d "] * 2
    assert Identity().log_prob("cat", "cat") == 0
    assert Identity().log_prob("dog", "cat") == -np.inf
