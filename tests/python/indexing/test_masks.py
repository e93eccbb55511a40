"""Masks of several axes and with any share of true values, for reading and writing."""

import numpy
import pytest

from ..support.left_operands import same, values


@pytest.mark.parametrize("shape", [(3, 4), (64, 64), (65, 64), (4, 5, 6), (0, 3), (1, 1)], ids=str)
@pytest.mark.parametrize("dtype", ["f8", "i1", "c8"])
def test_masks_of_several_axes(shape, dtype):
    n = numpy.prod(shape)
    a = values(dtype, n).reshape(shape)
    m = values("?", 4 * n).reshape([2 * extent for extent in shape[:2]] + list(shape[2:]))[::2, ::2]
    for mask in (m, numpy.ascontiguousarray(m), numpy.zeros(shape, bool), numpy.ones(shape, bool)):
        count = int(mask.sum())
        same(lambda np, a, m: a[m], a, mask)
        same(lambda np, a, m: a.T[m.T], a, mask)
        same(lambda np, a, m: a[::-1][m], a, mask)
        same(lambda np, a, m: a[m.T], a, mask)
        same(lambda np, a, m: a[m, None], a, mask)
        same(lambda np, a, m: a.__setitem__(m, 3), a, mask)
        same(lambda np, a, m: a.__setitem__(m, a[m] * 2), a, mask)
        same(lambda np, a, m, c=count: a.__setitem__(m, np.arange(c)), a, mask)
        same(lambda np, a, m, c=count: a.__setitem__(m, np.arange(c + 1).astype(a.dtype)), a, mask)
        same(lambda np, a, m: a.__setitem__(m, a), a, mask)
        same(lambda np, a, m: a.__setitem__(m, m[m]), a, mask)
    wide = values(dtype, 2 * n).reshape((2, *shape))
    same(lambda np, w, m: w[:, m], wide, m)
    same(lambda np, w, m: w[1][m], wide, m)


@pytest.mark.parametrize("n", [1, 8, 63, 64, 65, 130, 511, 513, 5000, (1 << 15) + 7, 100_003])
def test_places_of_what_is_true(n):
    rng = numpy.random.default_rng(n)
    masks = [
        numpy.zeros(n, bool),
        numpy.ones(n, bool),
        *(rng.random(n) < p for p in (0.01, 0.1, 0.2, 0.5, 0.95)),
    ]
    stretch = numpy.zeros(n, bool)
    stretch[n // 3 : n // 2 + 1] = True
    for mask in (*masks, stretch):
        same(lambda np, m: np.flatnonzero(m), mask)
        same(lambda np, m: np.flatnonzero(m[::-1] & True), mask)
        same(lambda np, m: np.nonzero(m * 2.5), mask)
        same(lambda np, m: np.arange(m.size)[m], mask)
        x = rng.random(n)
        same(lambda np, m, x: x.__setitem__(m, x[m] + 1), mask, x)


@pytest.mark.parametrize("n", [1, 100, 5000, 200_000])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "?", "c16"])
def test_writing_by_position(n, dtype):
    rng = numpy.random.default_rng(n)
    y, v, i = values(dtype, n), values(dtype, n, 9), rng.integers(0, n, n)
    same(lambda np, y, i, v: y.__setitem__(i, v), y, i, v)
    same(lambda np, y, i, v: y.__setitem__(i[::-1], v[::-1]), y, i, v)
    same(lambda np, y, i, v: y[::-1].__setitem__(i, v), y, i, v)
    same(lambda np, y, i: y.__setitem__(i, 1), y, i)
    same(lambda np, y, i, v: y.__setitem__(np.sort(i), v), y, i, v)
