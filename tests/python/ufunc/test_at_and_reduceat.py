"""`ufunc.at` with pending work on its operands, and `reduceat` with any number of segments."""

import numpy
import pytest

import numelt

from ..support.left_operands import same, values


def test_at_after_what_is_pending():
    for np in (numelt, numpy):
        y = np.arange(3000.0) * 2
        np.add.at(y, np.arange(3000) % 7 + np.arange(3000) % 3, np.ones(3000) * 3)
        z = y + 1
        if np is numelt:
            ours = numpy.asarray(z)
    assert ours.tobytes() == z.tobytes()


@pytest.mark.parametrize("segments", [1, 63, 64, 65, 900])
@pytest.mark.parametrize("dtype", ["f8", "i4", "f2"])
def test_reduceat(segments, dtype):
    x = numpy.nan_to_num(values(dtype, 3000), posinf=1, neginf=1)
    starts = numpy.sort(numpy.random.default_rng(segments).integers(0, 3000, segments))
    same(lambda np, x, s: np.add.reduceat(x, s), x, starts)
    same(lambda np, x, s: np.maximum.reduceat(x * 2, s), x, starts)
    same(lambda np, x, s: np.add.reduceat(x.reshape(-1, 3), s // 3, axis=0), x, starts)
    same(lambda np, x, s: np.add.reduceat(x, s + 3000), x, starts)
