"""The built-in partition, and partitions of files, made once and kept."""

from pathlib import Path

import numpy as np
import pytest

from quipukit.covers.load import load_partition, load_pool
from quipukit.errors import FileError
from tests.covers.pools import STATIC, pool


def test_the_built_in_partition_is_that_of_the_built_in_log() -> None:
    own = load_partition()
    assert len(own.pool) == 120_000 and own.pool.name == "wordnet" and own.description.encoder == "minilm"
    assert np.diff(own.starts(50)).min() >= 50
    members = own.members(own.group_of(own.pool.texts[777], 50), 50)
    assert own.pool.texts[777] in members


def test_a_file_is_divided_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.txt"
    path.write_text("\n".join(pool().texts), encoding="utf-8")
    first = load_partition(path, leaf=10, description=STATIC)
    monkeypatch.setattr("quipukit.covers.load.make_partition", None)  # may not be called again
    again = load_partition(path, leaf=10, description=STATIC)
    assert first.fingerprint == again.fingerprint and first.origin is not None
    assert first.origin().fingerprint == first.fingerprint


def test_a_file_that_cannot_be_a_pool_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("\n\n", encoding="utf-8")
    with pytest.raises(FileError, match=r"log\.txt"):
        load_pool(path)
