"""What iterations ahead overwrite comes back, also where stores keep it and nothing is copied before."""

import signal
import time
import warnings

import numpy
import pytest

import numelt as np

pytestmark = pytest.mark.usefixtures("ahead")

SHAPE = (90, 70)


def in_order(x, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = x[i, j] * 2.0


def inside(x, out):
    rows, columns = x.shape
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            out[i, j] -= 2.0 * (x[i, j] + x[i, j + 1])


def columns_first(x, out):
    rows, columns = x.shape
    for j in range(columns):
        for i in range(rows):
            out[i, j] += x[i, j] * 2.0


def backwards(x, out):
    rows, columns = x.shape
    for i in range(rows):
        for j in range(columns - 1, -1, -1):
            out[rows - 1 - i, j] = x[i, j] * 2.0


def along(x, out):
    for i in range(x.shape[1]):
        out[5, i] = out[5, i] + x[3, i] * 2.0


def carried(x, out):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total += x[i, j] * 2.0
            out[i, j] = total


def two_arrays(x, out, other):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = x[i, j] * 2.0
        for j in range(10):
            other[i, j] += x[i, j]


def twice(x, out):
    for i in range(x.shape[0] - 1):
        for j in range(x.shape[1]):
            out[i, j] += x[i, j] * 2.0
            out[i + 1, j] -= x[i, j]


def at_sums(x, out):
    for i in range(20):
        for j in range(20):
            out[3, i + j] += x[i, j] * 2.0


def on_the_diagonal(x, out):
    for i in range(x.shape[1]):
        out[i, i] = x[i, i] * 2.0


def repeated(x, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for _ in range(3):
                out[i, j] += x[i, j] * 2.0


def in_steps(x, out):
    for i in range(x.shape[0]):
        for j in range(0, x.shape[1], 2):
            out[i, j] = x[i, j] * 2.0


def triangle(x, out):
    for i in range(x.shape[1]):
        for j in range(i):
            out[i, j] = x[i, j] * 2.0


def under_a_condition(x, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] > 0.5:
                out[i, j] = x[i, j] * 2.0


def up_to_an_element(x, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] < 0.02:
                break
            out[i, j] = x[i, j] * 2.0


def but_for_some(x, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] < 0.1:
                continue
            out[i, j] = x[i, j] * 2.0


KEPT = [in_order, inside, carried, two_arrays]
OTHERS = [
    backwards,
    along,
    columns_first, twice, at_sums, on_the_diagonal, repeated, in_steps, triangle, under_a_condition,
    up_to_an_element, but_for_some,
]  # fmt: skip

LAYOUTS = {
    "C": lambda a: a,
    "F": numpy.asfortranarray,
    "rows turned": lambda a: a[::-1].copy()[::-1],
    "columns turned": lambda a: a[:, ::-1].copy()[:, ::-1],
    "part": lambda a: numpy.pad(a, 7)[7:-7, 7:-7],
    "spread": lambda a: numpy.repeat(a, 3, axis=1)[:, ::3],
    "far": lambda a: numpy.pad(a, ((0, 0), (0, 3000)))[:, : a.shape[1]],
}


class ToldError(Exception):
    """A warning was shown."""


def tell(message, *_):
    raise ToldError(message)


def after_warning(function, args):
    """Return the warning that ends a function if none can be shown, and the memory of its arrays then."""
    # CPython runs all loops where warnings are errors
    told = None
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = tell
        try:
            function(*args)
        except ToldError as error:
            told = str(error)
    return told, [arg.tobytes() for arg in args]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("function", KEPT + OTHERS)
def test_what_was_overwritten_comes_back(function, layout):
    def make(at, dtype):
        rng = numpy.random.default_rng(1)
        x, *outs = (rng.random(SHAPE).astype(dtype) for _ in range(function.__code__.co_argcount))
        if at is not None:
            x[at] = numpy.finfo(dtype).max
        return (x, *map(LAYOUTS[layout], outs))

    compiled = np.jit(function)
    for dtype in ["f8", "f4"]:
        for at in [None, (0, 0), (3, 69), (19, 19), (50, 50), (89, 69)]:
            assert after_warning(compiled, make(at, dtype)) == after_warning(function, make(at, dtype)), (
                at,
                dtype,
            )


def copied(x, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = x[i, j]
            if x[i, j] < 0.5:
                out[i, j] = 3.0


@pytest.mark.parametrize("function", [copied])
@pytest.mark.parametrize("value", [numpy.nan, numpy.inf, -0.0])
def test_iterations_that_only_copy(function, value):
    def make():
        x = numpy.random.default_rng(1).random((300, 300))
        x[7, 5] = value
        return x, numpy.zeros((300, 300))

    assert after_warning(np.jit(function), make()) == after_warning(function, make())


def filled(out, times):
    for _ in range(times):
        for i in range(out.shape[0]):
            for j in range(out.shape[1]):
                out[i, j] = 1.0


def test_signals_end_loops_whose_iterations_cannot_stop():
    out = np.zeros((1000, 1000))
    compiled = np.jit(filled)
    compiled(out, 2)

    def handler(*_):
        raise InterruptedError

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        start = time.perf_counter()
        with pytest.raises(InterruptedError):
            compiled(out, 10**7)
        assert time.perf_counter() - start < 5
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
