"""Vectors in a shared folder: complete or absent, found by key, checked, and read through the names of their files."""

import os
import pickle
import time
from pathlib import Path

import numpy as np
import pytest

from quipukit.encoders import segments
from quipukit.encoders.encodings import PRIVATE, Encodings, PlainEncodings, shared_encodings
from quipukit.encoders.segments import Segments, write_segment
from quipukit.errors import ResourceError

RNG = np.random.default_rng(4)
KEYS = RNG.integers(0, 2**63, (50, 2), np.uint64)
ROWS = RNG.standard_normal((50, 6), np.float32)


@pytest.fixture
def three(tmp_path: Path) -> Segments:
    """Three segments, of which this object wrote one and adopted one."""
    made = Segments(tmp_path, 6)
    made.append(KEYS[:20], ROWS[:20])
    made.adopt(write_segment(made.folder, KEYS[20:21], ROWS[20:21], "float32"), KEYS[20:21])
    write_segment(made.folder, KEYS[21:40], ROWS[21:40], "float32")
    made.refresh()
    return made


def test_rows_are_found_by_key_whoever_wrote_them(three: Segments, tmp_path: Path) -> None:
    for store in (three, Segments(tmp_path, 6)):
        store.refresh()
        rows = store.find(KEYS)
        assert (rows[40:] == -1).all() and len(store) == 40
        assert np.array_equal(store.matrix()[rows[:40]], ROWS[:40])
        assert np.array_equal(store.matrix()[rows[7]], ROWS[7])
        assert np.array_equal(store.matrix()[rows[[[3, 1], [39, 20]]]], ROWS[[[3, 1], [39, 20]]])
    assert Segments(tmp_path, 5).find(KEYS).max() == -1
    other = Segments(tmp_path, 5)
    other.refresh()  # vectors of another size are none of its rows
    assert len(other) == 0


def test_rows_keep_their_numbers_while_others_are_added(three: Segments) -> None:
    before, matrix = three.find(KEYS[:40]), three.matrix()
    write_segment(three.folder, KEYS[40:], ROWS[40:], "float32")
    three.refresh()
    assert np.array_equal(three.find(KEYS[:40]), before) and np.array_equal(matrix[before], ROWS[:40])
    assert np.array_equal(three.matrix()[three.find(KEYS)], ROWS)


def test_of_two_rows_with_one_key_the_last_is_found_in_however_many_parts_they_came(tmp_path: Path) -> None:
    few = np.random.default_rng(1).integers(0, 12, (60, 1), np.uint64).repeat(2, axis=1)
    store, last = Segments(tmp_path, 6), {}
    for start, stop in ((0, 7), (7, 8), (8, 30), (30, 60)):
        rows = store.append(few[start:stop], ROWS[: stop - start])
        last.update(zip(few[start:stop, 0].tolist(), rows.tolist(), strict=True))
        assert store.find(few).tolist() == [last.get(key, -1) for key in few[:, 0].tolist()]


def test_half_precision(tmp_path: Path) -> None:
    half = Segments(tmp_path, 6, "float16")
    rows = half.append(KEYS, ROWS)
    assert half.matrix()[rows].dtype == np.float16 and np.array_equal(half.matrix()[rows], ROWS.astype(np.float16))


def test_what_is_not_finished_is_not_seen_and_goes_in_the_end(tmp_path: Path) -> None:
    store = Segments(tmp_path, 6)
    store.append(KEYS[:3], ROWS[:3])
    new, old = store.folder / ".new.rows.part", store.folder / ".old.rows.part"
    for draft in (new, old):
        draft.write_bytes(b"half a segment")
    os.utime(old, (time.time() - 9000,) * 2)
    again = Segments(tmp_path, 6)
    again.refresh()
    assert len(again) == 3 and new.exists() and not old.exists()


def test_files_are_open_to_their_owner_alone_and_names_say_nothing(three: Segments) -> None:
    names = sorted(path.name for path in three.folder.iterdir())
    assert len(names) == 3 and all(len(name) == 32 + len(".rows") for name in names)
    assert {path.stat().st_mode & 0o777 for path in three.folder.iterdir()} == {0o600}


@pytest.mark.parametrize("place", [-1, 45, 200])
def test_a_damaged_segment_is_put_aside_and_its_texts_are_missing(tmp_path: Path, place: int) -> None:
    store = Segments(tmp_path, 6)
    store.append(KEYS, ROWS)
    (file,) = store.folder.iterdir()
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)
    segments._map.cache_clear()
    store = Segments(tmp_path, 6)
    store.refresh()
    with pytest.raises(ResourceError, match="damaged, and was put aside; run the same command"):
        store.matrix()[np.arange(3)]
    again = Segments(tmp_path, 6)
    again.refresh()
    assert (again.find(KEYS) == -1).all() and [path.suffix for path in store.folder.iterdir()] == [".damaged"]


def test_a_segment_that_is_not_there_is_told(three: Segments) -> None:
    segments._map.cache_clear()
    for file in three.folder.iterdir():
        file.unlink()
    with pytest.raises(ResourceError, match="see that this machine has the shared folder"):
        three.matrix()[np.arange(3)]


@pytest.mark.parametrize("private", ["none", "memory", "segments"])
def test_encodings_travel_by_name(three: Segments, tmp_path: Path, private: str) -> None:
    own = Segments(tmp_path / "own", 6)
    own.append(KEYS[40:45], ROWS[40:45])
    own.append(KEYS[45:], ROWS[45:])
    kept = {"none": None, "memory": ROWS[40:].copy(), "segments": own.matrix()}[private]
    last = 40 if private == "none" else 50
    rows = np.concatenate([three.find(KEYS[:40]), PRIVATE + np.arange(10)])[:last]
    whole = Encodings(three.matrix(), rows, kept)
    chosen = np.array([38, last - 1, 3, 20, last - 9])
    assert np.array_equal(whole[chosen], ROWS[chosen])
    part = whole.referred(chosen)
    assert part is not None
    content = pickle.dumps(part)
    assert np.array_equal(pickle.loads(content)[:], ROWS[chosen])
    # Of rows in shared files nothing travels but names.
    assert (ROWS[38].tobytes() in content, ROWS[last - 1].tobytes() in content) == (False, private == "memory")


def test_encodings_elsewhere_do_not_travel_by_name(three: Segments) -> None:
    plain = Encodings(ROWS, np.arange(50))
    assert plain.referred(np.arange(3)) is None and shared_encodings(plain) is None and shared_encodings(ROWS) is None
    shared = Encodings(three.matrix(), three.find(KEYS[:40]))
    assert shared_encodings(PlainEncodings(shared)) is shared
