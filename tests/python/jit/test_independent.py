"""Loops whose iterations use no element that another one writes, and stores beside each other."""

import functools
import math
import re

import numpy
import pytest

import numelt as np
from numelt._jit import reporting

from .random_programs import outcome
from .test_ahead_checks import checked

pytestmark = pytest.mark.usefixtures("ahead")


def heads(function):
    """Return the first lines of all iterations ahead of a compiled function."""
    variants = [variant for unit in reporting.units(function) for variant in unit.report()["variants"]]
    return [
        line for variant in variants for line in variant["code"].splitlines() if re.match(r" *ahead ", line)
    ]


def symmetric(x, y, out):
    n = len(x)
    for i in range(n):
        for j in range(i + 1, n):
            distance = math.sqrt((x[i] - x[j]) * (x[i] - x[j]) + y[j])
            out[i, j] = distance
            out[j, i] = -distance


def backwards(x, y, out):
    for i in range(len(x)):
        for j in range(i):
            out[i, j] += x[j]
            out[j, i] = x[i] * y[j]


def columns(x, y, out):
    for i in range(len(x)):
        out[i, 0] = x[i]
        out[i, 2] -= y[i]
        out[i, 1] += x[i] * y[i]


def beside(x, y, out):
    for i in range(1, len(x)):
        for j in range(len(y)):
            out[i, j] = out[i - 1, j] * 0.5 + x[i]


INDEPENDENT = [symmetric, backwards, columns, beside]


def diagonal(x, y, out):
    n = len(x)
    for i in range(n):
        for j in range(i, n):
            out[i, j] = x[i] + y[j]
            out[j, i] = x[i] - y[j]


def read_again(x, y, out):
    for i in range(len(x)):
        for j in range(1, len(y)):
            out[i, j] = x[i] + y[j]
            x[i] = out[i, j] + out[i, j - 1]


def summed(x, y, out):
    n = len(x)
    for i in range(n):
        for j in range(i + 1, n):
            out[i, 0] += x[j]
            out[j, 0] -= y[i]


def steps(x, y, out):
    for i in range(len(x) - 1):
        for j in range(len(y)):
            out[i + 1, j] = x[i] + y[j]
            out[i, j] = out[i + 1, j] * 2.0
            out[i, j] += 1.0


def carried(x, y, out):
    for i in range(len(x)):
        k = 0
        for j in range(len(y)):
            out[i, k] = x[i] - y[j]
            k = (k + 3) % 7


def crossed(x, y, out):
    n = len(x)
    for i in range(n):
        for j in range(n):
            out[i, j] = x[i] + y[j]
            out[j, i] = x[i] * y[j]


DEPENDENT = [diagonal, read_again, summed, steps, carried, crossed]


def arguments(kind, n):
    """Return arguments of a kind: usual ones, with odd numbers, and with elements that share memory."""
    rng = numpy.random.default_rng(n)
    x, y, out = rng.random(n), rng.random(n), rng.random((n, max(n, 3)))
    if kind == "odd":
        x[n // 2], y[n // 3] = numpy.inf, -3.0
    if kind == "turned":
        out = numpy.asfortranarray(out)
    if kind == "sharing":
        memory = rng.random(3 * n + 8)
        out = numpy.lib.stride_tricks.as_strided(memory, (n, max(n, 3)), (16, 8))
    if kind == "overlapping":
        x = out[n // 2, :n]
    return x, y, out


@pytest.mark.parametrize("kind", ["usual", "odd", "turned", "sharing", "overlapping"])
@pytest.mark.parametrize("function", INDEPENDENT + DEPENDENT)
def test_results(function, kind):
    compiled = np.jit(function)
    for n in (40, 9, 3, 83):
        make = functools.partial(arguments, kind, n)
        assert outcome(compiled, make()) == outcome(function, make())


@pytest.mark.parametrize("function", INDEPENDENT + DEPENDENT)
def test_what_is_known(function):
    compiled = np.jit(function)
    compiled(*arguments("usual", 50))
    found = heads(compiled)
    assert found
    assert all(("independent" in head) == (function in INDEPENDENT) for head in found)


def moments(x, points, out, sums):
    for i in range(len(x)):
        a = b = c = 0.0
        for j in range(len(points)):
            a += points[j, 0] / x[i]
            b += points[j, 1] * x[i]
            c += points[j, 2] - x[i]
        sums[i] = c
        out[i, 0] = a
        out[i, 1] = b
        out[i, 2] = c


def test_sums_that_are_stored_beside_each_other_need_no_checks():
    def arguments(rows, odd=1.0, step=1):
        rng = numpy.random.default_rng(5)
        points = rng.normal(size=(rows, 3 * step))[:, ::step]
        points[rows // 2] *= odd
        x = rng.normal(size=50)
        return lambda: (x, points, numpy.zeros((50, 3)), numpy.zeros(50))

    odd = [arguments(41, number) for number in (math.inf, math.nan, 1e308)]
    code = checked(moments, arguments(40), arguments(1), arguments(19, 1.0, 2), *odd)
    assert code
    assert "suspect" not in code
