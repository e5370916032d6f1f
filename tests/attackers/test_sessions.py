"""What is seen of a session: the last queries of it, as the mechanism sends them in a row."""

import pandas as pd
import pytest

import quipukit as qk
from quipukit.attackers.log import QueryLog
from quipukit.attackers.sessions import session_task
from quipukit.errors import FrameError, InputError

TEXTS = {"a": "cat", "b": "dog", "c": "tax"}
QUERIES = pd.DataFrame({"qid": list(TEXTS), "query": list(TEXTS.values())})
SESSIONS = pd.DataFrame({"sid": ["s"] * 3 + ["t"], "position": [1, 2, 9, 1], "qid": ["a", "b", "c", "a"]})
LOG = QueryLog.of(TEXTS.values())


def sent(qids: str = "abc") -> pd.DataFrame:
    rows = [(qid, v, f"{qid}{v}", "M", "", 0.0) for v in (1, 0) for qid in qids]
    return pd.DataFrame(rows, columns=["qid", "variant", "query", "mechanism", "parameter", "value"])


def test_a_length_shows_the_last_queries_in_order() -> None:
    task = session_task(sent(), TEXTS, SESSIONS, LOG, (1, 2, 5))
    shown = dict(zip((tuple(qid.split("\x1f")) for qid in task.groups["qid"]), task.earlier, strict=True))
    assert shown["1", "s"] == () and shown["2", "s"] == (("b0", "b1"),)
    assert shown["5", "s"] == (("a0", "a1"), ("b0", "b1")) and shown["5", "t"] == ()
    assert task.texts[0] == ("c0", "c1") and task.targets.tolist() == [2] * 3 + [0] * 3


def test_where_nothing_is_sent_last_there_is_what_came_before() -> None:
    task = session_task(sent("ab"), TEXTS, SESSIONS, LOG, (1, 2))
    assert [tuple(qid.split("\x1f")) for qid in task.groups["qid"]] == [("2", "s"), ("1", "t"), ("2", "t")]
    assert task.texts[0] == ("b0", "b1") and len(task.asked) == 4


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, match="a length must be a whole number of at least 1"):
        session_task(sent(), TEXTS, SESSIONS, LOG, (0,))
    with pytest.raises(FrameError, match=r"1 of 3 queries are unknown \(first: c\)"):
        qk.session_attack(sent(), QUERIES[:2], SESSIONS, LOG, encoder="static:default")
