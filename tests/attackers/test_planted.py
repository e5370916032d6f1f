"""Planted sessions: the judged query last, neighbors before it, the same for the same seed."""

import pytest

import quipukit as qk
from quipukit.attackers.planted import NEAREST, _nearest, _unit
from quipukit.errors import InputError
from quipukit.text import key
from tests.covers.pools import pool

STATIC = "static:default"
ASKED = {"1": "cat history", "2": "what do dogs eat", "3": "income tax"}


def test_the_judged_query_is_last_and_the_others_are_its_neighbors() -> None:
    planted = qk.plant_sessions(ASKED, pool().texts, STATIC, 4, 3)
    texts = dict(zip(planted.queries["qid"], planted.queries["query"], strict=True))
    assert list(planted.queries["qid"][:3]) == ["1", "2", "3"] and len(texts) == 3 * 4
    model = qk.load_encoder(STATIC)
    log = sorted(pool().texts, key=key)
    for sid, own in planted.sessions.groupby("sid"):
        assert own["position"].tolist() == [1, 2, 3, 4] and own["qid"].iloc[-1] == sid
        (rows,) = _nearest(_unit(model.encode([ASKED[str(sid)]])), model.encode(log), 61)
        others = [log[row] for row in rows if log[row] != ASKED[str(sid)]]
        places = [others.index(texts[qid]) + 1 for qid in own["qid"][:-1]]
        assert len(set(places)) == 3 and all(NEAREST[0] <= place <= NEAREST[1] for place in places)


def test_a_session_depends_on_its_query_and_the_seed_alone() -> None:
    everything = qk.plant_sessions(ASKED, pool().texts, STATIC, 3, 3).queries
    alone = qk.plant_sessions({"2": ASKED["2"]}, reversed(pool().texts), STATIC, 3, 3).queries
    assert set(alone.itertuples(index=False)) <= set(everything.itertuples(index=False))
    assert set(qk.plant_sessions(ASKED, pool().texts, STATIC, 3, 4).queries["query"]) != set(everything["query"])


def test_lengths_that_cannot_be_are_refused() -> None:
    for length, words in ((0, "at least 1"), (True, "at least 1"), (99, "at most 58")):
        with pytest.raises(InputError, match=words):
            qk.plant_sessions(ASKED, pool().texts, STATIC, length)
    with pytest.raises(InputError, match="give a larger one"):
        qk.plant_sessions(ASKED, ["a", "b"], STATIC, 5)
