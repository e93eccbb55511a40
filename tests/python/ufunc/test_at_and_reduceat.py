"""`ufunc.at` beside pending work, and `reduceat` with any number of segments."""

import warnings

import numpy
import pytest

import numelt

from ..support.compare import assert_same, outcome

SPECIAL = [0.0, -0.0, numpy.nan, numpy.inf, -numpy.inf]


def values(dtype, n, seed=3):
    rng = numpy.random.default_rng(seed + n)
    made = rng.integers(-60, 60, n).astype(dtype) if dtype != "?" else rng.random(n) < 0.5
    if n > 5 and numpy.dtype(dtype).kind in "fc":
        made[rng.integers(0, n, 5)] = SPECIAL
    return made


def same(call, *arrays):
    """Assert that `call` gives, raises and leaves in its operands what it does with NumPy."""
    found = []
    for np in (numelt, numpy):
        own = [np.array(array) for array in arrays]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            kind, result = outcome(call, np, *own)
            left = [numpy.array(array) for array in own]
            if kind == "value":
                assert_ready(result)
        found.append((kind, result, left, [str(w.message) for w in caught]))
    (kind, ours, left, said), (expected, theirs, kept, told) = found
    assert kind == expected, (ours, theirs)
    if kind == "error":
        assert (type(ours), str(ours)) == (type(theirs), str(theirs))
    else:
        assert_same(ours, theirs)
    for mine, other in zip(left, kept, strict=True):
        assert mine.tobytes() == other.tobytes()
    assert said == told


def assert_ready(result):
    for part in result if isinstance(result, (tuple, list)) else (result,):
        numpy.asarray(part)


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
