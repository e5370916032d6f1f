"""What there is to guess: texts by setting and query, and the right rows."""

import pandas as pd
import pytest

from quipukit.attackers.log import QueryLog
from quipukit.attackers.task import Task
from quipukit.errors import InputError

QUERIES = pd.DataFrame({"qid": ["1", "2"], "query": ["Zebra", "absent"]})
SENT = pd.DataFrame(
    [("2", 0, "x", "B", 1.0), ("1", 1, "b", "A", 2.0), ("1", 0, "a", "A", 2.0), ("1", 0, "c", "B", 1.0)],
    columns=["qid", "variant", "query", "mechanism", "value"],
).assign(parameter="epsilon")
LOG = QueryLog.of(["cat", "zebra"])


def test_texts_stand_in_the_order_of_their_variants_and_targets_are_found_by_key() -> None:
    task = Task.of(SENT, QUERIES, LOG)
    assert task.groups[["mechanism", "qid"]].to_numpy().tolist() == [["B", "2"], ["A", "1"], ["B", "1"]]
    assert task.texts == [("x",), ("a", "b"), ("c",)]
    assert task.targets.tolist() == [-1, 1, 1]


def test_every_setting_is_asked_for_every_query_and_silent_settings_too() -> None:
    silent = pd.DataFrame({"mechanism": ["A", "C"], "parameter": "epsilon", "value": [2.0, 3.0]})
    asked = Task.of(SENT, QUERIES, LOG, silent).asked
    assert asked[["mechanism", "qid"]].to_numpy().tolist() == [[m, q] for m in "BAC" for q in "12"]


def test_queries_without_an_original_are_named_by_id() -> None:
    with pytest.raises(InputError, match=r"1 of 2 obfuscated queries have no original \(first: 2\)"):
        Task.of(SENT, QUERIES[:1], LOG)
