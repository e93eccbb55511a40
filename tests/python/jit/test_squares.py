"""Squares in loops, ``x ** 2``, have the bits that the C library's `pow` returns."""

import math

import numpy
import pytest

import numelt as np

from .random_programs import outcome

pytestmark = pytest.mark.core


def elementwise(x, out):
    for i in range(len(x)):
        out[i] = x[i] ** 2


def around_mean(x, out):
    mean = above = below = 0.0
    for i in range(len(x)):
        mean += x[i]
    mean = mean / len(x)
    for i in range(len(x)):
        above += (x[i] - mean) * i
        below += (x[i] - mean) ** 2
    return above, below


def neighbours(x, out):
    value = 0.0
    for i in range(len(x) - 1):
        rest = x[i + 1] - x[i] * x[i]
        value += 100.0 * rest**2 + (1.0 - x[i]) ** 2
        out[i] += rest
        out[i + 1] += 2.0 * rest
    return value


def squares_of_squares(x, out):
    total = 0.0
    for i in range(len(x)):
        total += math.sqrt((x[i] ** 2 + 1.0) ** 2)
        out[i] = (x[i] ** 2) ** 2
    return total


def in_place(x, out):
    total = 0.0
    for i in range(1, len(x)):
        out[i] = 0.5 * out[i - 1] + x[i]
        total += out[i] ** 2 + x[i] ** 2
    return total


def carried(x, out):
    last = 1.0
    for i in range(len(x)):
        out[i] = (x[i] - last) ** 2
        last = x[i]
    return last


def guarded(x, out):
    count = 0
    for i in range(len(x)):
        if x[i] > 0.25:
            out[i] = x[i] ** 2
            count += 1
        else:
            out[i] = (x[i] - 1.0) ** 2 / x[i]
    return count


def many(x, out):
    for i in range(len(x)):
        y = x[i]
        out[i] = (
            y**2 + (y + 1) ** 2 + (y + 2) ** 2 + (y + 3) ** 2 + (y + 4) ** 2 + (y + 5) ** 2 + (y + 6) ** 2
        )


def indirect(x, out):
    n = len(x)
    total = 0.0
    for i in range(n):
        total += x[(i * 7) % n] ** 2
        out[i] = x[n - 1 - i] ** 2
    return total


def checked(x, out):
    n = len(x)
    total = 0.0
    for i in range(n):
        y = x[i] ** 2
        total += math.sqrt(4.0 * y + 1.5**2 * y**2)
        k = int(out[i])
        if k < n:
            total += x[k] ** 2
        out[i] = (y * 2.0) ** 2
    return total


def skipped(x, out):
    total = 0.0
    for i in range(len(x)):
        if x[i] == 0.0:
            continue
        total += (1.0 / x[i]) ** 2
    return total


def unchanged(x, out):
    scale, total = x[0], 0.0
    for i in range(len(x)):
        y = x[i] ** 2
        if y > 0.5:
            out[i] = scale**2 / y
        else:
            out[i] = (2.0 * scale + 1.0) ** 2 - y * (scale**2) ** 2
        for j in range(3):
            total += (scale - 1.0) ** 2 * j
    return total


PROGRAMS = [
    checked, skipped, unchanged,
    elementwise, around_mean, neighbours, squares_of_squares, in_place, carried, guarded, many, indirect,
]  # fmt: skip


def near_middles(rng, count):
    """Return numbers whose exact squares lie close to the middle of two numbers."""
    found = []
    while sum(map(len, found)) < count:
        x = rng.uniform(1, 2, 100_000)
        high = x.view(numpy.int64) & ~numpy.int64(2**27 - 1)
        head = high.view(numpy.float64)
        rest = x - head
        square = x * x
        error = ((head * head - square) + 2 * head * rest) + rest * rest
        found.append(x[abs(abs(error) / numpy.spacing(square) - 0.5) < 0.016])
    return numpy.concatenate(found)[:count]


def samples(name):
    rng = numpy.random.default_rng(7)
    if name == "usual":
        return rng.normal(0, 3, 3_001)
    if name == "near middles":
        return near_middles(rng, 3_000) * rng.choice([-1.0, 1.0], 3_000)
    if name == "all exponents":
        return near_middles(rng, 3_000) * 2.0 ** rng.integers(-1000, 500, 3_000)
    if name == "wide":
        return near_middles(rng, 3_000) * 2.0 ** rng.integers(-140, 140, 3_000)
    if name == "subnormal":
        return numpy.ldexp(rng.normal(size=700), rng.integers(-1074, -500, 700))
    if name == "whole":
        return rng.integers(-(2**30), 2**30, 900).astype(float)
    x = rng.normal(size=1_300)
    x[[700, 1_001, 1_299]] = {"infinite": numpy.inf, "nan": numpy.nan, "huge": 1e200, "zero": -0.0}[name]
    return x


NAMES = [
    "usual", "near middles", "all exponents", "wide", "subnormal", "whole", "infinite", "nan", "huge", "zero",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.usefixtures("ahead")
def test_squares(program, name):
    x = samples(name)
    compiled = np.jit(program)
    for numbers in (x, x[::-1], x[: len(x) // 3], x[:5]):
        made = [[np.asarray(numbers.copy()), np.asarray(numpy.zeros(len(numbers)))] for _ in range(2)]
        assert outcome(compiled, tuple(made[0])) == outcome(program, tuple(made[1]))
