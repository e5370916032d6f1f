import os

import numpy as np
import pandas as pd
import pytest

from quipukit.attackers import scratch
from quipukit.attackers.fusion import Fusion
from quipukit.attackers.log import QueryLog
from quipukit.attackers.maxsim import MaxSim
from quipukit.attackers.panel import Panel
from quipukit.attackers.style import Style
from quipukit.attackers.words import Words
from quipukit.errors import ResourceError
from tests.attackers import small


@pytest.fixture
def long_log(monkeypatch, tmp_path):
    """Every log counts as long."""
    monkeypatch.setattr(scratch, "_IN_MEMORY", 0)
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    return tmp_path


def test_small_room_is_memory():
    assert not isinstance(scratch.room((3, 4)), np.memmap)


def test_every_array_of_a_long_log_is_a_file(monkeypatch, tmp_path):
    monkeypatch.setattr(scratch, "LONG", 3)
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    one, other = scratch.room((4,), np.float64), scratch.room((3,), np.float64)
    assert isinstance(one, np.memmap) and one.dtype == np.float64 and one.shape == (4,)
    assert not isinstance(other, np.memmap) and other.dtype == np.float64


def test_large_room_is_a_file_without_a_name(long_log):
    array = scratch.room((3, 4))
    array[:] = 7
    assert isinstance(array, np.memmap) and array.shape == (3, 4) and (array == 7).all()
    assert [path for path in long_log.rglob("*") if path.is_file()] == []


def test_a_full_disk_is_said(long_log, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(ResourceError, match=r"0\.0 GB for a log of 3 queries .*No space left"):
        scratch.room((3, 4))


def ranks():
    known, log = small.vectors(), small.queries(300)
    sent = small.noisy(log[:4], known, variants=4, scale=1.0)
    attackers = [Words(vectors=known), MaxSim(vectors=known), Style(vectors=known), Fusion(vectors=known)]
    asked = pd.DataFrame({"qid": [str(n) for n in range(1, 5)], "query": log[:4]})
    return Panel(attackers, QueryLog.of(log)).ranks(sent, asked)


@pytest.mark.parametrize("limit", ["_IN_MEMORY", "LONG"])
def test_ranks_are_the_same_in_memory_and_in_a_file(monkeypatch, tmp_path, limit):
    in_memory = ranks()
    monkeypatch.setattr(scratch, limit, 0)
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    assert ranks().equals(in_memory)
