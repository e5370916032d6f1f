"""Representatives by what they find: greedy is near the best choice, and groups stay what they were."""

import itertools
from collections.abc import Collection

import numpy as np
import pytest

from quipukit.covers.coverage import covering
from quipukit.errors import InputError
from tests.covers.pools import partition, pool
from tests.examples import slowly


def lists(seed: int = 0) -> list[list[str]]:
    """Return what each query of the pool finds: some documents of its topic, unequally popular; at times nothing."""
    rng = np.random.default_rng(seed)
    topics = np.arange(len(pool())) * 4 // len(pool())
    return [
        [f"{topic}-{one}" for one in np.minimum(rng.zipf(1.5, rng.integers(0, 6)), 40)] for topic in topics.tolist()
    ]


def pooled_recall(found: list[list[str]], asked: Collection[int], sent: Collection[int]) -> float:
    """Return how much of its own results an average query finds among those of the ones sent."""
    pooled = {document for row in sent for document in found[row]}
    return float(np.mean([np.mean([document in pooled for document in set(found[row])] or [0.0]) for row in asked]))


def rows_of(texts: list[str]) -> list[int]:
    return [pool().row(text) for text in texts]


@pytest.mark.parametrize("seed", [0, *slowly(1, 2)])
def test_the_first_queries_of_a_leaf_find_nearly_as_much_as_the_best_choice(seed: int) -> None:
    found, most = lists(seed), 3
    own, typical = covering(partition(), found), partition()
    gained = []
    for leaf in range(len(own.leaves) - 1):
        everyone = rows_of(own.members(leaf, 10))
        best = max(pooled_recall(found, everyone, some) for some in itertools.combinations(everyone, most))
        reached = pooled_recall(found, everyone, rows_of(own.members(leaf, 10, most)))
        assert reached >= (1 - 1 / np.e) * best - 1e-12  # Nemhauser, Wolsey and Fisher (1978)
        gained.append(reached - pooled_recall(found, everyone, rows_of(typical.members(leaf, 10, most))))
    # Typical queries find less: the order that is replaced is a twin that this test tells from the new one.
    assert np.mean(gained) > 0.1


def test_groups_stay_what_they_were() -> None:
    own, before = covering(partition(), lists()), partition()
    assert own.fingerprint != before.fingerprint
    for k in (10, 40):
        assert np.array_equal(own.groups_of(pool().texts, k), before.groups_of(pool().texts, k))
        assert own.group_of("a query outside", k) == before.group_of("a query outside", k)


def test_queries_that_find_nothing_come_last_and_the_most_typical_first_among_them() -> None:
    nothing: list[list[str]] = [[] for _ in pool().texts]
    assert np.array_equal(covering(partition(), nothing).order, partition().order)
    row = int(partition().order[5])
    nothing[row] = ["d1"]
    assert covering(partition(), nothing).order[0] == row


def test_results_for_other_queries_are_refused() -> None:
    with pytest.raises(InputError, match=r"each of the \d+ queries of the pool \(found 1\)"):
        covering(partition(), [["d1"]])
