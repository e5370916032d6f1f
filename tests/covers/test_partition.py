"""Groups are functions of the query alone; files are refused where they do not fit."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from quipukit.covers.partition import Partition, read_partition
from quipukit.covers.pool import QueryPool
from quipukit.errors import FileError, InputError
from tests.covers.pools import TOPICS, partition, pool


def test_groups_hold_every_query_once() -> None:
    own = partition()
    for k in (10, 25, len(pool())):
        groups = [own.members(number, k) for number in range(len(own.starts(k)) - 1)]
        assert sorted(text for group in groups for text in group) == sorted(pool().texts)
        assert all(len(group) >= k for group in groups)
        assert all(own.group_of(text, k) == number for number, group in enumerate(groups) for text in group)


def test_a_query_outside_falls_among_its_like() -> None:
    own = partition()
    members = " ".join(own.members(own.group_of("where do violins and pianos come from", 10), 10)).split()
    assert any(word in members for word in TOPICS["music"]) and "tax" not in members


def test_a_query_outside_is_placed_alike_alone_and_among_others() -> None:
    own, asked = partition(), ["a violin concert", "my bank account", "куда идём", "", "zzzz"]
    together = own.groups_of(asked, 10)
    assert together.tolist() == [own.group_of(text, 10) for text in asked]


def test_representatives_come_from_all_leaves() -> None:
    own = partition()
    group = own.group_of("cat", 40)
    begin, end = own.starts(40)[group : group + 2]
    inside = own.leaves[(own.leaves >= begin) & (own.leaves < end)]
    chosen = own.members(group, 40, len(inside))
    assert chosen == [pool().texts[own.order[first]] for first in inside]


def test_a_file_gives_the_same_partition(tmp_path: Path) -> None:
    path = tmp_path / "own.cover"
    digest = partition().save(path)
    assert digest == hashlib.sha256(path.read_bytes()).hexdigest() and path.stat().st_mode & 0o777 == 0o600
    again = read_partition(path, pool())
    assert again.fingerprint == partition().fingerprint
    assert again.groups_of(["a violin", "cat"], 10).tolist() == partition().groups_of(["a violin", "cat"], 10).tolist()


def test_a_changed_pool_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.cover"
    partition().save(path)
    with pytest.raises(FileError, match="give the pool that it was made for, or make a new partition"):
        read_partition(path, QueryPool.of([*pool().texts, "one more"], "changed"))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 nothing", b"some text"])
def test_what_is_no_partition_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "wrong.cover"
    path.write_bytes(content)
    with pytest.raises(FileError, match="no partition that quipukit wrote"):
        read_partition(path, pool())
    with pytest.raises(FileError, match="no such file"):
        read_partition(tmp_path / "absent.cover", pool())


def test_an_order_that_lacks_a_query_is_refused() -> None:
    own = partition()
    order = own.order.copy()
    order[0] = order[1]
    with pytest.raises(InputError, match="every query of its pool once"):
        Partition(own.pool, order, own.leaf, own.means, own.usual, own.description)
    with pytest.raises(InputError, match="each of its leaves"):
        Partition(own.pool, own.order, own.leaf, own.means[:1], own.usual, own.description)


def test_groups_larger_than_the_pool_are_refused() -> None:
    with pytest.raises(InputError, match="give a larger pool, or ask for smaller groups"):
        partition().starts(len(pool()) + 1)


def test_the_fingerprint_depends_on_the_order() -> None:
    own = partition()
    other = Partition(own.pool, np.roll(own.order, 1), own.leaf, own.means, own.usual, own.description)
    assert other.fingerprint != own.fingerprint
