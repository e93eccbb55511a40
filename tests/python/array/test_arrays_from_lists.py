"""Arrays that are made of lists of arrays: rows that are pending or change later, and copies."""

import numpy
import pytest

import numelt

from ..support.compare import assert_same, outcome


@pytest.fixture(autouse=True, params=[0, 1 << 16], ids=["recorded", "at once"])
def habit(request):
    """Record all operations, or read small results until operations run at once."""
    before = numelt.config.at_once
    numelt.config.at_once = request.param
    for a in [numelt.arange(3.0)] * 8:
        float((a + 1)[0])
    yield
    numelt.config.at_once = before


def assert_alike(make, context=""):
    """Assert that `make(np)` returns or raises the same, with the same strides."""
    kind, want = outcome(make, numpy)
    ours, got = outcome(make, numelt)
    assert ours == kind, f"{context}: {got!r} for {want!r}"
    if kind == "error":
        assert (type(got), str(got)) == (type(want), str(want)), context
    else:
        assert_same(got, want, context=context)
        assert got.strides == want.strides or not want.size, context
        assert got.flags.writeable == want.flags.writeable, context


def test_rows_that_wait_and_rows_that_change():
    def make(np):
        big = np.arange(12000.0).reshape(30, 400)
        rows = [row * 1.5 for row in big]
        first = np.array(rows)
        for row in rows:
            row += 1.0
        big[:] = np.array(list(big[::-1]))
        second = np.asarray(rows)
        return np.array([first, second, big])

    assert_alike(make)


def test_subok_and_copies_of_our_arrays():
    for subok in (True, False):
        x = numelt.arange(6.0)[::2]
        y = numelt.array(x, subok=subok, copy=True)
        y[0] = 9.0
        assert type(y) is numelt.ndarray
        assert x.tolist() == [0.0, 2.0, 4.0]
        assert y.tolist() == [9.0, 2.0, 4.0]


@pytest.mark.core
@pytest.mark.parametrize("n", [100, 2047, 16_384, 40_000])
def test_joins_of_every_length(n):
    for dtype in ("f8", "i1", "c16"):
        assert_alike(lambda np, dtype=dtype: np.concatenate([np.ones(n, dtype), np.zeros(n, dtype)]))
        assert_alike(lambda np, dtype=dtype: np.hstack([np.ones((2, n), dtype), np.zeros((2, 3), dtype)]))
