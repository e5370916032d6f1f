"""FEA: planted corpora, windows, sensitive words, and the ranking against a plain search."""

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.bm25.index import SmallIndex
from quipukit.errors import InputError, SpecError
from quipukit.guarantees import NoGuarantee
from quipukit.lexical import STOP_WORDS, content_words, stem, stems, text_words
from quipukit.mechanisms.base import RootSeed, Variants
from quipukit.mechanisms.fea import FEA, local_index, term_sets, window_queries, windows
from quipukit.obfuscation import bind, obfuscate_with_notes
from quipukit.specs import spec
from quipukit.text import key, tokenize
from quipukit.wordnet.database import load_wordnet
from tests.examples import examples

QUERIES = ["how tumour grows", "do goldfish grow", "who is robert gray", "causes of military suicide", "wifi"]
TOPIC = ["bravo", "charlie", "delta", "echo", "foxtrot"]


def run(query: str, n: int = 50, **options: object) -> Variants:
    mechanism = FEA(**({"window": 16} | options))  # type: ignore[arg-type]
    return FEA.obfuscate_batch([mechanism], [("q", query)], n, RootSeed(7))[0][0]


def planted() -> list[tuple[str, str]]:
    """Return a corpus in which "amber beacon" finds exactly what "secret" finds, and no other pair does.

    Each word alone, and each other pair, finds decoys before the targets.
    """
    targets = [(f"t{i}", "secret amber beacon") for i in range(5)]
    decoys = [(f"a{i}", "amber amber amber") for i in range(20)] + [
        (f"b{i}", "beacon beacon beacon") for i in range(20)
    ]
    others = [(f"o{i}", "harbour lantern meadow orchard") for i in range(60)]
    return [*decoys, *others, *targets]


def test_the_planted_query_comes_first() -> None:
    found = run("secrets", 10, k=5, collection=planted())
    assert found.texts[0] == "amber beacon"
    index = local_index(planted())
    assert set(index.search(["amber", "beacon"], 5)[0]) == {f"t{i}" for i in range(5)}
    assert not {"amber", "beacon"} & set(FEA(window=16, collection=planted()).sensitive("secrets"))
    # The planted pair is perfect; what follows is not.
    assert set(found.texts) == {"amber beacon", "amber", "beacon"}
    assert index.search(["amber"], 5)[0][0].startswith("a")


def test_ranking_is_ndcg_of_a_plain_search() -> None:
    """The fast path must agree with searching, computing nDCG and sorting, candidate by candidate."""
    mechanism = FEA(window=4, k=3, depth=7, collection=random_corpus(5))
    index = mechanism.index
    query = "alpha"
    targets = index.search([query], 3)[0]
    sensitive = mechanism.sensitive(query)
    candidates = set()
    for target in targets:
        for run_of_words in brute_windows(index.words_of(index.ids.index(target)), 4):
            allowed = {w for w in run_of_words if w not in sensitive and stem(w) not in sensitive}
            for size in (1, 2, 3):
                candidates |= {tuple(sorted(part)) for part in itertools.combinations(allowed, size)}

    def ndcg(terms: tuple[str, ...]) -> float:
        ranking = index.search(terms, 7)[0]
        gain = math.fsum(1 / math.log2(ranking.index(t) + 2) for t in targets if t in ranking)
        return gain / math.fsum(1 / math.log2(i + 2) for i in range(3))

    expected = sorted(candidates, key=lambda terms: (-round(ndcg(terms), 12), terms))
    assert len(expected) > 50
    assert mechanism.obfuscate(query, 10_000) == [" ".join(terms) for terms in expected]


def test_equal_ranks_score_equally_whichever_target_has_which() -> None:
    orders = list(itertools.permutations([0, 3, 5, 10, -1]))

    class Ranked:
        def __len__(self) -> int:
            return 100

        def rank_targets(self, *_: object) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
            return np.array(orders, np.int32), np.full(len(orders), 50)

    candidates = np.zeros((len(orders), 1), np.int64)
    scores = FEA(window=16)._scores(Ranked(), np.zeros(1, np.int64), candidates, np.arange(5))  # type: ignore[arg-type]
    assert len(set(scores.tolist())) == 1
    # Twin: added in the order of the targets, the same gains round differently.
    assert len({sum(1 / math.log2(rank + 2) for rank in order if rank >= 0) for order in orders}) > 1


def test_pmi_selection() -> None:
    corpus = random_corpus(6)
    mechanism = FEA(window=4, k=3, select="pmi", max_terms=2, collection=corpus)
    index = mechanism.index
    targets = index.search(["alpha"], 3)[0]
    found = mechanism.obfuscate("alpha", 10_000)
    assert len(found) > 20

    def pmi(text: str) -> float:
        ranking = index.search(text.split(), len(index))[0]
        hits = sum(target in ranking[:10] for target in targets)
        return math.log(hits * len(index) / (len(ranking) * len(targets)))

    values = [round(pmi(text), 12) for text in found]
    assert values == sorted(values, reverse=True)
    assert found == sorted(found, key=lambda text: (-round(pmi(text), 12), text.split()))


def test_keyqueries_are_minimal_and_find_enough() -> None:
    corpus = random_corpus(7, size=60)
    plain = FEA(window=6, collection=corpus)
    mechanism = FEA(window=6, keyqueries=True, collection=corpus)
    index = mechanism.index
    targets = set(index.search(["alpha"], 10)[0])

    def qualifies(terms: tuple[str, ...]) -> bool:
        ranking = index.search(terms, len(index))[0]
        return len(ranking) >= 20 and len(targets & set(ranking[:10])) >= 3

    every = [tuple(text.split()) for text in plain.obfuscate("alpha", 100_000)]
    good = {terms for terms in every if qualifies(terms)}
    minimal = [
        terms
        for terms in every
        if terms in good
        and not any(part in good for size in range(1, len(terms)) for part in itertools.combinations(terms, size))
    ]
    assert 0 < len(minimal) < len(good) < len(every)
    assert [tuple(text.split()) for text in mechanism.obfuscate("alpha", 100_000)] == minimal


def random_corpus(seed: int, size: int = 80) -> list[tuple[str, str]]:
    """Return documents over 26 words; those with "alpha" share some words more often than chance."""
    rng = random.Random(seed)
    common = [*TOPIC, *("".join(pair) for pair in itertools.product("bdgkz", "aeiu"))]
    corpus = []
    for i in range(size):
        topic = rng.choices(["alpha", *TOPIC], k=rng.randint(1, 4)) if rng.random() < 0.5 else []
        corpus.append((f"d{i}", " ".join(rng.sample([*topic, *rng.choices(common, k=8)], len(topic) + 8))))
    return corpus


def brute_windows(tokens: list[str], size: int) -> list[list[str]]:
    return [tokens] if len(tokens) <= size else [tokens[i : i + size] for i in range(len(tokens) - size + 1)]


def test_windows_of_a_document() -> None:
    assert len(windows(range(20), 16)) == 5
    assert windows(range(20), 16)[-1] == tuple(range(4, 20))
    assert windows([1, 2], 16) == [(1, 2)]
    assert windows([], 16) == []
    assert windows([1, 2, 3], 1) == [(1,), (2,), (3,)]


@given(
    st.lists(st.lists(st.integers(-1, 6), max_size=9), max_size=4),
    st.integers(1, 10),
    st.integers(1, 5),
)
def test_term_sets_are_the_subsets_of_all_windows(sequences: list[list[int]], window: int, most: int) -> None:
    expected = {
        tuple(sorted(part))
        for sequence in sequences
        for run_of_terms in windows(sequence, window)
        for size in range(1, most + 1)
        for part in itertools.combinations({term for term in run_of_terms if term >= 0}, size)
    }
    found = [tuple(term for term in row if term >= 0) for row in term_sets(sequences, window, most).tolist()]
    assert len(found) == len(set(found))
    assert set(found) == expected


def test_window_queries_leave_sensitive_words_and_repetitions_out() -> None:
    assert window_queries([[4, -1, 4, 2, 3]], 4).tolist() == [[4, 2, -1], [4, 2, 3]]
    assert window_queries([[-1, -1]], 4).size == 0
    assert window_queries([[1, 2], [2, 1]], 4).tolist() == [[1, 2]], "the same words are the same query"


def test_window_mode_sends_the_window() -> None:
    words = ["alder", "birch", "cedar", "cypress", "hazel", "juniper", "larch", "maple", "poplar", "rowan", "spruce"]
    corpus = [("t", " ".join(["secret", *words])), *((f"o{i}", "lantern meadow orchard") for i in range(9))]
    found = run("secret", 50, window=5, mode="window", collection=corpus)
    spoken = [set(text.split()) for text in found.texts]
    sensitive = FEA(window=5).sensitive("secret")
    kept = [[w for w in part if w not in sensitive] for part in brute_windows(["secret", *words], 5)]
    assert len(found.texts) == 8
    assert {frozenset(part) for part in kept} == set(map(frozenset, spoken))
    assert " ".join(words[:5]) in found.texts, "in the order of the document"


def test_sensitive_words_are_those_of_wordnet() -> None:
    sensitive = FEA(window=16).sensitive("a Crime")
    assert {"crime", "offense", "offence", "criminal", "breaking"} <= sensitive  # synonyms, word by word
    assert {"transgression", "evildoing"} <= sensitive  # hypernyms
    assert {"felony", "fraud", "treason"} <= sensitive  # hyponyms
    assert {"transgress", "feloni", "treason", "offens"} <= sensitive  # their stems
    assert "wrongdoing" not in sensitive  # two steps up
    assert "money" in FEA(window=16).sensitive("dough")  # any sense
    assert not any(len(word) < 3 and word not in ("a",) for word in sensitive - {"a"})


def is_clean(query: str, texts: list[str]) -> bool:
    """Tell whether no word of the texts is, or has the stem of, a word of the query or a relative of one."""
    wordnet = load_wordnet()
    own = set(tokenize(query)) | set(text_words(query)) | set(content_words(key(query).replace("'", " ")))
    related: set[str] = set()
    for word in own - STOP_WORDS:
        for synset in wordnet.synsets(word):
            near = wordnet.related(synset, "hypernym", "hyponym") if synset.id[0] == "n" else []
            for each in (synset, *near):
                related.update(text_words(" ".join(each.lemmas).replace("_", " ")))
    banned = own | related
    banned |= {s for s in stems(banned) if len(s) > 2}
    sent = {word for text in texts for word in text.split()}
    return not banned & (sent | set(stems(sent)))


@pytest.mark.heavy
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("options", [{}, {"mode": "window"}, {"select": "pmi"}, {"window": 3, "k": 40}])
def test_nothing_sensitive_is_sent(query: str, options: dict[str, object]) -> None:
    found = run(query, 500, **options)
    assert found.texts
    assert is_clean(query, found.texts)
    assert len(set(found.texts)) == len(found.texts)


def test_the_check_for_cleanness_can_fail() -> None:
    assert not is_clean("how tumour grows", ["abnormal tumours"])
    assert not is_clean("how tumour grows", ["neoplasm"])
    assert not is_clean("l'amour-propre", ["amour"])
    assert is_clean("how tumour grows", ["abnormal tissue"])


pieces = st.sampled_from(
    [
        "tumour",
        "Crimes",
        "the",
        "dog's",
        "\u00e9t\u00e9",
        "l'amour-propre",
        "9",
        "B12",
        "??",
        "o\u2019clock",
        "\u0130zmir",
        "stra\u00dfe",
    ]
)


@pytest.mark.heavy
@examples(50)
@given(st.one_of(st.text(max_size=40), st.lists(pieces, max_size=6).map(" ".join), st.sampled_from(QUERIES)))
def test_any_query_stays_clean(query: str) -> None:
    found = run(query, 30)
    if found.flags.get("empty"):
        assert found.texts == [""] * 30
    else:
        assert (not found.texts) == (found.flags.get("no_obfuscation") == 1)
        assert is_clean(query, found.texts)
        assert key(query) not in found.texts
        assert "" not in found.texts


@pytest.mark.heavy
def test_a_huge_query() -> None:
    query = " ".join(["tumour", "crime", "health"] * 5000) + " x" * 1000
    found = run(query, 10)
    assert found.texts and is_clean(query, found.texts)


@pytest.mark.heavy
def test_it_uses_no_randomness() -> None:
    mechanism = FEA(window=16)

    def none(variant: int) -> np.random.Generator:
        raise AssertionError("FEA asked for randomness")

    one = mechanism.variants(QUERIES[0], 50, none)
    assert one == mechanism.variants(QUERIES[0], 50, none)
    assert len(one.texts) == 50 and one.flags == {}
    for n in (0, 1, 7):
        assert mechanism.variants(QUERIES[0], n, none).texts == one.texts[:n]


def test_a_short_stem_does_not_let_its_word_through() -> None:
    assert stem("ibs") == "ib"  # too short to be sensitive; the word itself still is
    found = run("ibs", 50, collection=[("1", "ibs amber beacon"), ("2", "ibs amber")])
    assert found.texts and not any("ibs" in text.split() for text in found.texts)


@pytest.mark.parametrize("query", ["volunterilay", "what is the", "qzx zzzq"])
def test_no_candidate_gives_no_variant(query: str) -> None:
    assert run(query, 5) == Variants([], {"no_obfuscation": 1})


def test_targets_without_a_free_word_give_no_variant() -> None:
    assert run("secret", 5, collection=[("1", "secret"), ("2", "secrets 99 the")]) == Variants(
        [], {"no_obfuscation": 1}
    )


@pytest.mark.parametrize("query", ["", " \t", "?!", "_"])
def test_empty_queries(query: str) -> None:
    assert run(query, 3) == Variants(["", "", ""], {"empty": 1})


def test_fewer_variants_are_counted() -> None:
    assert run("secret", 10, collection=planted()).flags == {"fewer": 7}


def test_the_local_corpus_can_be_given_in_several_ways() -> None:
    class Collection:
        def documents(self) -> list[tuple[str, str]]:
            return planted()

    ways = [planted(), iter(planted()), Collection(), SmallIndex.build(planted())]
    texts = [FEA(window=16, k=5, collection=way).obfuscate("secret", 3) for way in ways]
    assert texts == [["amber beacon", "amber", "beacon"]] * 4
    index = local_index(planted())
    assert FEA(window=12, collection=index).index is FEA(window=14, collection=index).index is index
    assert FEA(window=12).index is FEA(window=14).index


def test_settings_share_one_index_of_a_corpus_that_can_be_read_once() -> None:
    first, second = bind(["FEA@12", "FEA@14"], collection=iter(planted()))
    assert isinstance(first, FEA) and isinstance(second, FEA) and first.index is second.index
    own = FEA(window=16, collection=[("1", "sea")])
    first, kept = bind(["FEA@12", own], collection=iter(planted()))
    assert isinstance(first, FEA) and len(first.index) == len(planted()) and kept is own and len(own.index) == 1


def test_numbers_as_ids_become_strings() -> None:
    assert local_index([(1, "sea")]).ids == ["1"]  # type: ignore[list-item]


@pytest.mark.parametrize("collection", ["text", 5, [("a",)], ["ab"], [("a", None)], [{"docno": "a"}], []])
def test_a_wrong_corpus_is_refused(collection: object) -> None:
    with pytest.raises(InputError, match="FEA"):
        FEA(window=16, collection=collection)


def test_a_flood_of_candidates_is_flagged_and_the_others_go_on() -> None:
    corpus = [("1", "secret " + " ".join("".join(p) for p in itertools.product("bcdfg", repeat=4)))]
    corpus += [("2", "plain words, few of them")]
    mechanism = FEA(window=600, collection=corpus)
    done = obfuscate_with_notes({"long": "secret", "short": "plain"}, [mechanism], 2)
    assert set(done.table["qid"]) == {"short"}
    flags = done.notes.loc[done.notes["qid"] == "long", "flag"]
    assert set(flags) == {"no_obfuscation", "too_many"}
    assert FEA(window=6, collection=corpus).obfuscate("secret")


def test_it_promises_nothing_and_says_so() -> None:
    mechanism = FEA(window=16)
    assert isinstance(mechanism.guarantee, NoGuarantee) and not mechanism.guarantee.private
    assert mechanism.strategy == "heuristic" and mechanism.grid == (12, 14, 16)


def test_spec() -> None:
    assert repr(FEA(window=12).spec) == "FEA@12"
    assert repr(FEA(window=12, mode="window", k=20).spec) == "FEA(k=20, mode='window')@12"
    assert spec("fsh@12") == FEA(window=12.0, collection=planted()).spec  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        {"window": 0},
        {"window": 2.5},
        {"window": math.inf},
        {"window": "12"},
        {"window": 12, "k": 0},
        {"window": 12, "max_terms": 6},
        {"window": 12, "depth": 0},
        {"window": 12, "mode": "all"},
        {"window": 12, "select": "best"},
        {"window": 12, "keyqueries": "yes"},
    ],
)
def test_wrong_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(SpecError, match="FEA"):
        FEA(**options)  # type: ignore[arg-type]
