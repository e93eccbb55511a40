"""Compiled kernels over strided operands: every second element, backwards, others; casts to integers."""

import warnings

import numpy
import pytest

import numelt

from .compare import assert_same


@pytest.fixture(autouse=True)
def compiled():
    before = numelt.config.jit, numelt.config.at_once
    numelt.config.jit, numelt.config.at_once = "sync", 0
    yield
    numelt.config.jit, numelt.config.at_once = before


STEPS = [2, -1, -2, 3, 4]
LENGTHS = [1, 2, 7, 8, 9, 31, 32, 33, 1000, 5003]
DTYPES = ["?", "i1", "u1", "i2", "u2", "f2", "i4", "u4", "f4", "i8", "u8", "f8", "c8", "c16"]
USES = {
    "alone": lambda np, a, b: a == b if a.dtype == bool else a + 1,
    "two": lambda np, a, b: a + b,
    "with neighbours": lambda np, a, b: a + np.ones(len(a), a.dtype),
    "sum": lambda np, a, b: a.sum(),
    "into steps": lambda np, a, b: np.add(a, b, out=np.zeros(2 * len(a), a.dtype)[::2]),
    "many": lambda np, a, b: a + b[::-1] * a[::-1] + a * a[::-1] + b,
    "over itself": lambda np, a, b: np.add(a, a[::-1], out=a),
    "mask": lambda np, a, b: (a > b) | (b != 1),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("use", USES)
def test_steps(use, dtype):
    """The operands end where their memory does, so that nothing beyond the last element may be read."""
    rng = numpy.random.default_rng(3)
    for n in LENGTHS:
        for step in STEPS:
            size = (n - 1) * abs(step) + 1
            whole = [rng.integers(0, 100, size).astype(dtype) for _ in range(2)]
            ours = [numelt.array(x)[::step] for x in whole]
            assert_same(USES[use](numelt, *ours), USES[use](numpy, *(x[::step] for x in whole)))


@pytest.mark.parametrize("source", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("target", ["i1", "u1", "i2", "u2", "i4", "i8", "u8", "?"])
def test_floats_as_integers(source, target):
    """What fits and what does not. NumPy's own u4 of what does not fit depend on the layout."""
    limits = [
        0.0,
        -0.0,
        0.9,
        -0.9,
        1.5,
        127.0,
        255.0,
        2.0**15,
        2.0**31,
        -(2.0**31),
        2.0**31 - 1,
        -(2.0**31) - 1,
    ]
    limits += [
        2.0**32,
        2.0**53,
        2.0**63,
        -(2.0**63),
        2.0**64,
        1e30,
        1e300,
        5e-324,
        -2147483648.5,
        2147483647.5,
    ]
    limits += [numpy.inf, -numpy.inf, numpy.nan]
    with numpy.errstate(all="ignore"), numelt.errstate(all="ignore"):
        for n in (1, 3, 4, 8, 17, 100, 3000):
            values = numpy.resize(numpy.array(limits), n).astype(source)
            for a in (values, values[::-1], values[::2]):
                assert_same(numelt.array(a).astype(target), a.astype(target))
                assert_same(numelt.array(values)[::2].astype(target), values[::2].astype(target))


@pytest.mark.parametrize("value", [1.0, -(2.0**31), 2.0**31 - 1, 2.0**31, numpy.nan, numpy.inf])
@pytest.mark.parametrize("source", ["f4", "f8"])
def test_the_warning_of_a_cast(source, value):
    a = numpy.ones(1000, source)
    a[500] = value
    found = []
    for xp in (numpy, numelt):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            numpy.asarray(xp.array(a).astype("i4"))
        found.append([str(warning.message) for warning in caught])
    assert found[0] == found[1]
