"""Loops whose iterations repeat a known program, or leave it somewhere: values, shapes and layouts."""

import operator

import numpy
import pytest

import numelt

pytestmark = pytest.mark.core

OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.gt,
    operator.le,
    operator.ne,
]
TURNS = 9


@pytest.fixture(autouse=True)
def _recorded():
    """Record and plan everything: operations that run at once or one by one repeat nothing."""
    config, saved = numelt.config, (numelt.config.at_once, numelt.config.piecemeal)
    config.at_once, config.piecemeal = 0, 0
    yield
    config.at_once, config.piecemeal = saved


def operands(np, seed):
    """Arrays whose layouts broadcast with each other, and numbers."""
    rng = numpy.random.default_rng(seed)
    make = [rng.uniform(0.5, 2.0, (4, 6)) for _ in range(6)]
    a, b, c, d, e, f = (np.array(x) for x in make)
    wide = np.array(rng.uniform(0.5, 2.0, (8, 12)))
    ints = np.array(rng.integers(1, 9, (4, 6)))
    return [
        a, b, np.array(c[:1]), np.array(d[:, :1]), np.asfortranarray(e), f[::-1], wide[::2, ::2],
        wide[:4, :6], np.array(make[0][0]), a[0], a.T.reshape(4, 6), ints,
        np.array(make[1], dtype=np.float32), a[:, :0],
        np.array(1.5), a.sum(), 2.0, 3, -1.5, np.float64(0.25), True,
    ]  # fmt: skip


def program(rng):
    """Steps: an operator, its operands (results, counted from the end, or arrays), and whether it is in
    place."""
    steps = []
    for at in range(rng.integers(2, 12)):
        chosen = [
            int(rng.integers(0, at)) - at if at and rng.random() < 0.5 else int(rng.integers(0, 21))
            for _ in "ab"
        ]
        steps.append((int(rng.integers(0, len(OPERATORS))), *chosen, rng.random() < 0.1))
    return steps


def turn(np, steps, arrays):
    """Run the steps; return each result, or the name of the exception."""
    made = []
    for at, (op, a, b, into) in enumerate(steps):
        x, y = (made[at + i] if i < 0 else arrays[i] for i in (a, b))
        try:
            if into:
                made.append(np.add(x, y, out=np.empty((4, 6), order="F" if op % 2 else "C")))
            else:
                made.append(OPERATORS[op](x, y))
        except (TypeError, ValueError, OverflowError):
            made.append(1.0)
    return made


def check(ours, theirs):
    for x, y in zip(ours, theirs, strict=True):
        assert numpy.shape(x) == numpy.shape(y)
        with numpy.errstate(all="ignore"):
            numpy.testing.assert_array_equal(numpy.asarray(x), numpy.asarray(y))
        if isinstance(y, numpy.ndarray):
            assert x.dtype == y.dtype
            assert x.strides == y.strides or y.size <= 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(40))
def test_turns_that_leave_a_known_program(seed):
    """Iterations repeat a program, but some change one operand or operator and then continue as before."""
    rng = numpy.random.default_rng(seed)
    arrays = [operands(np, seed) for np in (numelt, numpy)]
    steps = program(rng)
    for number in range(TURNS):
        now = list(steps)
        if number >= 4 and number % 2 == 0:
            at = int(rng.integers(0, len(now)))
            op, a, b, into = now[at]
            other, instead = int(rng.integers(0, 21)), int(rng.integers(0, 7))
            changes = [(op, other, b, into), (instead, a, b, into), (op, b, a, into), (op, a, b, not into)]
            now[at] = changes[rng.integers(0, 4)]
        ours, theirs = turn(numelt, now, arrays[0]), turn(numpy, now, arrays[1])
        if number % 3 == 2:  # the first results are dropped before anything is read
            del ours[: len(ours) // 2], theirs[: len(theirs) // 2]
        numelt.flush()
        check(ours, theirs)


@pytest.mark.parametrize("length", [1, 2, 40])
def test_a_known_program_on_other_arrays(length):
    """Repeated operations work on the arrays that are there now, whether NumPy sees them or not."""
    for number in range(12):
        a = numelt.full(50, 1.0 + number)
        b = numelt.arange(50.0)
        seen = numpy.asarray(b) if number % 4 == 3 else None
        z, kept = a, []
        for _ in range(length):
            z = z + b
            kept.append(z)
        w = z * 2.0 - number
        if seen is not None:
            seen += 1.0  # operations recorded on a visible array have run
            assert b[3] == 4.0
        assert w[7] == 2.0 * (1.0 + number + 7.0 * length) - number
        assert kept[0][1] == 2.0 + number


def test_arrays_that_end_in_any_order():
    """Objects, bases and reference counts are correct after arrays have been made and dropped."""
    a = numelt.linspace(0.5, 1.5, 30)
    for number in range(300):
        results = [a + float(i) for i in range(number % 7 + 1)]
        views = [r[1:] for r in results]
        if number % 2:
            del results
        else:
            del views
            views = results
        total = views[0] + views[-1]
        del views
        i = number % 7
        first = 1 if number % 2 else 0
        assert total[0] == (a[first] + 0.0) + (a[first] + float(i))
