"""The built-in collection: its documents, the rule of its judgments, its queries, and the log around them."""

import hashlib
import statistics
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

from quipukit.bm25.index import SmallIndex
from quipukit.collections import wordnet_log
from quipukit.collections.wordnet_glosses import Topic, WordNetGlosses, judge, topics
from quipukit.collections.wordnet_log import Entry, query_log
from quipukit.errors import InputError, ResourceError
from quipukit.frames import QRELS, QUERIES
from quipukit.lexical import stems, text_words
from quipukit.text import key
from quipukit.wordnet.database import WordNet, load_wordnet

LOG_SHA256 = "3f8f632c1fe7780fde966a682715d534066d45d90b971c4d1142b11b7062efa0"


@pytest.fixture(scope="module")
def collection() -> WordNetGlosses:
    return WordNetGlosses()


@pytest.fixture(scope="module")
def documents(collection: WordNetGlosses) -> dict[str, str]:
    return dict(collection.documents())


@pytest.fixture(scope="module")
def log(collection: WordNetGlosses) -> list[Entry]:
    return query_log(collection.wordnet, topics(), seed=7, size=wordnet_log.SIZE)


# --- documents ----------------------------------------------------------------------------------------------------


def test_every_synset_is_a_document(collection: WordNetGlosses, documents: dict[str, str]) -> None:
    assert len(documents) == len(collection) == 117_659
    assert list(documents)[:2] == ["n00001740", "n00001930"]
    assert documents["n00001740"].startswith("entity: that which is perceived or known")
    assert "A kind of" not in documents["n00001740"]


def test_words_gloss_examples_and_kinds(documents: dict[str, str]) -> None:
    assert documents["n14391876"] == (
        "craze, delirium, frenzy, fury, hysteria: state of violent mental agitation. A kind of: mania, manic disorder"
    )
    # An instance is said like a kind.
    assert documents["n11131808"].endswith("(1896-1968). A kind of: diplomat, diplomatist")
    assert '"God bless this union". A kind of: marital status' in documents["n13963970"]
    # Adjectives are kinds of nothing.
    assert not any("A kind of:" in text for docno, text in documents.items() if docno[0] == "a")


def test_texts_are_the_documents_texts(collection: WordNetGlosses, documents: dict[str, str]) -> None:
    docnos = [*list(documents)[::997], "n00000000", "nonsense", ""]
    assert dict(collection.texts(docnos)) == {docno: documents[docno] for docno in docnos if docno in documents}


def test_the_fingerprint_belongs_to_the_data(collection: WordNetGlosses, monkeypatch: pytest.MonkeyPatch) -> None:
    assert collection.fingerprint == WordNetGlosses().fingerprint
    assert collection.fingerprint != collection.wordnet.fingerprint
    monkeypatch.setattr("quipukit.collections.wordnet_glosses._FORM", 0)
    assert WordNetGlosses().fingerprint != collection.fingerprint


# --- queries and judgments ---------------------------------------------------------------------------------------


def test_the_queries(collection: WordNetGlosses) -> None:
    queries = QUERIES.check(collection.queries())
    assert len(queries) >= 110
    assert queries["query"].map(key).is_unique
    themes = Counter(topic.theme for topic in topics())
    assert {"health", "money", "law", "work", "family", "belief", "sexuality", "addiction"} <= set(themes)
    assert min(themes.values()) >= 5


def test_every_query_names_its_concept(collection: WordNetGlosses) -> None:
    for topic in topics():
        asked = set(stems(text_words(topic.query)))
        for id in topic.synsets:
            lemmas = collection.wordnet.synset(id).lemmas
            named = [set(stems(text_words(lemma.replace("_", " ")))) for lemma in lemmas]
            assert any(words and words <= asked for words in named), (topic.query, lemmas)


def test_the_rule_of_the_judgments() -> None:
    wordnet = load_wordnet()
    syphilis = judge(wordnet, ["n14133985"])
    by_name = {wordnet.synset(id).lemmas[0]: grade for id, grade in syphilis.items()}
    assert by_name["syphilis"] == 3
    assert by_name["tertiary_syphilis"] == 2  # a kind of it
    assert by_name["chancre"] == 2  # a part
    assert by_name["tabes_dorsalis"] == 1  # a kind of a kind
    assert by_name["syphilitic"] == 1  # derived
    assert "venereal_disease" not in by_name and "gonorrhea" not in by_name
    assert len(by_name) == 8


def test_the_highest_judgment_counts() -> None:
    wordnet = load_wordnet()
    disease, syphilis = "n14133159", "n14133985"
    assert judge(wordnet, [disease])[syphilis] == 2
    for order in ([disease, syphilis], [syphilis, disease]):
        both = judge(wordnet, order)
        assert both[syphilis] == both[disease] == 3
        assert set(both) == set(judge(wordnet, [disease])) | set(judge(wordnet, [syphilis]))


def test_the_judgments_fit_the_documents_and_queries(collection: WordNetGlosses, documents: dict[str, str]) -> None:
    qrels = QRELS.check(collection.qrels())
    assert set(qrels["docno"]) <= set(documents)
    assert set(qrels["qid"]) == set(collection.queries()["qid"])
    assert set(qrels["relevance"]) == {1, 2, 3}
    sizes = qrels.groupby("qid").size()
    assert sizes.median() >= 8
    assert (sizes >= 5).mean() >= 0.95


def test_another_wordnet_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    collection = WordNetGlosses()
    monkeypatch.setattr(WordNet, "version", "3.1")
    with pytest.raises(ResourceError, match=r"belong to WordNet 3\.0 \(found 3\.1\)"):
        collection.qrels()
    with pytest.raises(ResourceError, match="belong to WordNet"):
        collection.query_log()


# --- what can be reached ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pools(collection: WordNetGlosses, documents: dict[str, str]) -> pd.DataFrame:
    index = SmallIndex.build(documents.items(), k1=0.9, b=0.4)
    rows = []
    for topic in topics():
        docnos, scores = index.search(text_words(topic.query), 100)
        rows += [(topic.qid, docno, score) for docno, score in zip(docnos, scores, strict=True)]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])


def ndcg(collection: WordNetGlosses, run: pd.DataFrame) -> float:
    import ir_measures

    qrels = collection.qrels().rename(columns={"qid": "query_id", "docno": "doc_id"})
    qrels = qrels[qrels["query_id"].isin(run["query_id"])]
    value: float = ir_measures.calc_aggregate([ir_measures.nDCG @ 10], qrels, run)[ir_measures.nDCG @ 10]
    return value


@pytest.mark.slow
def test_bm25_finds_half(collection: WordNetGlosses, pools: pd.DataFrame) -> None:
    assert set(pools["query_id"]) == set(collection.queries()["qid"])
    assert ndcg(collection, pools) >= 0.5
    shuffled = pools.assign(query_id=pools["query_id"].map(dict(zip(*rotated(collection), strict=True))))
    assert ndcg(collection, shuffled) < 0.1  # the answers to another query


def rotated(collection: WordNetGlosses) -> tuple[list[str], list[str]]:
    qids = collection.queries()["qid"].tolist()
    return qids, [*qids[1:], qids[0]]


@pytest.mark.slow
def test_reranking_finds_more_than_half(collection: WordNetGlosses, pools: pd.DataFrame) -> None:
    queries = collection.queries()[::4]  # all of them reach 0.58, in four times the time
    run = pools[pools["query_id"].isin(queries["qid"])]
    texts = collection.texts(run["doc_id"].tolist())
    vectors = encode([*run["doc_id"].map(texts), *queries["query"]])
    by_query = dict(zip(queries["qid"], vectors[len(run) :], strict=True))
    asked = np.array([by_query[qid] for qid in run["query_id"]])
    reranked = run.assign(score=(vectors[: len(run)] * asked).sum(axis=1))
    assert ndcg(collection, reranked) >= 0.5


# --- the log ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_log_is_large_and_distinct(collection: WordNetGlosses, log: list[Entry]) -> None:
    keys = {key(entry.query) for entry in log}
    assert len(keys) == len(log) == wordnet_log.SIZE >= 100_000
    assert {key(topic.query) for topic in topics()} <= keys
    assert not any("{" in entry.query or "_" in entry.query for entry in log)


def test_the_log_is_the_same_everywhere(collection: WordNetGlosses) -> None:
    # Logs are compared across machines and years: whoever changes the recipe or a template changes this on purpose, and
    # runs the slow tests, which look into it.
    assert hashlib.sha256("\n".join(collection.query_log()).encode()).hexdigest() == LOG_SHA256


@pytest.mark.slow
def test_what_is_kept_is_what_the_recipe_makes(log: list[Entry]) -> None:
    assert hashlib.sha256("\n".join(entry.query for entry in log).encode()).hexdigest() == LOG_SHA256


@pytest.mark.slow
def test_another_seed_gives_another_log(collection: WordNetGlosses, log: list[Entry]) -> None:
    few = topics()[:20]
    other = [entry.query for entry in query_log(collection.wordnet, few, 8, 3 * wordnet_log.PER_CENTRE * len(few))]
    assert len({entry.query for entry in log}.intersection(other)) < 0.5 * len(other)


def test_a_log_too_small_for_its_crowds_is_refused(collection: WordNetGlosses) -> None:
    with pytest.raises(InputError, match=r"needs at least [\d,]+ entries \(asked for 1,000\)"):
        collection.query_log(size=1_000)


@pytest.mark.slow
def test_every_query_has_a_hundred_neighbors(collection: WordNetGlosses, log: list[Entry]) -> None:
    about = Counter(entry.synset for entry in log)
    counts = [sum(about[id] for id in nearby(collection.wordnet, topic)) - 1 for topic in topics()]
    assert min(counts) >= 100, (min(counts), statistics.median(counts))
    assert statistics.median(counts) < 5_000  # a neighborhood, not the log


def nearby(wordnet: WordNet, topic: Topic) -> set[str]:
    """The concepts of a query, what they are kinds of, the other kinds of that, and their own kinds, two levels."""
    found = set(topic.synsets)
    for synset in map(wordnet.synset, topic.synsets):
        above = wordnet.related(synset, "hypernym")
        below = wordnet.related(synset, "hyponym", "instance_hyponym")
        found |= {near.id for near in (*above, *below)}
        for origin in (*above, *below):
            found |= {near.id for near in wordnet.related(origin, "hyponym", "instance_hyponym")}
    return found


@pytest.mark.slow
def test_crowds_do_not_tell_the_queries_apart(log: list[Entry]) -> None:
    ours = {topic.synsets[0] for topic in topics()}
    crowds = {center: size for center, size in Counter(entry.center for entry in log).items() if size >= 100}
    assert len(crowds) >= 3 * len(ours)
    own = statistics.median(size for center, size in crowds.items() if center in ours)
    others = statistics.median(size for center, size in crowds.items() if center not in ours)
    assert own == pytest.approx(others, abs=5)


@pytest.mark.slow
def test_the_queries_are_as_long_as_the_rest(log: list[Entry]) -> None:
    ours = [len(topic.query.split()) for topic in topics()]
    rest = [len(entry.query.split()) for entry in log]
    assert statistics.median(ours) == statistics.median(rest)
    assert abs(statistics.mean(ours) - statistics.mean(rest)) < 0.6
    assert max(ours) <= max(rest)
    characters = [statistics.mean(len(q) for q in qs) for qs in ([t.query for t in topics()], [e.query for e in log])]
    assert characters[0] == pytest.approx(characters[1], rel=0.15)


@pytest.mark.slow
def test_the_queries_are_not_more_typical_than_the_rest(log: list[Entry]) -> None:
    """How near to the middle of the log: where everything is the same, a query's place among the rest is 0.5."""
    ours = [topic.query for topic in topics()]
    rest = [entry.query for entry in log[:3_000] if entry.query not in ours]
    vectors = encode([*ours, *rest])
    near = vectors @ vectors[len(ours) :].mean(axis=0)
    places = np.searchsorted(np.sort(near[len(ours) :]), near[: len(ours)]) / len(rest)
    # 157 uniform places have a mean of 0.5 with a standard error of 0.023.
    assert 0.35 < places.mean() < 0.65
    assert (places > 0.99).mean() < 0.05


def encode(texts: list[str]) -> Any:
    from sentence_transformers import SentenceTransformer

    from quipukit.vectors.default_pack import model_folder

    model = SentenceTransformer(str(model_folder()), device="cpu")
    distinct = {text: row for row, text in enumerate(dict.fromkeys(texts))}
    vectors = model.encode(list(distinct), normalize_embeddings=True, show_progress_bar=False)
    return vectors[[distinct[text] for text in texts]]
