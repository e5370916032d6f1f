"""The user's own texts are encoded once, and never into the cache that all runs share."""

import numpy as np
import pytest

from quipukit.encoders.store import EncodingStore, PrivateStore
from tests.encoders.fakes import HashEncoder, texts
from tests.encoders.test_store import expected

PUBLIC, OWN = texts(40)[:20], texts(40)[20:]


@pytest.fixture
def shared(tmp_path):
    store = EncodingStore(HashEncoder(), tmp_path / "cache")
    store.ensure(PUBLIC)
    return store


@pytest.mark.heavy
@pytest.mark.parametrize("in_memory", [True, False])
def test_public_texts_are_read_and_the_others_kept_apart(shared, tmp_path, in_memory):
    folder = None if in_memory else tmp_path / "run"
    store = PrivateStore(shared, folder)
    shared.encoder.encoded.clear()
    mixed = [text for pair in zip(OWN, PUBLIC, strict=True) for text in pair]
    assert store.missing(mixed) == 20
    view = store.ensure(mixed)
    assert np.array_equal(view[:], expected(mixed)) and view.shape == (40, 8)
    assert np.array_equal(view[[5, 0, 4]], expected([mixed[5], mixed[0], mixed[4]]))
    assert np.array_equal(view[3], expected([mixed[3]])[0]) and np.array_equal(view[2], expected([mixed[2]])[0])
    for positions, rows in view.blocks(7):
        assert np.array_equal(rows, expected([mixed[place] for place in positions]))
    assert sorted(shared.encoder.encoded) == sorted(OWN)
    assert len(shared) == len(PUBLIC) and shared.missing(OWN) == 20
    # Later views see earlier rows, and earlier views stay what they were.
    more = store.get([*texts(3000), *mixed])
    assert np.array_equal(more, expected([*texts(3000), *mixed]))
    assert np.array_equal(view[:], expected(mixed))
    assert shared.missing(texts(3000)) == 2980


def test_a_run_folder_is_read_by_the_next_run(shared, tmp_path):
    PrivateStore(shared, tmp_path / "run").ensure(OWN)
    shared.encoder.encoded.clear()
    PrivateStore(shared, tmp_path / "run").ensure([*OWN, *PUBLIC])
    assert shared.encoder.encoded == []
    PrivateStore(shared).ensure(OWN)
    assert sorted(shared.encoder.encoded) == sorted(OWN)


def test_another_installation_finds_nothing_and_misreads_nothing(shared, tmp_path, monkeypatch):
    monkeypatch.setenv("QUIPUKIT_SECRET_FILE", str(tmp_path / "other.key"))
    other = EncodingStore(HashEncoder(), tmp_path / "cache")
    assert other.missing(PUBLIC) == 20
    assert np.array_equal(other.get(PUBLIC), expected(PUBLIC))


def test_a_store_of_the_old_format_is_begun_anew_and_its_vectors_go(tmp_path):
    store = EncodingStore(HashEncoder(), tmp_path)
    store.ensure(OWN)
    index, rows = (store.folder / f"{name}.float32" for name in ("index", "rows"))
    content = bytearray(index.read_bytes())
    content[16:24] = np.uint64(0x71756970756B7431).tobytes()
    index.write_bytes(content)
    old = expected(OWN)[0].tobytes()
    assert old in rows.read_bytes()
    again = EncodingStore(HashEncoder(), tmp_path)
    assert len(again) == 0 and again.missing(OWN) == 20
    again.ensure(PUBLIC[:1])
    assert len(EncodingStore(HashEncoder(), tmp_path)) == 1
    assert old not in rows.read_bytes()
