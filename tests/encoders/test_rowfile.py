"""Rows on disk: whatever happened to the files, a row is right or missing."""

import numpy as np
import pytest

from quipukit.encoders.rowfile import RowFile

RECORD = 24


def rows_of(numbers, dimension=6):
    return np.stack([np.random.default_rng(number).standard_normal(dimension, dtype=np.float32) for number in numbers])


def keys_of(numbers):
    return np.stack(
        [np.random.default_rng(10_000 + number).integers(2**64, size=2, dtype=np.uint64) for number in numbers]
    )


def filled(folder, count=40, step=16):
    file = RowFile(folder, 6)
    for start in range(0, count, step):
        numbers = range(start, min(start + step, count))
        file.append(keys_of(numbers), rows_of(numbers))
    return file


def right_or_missing(folder, count):
    """Return how many rows are found; each of them must be right."""
    file = RowFile(folder, 6)
    file.refresh()
    found = file.find(keys_of(range(count)))
    there = np.flatnonzero(found >= 0)
    assert np.array_equal(file.matrix()[found[there]], rows_of(range(count))[there] if count else file.matrix())
    return len(there)


def test_what_was_appended_is_found_by_this_and_by_another(tmp_path):
    file = filled(tmp_path)
    for reader in (file, RowFile(tmp_path, 6)):
        reader.refresh()
        assert len(reader) == 40
        order = [39, 0, 17, 17]
        assert np.array_equal(reader.matrix()[reader.find(keys_of(order))], rows_of(order))
        assert reader.find(keys_of([40, 3])).tolist() == [-1, 3]


def test_a_reader_sees_what_a_writer_adds_later(tmp_path):
    reader, writer = RowFile(tmp_path, 6), RowFile(tmp_path, 6)
    for count in (0, 3, 7):
        writer.append(keys_of(range(count, count + 3)), rows_of(range(count, count + 3)))
        reader.refresh()
        assert (reader.find(keys_of(range(count, count + 3))) >= 0).all()


def test_of_two_rows_with_one_key_the_last_counts(tmp_path):
    file = filled(tmp_path)
    file.append(keys_of([5]), rows_of([99]))
    again = RowFile(tmp_path, 6)
    again.refresh()
    assert np.array_equal(again.matrix()[again.find(keys_of([5]))], rows_of([99]))


@pytest.mark.parametrize("cut", [1, 23, 24, 25, 24 * 5, 24 * 40, 24 * 40 + 1, 24 * 41 - 1])
def test_an_index_cut_off_anywhere(tmp_path, cut):
    filled(tmp_path)
    path = tmp_path / "index.float32"
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - cut)
    left = max(0, (path.stat().st_size - RECORD) // RECORD)
    assert right_or_missing(tmp_path, 40) == left
    RowFile(tmp_path, 6).append(keys_of([100]), rows_of([100]))
    assert right_or_missing(tmp_path, 101) == left + 1
    assert (path.stat().st_size // RECORD, (tmp_path / "rows.float32").stat().st_size) == (left + 2, (left + 1) * 24)


@pytest.mark.parametrize("cut", [1, 24, 25, 24 * 30, 24 * 40])
def test_rows_cut_off_anywhere(tmp_path, cut):
    filled(tmp_path)
    path = tmp_path / "rows.float32"
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - cut)
    left = path.stat().st_size // 24
    assert right_or_missing(tmp_path, 40) == left
    RowFile(tmp_path, 6).append(keys_of([100]), rows_of([100]))
    assert right_or_missing(tmp_path, 101) == left + 1


@pytest.mark.parametrize("name", ["rows.float32", "index.float32"])
@pytest.mark.parametrize("size", [1, 24, 240, 1001])
@pytest.mark.parametrize("zeros", [True, False])
def test_garbage_behind_the_end_is_not_taken_for_rows(tmp_path, name, size, zeros):
    filled(tmp_path)
    garbage = bytes(size) if zeros else np.random.default_rng(size).bytes(size)
    with (tmp_path / name).open("ab") as file:
        file.write(garbage)
    assert right_or_missing(tmp_path, 60) == 40
    RowFile(tmp_path, 6).append(keys_of(range(40, 60)), rows_of(range(40, 60)))
    assert right_or_missing(tmp_path, 60) == 60


def test_garbage_behind_the_end_of_both(tmp_path):
    filled(tmp_path)
    for name in ("rows.float32", "index.float32"):
        with (tmp_path / name).open("ab") as file:
            file.write(bytes(24 * 7))
    zero = RowFile(tmp_path, 6)
    zero.refresh()
    assert zero.find(np.zeros((1, 2), np.uint64)).tolist() == [-1]
    zero.append(keys_of(range(40, 50)), rows_of(range(40, 50)))
    assert right_or_missing(tmp_path, 50) == 50


@pytest.mark.parametrize("name", ["rows.float32", "index.float32"])
def test_any_changed_byte_costs_its_own_row_and_no_other(tmp_path, name):
    filled(tmp_path)
    path = tmp_path / name
    whole = path.read_bytes()
    head = RECORD if name.startswith("index") else 0
    for place in range(head, len(whole), 37):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x40]) + whole[place + 1 :])
        assert right_or_missing(tmp_path, 40) == 39
    path.write_bytes(whole[:-48] + whole[-24:] + whole[-48:-24])  # the last two exchanged
    assert right_or_missing(tmp_path, 40) == 38


def test_a_damaged_name_makes_the_file_start_anew(tmp_path):
    filled(tmp_path)
    path = tmp_path / "index.float32"
    path.write_bytes(bytes(RECORD) + path.read_bytes()[RECORD:])
    assert right_or_missing(tmp_path, 40) == 0
    RowFile(tmp_path, 6).append(keys_of([1]), rows_of([1]))
    assert right_or_missing(tmp_path, 40) == 1


def test_a_file_deleted_and_made_anew_is_not_taken_for_the_old_one(tmp_path):
    old = filled(tmp_path)
    assert old.find(keys_of([3])).tolist() == [3]
    for name in ("rows.float32", "index.float32"):
        (tmp_path / name).unlink()
    backwards = list(range(50, -1, -1))
    RowFile(tmp_path, 6).append(keys_of(backwards), rows_of(backwards))
    old.refresh()
    assert np.array_equal(old.matrix()[old.find(keys_of([3, 44]))], rows_of([3, 44]))


def test_half_precision_takes_half_the_space(tmp_path):
    file = RowFile(tmp_path, 6, "float16")
    file.append(keys_of(range(9)), rows_of(range(9)))
    again = RowFile(tmp_path, 6, "float16")
    again.refresh()
    assert np.array_equal(again.matrix()[again.find(keys_of(range(9)))], rows_of(range(9)).astype(np.float16))
    assert (tmp_path / "rows.float16").stat().st_size == 9 * 12
