"""Loops that compute the sine and the cosine of a number, or functions that do not change in the loop."""

import math

import numpy
import pytest

import numelt as np

from .random_programs import outcome

pytestmark = pytest.mark.core


def turned(x, out):
    a, b = 1.0, 0.0
    for i in range(len(x)):
        a, b = a * math.cos(x[i]) - b * math.sin(x[i]), a * math.sin(x[i]) + b * math.cos(x[i])
        out[i] = a
    return a, b


def under_conditions(x, out):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0.5:
            total += math.sin(x[i])
        out[i] = math.cos(x[i])
        if x[i] < 1.0:
            out[i] += math.sin(x[i]) + math.cos(x[i] + 1.0)
        else:
            total += math.sin(x[i] + 1.0)
    return total


def invariant(x, out):
    total = 0.0
    for i in range(len(x)):
        for j in range(5):
            total += math.sqrt(x[j] * x[j]) * math.cos(x[i]) + math.atan2(x[i], 2.0)
            if j > 10:
                total += math.log(x[i])
        out[i] = math.sin(x[i])
    return total


def numbers(name):
    rng = numpy.random.default_rng(3)
    x = rng.uniform(-7, 7, 1_200)
    if name == "all sizes":
        x = rng.normal(size=1_200) * 2.0 ** rng.integers(-60, 60, 1_200)
    elif name == "quarter turns":
        x = numpy.pi / 2 - (numpy.arange(1_200) % 100 + 0.5) / 128 + numpy.arange(1_200) // 100 * 2.0**-53
    elif name == "infinite":
        x[900] = numpy.inf
    elif name == "nan":
        x[900] = numpy.nan
    return x


@pytest.mark.parametrize("name", ["usual", "all sizes", "quarter turns", "infinite", "nan"])
@pytest.mark.parametrize("program", [turned, under_conditions, invariant])
@pytest.mark.usefixtures("ahead")
def test_sines(program, name):
    x = numbers(name)
    compiled = np.jit(program)
    for part in (x, x[::-1], x[:7]):
        made = [[np.asarray(part.copy()), np.asarray(numpy.zeros(len(part)))] for _ in range(2)]
        assert outcome(compiled, tuple(made[0])) == outcome(program, tuple(made[1]))
