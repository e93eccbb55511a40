"""Compiled division of integers: NumPy's quotients and remainders for small, large and special operands."""

import warnings

import numpy
import pytest

import numelt as np

SIZE = 70_001
"""More elements than are computed at once."""


@pytest.fixture(autouse=True)
def compiled():
    """Compile kernels before they run; the previous setting is restored."""
    before = np.config.jit
    np.config.jit = "sync"
    yield
    np.config.jit = before


def dividends(dtype, seed):
    """Return ranges of small numbers, of any numbers, and of extremes, in that order."""
    rng = numpy.random.default_rng(seed)
    info = numpy.iinfo(dtype)
    out = rng.integers(max(info.min, -(2**50)), min(info.max, 2**50 - 1), SIZE, dtype=dtype, endpoint=True)
    out[: SIZE // 3] = rng.integers(max(info.min, -1000), min(info.max, 1000), SIZE // 3, dtype=dtype)
    out[-(SIZE // 3) :] = rng.integers(info.min, info.max, SIZE // 3, dtype=dtype, endpoint=True)
    limits = [info.min, info.min + 1, info.max - 1, info.max, 0, 1]
    out[-len(limits) :] = limits
    out[:: SIZE // 7] = info.min
    return out


def divisors(dtype):
    """Return divisors for which division is easy, hard or impossible."""
    info = numpy.iinfo(dtype)
    near = (2**8, 2**16, 2**31, 2**32, 2**50, 2**51, 2**53)
    wanted = [0, 1, 2, 3, 7, 10, 100, info.max, info.min, *near]
    wanted += [n - 1 for n in wanted] + [n + 1 for n in wanted] + [-n for n in wanted]
    return sorted({n for n in wanted if info.min <= n <= info.max})


def results(xp, a, b):
    """Return quotients and remainders of all kinds."""
    with xp.errstate(all="ignore"):
        return a // b, a % b, xp.fmod(a, b)


def assert_same(got, expected, what):
    for one, other in zip(got, expected, strict=True):
        one = numpy.asarray(one)
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes(), what


DTYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_by_one_number(dtype):
    a = dividends(dtype, 1)
    ours = np.array(a)
    for divisor in divisors(dtype):
        number = numpy.dtype(dtype).type(divisor)
        assert_same(results(np, ours, number), results(numpy, a, number), divisor)


@pytest.mark.parametrize("dtype", DTYPES)
def test_by_a_number_for_each_row(dtype):
    some = numpy.array(divisors(dtype), dtype=dtype)
    columns = SIZE // len(some)
    a = dividends(dtype, 2)[-len(some) * columns :].reshape(len(some), columns)
    assert_same(results(np, np.array(a), np.array(some)[:, None]), results(numpy, a, some[:, None]), "rows")


@pytest.mark.parametrize("dtype", DTYPES)
def test_by_many_numbers(dtype):
    a, b = dividends(dtype, 3), dividends(dtype, 4)
    numpy.random.default_rng(5).shuffle(b[SIZE // 2 :])
    assert_same(results(np, np.array(a), np.array(b)), results(numpy, a, b), "arrays")


def test_warnings_come_from_divisors_of_zero_alone():
    a = np.array(dividends("i8", 6))
    with numpy.errstate(all="raise"):
        numpy.asarray(a[:1000] // 7)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        numpy.asarray(a // 0)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        numpy.asarray(a % (a - a))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 15, 16, 100, 1000, 5000])
def test_while_recorded(dtype, size):
    """Few elements, which are divided operation by operation: by one number or by many, in every layout."""
    np.config.at_once = np.config.at_once
    for _ in range(8):
        float((np.arange(3.0) + 1)[0])
    a = dividends(dtype, size)[-3 * size :]
    b = numpy.resize(numpy.array(divisors(dtype), dtype=dtype), 3 * size)
    ours, others = np.array(a), np.array(b)
    for cut in (slice(None), slice(size), slice(None, None, 3), slice(None, None, -1)):
        assert_same(results(np, ours[cut], others[cut]), results(numpy, a[cut], b[cut]), cut)
        for divisor in divisors(dtype):
            number = numpy.dtype(dtype).type(divisor)
            assert_same(results(np, ours[cut], number), results(numpy, a[cut], number), divisor)
            assert_same(results(np, ours[cut], np.array([number])), results(numpy, a[cut], [number]), divisor)
            assert_same(results(np, number, others[cut]), results(numpy, number, b[cut]), divisor)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [40, 5000, SIZE])
def test_warnings(dtype, size):
    """A divisor of zero, and a quotient that does not fit, are reported as by NumPy."""
    info = numpy.iinfo(dtype)
    a = numpy.full(size, info.min, dtype)
    a[:-1] = 7
    for divisor in (0, 1, 7, info.max, -1 if info.min else 2):
        for b in (numpy.dtype(dtype).type(divisor), numpy.full(size, divisor, dtype)):
            for name in ("floor_divide", "remainder", "fmod"):
                said = []
                for xp, x, y in ((numpy, a, b), (np, np.array(a), np.array(b) if numpy.ndim(b) else b)):
                    with warnings.catch_warnings(record=True) as caught:
                        warnings.simplefilter("always")
                        numpy.asarray(getattr(xp, name)(x, y))
                    said.append(sorted({str(w.message) for w in caught}))
                assert said[0] == said[1], (name, divisor)
