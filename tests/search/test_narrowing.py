"""How far the groups of a session narrow each other down."""

import numpy as np

from quipukit.search.narrowing import Narrowing, remaining

PETS = ["cat food", "dog food", "kitten toys", "puppy toys"]
TAXES = ["income tax", "tax return", "tax office", "paying taxes"]


def test_groups_that_have_something_in_common_leave_that() -> None:
    mixed = [*PETS[:2], "quantum physics", "medieval castles", "volleyball rules", "cloud computing"]
    counts = Narrowing().counts({1: PETS, 2: mixed})
    assert counts[2] <= 3 and counts[1] >= 2


def test_one_group_alone_stays_whole() -> None:
    assert Narrowing().counts({7: TAXES}) == {7: 4}


def test_equal_candidates_all_remain() -> None:
    same = np.repeat(np.array([[0.6, 0.8]], np.float32), 10, axis=0)
    assert remaining([same, same]) == [9, 9] or remaining([same, same]) == [10, 10]


def test_more_groups_leave_fewer() -> None:
    narrowing = Narrowing()
    groups = {1: [*PETS, *TAXES], 2: [*PETS, "kitchen sink", "garden chairs"], 3: ["cat litter", "vet for cats"]}
    two = narrowing.counts({number: groups[number] for number in (1, 2)})[1]
    assert narrowing.counts(groups)[1] <= two <= 8
