"""Calls whose results, exceptions, messages and operands afterwards are compared with NumPy's."""

import warnings

import numpy

import numelt

from .compare import assert_same, outcome

SPECIAL = [0.0, -0.0, numpy.nan, numpy.inf, -numpy.inf]


def values(dtype, n, seed=3):
    rng = numpy.random.default_rng(seed + n)
    made = rng.integers(-60, 60, n).astype(dtype) if dtype != "?" else rng.random(n) < 0.5
    if n > 5 and numpy.dtype(dtype).kind in "fc":
        made[rng.integers(0, n, 5)] = SPECIAL
    return made


def same(call, *arrays):
    """Assert that `call` returns, raises and leaves in its operands the same as with NumPy."""
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
