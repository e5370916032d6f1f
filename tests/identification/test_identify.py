"""Identify: the answer for files of a small vocabulary, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.errors import InputError
from quipukit.identification.identify import Identification, verdict
from tests.identification.toys import SETTINGS, files, log, vectors


@pytest.fixture(scope="module")
def toy() -> pd.DataFrame:
    return files()


def found(table: pd.DataFrame, queries: object = None) -> Identification:
    return qk.identify(table, queries, mechanisms=list(SETTINGS), log=log()[:200], vectors=vectors())


@pytest.mark.slow
def test_every_setting_is_identified_by_itself(toy: pd.DataFrame) -> None:
    answer = found(toy)
    assert answer.posterior.groupby("part")["posterior"].sum().tolist() == pytest.approx([1.0] * len(SETTINGS))
    assert set(answer.summary["part"]) == set(SETTINGS)
    best = answer.posterior.drop_duplicates("part").set_index("part")
    # CMP@50 sends the query as it is, nearly always.
    for part in ("CMP@2", "CusText@1", "SanText@0.5"):
        name, value = part.split("@")
        assert (best.loc[part, "mechanism"], best.loc[part, "value"]) == (name, float(value))
    same = answer.summary.set_index("part").loc["Identity", "mechanisms"].split(", ")
    assert set(same) == {"CMP", "Identity"}, "what cannot be told apart is named together"


def test_labels_and_the_order_of_rows_do_not_matter(toy: pd.DataFrame) -> None:
    one = toy[toy["mechanism"] == "CusText"]
    texts = one[["qid", "query"]]
    answer = found(texts).posterior
    shuffled = found(texts.sample(frac=1, random_state=1)).posterior
    pd.testing.assert_frame_equal(answer, shuffled)
    lied = one.assign(mechanism="CMP", value=2.0)
    pd.testing.assert_frame_equal(answer.drop(columns="part"), found(lied).posterior.drop(columns="part"))


def test_originals_help_where_they_are_given(toy: pd.DataFrame) -> None:
    asked = {f"q{at}": text for at, text in enumerate(log()[-15:])}
    answer = found(toy[toy["mechanism"] == "CusText"], asked)
    assert answer.summary.loc[0, "mechanism"] == "CusText"
    with pytest.raises(InputError, match="none of the ids"):
        found(toy, {"other": "a"})


def test_texts_of_no_known_words_fit_none_and_it_is_said() -> None:
    rng = np.random.default_rng(3)
    texts = [" ".join(f"zz{rng.integers(9**6)}" for _ in range(rng.integers(1, 400))) for _ in range(200)]
    odd = pd.DataFrame({"qid": np.repeat([f"q{at}" for at in range(10)], 20), "query": texts})
    answer = found(odd)
    assert not answer.summary.loc[0, "fits"]
    assert "none of the registered mechanisms fits" in verdict(answer.summary.loc[0])
    assert any("in the vocabulary of toy" in note for note in answer.notes)


def test_few_queries_and_few_variants_give_a_wide_answer(toy: pd.DataFrame) -> None:
    one = toy[(toy["mechanism"] == "CusText") & (toy["qid"] == "q0") & (toy["variant"] < 2)]
    answer = found(one)
    assert answer.summary.loc[0, "variants"] == 2
    assert any("only 1 queries" in note for note in answer.notes)
    assert answer.summary.loc[0, "posterior"] < 0.9


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"qid": [], "query": []}, "the table is empty"),
        ({"qid": ["1"], "text": ["a"]}, "need a column 'query'"),
        ({"qid": ["1", "2"], "query": ["a b", "c"]}, "only one variant"),
        ({"qid": ["1", "1"], "query": ["", " "]}, "are empty"),
    ],
)
def test_bad_input_is_refused_with_the_reason(table: dict[str, list[str]], words: str) -> None:
    with pytest.raises(InputError, match=words):
        found(pd.DataFrame(table))


def test_nothing_to_choose_from_is_refused(toy: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="names none"):
        qk.identify(toy, mechanisms=[], log=log(), vectors=vectors())


@pytest.mark.published
def test_the_sets_of_published_files_hold_their_mechanisms(shared_data) -> None:  # type: ignore[no-untyped-def]
    theirs, _ = qk.read_obfuscated(shared_data / "published" / "dl19")
    summary = qk.identify(theirs).summary
    own = summary["part"].str.split("@").str[0]
    held = [name in names.split(", ") for name, names in zip(own, summary["mechanisms"], strict=True)]
    assert np.mean(held) > 0.8  # measured: 0.84, see docs/identify_measured.md
