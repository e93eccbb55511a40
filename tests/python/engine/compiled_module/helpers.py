"""Helpers for these tests: access to the compiled module, and comparison with NumPy."""

import numpy as np

from numelt import _core

DTYPES = ["bool", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "c8", "c16"]


def ours(array):
    """A lazy numelt array with the elements and layout of `array`."""
    copy = np.empty_like(array)
    copy[...] = array
    return _core.from_numpy(copy, True)


def real(value):
    """Return a result as NumPy's."""
    return _core.to_numpy(value)


def sample(dtype, shape, seed=0):
    """Return values for which no operation warns."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        return rng.integers(1, 7, shape).astype(dtype)
    if dtype.kind == "f":
        return (rng.random(shape) * 4 + 0.5).astype(dtype)
    return (rng.random(shape) + 1j * rng.random(shape) + 0.5).astype(dtype)


def same(got, want, ulp=0):
    """Assert equal class, dtype, shape and elements (within `ulp` units in the last place)."""
    assert isinstance(got, np.ndarray) == isinstance(want, np.ndarray), (type(got), type(want))
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    if ulp and want.dtype.kind in "fc":
        eps = np.finfo(want.dtype).eps
        np.testing.assert_allclose(got, want, rtol=ulp * eps, atol=0)
    else:
        np.testing.assert_array_equal(got, want)
