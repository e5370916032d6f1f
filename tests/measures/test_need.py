"""Need leakage: closed forms, an independent nDCG, controls, and the published queries."""

from itertools import permutations
from pathlib import Path

import ir_measures
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quipukit as qk
from quipukit.collections.files import Folder
from quipukit.errors import InputError
from quipukit.frames import NEED
from quipukit.measures.intervals import mean_intervals
from quipukit.measures.need import ndcg, need_means
from tests.measures.topical import QUERIES, TOPICS, WORDS, Topical, guesses, sent

TOY = Topical()


def measured(**given: pd.DataFrame) -> pd.DataFrame:
    """Return the table of the toy collection, without a model."""
    return qk.need_leakage(TOY.queries(), TOY.qrels(), TOY, reranker="bm25", encoder=None, depth=20, **given)


def leakages(table: pd.DataFrame) -> dict[str, float]:
    return dict(zip(table["qid"], table["leakage"], strict=True))


# --- closed forms ---


def test_the_original_leaks_all_whether_sent_or_guessed() -> None:
    run = qk.retrieve(sent({qid: [text] * 3 for qid, text in QUERIES.items()}), TOY, depth=20)
    for table in (measured(run=run), measured(guesses=guesses(QUERIES))):
        shares = leakages(table)
        assert np.isnan(shares.pop("q0"))  # it finds nothing: left out
        assert set(shares.values()) == {1.0}
        [mean] = need_means(table).to_dict("records")
        assert (mean["leakage"], mean["queries"], mean["left_out"]) == (1.0, TOPICS - 1, 1)


def test_nothing_relevant_leaks_nothing() -> None:
    others = {f"q{topic}": WORDS[(topic + 1) % TOPICS] for topic in range(TOPICS)}
    run = qk.retrieve(sent(others), TOY, depth=20)
    table = measured(run=run, guesses=guesses({qid: " ".join(words) for qid, words in others.items()}))
    assert (table.loc[table["reference"] > 0, "leakage"] == 0).all() and (table["score"] == 0).all()
    assert table["guesser"].unique().tolist() == ["Consensus", "Guess"]


def test_what_was_not_sent_or_guessed_leaks_nothing() -> None:
    some = {qid: text for qid, text in QUERIES.items() if qid < "q4"}
    run = qk.retrieve(sent({qid: [text] for qid, text in some.items()}), TOY, depth=20)
    silent = sent({"q1": ["never searched"]}, "Silent")
    table = measured(run=run, guesses=guesses(some), settings=silent)
    assert len(table) == 2 * 2 * TOPICS
    own = table[(table["mechanism"] == "Own") & (table["reference"] > 0)]
    assert (own["leakage"] == own["qid"].isin(some)).all()
    assert (table.loc[(table["mechanism"] == "Silent") & (table["reference"] > 0), "leakage"] == 0).all()


def test_a_guess_better_than_the_original_counts_as_one() -> None:
    qrels = TOY.qrels()
    best = qrels[(qrels["qid"] == "q1") & (qrels["relevance"] > 0)]["docno"].tolist()
    text = " ".join(TOY.texts(best).values())
    table = measured(guesses=guesses({"q1": text}))
    row = table[table["qid"] == "q1"].iloc[0]
    assert row["score"] > row["reference"] > 0 and row["leakage"] == 1


def test_the_ratio_is_that_of_another_ndcg() -> None:
    """Of one variant a query, whose list has no ties, by ir_measures."""
    partly = sent({f"q{topic}": [f"{words[0]} {words[5]}"] for topic, words in enumerate(WORDS)})
    originals = sent({qid: [text] for qid, text in QUERIES.items()})
    lists: list[dict[str, dict[str, float]]] = [{}, {}]
    for own, texts in zip(lists, (partly, originals), strict=True):
        for row in qk.retrieve(texts, TOY, depth=20).itertuples():
            own.setdefault(str(row.qid), {})[str(row.docno)] = -float(row.rank)
    found, reference = lists
    table = measured(run=qk.retrieve(partly, TOY, depth=20))
    shares = {qid: share for qid, share in leakages(table).items() if qid != "q0"}
    expected = {qid: min(1, measure(qid, found) / measure(qid, reference)) for qid in shares}
    assert shares == pytest.approx(expected, rel=1e-12)
    assert len(set(expected.values())) > 4


def measure(qid: str, run: dict[str, dict[str, float]]) -> float:
    qrels = TOY.qrels()
    judged = {qid: dict(qrels.loc[qrels["qid"] == qid, ["docno", "relevance"]].itertuples(index=False, name=None))}
    [score] = ir_measures.iter_calc([ir_measures.nDCG @ 10], judged, {qid: run[qid]})
    return float(score.value)


# --- nDCG ---


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=14), st.lists(st.integers(0, 3), max_size=4), st.randoms())
def test_without_ties_it_is_trec_evals(grades: list[int], missed: list[int], rng) -> None:  # type: ignore[no-untyped-def]
    docnos = [f"d{number:02d}" for number in range(len(grades))]
    rng.shuffle(docnos)
    judged = {**dict(zip(docnos, grades, strict=True)), **{f"m{n}": grade for n, grade in enumerate(missed)}}
    scored = [(docno, float(-place)) for place, docno in enumerate(docnos)]
    if not any(grade > 0 for grade in judged.values()):
        assert ndcg(scored, judged) == 0
        return
    [score] = ir_measures.iter_calc([ir_measures.nDCG @ 10], {"q": judged}, {"q": dict(scored)})
    assert ndcg(scored, judged) == pytest.approx(score.value, rel=1e-12)


def test_ties_are_the_mean_over_all_orders() -> None:
    judged = {"a": 3, "b": 0, "c": 1, "d": 2, "z": 1}
    # The tie of four begins at place 8: it crosses the cut-off.
    first = [(f"x{number}", 9.0 - number) for number in range(8)]
    orders = [[*first, *((docno, -float(n)) for n, docno in enumerate(order))] for order in permutations("abcd")]
    tied = ndcg([*first, *((docno, 0.5) for docno in "abcd")], judged)
    assert tied == pytest.approx(np.mean([ndcg(order, judged) for order in orders]), rel=1e-12)
    assert len({round(ndcg(order, judged), 9) for order in orders}) > 3


# --- controls ---


def test_exchanged_sets_leak_no_more_than_random_ones() -> None:
    """Measured with the variants of another query, a mechanism that leaks looks like noise."""
    rng = np.random.default_rng(2)
    own = {f"q{t}": [" ".join(rng.choice(WORDS[t], 2)) for _ in range(4)] for t in range(TOPICS)}
    every = [word for words in WORDS for word in words]
    noise = {qid: [" ".join(rng.choice(every, 2)) for _ in range(4)] for qid in own}
    exchanged = {f"q{t}": own[f"q{(t + 3) % TOPICS}"] for t in range(TOPICS)}
    means = {}
    for name, texts in {"own": own, "exchanged": exchanged, "random": noise}.items():
        means[name] = need_means(measured(run=qk.retrieve(sent(texts), TOY, depth=20)))["leakage"].iloc[0]
    # One word in eight of the random ones is of the right topic.
    assert means["exchanged"] == 0 and means["random"] < means["own"] / 2 and means["own"] > 0.5


def test_the_order_of_rows_changes_nothing() -> None:
    run = qk.retrieve(sent({f"q{t}": WORDS[t][:5] for t in range(TOPICS)}), TOY, depth=20)
    guessed = guesses({f"q{t}": WORDS[t][4] for t in range(TOPICS)})
    table = measured(run=run, guesses=guessed)
    turned = measured(run=run.iloc[::-1], guesses=guessed.iloc[::-1])
    pd.testing.assert_frame_equal(table, turned)
    pd.testing.assert_frame_equal(NEED.check(table), table)


# --- what it needs ---


def test_the_cosine_of_guess_and_original_stands_beside_it() -> None:
    def encode(texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] if text == QUERIES["q1"] else [3.0, 4.0] for text in texts]

    texts = {"q1": "another", "q2": "another"}
    table = qk.need_leakage(
        TOY.queries(), TOY.qrels(), TOY, guesses=guesses(texts), reranker="bm25", encoder=encode, depth=20
    )
    shown = table.set_index("qid")["similarity"]
    assert shown[["q1", "q2"]].tolist() == pytest.approx([0.6, 1.0]) and shown.drop(["q1", "q2"]).isna().all()


def test_only_the_best_guess_counts() -> None:
    first, second = guesses({"q1": WORDS[2][0]}), guesses(QUERIES).assign(guess=2)
    both = pd.concat([second, first], ignore_index=True)
    assert leakages(measured(guesses=both))["q1"] == 0


def test_several_attackers_have_rows_of_their_own() -> None:
    both = pd.concat([guesses(QUERIES, "Good"), guesses({"q1": WORDS[2][0]}, "Bad")], ignore_index=True)
    means = need_means(measured(guesses=both)).set_index("attacker")["leakage"]
    assert means["Good"] == 1 and means["Bad"] == 0 and means["strongest"] == 1


def test_intervals_hold_the_mean_and_those_of_the_strongest_hold_for_all_attackers() -> None:
    """The strongest is chosen by looking: its interval is that of an attacker at a level divided by their number."""
    scores = {"One": [0.2, 0.9, 0.4, 0.6], "Two": [0.1, 0.3, 0.2, 0.4]}
    row = {"mechanism": "CMP", "parameter": "epsilon", "value": 1.0, "guesser": "Guess", "similarity": np.nan}
    rows = pd.DataFrame(
        [
            {**row, "attacker": name, "qid": str(q), "leakage": x}
            for name, own in scores.items()
            for q, x in enumerate(own)
        ]
    )
    means = need_means(rows).set_index("attacker")
    assert (means["low"] < means["leakage"]).all() and (means["leakage"] < means["high"]).all()
    low, high = mean_intervals(np.array(scores["One"])[:, None], 1 - 0.05 / 2, hits=False)
    assert means.loc["strongest", ["leakage", "low", "high"]].tolist() == pytest.approx([0.525, low[0], high[0]])
    assert means.loc["One", "low"] > low[0] and means.loc["One", "high"] < high[0]
    missing = need_means(rows.assign(leakage=np.nan))
    assert missing[["low", "high"]].isna().all(axis=None) and "strongest" not in set(missing["attacker"])


def test_faults_name_the_fix() -> None:
    with pytest.raises(InputError, match=r"give run .* guesses .* or both"):
        measured()
    with pytest.raises(InputError, match="the judgments name no relevant document"):
        qk.need_leakage(TOY.queries(), TOY.qrels().assign(relevance=0), TOY, guesses=guesses(QUERIES))
    with pytest.raises(InputError, match="not a pool"):
        measured(run=pd.DataFrame({"qid": ["q1"], "docno": ["d1-00"]}))


# --- published queries ---


@pytest.mark.published
@pytest.mark.filterwarnings("ignore::quipukit.errors.QrelsWarning")
def test_consensus_of_the_published_queries(shared_data: Path) -> None:
    """DL'19, 31,249 passages: ratios of the means of nDCG@10 are the published ones; means of ratios are lower."""
    folder = shared_data / "dl19"
    passages = shared_data / "msmarco_pool" / "docs.tsv.gz"
    collection = Folder(docs=passages, topics=folder / "topics.tsv", qrels=folder / "qrels.txt")
    expected = {
        ("VickreyMhl", 10.0): (0.38, 0.366),
        ("VickreyMhl", 12.5): (0.52, 0.465),
        ("CMP", 10.0): (0.55, 0.527),
        ("CMP", 1.0): (0.003, 0.002),
    }
    parts = [qk.read_obfuscated(shared_data / "published" / "dl19" / name)[0] for name in ("VickreyMhl", "CMP")]
    published = pd.concat(parts, ignore_index=True)
    chosen = [key in expected for key in zip(published["mechanism"], published["value"], strict=True)]
    run = qk.retrieve(published[chosen], collection, depth=100)
    table = qk.need_leakage(
        collection.queries(), collection.qrels(), collection, run=run, depth=100, reranker="bm25", encoder=None
    )
    means = need_means(table).set_index(["mechanism", "value"])
    assert (means["queries"] == 42).all() and (means["left_out"] == 1).all()
    sums = table.groupby(["mechanism", "value"])[["score", "reference"]].sum()
    for key, (ratio, leakage) in expected.items():
        assert sums.loc[key, "score"] / sums.loc[key, "reference"] == pytest.approx(ratio, abs=0.005)
        assert means.loc[key, "leakage"] == pytest.approx(leakage, abs=0.002)
