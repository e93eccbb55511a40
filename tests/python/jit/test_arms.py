"""Quotients and roots that only some iterations compute: in others they would meet a condition."""

import functools
import math

import numpy
import pytest

import numelt as np

from .random_programs import outcome

pytestmark = pytest.mark.usefixtures("ahead")


def roots(x, y, out):
    for i in range(len(x)):
        if x[i] > 0.0:
            out[i] = math.sqrt(x[i])
        else:
            out[i] = y[i]


def quotients(x, y, out):
    for i in range(len(x)):
        if x[i] != 0.0:
            out[i] = y[i] / x[i]
        else:
            out[i] = -1.0


def both(x, y, out):
    for i in range(len(x)):
        if x[i] > 0.0:
            if y[i] < 0.0:
                out[i] = x[i] / math.sqrt(-y[i])
            else:
                out[i] = 1.0 / math.sqrt(x[i])
        elif x[i] < 0.0:
            out[i] = math.sqrt(-x[i]) / x[i]


def summed(x, y, out):
    total = other = 0.0
    for i in range(len(x)):
        term = 0.0
        if x[i] != 0.0:
            term = y[i] / x[i]
        total += term
        if y[i] >= 0.0:
            other += math.sqrt(y[i])
    return total, other


def raising(x, y, out):
    for i in range(len(x)):
        if y[i] > 0.0:
            out[i] = 1.0 / float(x[i])
        else:
            out[i] = y[i]


def after_loops(x, y, out):
    n = len(x)
    for i in range(n):
        if x[i] != 0.0:
            total = 1.0
            for j in range(i - 5, i):
                if y[j] < 0.0:
                    total += math.sqrt(-y[j])
            out[i] = total / x[i]


FUNCTIONS = [roots, quotients, both, summed, raising, after_loops]


@functools.cache
def numbers(kind, n):
    rng = numpy.random.default_rng(n)
    x, y = rng.normal(size=n), rng.normal(size=n)
    if kind == "zeros":
        x[rng.random(n) < 0.3] = 0.0
    if kind == "odd":
        x[[n // 2, n - 1]], y[n // 3] = [numpy.nan, numpy.inf], -numpy.inf
    return x, y


def arguments(kind, n):
    return *map(np.asarray, (values.copy() for values in numbers(kind, n))), np.zeros(n)


@pytest.mark.parametrize("kind", ["usual", "zeros", "odd"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_results(function, kind):
    compiled = np.jit(function)
    for n in (7, 64, 203, 1_000):
        assert outcome(compiled, arguments(kind, n)) == outcome(function, arguments(kind, n))
