"""Fourier transforms by NumPy's compiled functions: NumPy's bits, layouts, warnings and errors."""

import warnings

import numpy
import pytest

import numelt as np

NAMES = ["fft", "ifft", "rfft", "irfft"]
DTYPES = "?bBiqQefdgFDG"


def inputs(dtype):
    """Return arrays of a dtype: vectors, matrices, strided, reversed, in Fortran order, 0-d, empty."""
    rng = numpy.random.default_rng(5)
    real = (rng.random((6, 10)) * 4).astype(dtype)
    if real.dtype.kind == "c":
        real.imag = rng.random((6, 10))
    line = real.reshape(60)
    yield from (
        line,
        line[:1],
        line[:7],
        line[::3],
        line[::-1],
        line[:0],
        real,
        real[:, ::2],
        real.T,
        real[None],
    )
    yield from (numpy.asfortranarray(real), real[0, 0, ...], real[:0], line[:16].reshape(2, 2, 4))


def outcome(function, *args):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            return function(*args), [(w.category, str(w.message)) for w in seen]
        except (TypeError, ValueError, IndexError) as error:
            return error, []


def check(name, real, *args):
    want, expected = outcome(getattr(numpy.fft, name), real, *args)
    got, seen = outcome(
        getattr(np.fft, name), np.array(real) if real.flags.c_contiguous else made(real), *args
    )
    if isinstance(want, Exception):
        assert type(got) is type(want)
        assert str(got) == str(want)
        return
    assert seen == expected
    assert type(got) is np.ndarray
    assert (got.dtype, got.shape, got.flags.owndata) == (want.dtype, want.shape, want.flags.owndata)
    assert got.strides == want.strides or not want.size
    if want.dtype.char in "gG":  # whose elements have bytes without a meaning
        assert numpy.array_equal(got, want)
    else:
        assert numpy.asarray(got).tobytes() == want.tobytes()


def made(real):
    """Return an array of ours that lies in memory as `real` does."""
    base = real if real.base is None else real.base
    ours = np.array(base)
    start = real.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    flat = ours.reshape(-1, order="A") if base.size else ours
    return np.lib.stride_tricks.as_strided(flat[start // real.itemsize :], real.shape, real.strides)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_transforms(name, dtype):
    for real in inputs(dtype):
        if name == "irfft" and not real.size:
            continue  # NumPy's reads what lies there by chance
        for args in ((), (None,), (1,), (4,), (5,), (64,), (0,), (-3,), (True,), (2.5,), (numpy.int64(6),)):
            check(name, real, *args)
        check(name, real, 4, 0)
        check(name, real, None, -1, "ortho")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", "fdFD")
def test_special_values(name, dtype):
    real = numpy.array([1, numpy.inf, -0.0, numpy.nan, 3e38, -numpy.inf], dtype)
    for n in (1, 2, 3, 6):
        want, _ = outcome(getattr(numpy.fft, name), real[:n].copy())
        got, _ = outcome(getattr(np.fft, name), np.array(real[:n]))
        if isinstance(want, Exception):
            assert str(got) == str(want)
        else:
            assert numpy.array_equal(numpy.asarray(got), want, equal_nan=True)


def test_pending_operands_and_results():
    x = numpy.linspace(0, 1, 1000)
    y = np.array(x)
    for _ in range(5):
        x = numpy.fft.ifft(numpy.fft.fft(x * 2) * 0.25).real + x / 3
        y = np.fft.ifft(np.fft.fft(y * 2) * 0.25).real + y / 3
    assert numpy.asarray(y).tobytes() == x.tobytes()


def test_the_operand_stays():
    y = np.arange(8.0)
    f = np.fft.fft(y)
    f[:] = 0
    assert y.tolist() == list(range(8))
