"""Fourier transforms: special values, pending operands, memory."""

import warnings

import numpy
import pytest

import numelt as np

NAMES = ["fft", "ifft", "rfft", "irfft"]


def outcome(function, *args):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            return function(*args), [(w.category, str(w.message)) for w in seen]
        except (TypeError, ValueError, IndexError) as error:
            return error, []


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
