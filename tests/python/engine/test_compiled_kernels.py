"""Compiled kernels: strided operands, casts to integers, indexed elements, mantissas; integer products."""

import warnings

import numpy
import pytest

import numelt

from ..support.compare import assert_same


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
    """The operands end at the end of their memory, so nothing beyond the last element may be read."""
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
    """Values that fit and values that do not. What NumPy makes of the latter for uint32 depends on the
    layout."""
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


@pytest.mark.parametrize("target", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("source", ["i8", "u8", "i4", "u4", "i2", "u1"])
def test_integers_as_floats(source, target):
    """Integers of all sizes are rounded once: halfway between two floats, next to that, and the extremes."""
    info = numpy.iinfo(source)
    rng = numpy.random.default_rng(8)
    ends = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, info.max // 2]
    sizes = [(1 << k) + near for k in range(1, info.bits - 1) for near in (-3, -1, 0, 1, 3)]
    halves = [(1 << 53) + 1, (1 << 53) + 3, (1 << 54) + 2, (1 << 60) + 128, (1 << 60) + 384, (1 << 32) - 1]
    both = [*ends, *sizes, *halves, *(-size for size in sizes + halves)]
    some = [value for value in both if info.min <= value <= info.max]
    with numpy.errstate(all="ignore"), numelt.errstate(all="ignore"):
        for n in (1, 3, 4, 9, 1000, 5000):
            values = numpy.resize(numpy.array(some, source), n)
            values[n // 2 :] = rng.integers(info.min, info.max, n - n // 2, dtype=source)
            for a, ours in ((values, numelt.array(values)), (values[::2], numelt.array(values)[::2])):
                assert_same(ours.astype(target), a.astype(target))
                assert_same(ours + numelt.ones(len(a), target), a + numpy.ones(len(a), target))


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


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_mantissas_and_exponents(dtype):
    limits = numpy.finfo(dtype)
    some = [0.0, -0.0, 1.0, -3.0, 0.1, limits.tiny, limits.tiny / 2, limits.smallest_subnormal, limits.max]
    some += [-limits.smallest_subnormal, -limits.tiny / 4, limits.min, numpy.inf, -numpy.inf, numpy.nan, 1024]
    for n in (1, 5, 17, 1000):
        values = numpy.resize(numpy.array(some, dtype), n)
        for a, ours in ((values, numelt.array(values)), (values[::-1], numelt.array(values)[::-1])):
            assert_same(numelt.frexp(ours), numpy.frexp(a))
            assert_same(numelt.frexp(ours)[1] * 2, numpy.frexp(a)[1] * 2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", ["i1", "u1", "i4", "u4", "i8", "u8"])
def test_picked_elements(dtype, index):
    """Indices from either end, of any width; rows and single elements; gathers whose results are used at
    once."""
    rng = numpy.random.default_rng(6)
    low = -50 if index[0] == "i" else 0
    for n in (1, 3, 4, 5, 8, 37, 5000):
        at, values = rng.integers(low, 50, n).astype(index), rng.integers(0, 100, (60, 3)).astype(dtype)
        ours, pick = numelt.array(values), numelt.array(at)
        for use in (
            lambda x, i: x[i, 0],
            lambda x, i: x[:, 0].copy()[i],
            lambda x, i: x[i],
            lambda x, i: x[::-1, 1][i],
            lambda x, i: x.T[:, i],
            lambda x, i: x[i, 0] == x[i, 1],
            lambda x, i: x[i, 2].sum(),
            lambda x, i: x[i[::-1], i % 3],
            lambda x, i: x.take(i, axis=0, mode="wrap"),
        ):
            assert_same(use(ours, pick), use(values, at))
    for bad in (60, -61):
        for place in (0, 4999):
            at = numpy.zeros(5000, "i8")
            at[place] = bad
            with pytest.raises(IndexError, match=f"index {bad} is out of bounds for axis 0 with size 60"):
                ours[numelt.array(at)]


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u4", "i8", "u8"])
def test_products_of_integers(dtype):
    """Integer sums wrap around; vectors are dense, strided and reversed."""
    rng = numpy.random.default_rng(7)
    for n in (1, 3, 16, 33, 1001):
        a = rng.integers(0, 2**63, (5, 2 * n)).astype(dtype)
        ours = numelt.array(a)
        for cut in (slice(n), slice(None, None, 2), slice(n, None, -1)):
            x, y = a[:, cut], ours[:, cut]
            assert_same(numelt.dot(y[0], y[1]), numpy.dot(x[0], x[1]))
            assert_same(y @ y[2], x @ x[2])
            assert_same(y[2] @ y.T, x[2] @ x.T)
            assert_same(numelt.inner(y, y), numpy.inner(x, x))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("times", [0, 1, 2, 3, 5, 6, 9])
def test_repeats(times, dtype):
    rng = numpy.random.default_rng(9)
    for shape in ((5003,), (70, 80), (3, 41, 43)):
        a = rng.integers(0, 100, shape).astype(dtype)
        own = numelt.array(a)
        for ours, theirs in ((own, a), (own[..., ::-1], a[..., ::-1]), (own.T, a.T)):
            for axis in (None, 0, -1):
                assert_same(numelt.repeat(ours, times, axis), numpy.repeat(theirs, times, axis))
                assert_same(numelt.repeat(ours == 1, times, axis), numpy.repeat(theirs == 1, times, axis))
