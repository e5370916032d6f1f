"""StickyCover: what the client of a session sends, its law for attackers, and what is promised."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.covers.sticky import StickyClient
from quipukit.frames import queries_frame
from quipukit.guarantees import NoGuarantee, WithinNodes
from quipukit.mechanisms.cover import Cover
from quipukit.mechanisms.sticky import StickyCover
from tests.covers.pools import partition, pool

K = 20


def sticky(**options: object) -> StickyCover:
    return StickyCover(**{"k": K, "cover": partition(), **options})  # type: ignore[arg-type]


def sessions(count: int = 40) -> "list[list[str]]":
    rng = np.random.default_rng(2)
    return [[str(text) for text in rng.choice(pool().texts, 5)] for _ in range(count)]


@pytest.mark.parametrize("further", [True, False])
def test_it_sends_what_the_client_of_a_session_sends(further: bool) -> None:
    for texts in sessions():
        client = StickyClient(partition(), K, consent=lambda query: further)
        alone = [tuple(sticky().obfuscate(text)) for text in texts]
        sent = sticky(further=further).in_session(alone)
        assert [sorted(one) for one in sent] == [sorted(client.ask(text).sends) for text in texts]


def test_other_mechanisms_send_the_same_in_a_session() -> None:
    alone = [("a", "b"), ("a", "b")]
    assert Cover(k=K, cover=partition()).in_session(alone) == alone
    assert sticky().in_session(alone) == [("a", "b"), ()]


def test_of_a_query_that_sent_nothing_its_nodes_are_known_and_no_more() -> None:
    law = sticky().query_law(pool().texts)
    groups = partition().groups_of(pool().texts, K)
    two = partition().members(0, K) + partition().members(3, K)
    assert np.array_equal(np.isfinite(law.log_likelihoods(two)), np.isin(groups, [0, 3]))
    assert np.array_equal(np.isfinite(law.log_likelihoods(two[: len(two) // 2 + 5])), groups == 0)
    assert not np.isfinite(law.log_likelihoods(["no such query"])).any()


def test_sessions_that_stay_under_one_node_are_found_no_more_often_than_one_query() -> None:
    """All sessions of two queries under one node, of which nothing but the node is seen: the bound of one query."""
    first = [partition().members(node, K) for node in range(len(partition().starts(K)) - 1)]
    rng = np.random.default_rng(4)
    rows, queries = [], {}
    for number in range(300):
        for position, text in enumerate(rng.choice(first[rng.integers(len(first))], 2), 1):
            queries[f"{number}.{position}"] = str(text)
            rows.append((str(number), position, f"{number}.{position}"))
    table = pd.DataFrame(rows, columns=["sid", "position", "qid"])
    frame = queries_frame(queries)
    made = sticky()
    sent = qk.obfuscate(frame, made, n=1, seed=1)
    ranks = qk.session_attack(
        sent, frame, table, pool().texts, encoder="static:default", mechanisms=[made], lengths=(1, 2)
    )
    risks = qk.session_risk(ranks)
    own = risks[risks["measure"] == "R@10"].set_index("length")
    assert own.loc[2, "low"] <= 10 / K


@dataclass(frozen=True, kw_only=True)
class Forgetful(StickyCover):
    """A wrong twin: it sends everything again."""

    def in_session(self, alone: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
        return list(alone)


def test_the_guarantee_says_what_is_promised_and_what_is_not() -> None:
    promised = sticky().guarantee
    assert isinstance(promised, WithinNodes) and promised.k >= K and "same new nodes" in str(promised)
    assert any("indistinguishable" in sentence for sentence in promised.promises)
    assert any("clicking" in sentence for sentence in promised.limits)
    assert any("when" in sentence for sentence in promised.limits)
    assert isinstance(Forgetful(k=K, cover=partition()).guarantee, NoGuarantee)


def test_it_has_a_spec() -> None:
    assert repr(sticky().spec) == "StickyCover@20" == repr(qk.spec("StickyCover@20"))
    assert sticky().obfuscate(pool().texts[0]) and sticky().sends_original
    assert repr(sticky(further=False).spec) == "StickyCover(further=False)@20"
    with pytest.raises(qk.QuipukitError, match="k must be a whole number"):
        sticky(k=1)
    with pytest.raises(qk.QuipukitError, match="further must be True or False"):
        sticky(further="no")
