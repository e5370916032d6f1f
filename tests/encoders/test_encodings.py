"""Encodings: rows of one or of two matrices."""

import numpy as np

from quipukit.encoders.encodings import PRIVATE, Encodings

PUBLIC = np.arange(6, dtype=np.float16).reshape(3, 2)
OWN = -np.arange(4, dtype=np.float32).reshape(2, 2)


def test_rows_are_read_as_float32_by_slice_and_by_number():
    rows = Encodings(PUBLIC, np.array([2, 0, 2]))
    assert rows[:].dtype == np.float32 and rows.shape == (3, 2) and len(rows) == 3
    assert rows[:2].tolist() == [[4, 5], [0, 1]] and rows[[1]].tolist() == [[0, 1]]
    assert np.asarray(rows, np.float64).tolist() == [[4, 5], [0, 1], [4, 5]]


def test_private_rows_come_from_the_second_matrix():
    rows = Encodings(PUBLIC, np.array([PRIVATE + 1, 1, PRIVATE]), OWN)
    assert rows[:].tolist() == [[-2, -3], [2, 3], [0, -1]] and rows[1:2].tolist() == [[2, 3]]


def test_blocks_hold_every_row_once_in_the_order_of_the_disk():
    rows = Encodings(PUBLIC, np.array([2, 0, 1]))
    blocks = list(rows.blocks(2))
    assert [positions.tolist() for positions, _ in blocks] == [[1, 2], [0]]
    for positions, vectors in blocks:
        assert vectors.tolist() == rows[positions].tolist()


def test_no_rows_are_no_rows():
    assert Encodings(np.empty((0, 2), np.float32), np.empty(0, np.int64))[:].shape == (0, 2)
