"""Tables (quipukit.table, quipukit.frames): checked, copied, and refused with the column at fault, not with a query."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from quipukit.errors import FrameError
from quipukit.frames import NOTES, OBFUSCATED, QRELS, QUERIES, by_parameter, noise_of, queries_frame

SECRET = "my secret illness"


def obfuscated(**changes) -> pd.DataFrame:
    columns = {
        "qid": ["1", "1"],
        "variant": [0, 1],
        "query": ["a", "b"],
        "mechanism": ["CMP", "CMP"],
        "parameter": ["epsilon", "epsilon"],
        "value": [10.0, 10.0],
    }
    return pd.DataFrame({**columns, **changes})


def test_a_good_table_comes_back_as_it_is():
    assert_frame_equal(OBFUSCATED.check(obfuscated()), OBFUSCATED.check(OBFUSCATED.check(obfuscated())))
    found = OBFUSCATED.check(obfuscated())
    assert list(found.columns) == ["qid", "variant", "query", "mechanism", "parameter", "value"]
    assert found["variant"].dtype == np.int64
    assert found["value"].dtype == np.float64


def test_columns_are_put_in_order_and_others_left_out():
    given_frame = obfuscated()[["value", "query", "qid", "parameter", "variant", "mechanism"]].assign(more=1)
    assert list(OBFUSCATED.check(given_frame).columns) == list(OBFUSCATED.columns)


# --- n and noise ------------------------------------------------------------------------------------------------------


def test_n_and_noise_are_kept_where_they_are():
    found = OBFUSCATED.check(obfuscated(noise="common", more=1, n=["2", "2"]))
    assert list(found.columns) == [*OBFUSCATED.columns, "n", "noise"]
    assert found["n"].tolist() == [2, 2] and found["n"].dtype == np.int64
    assert list(OBFUSCATED.check(obfuscated(noise="common")).columns) == [*OBFUSCATED.columns, "noise"]
    assert list(QUERIES.check(obfuscated(noise="common", qid=["1", "2"])).columns) == ["qid", "query"]


@pytest.mark.parametrize("keep", [list, pd.Categorical, pd.array])
def test_gaps_are_unknown(keep):
    found = OBFUSCATED.check(obfuscated(noise=keep(["common", None]), n=[2, None]))
    assert found[["n", "noise"]].values.tolist() == [[2, "common"], [0, "unknown"]]
    assert OBFUSCATED.check(obfuscated(noise=["", "independent"]))["noise"].tolist() == ["unknown", "independent"]


@pytest.mark.parametrize("column", ["n", "noise"])
def test_two_columns_of_one_name_are_refused(column):
    twice = pd.concat([obfuscated(noise="independent", n=2), pd.DataFrame({column: ["7", "7"]})], axis=1)
    with pytest.raises(FrameError, match=f"Obfuscated has column '{column}' twice"):
        OBFUSCATED.check(twice)


@pytest.mark.parametrize(
    ("marks", "joint"),
    [
        (["common", "common"], "common"),
        (["independent", "common"], "common"),
        (["common", None], "common"),
        (["independent", "independent"], "independent"),
        (["independent", None], "unknown"),
        (["independent", "unknown"], "unknown"),
        (["loud", ["common"]], "unknown"),
    ],
)
def test_what_is_common_in_part_is_common(marks, joint):
    assert noise_of(obfuscated(noise=marks)) == joint
    assert noise_of(OBFUSCATED.check(obfuscated(noise=marks))) == joint


def test_the_noise_of_a_table_that_does_not_say_is_unknown():
    assert noise_of(obfuscated()) == "unknown"
    assert noise_of(pd.concat([obfuscated(noise="independent"), obfuscated()])) == "unknown"
    both = pd.concat([obfuscated(noise="independent"), pd.DataFrame({"noise": ["common", "common"]})], axis=1)
    assert noise_of(both) == "common"


# --- cells ------------------------------------------------------------------------------------------------------------


def test_numbers_are_read_from_texts_and_identifiers_stay_texts():
    found = OBFUSCATED.check(obfuscated(variant=["0", "1"], value=["10", "12.5"], qid=[7, 7]))
    assert found["variant"].tolist() == [0, 1]
    assert found["value"].tolist() == [10, 12.5]
    assert found["qid"].tolist() == ["7", "7"]
    leading = QUERIES.check(pd.DataFrame({"qid": ["007", "7"], "query": ["a", "b"]}))
    assert leading["qid"].tolist() == ["007", "7"]


@pytest.mark.parametrize("make", [pd.Categorical, list, np.array, pd.array])
@pytest.mark.parametrize("ids", [[1, 2], ["1", "2"]])
def test_an_identifier_is_one_text_however_it_is_kept(make, ids):
    found = QUERIES.check(pd.DataFrame({"qid": make(ids), "query": ["a", "b"]}))
    assert [(type(qid), qid) for qid in found["qid"]] == [(str, "1"), (str, "2")]


def test_the_callers_frame_is_left_alone():
    mine = pd.DataFrame({"query": ["a", "b"], "qid": [1, 2], "more": [3, 4]}, index=[5, 9])
    before = mine.copy(deep=True)
    found = QUERIES.check(mine)
    found.loc[0, "query"] = "changed"
    assert_frame_equal(mine, before)
    assert found.index.tolist() == [0, 1]


@pytest.mark.parametrize("column", list(OBFUSCATED.columns))
def test_a_missing_column_is_named(column):
    with pytest.raises(FrameError, match=f"Obfuscated needs column '{column}' .*; rename or add it"):
        OBFUSCATED.check(obfuscated().drop(columns=column))


def test_what_was_found_is_named():
    with pytest.raises(FrameError, match=r"Queries needs column 'qid' \(found 'id', 'query'\)"):
        QUERIES.check(pd.DataFrame({"id": [1], "query": ["a"]}))
    with pytest.raises(FrameError, match=r"\(found none of its columns\)"):
        QUERIES.check(pd.DataFrame())


def test_a_first_line_that_is_no_header_is_not_quoted():
    with pytest.raises(FrameError) as fault:
        QUERIES.check(pd.DataFrame({"1": ["2"], "my secret illness": ["another"]}))
    assert "secret" not in str(fault.value)


def test_a_column_that_is_there_twice_is_refused():
    twice = pd.DataFrame([["1", "2", "a"]], columns=["qid", "qid", "query"])
    with pytest.raises(FrameError, match="qid"):
        QUERIES.check(twice)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"variant": [0, "x"]}, r"column 'variant' must hold numbers \(row 1"),
        ({"variant": [0, None]}, r"column 'variant' must hold numbers \(row 1"),
        ({"variant": [0, 0.5]}, "column 'variant' must hold whole numbers"),
        ({"variant": [0, np.inf]}, "column 'variant' must hold whole numbers"),
        ({"value": ["ten", 10]}, r"column 'value' must hold numbers \(row 0"),
        ({"qid": ["1", None]}, "column 'qid' has empty cells"),
        ({"query": [np.nan, "a"]}, "column 'query' has empty cells"),
        ({"query": [pd.NA, "a"]}, "column 'query' has empty cells"),
        ({"variant": [1, 1]}, "two rows with mechanism=CMP, parameter=epsilon, value=10.0, qid=1, variant=1"),
    ],
)
def test_bad_cells_are_refused(changes, fault):
    with pytest.raises(FrameError, match=fault):
        OBFUSCATED.check(obfuscated(**changes))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"qid": ["1", "1"], "query": [SECRET, SECRET]}),
        pd.DataFrame({"qid": ["1", None], "query": [SECRET, SECRET]}),
        pd.DataFrame({"id": ["1"], "query": [SECRET]}),
        pd.DataFrame({"qid": ["1", "2"], "query": [SECRET, None]}),
    ],
)
def test_no_message_quotes_a_query(frame):
    with pytest.raises(FrameError) as caught:
        QUERIES.check(frame)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("table", [QUERIES, OBFUSCATED, NOTES])
def test_an_empty_table_has_its_columns_and_types(table):
    empty = table.empty()
    assert len(empty) == 0
    assert list(empty.columns) == list(table.columns)
    assert_frame_equal(table.check(empty), empty)


@pytest.mark.parametrize(
    ("queries", "expected"),
    [
        ("a cat", [("1", "a cat")]),
        (["a", "b"], [("1", "a"), ("2", "b")]),
        ((text for text in ("a", "b")), [("1", "a"), ("2", "b")]),
        ({"x": "a", 7: "b"}, [("x", "a"), ("7", "b")]),
        (pd.DataFrame({"query": ["a"], "qid": [3]}), [("3", "a")]),
        (pd.Series(["a", "b"]), [("0", "a"), ("1", "b")]),
        (pd.Series(["a", "b"], index=["q7", "q3"]), [("q7", "a"), ("q3", "b")]),
        ([("q1", "a"), ("q2", "b")], [("q1", "a"), ("q2", "b")]),
        ([["q1", "a"]], [("q1", "a")]),
        (iter([(1, "a"), (2, "b")]), [("1", "a"), ("2", "b")]),
        (np.array(["a", "b"]), [("1", "a"), ("2", "b")]),
        ([], []),
        ({}, []),
    ],
)
def test_queries_in_any_form(queries, expected):
    found = queries_frame(queries)
    assert list(zip(found["qid"], found["query"], strict=True)) == expected


@pytest.mark.parametrize(
    "queries",
    [
        [("q1", "secret", 3)],
        [("q1", "secret"), "secret"],
        [("q1", 7)],
        [(("a",), "secret")],
        [("secret",)],
        [b"secret"],
        b"secret",
        [7],
        7,
        None,
        [None],
        {"q1": ("secret",)},
        pd.Series([("q1", "secret")]),
        pd.Series(["secret"], index=pd.MultiIndex.from_tuples([("a", 1)])),
        pd.Series(["secret", None]),
        pd.DataFrame({"qid": ["q1"], "query": [("secret", "more")]}),
        pd.DataFrame({"qid": ["q1"], "query": [7]}),
    ],
)
def test_what_is_no_text_is_refused_and_not_quoted(queries):
    # The name of a tuple would be obfuscated otherwise, brackets, id and all.
    with pytest.raises(FrameError) as caught:
        queries_frame(queries)
    assert "secret" not in str(caught.value)


def test_two_queries_under_one_index_are_refused():
    with pytest.raises(FrameError, match="two rows with qid=7"):
        queries_frame(pd.Series(["a", "b"], index=[7, 7]))


@given(st.dictionaries(st.text(min_size=1), st.text(), max_size=6))
def test_texts_survive_unchanged(queries):
    found = queries_frame(queries)
    assert dict(zip(found["qid"], found["query"], strict=True)) == queries


def test_settings_are_ordered_from_most_to_least_hidden():
    mixed = pd.DataFrame({"mechanism": ["AEA", "CMP", "Mine", "AEA", "CMP", "Mine"], "value": [3, 10, 1, 5, 5, 2]})
    told = by_parameter(mixed, {"Mine": "larger"})
    assert list(zip(told["mechanism"], told["value"], strict=True)) == [
        *(("AEA", 5), ("AEA", 3), ("CMP", 5), ("CMP", 10), ("Mine", 2), ("Mine", 1)),
    ]
    assert by_parameter(mixed)["value"].tolist() == [5, 3, 5, 10, 1, 2]


def test_settings_are_ordered_by_parameter_within_their_mechanism():
    mixed = pd.DataFrame({"mechanism": ["TEM", "CMP", "TEM", "CMP"], "value": [5.0, 10.0, 1.0, 2.0]})
    ordered = by_parameter(mixed)
    assert ordered.values.tolist() == [["TEM", 1.0], ["TEM", 5.0], ["CMP", 2.0], ["CMP", 10.0]]


@pytest.mark.parametrize("given", [{b"q": SECRET}, [(b"q", SECRET)], pd.DataFrame({"qid": [b"q"], "query": [SECRET]})])
def test_an_id_of_bytes_is_no_text(given):
    with pytest.raises(FrameError, match=r"column 'qid', row 0, holds bytes; decode them") as fault:
        queries_frame(given)
    assert SECRET not in str(fault.value)


@pytest.mark.parametrize("rows", [slice(None), slice(1, 3), slice(None, None, -1), slice(0)])
@pytest.mark.parametrize("extra", [False, True])
def test_rows_of_a_checked_table_are_a_table_again(rows, extra):
    """As if it were put together anew: those that were checked before take a shorter way."""
    fresh = {"qid": ["a", "b", "c"], "docno": ["1", "2", "3"], "relevance": [0, 1, 2]}
    checked = QRELS.check(pd.DataFrame(fresh))
    some = checked.assign(note="x")[["relevance", "note", "docno", "qid"]] if extra else checked
    some = some.iloc[rows]
    some.attrs["mine"] = 1
    some.columns.name = "mine"
    found = QRELS.check(some)
    expected = QRELS.check(pd.DataFrame({name: values[rows] for name, values in fresh.items()}))
    assert_frame_equal(found, expected, check_index_type="exact", check_names=True)
    assert type(found.index) is pd.RangeIndex and found.attrs == {} and found.columns.name is None
    found.loc[:, "docno"] = "changed"
    assert "changed" not in set(some["docno"]) | set(checked["docno"])


@pytest.mark.parametrize("other", [{"q1": "a secret"}, ["a secret"], None, "a secret"])
def test_what_is_no_frame_is_refused_by_its_type(other):
    with pytest.raises(FrameError, match=rf"Queries must be a DataFrame with .* \(found {type(other).__name__}\)"):
        QUERIES.check(other)
