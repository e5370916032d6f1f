"""Jaccard, failure rates, sentence similarity and BERTScore-like, and the published appendix."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.errors import InputError
from quipukit.io.obfuscated import read_obfuscated
from quipukit.measures.similarity import bert_score, failure_rates, jaccard, similarity
from quipukit.text import key

WORDS = st.lists(st.sampled_from(["cat", "Dog", "FISH", "hen?"]), max_size=5).map(" ".join)


def sent(*rows: tuple[str, str], mechanism: str = "A", value: float = 1.0) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["qid", "query"])
    frame["variant"] = frame.groupby("qid").cumcount()
    return frame.assign(mechanism=mechanism, parameter="epsilon", value=value)


QUERIES = pd.DataFrame({"qid": ["1", "2"], "query": ["cat dog", "Fish  swim?"]})


class Letters:
    """A fake encoder: how often each letter occurs. It keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, texts, kind="query"):
        assert kind == "query"
        self.asked += texts
        return np.array([[text.count(chr(97 + i)) for i in range(26)] for text in texts], np.float32)


# --- Jaccard ---


def test_jaccard_by_hand() -> None:
    assert jaccard("cat dog", "DOG  fish") == pytest.approx(1 / 3)
    assert jaccard("cat cat", "cat") == 1
    assert jaccard("", " ") == 1 and jaccard("", "cat") == 0


@given(WORDS, WORDS)
def test_jaccard_is_a_likeness_of_keys(first: str, second: str) -> None:
    score = jaccard(first, second)
    assert 0 <= score <= 1
    assert score == jaccard(second, first) == jaccard(key(first), second.upper())
    assert (score == 1) == (set(key(first).split()) == set(key(second).split()))


# --- means over rows ---


def test_means_are_over_rows_by_mechanism_and_value() -> None:
    rows = pd.concat(
        [
            sent(("1", "cat dog"), ("1", "cat hen"), ("2", "x y"), value=10.0),
            sent(("1", "dog cat"), value=5.0),
            sent(("2", "FISH swim?"), mechanism="B"),
        ]
    )
    found = similarity(rows, QUERIES, None)
    assert list(found.columns) == ["mechanism", "parameter", "value", "jaccard", "sentence_similarity"]
    assert list(zip(found["mechanism"], found["value"], strict=True)) == [("A", 5), ("A", 10), ("B", 1)]
    assert found["jaccard"].tolist() == pytest.approx([1, (1 + 1 / 3 + 0) / 3, 1])
    assert found["sentence_similarity"].isna().all()


def test_order_of_rows_changes_nothing() -> None:
    rows = pd.concat([sent(("1", "cat dog"), ("1", "hen"), ("2", "x y"), value=v) for v in (10.0, 5.0)])
    one, other = (similarity(frame, QUERIES, Letters()) for frame in (rows, rows.iloc[::-1]))
    pd.testing.assert_frame_equal(one, other)


def test_distinct_texts_are_encoded_once() -> None:
    encoder = Letters()
    rows = sent(("1", "cat dog"), ("1", "CAT dog"), ("1", "ab"), ("2", "ab"))
    found = similarity(rows, QUERIES, encoder)
    assert sorted(encoder.asked) == ["ab", "cat dog", "fish swim?"]

    def cosine(first: str, second: str) -> float:
        a, b = Letters().encode([first, second]).astype(float)
        return a @ b / np.sqrt(a @ a * (b @ b))

    expected = (1 + 1 + cosine("cat dog", "ab") + cosine("fish swim?", "ab")) / 4
    assert found["sentence_similarity"].item() == pytest.approx(expected)


def test_an_encoder_may_be_a_function_and_zeros_are_like_nothing() -> None:
    rows = sent(("1", "cat dog"), ("1", "123"))
    assert similarity(rows, QUERIES, Letters().encode)["sentence_similarity"].item() == pytest.approx(0.5)
    assert similarity(rows, QUERIES, lambda texts: [[1.0, 2.0]] * len(texts))[
        "sentence_similarity"
    ].item() == pytest.approx(1)


def test_an_encoder_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from quipukit.encoders import load

    monkeypatch.setattr(load, "load_encoder", lambda name: {"letters": Letters()}[name])
    assert similarity(sent(("1", "god tac")), QUERIES, "letters")["sentence_similarity"].item() == pytest.approx(1)


# --- failures ---


def test_failures_by_hand() -> None:
    rows = sent(("1", "cat hen"), ("1", "CAT dog"), ("1", "cat"), ("2", "fish swims"), ("2", "a b"))
    found = failure_rates(rows, QUERIES).iloc[0]
    # Positions: cat, dog of 1 (twice), fish, swim of 2 (twice); "cat" alone has no positions to compare.
    assert found["tokens"] == pytest.approx((1 + 2 + 1 + 0) / 8)
    assert found["aligned"] == pytest.approx(4 / 5)
    assert found["verbatim"] == pytest.approx(1 / 5)
    assert found["any_verbatim"] == pytest.approx(1 / 2)
    assert (found["variants"], found["queries"]) == (5, 2)


def test_punctuation_does_not_hide_a_word() -> None:
    queries = pd.DataFrame({"qid": ["1"], "query": ["best land?"]})
    assert failure_rates(sent(("1", "best land")), queries)["tokens"].item() == 1
    queries = pd.DataFrame({"qid": ["1"], "query": ["best - land?"]})
    found = failure_rates(sent(("1", "best land")), queries).iloc[0]
    assert (found["tokens"], found["aligned"], found["verbatim"]) == (1, 1, 0)


def test_neither_case_nor_accents_hide_a_word() -> None:
    queries = pd.DataFrame({"qid": ["1"], "query": ["caf\u00e9 land \u4e2d\u6587"]})
    assert failure_rates(sent(("1", "cafe Land \u4e2d\u6587")), queries)["tokens"].item() == 1
    assert failure_rates(sent(("1", "cave sand \u4e2d")), queries)["tokens"].item() == 0


def test_identity_fails_always_and_other_words_never() -> None:
    found = failure_rates(sent(("1", "cat dog"), ("2", "Fish  swim?")), QUERIES).iloc[0]
    assert found[["tokens", "aligned", "verbatim", "any_verbatim"]].tolist() == [1, 1, 1, 1]
    found = failure_rates(sent(("1", "dog cat"), ("2", "swim fish x")), QUERIES).iloc[0]
    assert found[["tokens", "verbatim", "any_verbatim"]].tolist() == [0, 0, 0]
    assert pd.isna(failure_rates(sent(("1", "x")), QUERIES)["tokens"].item())


# --- bad input ---


@pytest.mark.parametrize(
    ("rows", "queries", "encoder", "part"),
    [
        (sent(("9", "x")), QUERIES, None, "first: 9"),
        (sent(("1", "x")), QUERIES.iloc[:0], None, "original queries are needed"),
        (sent(("1", "x")).iloc[:0], QUERIES, None, "no obfuscated query"),
        (sent(("1", "x")), QUERIES, 7, "found int"),
        (sent(("1", "x")), QUERIES, lambda texts: np.ones(3), "one row per text"),
        (sent(("1", "x")).drop(columns="query"), QUERIES, None, "needs column 'query'"),
    ],
)
def test_bad_input_says_the_fix(rows, queries, encoder, part: str) -> None:
    with pytest.raises(InputError, match=part):
        similarity(rows, queries, encoder)


def test_strangers_are_left_out_and_counted() -> None:
    with pytest.warns(UserWarning, match="1 qids"):
        found = similarity(sent(("1", "cat dog"), ("9", "x")), QUERIES, None)
    assert found["jaccard"].item() == 1


# --- BERTScore-like ---


def test_bert_score_by_hand() -> None:
    candidate, reference = [[[3, 0]]], [[[1, 0], [0, 2]]]
    found = bert_score(candidate, reference)
    assert (found.precision[0], found.recall[0]) == (1, 0.5)
    assert found.f1[0] == pytest.approx(2 / 3)
    weighted = bert_score(candidate, reference, candidate_weights=[[1]], reference_weights=[[3, 1]])
    assert weighted.recall[0] == pytest.approx(0.75)
    rescaled = bert_score(candidate, reference, baseline=0.5)
    assert rescaled.recall[0] == pytest.approx(0) and rescaled.precision[0] == pytest.approx(1)


def test_bert_score_laws() -> None:
    rng = np.random.default_rng(1)
    left = [rng.normal(size=(n, 8)) for n in (1, 4, 6)]
    right = [rng.normal(size=(n, 8)) for n in (3, 2, 5)]
    forth, back = bert_score(left, right), bert_score(right, left)
    assert forth.precision == pytest.approx(back.recall) and forth.f1 == pytest.approx(back.f1)
    same = bert_score(left, [rows[::-1] * 7 for rows in left])
    assert same.precision == pytest.approx(np.ones(3)) and same.f1 == pytest.approx(np.ones(3))
    equal = bert_score(left, right, reference_weights=[np.full(len(rows), 2.0) for rows in right])
    assert equal.recall == pytest.approx(forth.recall)


def test_bert_score_of_texts_without_tokens() -> None:
    empty = np.empty((0, 3))
    assert bert_score([empty, empty, np.ones((1, 3))], [empty, np.ones((2, 3)), empty]).f1.tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"baseline": 1.0}, "baseline"),
        ({"reference_weights": [[1, 1]]}, "1 tokens"),
        ({"references": []}, "give pairs"),
    ],
)
def test_bert_score_bad_input(options: dict, part: str) -> None:
    with pytest.raises(InputError, match=part):
        bert_score(**{"candidates": [[[1.0]]], "references": [[[1.0]]]} | options)


# --- the published appendix ---


@pytest.fixture(scope="module")
def appendix(project_root: Path) -> pd.DataFrame:
    file = project_root.parent / "shared" / "fixtures" / "appendix_dl19.csv"
    if not file.is_file():
        pytest.skip("needs the published numbers in ../shared/fixtures, beside the checkout; the file is absent")
    return pd.read_csv(file).rename(columns={"epsilon": "value"})


OTHERS = ("CMP", "CusText", "Mahalanobis", "TEM", "VickreyCMP", "VickreyMhl")


@pytest.fixture(scope="module")
def released(shared_data: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    return read_obfuscated(shared_data / "published" / "dl19")


def beside(found: pd.DataFrame, appendix: pd.DataFrame) -> pd.DataFrame:
    both = found.merge(appendix, on=["mechanism", "value"], suffixes=("", "_printed"))
    assert len(appendix) == 80
    return both


@pytest.mark.heavy
@pytest.mark.parametrize(
    "mechanism", ["SanText", "WBB", *(pytest.param(one, marks=pytest.mark.slow) for one in OTHERS)]
)
def test_jaccard_of_the_published_queries_is_the_published_one(shared_data, appendix, mechanism: str) -> None:
    """Every cell within 0.0015, but for WBB: its ten cells are printed 0.000, and the queries give 0.394."""
    obfuscated = read_obfuscated(shared_data / "published" / "dl19" / mechanism)
    both = beside(similarity(*obfuscated, encoder=None), appendix)
    assert len(both) == 10
    if mechanism == "WBB":
        assert both["jaccard_printed"].eq(0).all()
        assert both["jaccard"].to_numpy() == pytest.approx(0.394, abs=0.0015)
    else:
        assert (both["jaccard"] - both["jaccard_printed"]).abs().max() < 0.0015


@pytest.mark.published
def test_sentence_similarity_of_the_published_queries_is_the_published_one(released, appendix) -> None:
    """All 94,000 distinct texts through MiniLM: minutes, so part of `make reproduce`."""
    both = beside(similarity(*released, encoder="minilm"), appendix)
    assert len(both) == 80
    assert (both["sentence_similarity"] - both["sentence_similarity_printed"]).abs().max() < 0.0015


@pytest.mark.heavy
@pytest.mark.parametrize("mechanism", ["SanText", pytest.param("TEM", marks=pytest.mark.slow)])
def test_sentence_similarity_of_a_slice_of_the_published_queries(shared_data, appendix, mechanism: str) -> None:
    """Settings whose texts are few, because nearly all come out verbatim."""
    obfuscated, queries = read_obfuscated(shared_data / "published" / "dl19" / mechanism)
    chosen = obfuscated[obfuscated["value"] == 50]
    printed = appendix[(appendix["mechanism"] == mechanism) & (appendix["value"] == 50)]
    found = similarity(chosen, queries, encoder="minilm")["sentence_similarity"].item()
    assert found == pytest.approx(printed["sentence_similarity"].item(), abs=0.0015)
