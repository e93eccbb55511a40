"""Iterations that run ahead of a loop: without exits, several at a time, on several threads."""

import functools
import math
import os
import pathlib
import signal
import subprocess
import sys
import warnings

import numpy
import pytest

import numelt as np
from numelt import _core
from numelt._jit import reporting

from . import random_dtypes
from .random_loops import HEAD, Writer, arguments
from .random_programs import outcome
from .test_random import load

# functions in a test
MANY = 20


@pytest.mark.parametrize("start", range(0, 400, MANY))
@pytest.mark.usefixtures("ahead")
def test_random_functions(start, tmp_path):
    # A product that is recorded reads a contiguous copy of a NumPy array. NumPy adds up strided vectors in
    # another order.
    products = _core.runs_at_once()
    for seed in range(start, start + MANY):
        text = HEAD + Writer(seed, products).text()
        function = load(tmp_path / f"loops_{seed}.py", text)
        compiled = np.jit(function)
        for number in range(3 * seed, 3 * seed + 3):
            wanted = outcome(function, arguments(number))
            assert outcome(compiled, arguments(number)) == wanted, f"seed {seed}, arguments {number}\n{text}"


@pytest.mark.parametrize("start", range(0, 60, MANY))
@pytest.mark.usefixtures("ahead")
def test_random_functions_of_all_dtypes(start, tmp_path):
    for seed in range(start, start + MANY):
        text = random_dtypes.HEAD + random_dtypes.Writer(seed).text()
        function = load(tmp_path / f"dtypes_{seed}.py", text)
        compiled = np.jit(function)
        for number, state in enumerate([{}, {"all": "ignore"}, {"all": "raise"}]):
            args = functools.partial(random_dtypes.arguments, 3 * seed + number, 300)
            with numpy.errstate(**state):
                wanted, got = outcome(function, args()), outcome(compiled, args())
            assert got == wanted, f"seed {seed}, arguments {number}\n{text}"


def notes(function):
    """Return how iterations ahead run for each loop of a function.

    For each loop, these are its line in the function, the reason why there are no iterations ahead, and
    whether they run on several threads.
    """
    first = function.__wrapped__.__code__.co_firstlineno
    reports = [unit.report() for unit in reporting.units(function)]
    variants = [variant for report in reports for variant in report["variants"]]
    return [(line - first, *rest) for variant in variants for line, *rest in variant["ahead"]]


def smoothed(image, out):
    for i in range(1, image.shape[0] - 1):
        for j in range(1, image.shape[1] - 1):
            out[i, j] = (image[i - 1, j] + image[i + 1, j] + image[i, j - 1] + image[i, j + 1]) / 4.0


def sums(x):
    total = 0
    for i in range(len(x)):
        total += x[i]
    return total, i


def counted(x, bound):
    hits, last = 5, None
    for i in range(len(x)):
        if x[i] > bound:
            hits += 1
            last = i
    return hits, last


def swapped(x, out):
    a, b = 1.0, 2.0
    for i in range(len(x)):
        out[i] = a + x[i]
        a, b = b, a
    return a, b


def divided(x, y, out):
    for i in range(len(x)):
        out[i] = x[i] / y[i]


def divided_python(n, y, out):
    for i in range(n):
        out[i] = (i + 0.5) / float(y[i])


@pytest.mark.usefixtures("ahead")
def test_results_are_cpythons():
    rng = numpy.random.default_rng(1)
    image = rng.random((200, 300))
    wanted, got = numpy.zeros_like(image), numpy.zeros_like(image)
    smoothed(image, wanted)
    compiled = np.jit(smoothed)
    compiled(image, got)
    assert numpy.array_equal(got, wanted)
    assert notes(compiled) == [(1, None, True)]
    for n in (1, 2, 5, 1000, 100_000):
        x = rng.random(n)
        for function, more in [(sums, ()), (counted, (0.9,)), (swapped, (numpy.zeros(n),))]:
            compiled = np.jit(function)
            wanted, got = function(x, *more), compiled(x, *more)
            assert got == wanted
            assert [type(value) for value in got] == [type(value) for value in wanted]
    compiled = np.jit(swapped)
    compiled(x, numpy.zeros(n))
    assert notes(compiled) == [(2, None, False)]


def seen(function, x, y, out):
    """Return what a call raises, its warnings, and what it writes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            function(x, y, out)
            error = None
        except ZeroDivisionError as found:
            error = str(found), found.__traceback__.tb_next.tb_lineno if found.__traceback__.tb_next else None
    return error, [(str(one.message), one.lineno) for one in caught], out.tobytes()


@pytest.mark.usefixtures("ahead")
@pytest.mark.parametrize("at", [0, 1, 17, 4999, 29_999])
@pytest.mark.parametrize("value", [0.0, math.inf, math.nan, 1e-320])
def test_conditions_are_met_at_their_iteration(at, value):
    n = 30_000
    rng = numpy.random.default_rng(2)
    x, y = rng.random(n) + 1.0, rng.random(n) + 1.0
    y[at] = value
    for numerator in (x, numpy.full(n, math.inf)):
        results = [seen(f, numerator, y, numpy.zeros(n)) for f in (divided, np.jit(divided))]
        assert results[0] == results[1]
    results = [seen(f, n, y, numpy.zeros(n)) for f in (divided_python, np.jit(divided_python))]
    assert results[0][1:] == results[1][1:]
    assert (results[0][0] is None) == (results[1][0] is None) == (value != 0.0)


def shifted(x, y, by):
    for i in range(len(x) - by):
        y[i] = x[i + by] * 0.5


@pytest.mark.usefixtures("ahead")
@pytest.mark.parametrize(
    "views",
    [
        lambda a: (a, a),
        lambda a: (a[1:], a[:-1]),
        lambda a: (a[:-1], a[1:]),
        lambda a: (a[::-1], a),
        lambda a: (a[::2], a[1::2]),
        lambda a: (numpy.lib.stride_tricks.as_strided(a, (900,), (0,)), a[:900]),
        lambda a: (a[:900], numpy.lib.stride_tricks.as_strided(a, (900,), (0,))),
    ],
)
def test_arrays_that_overlap(views):
    wanted, got = numpy.arange(3000.0), numpy.arange(3000.0)
    for by in (0, 1, 7):
        shifted(*views(wanted), by)
        np.jit(shifted)(*views(got), by)
        assert numpy.array_equal(got, wanted)


def far(x, out, at):
    for i in range(len(x)):
        out[i] = x[i] * 2.0
        out[i + at] = 1.0


@pytest.mark.usefixtures("ahead")
def test_a_bad_index_in_the_last_iteration():
    n = 20_000
    x = numpy.random.default_rng(3).random(n)
    wanted, got = numpy.zeros(n + 4), numpy.zeros(n + 4)
    for function, out in ((far, wanted), (np.jit(far), got)):
        with pytest.raises(IndexError, match="index 20004 is out of bounds for axis 0 with size 20004"):
            function(x, out, 5)
    assert numpy.array_equal(got, wanted)


def histogram(values, counts):
    for i in range(len(values)):
        counts[values[i]] += 1


@pytest.mark.usefixtures("ahead")
def test_elements_that_depend_on_data():
    values = numpy.random.default_rng(4).integers(0, 50, 30_000)
    wanted, got = numpy.zeros(50, int), numpy.zeros(50, int)
    histogram(values, wanted)
    np.jit(histogram)(values, got)
    assert numpy.array_equal(got, wanted)
    values[12_345] = 50
    for function, counts in ((histogram, wanted), (np.jit(histogram), got)):
        with pytest.raises(IndexError):
            function(values, counts)
    assert numpy.array_equal(got, wanted)


def growing(n):
    total = 1
    for i in range(n):
        total += total + i
    return total


@pytest.mark.usefixtures("ahead")
def test_integers_grow():
    assert np.jit(growing)(30) == growing(30)
    assert np.jit(growing)(500) == growing(500)
    big = numpy.full(5000, 2**62)
    assert np.jit(sums)(big[:1]) == sums(big[:1])
    assert np.jit(counted)(numpy.arange(5000), 2) == (5002, 4999)


def squares(x, out):
    for i in range(len(x)):
        out[i] = float(x[i]) ** 2


def test_squares_are_those_of_pow():
    rng = numpy.random.default_rng(5)
    x = numpy.concatenate(
        [rng.standard_normal(20_000) * 10.0 ** rng.integers(-150, 150), 1 + rng.random(20_000)]
    )
    wanted, got = numpy.zeros_like(x), numpy.zeros_like(x)
    squares(x, wanted)
    np.jit(squares)(x, got)
    assert numpy.array_equal(got, wanted)


def columns(m, out):
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            out[i, j] = m[i, j] * 2.0


@pytest.mark.usefixtures("ahead")
def test_orders_of_memory():
    compiled = np.jit(columns)
    m = numpy.random.default_rng(6).random((90, 80))
    for image in (m, m.T.copy().T, m[::-1, ::-1], m[::2, ::3]):
        for out in (numpy.zeros(image.shape), numpy.zeros(image.shape[::-1]).T):
            compiled(image, out)
            assert numpy.array_equal(out, 2.0 * image)


@np.jit
def filled(out, times):
    for i in range(out.shape[0]):
        for _ in range(times):
            for j in range(out.shape[1]):
                out[i, j] += 1.0


@pytest.mark.usefixtures("ahead")
def test_signals_end_iterations_on_several_threads():
    out = np.zeros((64, 1000))
    filled(out, 2)
    assert (out == 2.0).all()

    def handler(*_):
        raise TimeoutError("enough")

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(TimeoutError, match="enough"):
            filled(out, 10**8)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    # an iteration has been run completely, has begun, or has not begun: code without exits never runs it in
    # part
    done = numpy.asarray(out)
    assert (done >= 2.0).all()


def test_iterations_are_done_one_by_one_if_they_are_to_be():
    _core.jit_iterations_ahead(0)
    try:
        compiled = np.jit(sums)
        assert compiled(numpy.arange(5000.0)) == sums(numpy.arange(5000.0))
        assert notes(compiled) == []
    finally:
        _core.jit_iterations_ahead(2)


def test_the_environment_says_that_iterations_are_done_one_by_one():
    program = "import numelt as np; from tests.python.jit.test_ahead import notes, sums; import numpy\n"
    program += "f = np.jit(sums); f(numpy.arange(5000.0)); print(len(notes(f)))"
    root = pathlib.Path(__file__).parents[3]

    def printed(ahead):
        settings = os.environ | {"NUMELT_JIT_AHEAD": ahead}
        return subprocess.check_output([sys.executable, "-c", program], cwd=root, env=settings, text=True)

    assert printed("0") == printed("off") == "0\n"
    assert printed("1") == "1\n"


def test_explain_tells_how_iterations_are_done():
    compiled = np.jit(smoothed)
    compiled(numpy.zeros((20, 30)), numpy.zeros((20, 30)))
    assert "iterations are done ahead, on several threads" in np.explain(compiled)


def rows_to_come(b, a):
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])


def sums_to_come(b, a):
    for i in range(b.shape[0]):
        b[i, 0] = b[i + 1 :, 0].sum() * 0.5 + a[i, i]


def sums_of_all(b, a):
    for i in range(b.shape[0]):
        b[0, i] = b[1].sum() + np.dot(b[0], a[i]) * 1e-3


def means_of_an_array(b, a):
    for i in range(b.shape[0]):
        a[i, 1] = np.mean(b) + a[i, 0]


@pytest.mark.parametrize("function", [rows_to_come, sums_to_come, sums_of_all, means_of_an_array])
@pytest.mark.parametrize("shares", [False, True])
def test_what_numpys_loops_read_is_known(function, shares):
    values = numpy.random.default_rng(5).random((2, 150, 150))
    made = []
    compiled = np.jit(function)
    for run in (function, *(4 * [compiled])):
        b, a = np.asarray(values.copy())
        run(b, b if shares else a)
        made.append((numpy.asarray(b).tobytes(), numpy.asarray(a).tobytes()))
    assert all(one == made[0] for one in made)


def spread(places, width, image):
    for p in range(len(places)):
        first, last = int(places[p] - width), int(places[p] + width)
        for i in range(max(0, first), min(len(image) - 1, last) + 1):
            image[i] += 1.0 / (1.0 + abs(i - places[p]))


@pytest.mark.parametrize("bad", [None, 4_321])
@pytest.mark.usefixtures("ahead")
def test_iterations_run_ahead_around_short_loops_of_data_dependent_length(bad):
    places = numpy.random.default_rng(7).uniform(0, 200, 5_000)
    if bad is not None:
        places[bad] = math.nan
    compiled, images = np.jit(spread), [numpy.zeros(200) for _ in range(2)]
    compiled(places[:4_000], 3.0, numpy.zeros(200))
    got, wanted = (
        outcome(f, (places, 3.0, image)) for f, image in zip([compiled, spread], images, strict=True)
    )
    assert got == wanted
    assert numpy.array_equal(*images)
    assert notes(compiled)[0] == (1, None, False)
