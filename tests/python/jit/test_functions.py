"""Functions of `math` and NumPy in compiled loops: CPython's results and types, warnings and errors."""

import math
import warnings

import numpy
import pytest

import numelt as np
from numelt._jit import reporting

from .random_programs import outcome

INF, NAN = float("inf"), float("nan")
FLOATS = [0.0, -0.0, 1.0, -2.5, 1e308, -1e-310, 0.5, 1.5, 2.5, -0.5, INF, -INF, NAN]
NUMBERS = [
    *FLOATS,
    *map(numpy.float64, FLOATS),
    *map(numpy.float32, (0.0, -0.0, 2.5, -3.0, INF, NAN)),
    *(
        3,
        0,
        -7,
        2**62,
        True,
        numpy.int64(-3),
        numpy.int64(0),
        numpy.int8(5),
        numpy.uint8(200),
        numpy.bool_(True),
    ),
]


def gaps(function):
    """Return the reasons for which CPython has run statements that are never compiled."""
    reports = [unit.report() for unit in reporting.units(function)]
    variants = [variant for report in reports for variant in report["variants"]]
    refused = [refused[2] for report in reports for refused in report["refused"]]
    taken = [why for variant in variants for _, why, is_gap, count in variant["exits"] if is_gap and count]
    return refused + taken


def check(function, *args):
    """Compare a compiled function with CPython, and return why CPython has run statements."""
    compiled = np.jit(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert outcome(compiled, args) == outcome(function, args)
    return gaps(compiled)


@pytest.mark.parametrize("x", NUMBERS, ids=repr)
def test_functions_of_a_number(x):
    def f(x, n):
        found = []
        for _ in range(n):
            found.append(np.sign(x))
            found.append(np.fabs(x))
            found.append(np.reciprocal(x))
        return found

    check(f, x, 4)


@pytest.mark.parametrize("x", [1.5, numpy.float64(-2.5), numpy.float32(3)], ids=repr)
def test_functions_of_floats_are_compiled(x):
    def f(x, n):
        total = 0.0
        for _ in range(n):
            total += np.sign(x) + np.fabs(x) + np.reciprocal(x) + np.fmax(x, x) + np.fmin(x, x)
        return total

    assert check(f, x, 4) == []


@pytest.mark.parametrize("x", FLOATS, ids=repr)
def test_functions_of_two_numbers(x):
    def f(x, numbers):
        found = []
        for y in numbers:
            found.append(np.fmax(x, y))
            found.append(np.fmin(y, x))
        return found

    check(f, x, np.array(FLOATS))


def test_angles():
    def f(numbers):
        found = []
        for x in numbers:
            found.append(math.radians(x))
            found.append(math.degrees(x))
        return found

    assert check(f, np.array(FLOATS)) == []
    assert check(f, np.arange(-9, 9)) == []
    assert check(f, np.array([0.0, -0.0, 2.5, -1e30, INF, NAN], dtype=np.float32)) == []


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "?"])
def test_rounding_and_signs_of_arrays(dtype):
    def f(m, n):
        out = np.zeros(m.shape)
        for i in range(n):
            out[i] = np.round(m[i]) + np.sign(m[i]) - np.fabs(m[i]) + np.around(m[i])
        return out, np.signbit(out)

    if dtype == "f8":
        check(f, np.array([FLOATS, FLOATS[::-1]]), 2)
    m = np.array([[0.5, 1.5, -2.5, 3.0], [1e9, -0.5, 2.51, 7.0]]).astype(dtype)
    assert (check(f, m, 2) == []) == (dtype[0] == "f")


def test_rounding_to_digits():
    def f(m, n):
        out = np.zeros(m.shape)
        for i in range(n):
            out[i] = np.round(m[i], 1)
        return out

    check(f, np.array([[0.25, 1.75], [0.449, -3.14]]), 2)
