"""Decoys: what one release hides, by the closed form and by attacks, and how repetition gives the query away."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.attackers.attack import attack
from quipukit.attackers.log import QueryLog
from quipukit.covers.make import make_partition
from quipukit.covers.pool import QueryPool
from quipukit.errors import InputError, SpecError
from quipukit.frames import queries_frame
from quipukit.guarantees import NoGuarantee
from quipukit.measures.intervals import clopper_pearson
from quipukit.mechanisms.decoys import Decoys
from quipukit.testing import check_mechanism
from tests.covers.pools import STATIC, partition, pool
from tests.examples import slowly
from tests.stat_checks import assert_chi2

K = 12
# Matched decoys come from groups of 40 queries or more, of which the pool has several.
TOPICS = pytest.mark.parametrize(("topic", "k"), [("random", K), ("matched", 4)])


def decoys(k: int = K, **options: object) -> Decoys:
    return Decoys(**{"k": k, "cover": partition(), **options})  # type: ignore[arg-type]


def test_the_pool_has_several_groups_for_matched_decoys() -> None:
    assert len(decoys(4, topic="matched").group_starts) > 3 and len(decoys().group_starts) == 2


def drawn(count: int) -> dict[str, str]:
    """Return queries drawn uniformly from the pool."""
    rows = np.random.default_rng(3).integers(len(pool()), size=count)
    return {f"q{number}": pool().texts[row] for number, row in enumerate(rows)}


def ranks_of(sent: pd.DataFrame, queries: dict[str, str], mechanism: Decoys, name: str = "Bayes") -> pd.DataFrame:
    log = QueryLog.of([*pool().texts, *queries.values()], [1] * (len(pool()) + len(queries)))
    return attack(sent, queries_frame(queries), log, attackers=[f"{name}(prior=uniform)"], mechanisms=[mechanism])


# --- what is sent ------------------------------------------------------------------------------------------------


@TOPICS
def test_the_query_comes_among_k_distinct_texts_in_random_order(topic: str, k: int) -> None:
    made = decoys(k, topic=topic)
    places = Counter()
    for seed in range(120):
        sent = made.obfuscate("Cat", 1, np.random.default_rng(seed))
        assert len(sent) == len(set(sent)) == k and set(sent) <= set(pool().texts)
        places[sent.index("cat")] += 1  # as the pool spells it: another spelling would stand out
    assert len(places) == k


@pytest.mark.statistical
def test_random_decoys_are_uniform() -> None:
    """4,000 releases of 11 decoys; without replacement counts vary less: false alarms are below 1e-6."""
    made = decoys()
    sent = Counter(text for seed in range(4000) for text in made.obfuscate("cat", 1, np.random.default_rng(seed)))
    others = [text for text in pool().texts if text != "cat"]
    assert sent["cat"] == 4000
    assert_chi2([sent[text] for text in others], np.full(len(others), 1 / len(others)))


def test_matched_decoys_are_of_the_query_s_own_group() -> None:
    made = decoys(3, topic="matched")
    for query in ("violin", "how to get a loan"):
        group = partition().group_of(query, 30)
        own = {*partition().members(group, 30), query}
        seen = {text for seed in range(60) for text in made.obfuscate(query, 1, np.random.default_rng(seed))}
        assert len(seen) > 25 and seen <= own


def test_queries_outside_are_flagged_and_empty_ones_send_nothing() -> None:
    sent = qk.obfuscate(["my cat is sick", "cat", " "], decoys(), n=1, seed=1)
    assert set(sent["qid"]) == {"1", "2"} and "my cat is sick" in set(sent["query"])
    assert qk.notes(sent)[["qid", "flag"]].values.tolist() == [["1", "outside"], ["3", "empty"]]


# --- what an attacker knows --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("topic", "k", "seen", "size"),
    [("random", 3, 1, 14), ("random", 3, 2, 14), ("random", 3, 3, 14), ("matched", 2, 1, 60), ("matched", 2, 2, 60)],
)
def test_likelihoods_are_probabilities(topic: str, k: int, seen: int, size: int) -> None:
    """Over all sets of texts that can be seen of a release they add up to 1, for queries of the pool and others."""
    small = make_partition(QueryPool.of(pool().texts[:size], "some"), 7, STATIC)
    made = Decoys(k=k, cover=small, topic=topic)
    candidates = [small.pool.texts[0], small.pool.texts[9], "something else"]
    assert len(made.group_starts) == (2 if topic == "random" else 3)
    law = made.query_law(candidates)
    texts = [*small.pool.texts, "something else"]
    total = sum(np.exp(law.log_likelihoods(some)) for some in combinations(texts, seen))
    np.testing.assert_allclose(total, 1, rtol=1e-9)


@TOPICS
def test_likelihoods_are_those_of_what_is_sent(topic: str, k: int) -> None:
    made = decoys(k, topic=topic)
    law = made.query_law(pool().texts)
    for query in ("cat", "tax history"):
        sent = made.obfuscate(query, 1, np.random.default_rng(1))
        likely = law.log_likelihoods(sent)
        possible = np.flatnonzero(np.isfinite(likely))
        assert {pool().texts[row] for row in possible} == set(sent) and np.ptp(likely[possible]) < 1e-9
    assert np.isneginf(law.log_likelihoods(["cat", "cat"])).all()


@pytest.mark.parametrize(("topic", "k"), [("matched", 4), *slowly(("random", K))])
def test_one_release_hides_a_query_of_the_pool_among_k(topic: str, k: int) -> None:
    """1,000 queries; the bound holds but for a false alarm of 1e-6, and Bayes reaches it: all ties, at (k + 1) / 2."""
    queries = drawn(1000)
    made = decoys(k, topic=topic)
    ranks = ranks_of(qk.obfuscate(queries, made, n=1, seed=1), queries, made)
    assert ranks["log_rank"].tolist() == pytest.approx([(k + 1) / 2] * len(queries))
    score = qk.risk(ranks).groupby("measure")["score"].mean()["P@1"]
    hits = score * len(queries)
    assert 1 - clopper_pearson(len(queries) - hits, len(queries), 1e-6) <= 1 / k
    assert score == pytest.approx(1 / k)


@TOPICS
def test_five_releases_give_the_query_away(topic: str, k: int) -> None:
    """60 texts, or 20: the one that comes five times.

    By chance another does, with less than 2e-4 a query (179 decoys, 11 drawn, or 39 and 3); these seeds are fixed.
    """
    queries = drawn(30)
    made = decoys(k, topic=topic)
    releases = [qk.obfuscate(queries, made, n=1, seed=seed) for seed in range(5)]
    joined = pd.concat([one.assign(variant=one["variant"] + k * number) for number, one in enumerate(releases)])
    ranks = ranks_of(joined.reset_index(drop=True), queries, made)
    assert ranks["log_rank"].tolist() == [1] * len(queries)


def test_a_query_outside_the_pool_gives_itself_away_at_once() -> None:
    queries = {"1": "my cat is sick", "2": "where is my loan"}
    for made in (decoys(), decoys(topic="matched")):
        sent = qk.obfuscate(queries, made, n=1, seed=1)
        assert ranks_of(sent, queries, made)["log_rank"].tolist() == [1, 1]


def test_a_part_of_a_release_leaves_the_query_among_the_unseen() -> None:
    made = decoys(4)
    law = made.query_law(pool().texts)
    some = ["cat", "tax"]
    likely = law.log_likelihoods(some)
    own, other = likely[pool().row("cat")], likely[pool().row("loan")]
    size = len(pool()) - 1
    assert np.exp(own) == pytest.approx(0.5 / size) and np.exp(other) == pytest.approx(0.5 / math.comb(size, 2))


# --- as any other mechanism --------------------------------------------------------------------------------------


def test_nothing_is_promised_and_it_is_said_why() -> None:
    for topic in ("random", "matched"):
        promised = decoys(topic=topic).guarantee
        assert isinstance(promised, NoGuarantee) and not promised.private
        assert "one of 12" in str(promised) and "comes back" in str(promised) and "outside the pool" in str(promised)
    assert decoys().sends_original and decoys().hides_more == "larger"


@pytest.mark.heavy
def test_it_keeps_what_every_mechanism_keeps() -> None:
    check_mechanism(decoys(), verbatim=True)


def test_specs_say_the_topic() -> None:
    made = qk.mechanism("Decoys(topic=matched)@5", cover=partition())
    assert repr(made.spec) == "Decoys(topic='matched')@5" and repr(decoys(5).spec) == "Decoys@5"


def test_bad_parameters_name_the_fix() -> None:
    with pytest.raises(SpecError, match="k must be a whole number of at least 2"):
        decoys(1)
    with pytest.raises(SpecError, match="topic must be one of 'random', 'matched'"):
        decoys(topic="near")
    with pytest.raises(InputError, match="give a larger pool, or ask for smaller groups"):
        decoys(10_000)
