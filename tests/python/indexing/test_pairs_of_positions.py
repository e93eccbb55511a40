"""Assignments to pairs of positions, with pending operations that read the array."""

import itertools

import numpy
import pytest

import numelt

from ..support.same_results import both

pytestmark = pytest.mark.quick


DTYPES = ["?", "i1", "u2", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]


ARRAYS = {
    "vector": lambda np, dtype: np.array(numpy.arange(4).astype(dtype)),
    "backwards": lambda np, dtype: np.array(numpy.arange(8).astype(dtype))[::-2],
    "matrix": lambda np, dtype: np.array(numpy.arange(12).astype(dtype).reshape(4, 3)),
    "F": lambda np, dtype: np.array(numpy.arange(12).astype(dtype).reshape(3, 4)).T,
    "part": lambda np, dtype: np.array(numpy.arange(48).astype(dtype).reshape(6, 8))[1:5, 6:0:-2],
    "repeated rows": lambda np, dtype: np.broadcast_to(np.array(numpy.arange(3).astype(dtype)), (4, 3)),
    "deep": lambda np, dtype: np.array(numpy.arange(24).astype(dtype).reshape(4, 3, 2)),
    "no rows": lambda np, dtype: np.zeros((0, 3), dtype),
}


ROWS = {
    "fresh": lambda np, x, keys: (
        np.array(numpy.arange(len(keys) * x[0].size)).reshape(-1, *x.shape[1:]).astype(x.dtype)
    ),
    "backwards": lambda np, x, keys: ROWS["fresh"](np, x, keys)[::-1],
    "swapped": lambda np, x, keys: x[keys[::-1]],
    "own": lambda np, x, keys: x[: len(keys)],
    "waiting": lambda np, x, keys: x[keys[::-1]] * x[keys],
    "one": lambda np, x, keys: x[1:2],
    "flat": lambda np, x, keys: x[1].copy(),
}


@pytest.mark.core
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_storing_rows_at_a_list(rows, dtype):
    def stored(np, array, keys, frozen):
        x = ARRAYS[array](np, dtype)
        waiting = x + x
        value = ROWS[rows](np, x, keys)
        x.flags.writeable = not frozen
        x[keys] = value
        return x, waiting

    for array, keys in itertools.product(
        ["vector", "backwards", "matrix", "F", "part", "deep"], ([0, 2], [-1, 1, 1])
    ):
        for frozen in (False, True):
            for at in (0, 1):
                both(
                    lambda np, a=array, k=keys, f=frozen, at=at: stored(np, a, k, f)[at],
                    (array, keys, frozen),
                )


def test_storing_at_pairs_waits_for_readers():
    for np in (numelt, numpy):
        x = np.arange(9.0).reshape(3, 3)
        waiting = x * 2
        x[np.array([0, 1]), np.array([1, 1])] = -1.0
        assert waiting.tolist() == [[0, 2, 4], [6, 8, 10], [12, 14, 16]]
        assert x.tolist() == [[0, -1, 2], [3, -1, 5], [6, 7, 8]]


def test_storing_at_pairs_what_is_read_there():
    both(_exchanged)


def _exchanged(np):
    x = np.arange(9).reshape(3, 3)
    rows, columns = np.array([0, 1, 2]), np.array([2, 1, 0])
    x[rows, columns] = x[columns, rows]
    x[rows, x[0] % 3] = rows
    return x
