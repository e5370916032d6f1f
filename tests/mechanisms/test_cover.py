"""The theorem of covers as tests, with wrong twins that the same tests catch."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import quipukit as qk
from quipukit.attackers.attack import attack
from quipukit.attackers.log import QueryLog
from quipukit.errors import InputError, SpecError
from quipukit.frames import queries_frame
from quipukit.guarantees import NoGuarantee, WithinGroup
from quipukit.measures.intervals import clopper_pearson
from quipukit.mechanisms.base import Variants
from quipukit.mechanisms.cover import Cover
from tests.covers.pools import partition, pool
from tests.examples import slowly

K = 10


def cover(**options: object) -> Cover:
    return Cover(**{"k": K, "cover": partition(), **options})  # type: ignore[arg-type]


def transcripts_differ(mechanism: Cover) -> bool:
    """Return whether two queries of one group, or one query asked again, ever send different sets of texts."""
    own = partition()
    for group in range(len(own.starts(K)) - 1):
        sent = {
            tuple(sorted(mechanism.obfuscate(text, 1, np.random.default_rng(seed))))
            for text in own.members(group, K)
            for seed in (1, 2)
        }
        if len(sent) > 1:
            return True
    return False


@dataclass(frozen=True, kw_only=True)
class AroundTheQuery(Cover):
    """A wrong twin: the group is chosen around the query."""

    def variants(self, query: str, n: int, rngs: Callable[[int], np.random.Generator]) -> Variants:
        row = max(self.cover.pool.row(query), 0)
        return Variants([self.cover.pool.texts[(row + shift) % len(self.cover.pool)] for shift in range(int(self.k))])


@dataclass(frozen=True, kw_only=True)
class FreshDecoys(Cover):
    """A wrong twin: other queries come along at each repetition."""

    def variants(self, query: str, n: int, rngs: Callable[[int], np.random.Generator]) -> Variants:
        rows = rngs(0).choice(len(self.cover.pool), int(self.k) - 1, replace=False)
        return Variants([query, *(self.cover.pool.texts[row] for row in rows)])


def test_queries_of_a_group_send_the_same_texts_for_every_seed() -> None:
    assert not transcripts_differ(cover()) and not transcripts_differ(cover(members=4))


@pytest.mark.parametrize("twin", [AroundTheQuery, FreshDecoys])
def test_wrong_twins_do_not(twin: type[Cover]) -> None:
    made = twin(k=K, cover=partition())
    assert transcripts_differ(made) and isinstance(made.guarantee, NoGuarantee)


def test_no_text_comes_twice_and_the_order_is_random() -> None:
    sent = [tuple(cover().obfuscate("cat", 1)) for _ in range(20)]
    assert len(set(sent)) > 10 and all(max(Counter(one).values()) == 1 for one in sent)


def drawn(count: int) -> "tuple[dict[str, str], QueryLog]":
    """Return queries drawn uniformly from the pool, and the pool as a log."""
    rows = np.random.default_rng(3).integers(len(pool()), size=count)
    return {f"q{number}": pool().texts[row] for number, row in enumerate(rows)}, QueryLog.of(pool().texts)


@pytest.mark.parametrize("name", ["Bayes", "MaxSim", *slowly("Bayes(prior=uniform)", "Words", "Lexical", "Positional")])
def test_no_attacker_beats_the_bound_on_queries_drawn_from_the_prior(name: str) -> None:
    """1,000 queries; a false alarm has probability 1e-6 for each."""
    queries, log = drawn(1000)
    made = cover()
    sent = qk.obfuscate(queries, made, n=1, seed=1)
    ranks = attack(sent, queries_frame(queries), log, attackers=[name], mechanisms=[made])
    scores = qk.risk(ranks).groupby("measure")["score"].mean()
    for measure, bound in (("P@1", 1 / K), ("R@10", min(1.0, 10 / K))):
        hits = scores[measure] * len(queries)
        assert 1 - clopper_pearson(len(queries) - hits, len(queries), 1e-6) <= bound


def test_bayes_reaches_the_bound_and_catches_fresh_decoys() -> None:
    """What repetition gives away: the query is the only text that comes back."""
    made = cover()
    queries, log = drawn(100)
    ranks = attack(
        qk.obfuscate(queries, made, n=1, seed=1), queries_frame(queries), log, attackers=["Bayes"], mechanisms=[made]
    )
    sizes = np.diff(partition().starts(K))
    own = [sizes[partition().group_of(text, K)] for text in queries.values()]
    assert ranks["log_rank"].tolist() == pytest.approx([(size + 1) / 2 for size in own])
    twin = FreshDecoys(k=K, cover=partition())
    again = [set(twin.obfuscate("cat history", 1)) for _ in range(6)]
    assert set.intersection(*again) == {"cat history"}


def test_queries_outside_are_flagged_and_not_sent() -> None:
    texts = ["my cat is sick", "cat"]
    sent = qk.obfuscate(texts, cover(), n=1, seed=1)
    assert "my cat is sick" not in set(sent["query"]) and "cat" in set(sent["query"])
    assert qk.notes(sent)[["qid", "flag"]].values.tolist() == [["1", "outside"]]


def test_the_guarantee_says_what_is_promised_and_what_is_not() -> None:
    promised = cover().guarantee
    assert isinstance(promised, WithinGroup) and promised.k >= K and promised.composed(50) == promised
    assert "indistinguishable among" in str(promised) and "topic" in str(promised)
    assert any("10" in sentence for sentence in promised.promises)
    assert any("another prior" in sentence for sentence in promised.limits)
    assert cover().sends_original


def test_empty_queries_send_nothing_and_others_always_something() -> None:
    assert cover().obfuscate("  ") == []
    assert all(len(cover().obfuscate(text)) >= K for text in ("куда идём", "zzzz qqqq", "?"))


def test_bad_parameters_name_the_fix() -> None:
    with pytest.raises(SpecError, match="k must be a whole number of at least 2"):
        cover(k=1)
    with pytest.raises(SpecError, match="members must be a whole number of at least 1"):
        cover(members=0)
    with pytest.raises(InputError, match="give a larger pool, or ask for smaller groups"):
        cover(k=10_000)
