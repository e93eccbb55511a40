"""`fromfunction`, `piecewise`, `apply_over_axes` and `fromiter` return what NumPy returns, compiled."""

import copy
import gc
import signal
import time
import warnings
import weakref

import numpy
import pytest

import numelt as np
from numelt._jit import reporting, units

pytestmark = pytest.mark.core

N = 60_000
RNG = numpy.random.default_rng(3)
FLOATS = RNG.normal(size=N)
INTS = RNG.integers(-90, 90, N)


def compiled_runs(function):
    """Return how often compiled code ran in loops of a function."""
    return sum(variant["runs"] for unit in reporting.units(function) for variant in unit.report()["variants"])


def outcome(call):
    """Return the outcome of a call: the result with its dtype and bits, or its exception; and its
    warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except Exception as error:
            return type(error), str(error), sorted({str(w.message) for w in caught})
    plain = numpy.asarray(result)
    return plain.dtype, plain.shape, plain.tobytes(), sorted({str(w.message) for w in caught})


def same(call, *arrays):
    """Check a call of a function of `np` and arrays against NumPy, twice."""
    wanted = outcome(lambda: call(numpy, *(array.copy() for array in arrays)))
    for _ in range(2):
        assert outcome(lambda: call(np, *(np.asarray(array.copy()) for array in arrays))) == wanted


def same_and_compiled(function, call, *arrays):
    """Check a call as `same` does, as often as it takes for compiled code to be ready: at most a minute."""
    end = time.monotonic() + 60
    same(call, *arrays)
    while not compiled_runs(function) and time.monotonic() < end:
        same(call, *arrays)
    assert compiled_runs(function) > 0


# functions that are called with whole arrays

calls = []


def table(i, j):
    out = i.copy()
    for a in range(i.shape[0]):
        for b in range(i.shape[1]):
            out[a, b] = i[a, b] * 2 + j[a, b] if i[a, b] > j[a, b] else -1.0
    return out


def smoothed(v):
    out = v.copy()
    for k in range(1, len(v)):
        out[k] = out[k - 1] * 0.5 - v[k]
    return out


def failing(v):
    total = 0
    for k in range(len(v)):
        total += v[k]
    return 1 // int(total - total)


def noting(v, limit=0):
    for k in range(len(v)):
        if v[k] > limit + 3.5:
            calls.append((k, float(v[k])))
    return v * 2


def counted(a, axis):
    n = 0
    for k in range(30_000):
        n += k % 3
    return a.sum(axis, keepdims=True) + n


def test_functions_of_indices():
    same_and_compiled(table, lambda module: module.fromfunction(table, (230, 240)))
    same(lambda module: module.fromfunction(table, (300, 20), dtype=int))
    same(lambda module: module.fromfunction(table, (3, 2)))
    same(lambda module: module.fromfunction(table, (0, 400)))


def test_functions_of_pieces():
    same_and_compiled(smoothed, lambda module, x: module.piecewise(x, [x < 0], [smoothed, 3]), FLOATS)
    same(lambda module, x: module.piecewise(x, [x < 0, x > 1], [smoothed, lambda v: -v, smoothed]), FLOATS)
    same(lambda module, x: module.piecewise(x, [x < 0, x > 1], (smoothed, smoothed)), FLOATS[::-1])
    same(lambda module, x: module.piecewise(x, [x < 0], [failing, smoothed]), INTS)
    same(lambda module, x: module.piecewise(x, [x < 0], [smoothed]), FLOATS[:5])


def test_functions_with_effects_are_called_as_often_and_in_order():
    seen = []
    for module, x in ((numpy, FLOATS), (np, np.asarray(FLOATS)), (np, np.asarray(FLOATS))):
        calls.clear()
        result = module.piecewise(x, [x < 0, x > 0], [noting, noting], 0.25)
        seen.append((list(calls), numpy.asarray(result).tobytes()))
    assert seen[0] == seen[1] == seen[2]
    assert seen[0][0]


def test_functions_over_axes():
    array = FLOATS.reshape(60, 50, 20)
    same_and_compiled(counted, lambda module, a: module.apply_over_axes(counted, a, [0, 2]), array)


def test_functions_of_enclosing_functions_see_their_variables():
    def pieces(module, x):
        total, step = 0, 0.5

        def add(v):
            nonlocal total
            for k in range(len(v)):
                total += v[k] * step
            return v + total

        before = module.piecewise(x, [x < 0], [add, add])
        step = 2.0
        return module.concatenate([before, module.piecewise(x, [x < 0], [add, add])])

    same(pieces, FLOATS)


# generators


def test_elements_of_arrays_and_ranges():
    k = 3
    same(lambda module, a: module.fromiter((x * k - 1 for x in a), float), FLOATS)
    same(lambda module, a: module.fromiter((clipped(x) for x in a), module.float32), FLOATS)
    same(lambda module, a: module.fromiter((x * 0.5 for x in a), int), FLOATS)
    same(lambda module, a: module.fromiter((x % 7 for x in a), module.int8), INTS)
    same(lambda module, a: module.fromiter((x > 0 for x in a), bool), INTS)
    same(lambda module, a: module.fromiter((x * 1j for x in a), complex), FLOATS)
    same(lambda module, a: module.fromiter((x + 1 for x in a[::-2]), float), FLOATS)
    same(lambda module, a: module.fromiter((x - y for x, y in a), float), FLOATS.reshape(-1, 2))
    same(lambda module: module.fromiter((i * i % 11 for i in range(N)), int))
    same(lambda module: module.fromiter((i / 7 for i in range(N, -N, -3)), float))
    same(lambda module, a: module.fromiter((a[i] - a[i - 1] for i in range(N)), float), FLOATS)


def clipped(x):
    return min(max(x, -0.5), 0.5)


def test_it_is_compiled():
    np.fromiter((clipped(x) - 0.125 for x in np.asarray(FLOATS)), float)
    found = [
        unit.report()
        for unit in list(units.ALL)
        if unit.report()["name"].endswith("compiled.<locals>.<genexpr>")
    ]
    assert sum(variant["runs"] for report in found for variant in report["variants"]) > 0


def test_some_of_the_elements():
    same(lambda module, a: module.fromiter((x * 2 for x in a if x > 0), float), FLOATS)
    same(lambda module, a: module.fromiter((x for x in a if x > 0 if x < 1), float), FLOATS)
    same(lambda module, a: module.fromiter((x for x in a if x > 99), float), FLOATS)


@pytest.mark.parametrize("count", [0, 1, 25_000, 30_000, N, N + 1])
def test_so_many_elements(count):
    same(lambda module, a: module.fromiter((x + 1 for x in a), float, count), FLOATS)
    same(lambda module, a: module.fromiter((x + 1 for x in a if x > -9), float, count=count), FLOATS)
    same(lambda module, a: module.fromiter((x + 1 for x in a if x > 0), float, count), FLOATS)


def test_what_compiled_code_cannot_do():
    holes = FLOATS.copy()
    holes[40_000] = 0.0
    same(lambda module, a: module.fromiter((1 / float(x) for x in a), float), holes)
    same(lambda module, a: module.fromiter((1 / x for x in a), float), holes)
    same(lambda module: module.fromiter((i * 2**50 for i in range(N)), float))
    same(lambda module: module.fromiter((i * 2**50 for i in range(N)), int))
    same(lambda module: module.fromiter((i - 5 for i in range(N)), module.uint8))
    same(lambda module, a: module.fromiter((str(x) for x in a), "U8"), INTS)
    same(lambda module, a: module.fromiter((x if x < 3.5 else None for x in a), float), FLOATS)
    same(lambda module: module.fromiter((i * j for i in range(300) for j in range(300)), int))
    same(lambda module, a: module.fromiter((x for x in a), float, 10, like=None), FLOATS)


def taken(module, how):
    """Return the remaining items of generators and iterators after `fromiter`."""
    a = numpy.arange(N) * 0.5 if module is numpy else np.arange(N) * 0.5
    it = iter(a)
    found = []
    if how == "begun":
        generator = (x + 1 for x in it)
        found.append(next(generator))
        made = module.fromiter(generator, float)
    elif how == "moved":
        next(it)
        generator = (x + 1 for x in it if x > 3)
        made = module.fromiter(generator, float)
    elif how == "some":
        generator = (x + 1 for x in it if x > 3)
        made = module.fromiter(generator, float, 30_000)
    elif how == "effects":
        generator = (found.append(x) or x for x in it)
        made = module.fromiter(generator, float)
    else:
        generator = (1 // (int(x) - 25_000) for x in it)
        with pytest.raises(ZeroDivisionError):
            module.fromiter(generator, float)
        made = found
    return (
        numpy.asarray(made).tolist(),
        found,
        next(generator, None),
        next(it, None),
        list(generator)[:3],
        list(it)[:3],
    )


@pytest.mark.parametrize("how", ["begun", "moved", "some", "effects", "error"])
def test_what_is_left_of_a_generator(how):
    wanted = taken(numpy, how)
    assert taken(np, how) == wanted
    assert taken(np, how) == wanted


def test_a_signals_handler_ends_it():
    def stop(*_):
        raise KeyError("stop")

    a, before = np.asarray(numpy.ones(200)), signal.signal(signal.SIGALRM, stop)
    generator = (endless(a[i % 200], i) for i in range(20_000))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyError, match="stop"):
            np.fromiter(generator, float)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert next(generator, None) is None


def endless(x, i):
    for k in range(2_000_000):
        x = x * 0.999 + k * i
    return x


def test_iterators_of_arrays_are_copied_and_moved():
    for make in (numpy.arange, np.arange):
        it = iter(make(5))
        assert next(it) == 0
        other = copy.copy(it)
        assert [int(x) for x in other] == [1, 2, 3, 4]
        it.__setstate__(3)
        assert [int(x) for x in it] == [3, 4]
        assert it.__reduce__()[1] == ((),)
        assert list(copy.copy(it)) == []


class Captured:
    factor = 2.0


def captured_by(captured):
    """Return a function that captures an object and loops over a vector."""

    def scaled(v):
        out = v.copy()
        for at in range(len(v)):
            out[at] = v[at] * captured.factor
        return out

    return scaled


def test_what_a_function_has_captured_is_not_kept():
    captured = Captured()
    known = weakref.ref(captured)
    function = captured_by(captured)
    for _ in range(3):
        got = np.piecewise(np.asarray(FLOATS), [np.ones(N, bool)], [function])
    assert numpy.asarray(got).tobytes() == (FLOATS * 2.0).tobytes()
    assert reporting.units(function)
    del captured, function
    gc.collect()
    assert known() is None
