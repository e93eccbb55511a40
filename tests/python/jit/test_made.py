"""Arrays that loops make: random functions, and what becomes of the arrays when compiled code stops."""

import numpy
import pytest

import numelt as np
from numelt._jit import reporting

from . import random_arrays
from .random_programs import outcome
from .test_random import load, taking_over

__all__ = ["taking_over"]

pytestmark = pytest.mark.core

# functions in a test
MANY = 40


@pytest.mark.parametrize("start", range(0, 200, MANY))
@pytest.mark.usefixtures("taking_over")
def test_random_functions(start, tmp_path):
    for seed in range(start, start + MANY):
        text = random_arrays.HEAD + random_arrays.Writer(seed).text()
        function = load(tmp_path / f"arrays_{seed}.py", text)
        compiled = np.jit(function)
        for number in range(3 * seed, 3 * seed + 3):
            arguments = random_arrays.arguments
            wanted = outcome(function, arguments(number))
            assert outcome(compiled, arguments(number)) == wanted, f"seed {seed}, arguments {number}\n{text}"


def stopped(compiled):
    """Return the reasons for which compiled code stopped."""
    exits = [
        one for unit in reporting.units(compiled) for v in unit.report()["variants"] for one in v["exits"]
    ]
    return [reason for _, reason, _, taken in exits if taken and reason != "the end"]


def history(x, n):
    old = older = x
    for _ in range(n):
        older = old
        old = x
        x = x * 0.5 + older * 0.25
    return x, old, older


def test_arrays_in_use_are_kept():
    compiled = np.jit(history)
    wanted = history(np.arange(5.0), 50)
    for got in (compiled(np.arange(5.0), 50), compiled(np.arange(5.0), 50)):
        assert [numpy.asarray(a).tobytes() for a in got] == [numpy.asarray(a).tobytes() for a in wanted]
        assert all(type(a) is np.ndarray for a in got)
    assert stopped(compiled) == []


def views(x, n, at):
    parts = []
    for k in range(n):
        y = x * 2
        z = y[1:]
        z += 1
        if k == at:
            parts.append((y, z))
        x = y - 1
    return parts


def test_views_share_memory_after_compiled_code_has_stopped():
    compiled = np.jit(views)
    [(y, z)] = compiled(np.arange(5.0), 9, 6)
    [(wanted_y, wanted_z)] = views(np.arange(5.0), 9, 6)
    assert (y.tolist(), z.tolist()) == (wanted_y.tolist(), wanted_z.tolist())
    z[0] = 100
    assert y[1] == 100
    assert "appending tuple<array<float64, 1>, array<float64, 1>>" in stopped(compiled)


def test_arrays_of_numpy_give_arrays_of_numpy():
    compiled = np.jit(history)
    got = compiled(numpy.arange(5.0), 50)
    assert all(type(a) is numpy.ndarray for a in got)


def test_lengths_that_change():
    @np.jit
    def grow(n):
        x = np.ones(1)
        total = 0.0
        for k in range(1, n):
            y = np.zeros(k * 7 % 300)
            y += k
            total += y.sum()
            x = y[: len(y) // 2] * 0.5
        return x, total

    x, total = grow(2000)
    assert total == sum(k * 7 % 300 * float(k) for k in range(1, 2000))
    assert x.tolist() == [1999 * 0.5] * (1999 * 7 % 300 // 2)


def test_iterating_over_an_array_whose_variable_changes():
    @np.jit
    def run(x):
        s = 0.0
        for _ in range(3):
            y = x * 2
            for z in y:
                y = y * 0.5 + z
                s += z
        return s, y

    s, y = run(np.arange(4.0))
    wanted_s, wanted_y = run.__wrapped__(np.arange(4.0))
    assert s == wanted_s
    assert y.tolist() == wanted_y.tolist()
