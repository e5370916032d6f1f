"""What there is to guess: texts by setting and query, and the right rows."""

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.attackers.base import KnownSetting
from quipukit.attackers.log import QueryLog
from quipukit.attackers.task import Task, by_setting
from quipukit.errors import InputError
from quipukit.mechanisms.tem import TEM
from tests.attackers.fakes import Overlap

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


def test_the_mechanism_goes_to_those_who_know_it_and_never_with_a_value_that_they_do_not() -> None:
    class Aware(Overlap):
        name = "Aware"
        knows = "log+mechanism+epsilon"

    class Half(Overlap):
        name = "Half"
        knows = "log+mechanism"

    pets = qk.Vectors(["cat", "dog"], np.eye(2))
    bound = qk.mechanism("TEM(beta=0.1)@7", vectors=pets)
    task = Task.of(SENT.assign(mechanism="TEM(beta=0.1)", value=7.0).drop(index=3), QUERIES, LOG)
    known = by_setting([bound])
    assert [one.setting for one in task.sent_to(Overlap(), known)] == [None, None]
    (aware, *_), (half, *_) = task.sent_to(Aware(), known), task.sent_to(Half(), known)
    assert aware.setting is not None and aware.setting.bound is bound and aware.setting.value == 7
    assert half.setting is not None and half.setting.value is None and isinstance(half.setting.bound, TEM)
    assert half.setting.bound.epsilon == TEM.grid[0] and half.setting.bound.beta == 0.1
    assert half.setting.bound.vectors is pets
    assert task.sent_to(Aware())[0].setting == KnownSetting("TEM(beta=0.1)", "epsilon", 7.0)
