"""StickyCover: what the client of a session sends, its law for attackers, and what is promised."""

from collections.abc import Callable, Sequence
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
from tests.covers.transcripts import SEQUENCES, K, transcripts_differ


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


@dataclass(frozen=True, kw_only=True)
class Forgetful(StickyCover):
    """A wrong twin: it sends everything again."""

    def in_session(self, alone: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
        return list(alone)


def found_after_two_nodes(made: StickyCover) -> "tuple[float, int]":
    """Return R@10 of the last query, over all queries of two nodes that a session came to before it.

    The number of these queries comes with it. All sessions begin with the same two queries.
    """
    nodes = [partition().members(node, K) for node in (0, 3)]
    rows, queries = [], {"a": nodes[0][4], "b": nodes[1][7]}
    for number, text in enumerate(nodes[0] + nodes[1]):
        queries[f"last{number}"] = text
        rows += [(str(number), place, qid) for place, qid in enumerate(("a", "b", f"last{number}"), 1)]
    frame = queries_frame(queries)
    sessions = pd.DataFrame(rows, columns=["sid", "position", "qid"])
    sent = qk.obfuscate(frame, made, n=1, seed=1)
    ranks = qk.session_attack(
        sent, frame, sessions, pool().texts, encoder="static:default", mechanisms=[made], lengths=(3,)
    )
    return float(qk.session_risk(ranks).set_index("measure").loc["R@10", "risk"]), len(nodes[0] + nodes[1])


def test_a_query_under_released_nodes_is_found_exactly_as_often_as_the_theorem_allows() -> None:
    """Nothing tells the queries of the released nodes apart: ten guesses find ten of them. A twin shows the node."""
    risk, count = found_after_two_nodes(sticky())
    assert risk == pytest.approx(10 / count)
    assert found_after_two_nodes(Forgetful(k=K, cover=partition()))[0] > 1.5 * risk


def test_the_theorem_holds_for_what_a_session_sends_and_wrong_twins_break_it() -> None:
    def played_by(made: StickyCover) -> "Callable[[list[str]], list[tuple[str, ...]]]":
        alone: dict[tuple[int, str], tuple[str, ...]] = {}

        def play(texts: "list[str]") -> "list[tuple[str, ...]]":
            for step in enumerate(texts):
                if step not in alone:
                    alone[step] = tuple(made.obfuscate(step[1], rng=np.random.default_rng(step[0])))
            return made.in_session([alone[step] for step in enumerate(texts)])

        return play

    assert not transcripts_differ(played_by(sticky()))
    assert not transcripts_differ(played_by(sticky(members=5)), SEQUENCES[1])
    assert transcripts_differ(played_by(Forgetful(k=K, cover=partition())))


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
