"""Reading or writing an array's memory while other threads and pending work use it."""

import gc
import os
import random
import threading

import numpy
import pytest

import numelt

pytestmark = pytest.mark.core

# Rounds of the tests with threads: without exclusion, each test failed in most rounds.
ROUNDS = 20


def beside(work, other):
    """Call `work` `ROUNDS` times while a thread calls `other`; return the results of `work`."""
    stop, failures = threading.Event(), []

    def repeat():
        try:
            while not stop.is_set():
                other()
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        results = [work() for _ in range(ROUNDS)]
    finally:
        stop.set()
        thread.join()
    assert not failures
    return results


@pytest.mark.parametrize("n", [1, 7, 600, 5000])
def test_a_buffer_sees_what_is_recorded_afterwards(n):
    a, b = numelt.zeros(n), numelt.ones(n)
    view = memoryview(a)
    expected = numpy.zeros(n)

    def check():
        assert view.tobytes() == expected.tobytes()

    def add():
        nonlocal a, expected
        a += b
        expected += 1

    def multiply():
        numelt.multiply(a, 3, out=a)
        expected[:] *= 3

    def overwrite():
        a[:] = b * 2
        expected[:] = 2

    def fill():
        a.fill(5)
        expected[:] = 5

    def part():
        a[n // 2 :] -= 1
        expected[n // 2 :] -= 1

    def draw():
        numelt.random.default_rng(n).random(out=a)
        numpy.random.default_rng(n).random(out=expected)

    def store():
        a[-1] = 4
        expected[-1] = 4

    def pick():
        a[[0, -1]] = 8
        expected[[0, -1]] = 8

    def outside():
        view[0] = 11.0
        expected[0] = 11

    steps = [add, multiply, overwrite, fill, part, draw, store, pick, outside]
    chooser = random.Random(n)
    for _ in range(60):
        chooser.choice(steps)()
        check()
    assert (a * 2).tolist() == (expected * 2).tolist()


@pytest.mark.parametrize("n", [1 << 17, 1 << 19])
def test_sorting_keeps_writers_out(n):
    values = numpy.random.default_rng(n).permutation(float(n) + numpy.arange(n))
    orders = [numpy.argsort(sign * values, kind="stable") for sign in (1, -1)]
    a = numelt.array(values)

    def turn():
        nonlocal a
        a *= -1
        assert abs(float(a[5])) == values[5]

    for order in beside(lambda: numelt.argsort(a, kind="stable"), turn):
        assert any(numpy.array_equal(order, expected) for expected in orders)
    assert (abs(a) == values).all()


def test_sums_under_masks_keep_writers_out():
    n = 1 << 20
    values = numpy.ones(n)
    mask = numpy.arange(n) % 3 == 0
    a, chosen = numelt.array(values), numelt.array(mask)

    def turn():
        nonlocal a
        a *= -1
        assert abs(float(a[7])) == 1

    total = float(mask.sum())
    for found in beside(lambda: float(numelt.sum(a, where=chosen)), turn):
        assert abs(found) == total


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_threads_that_it_lacks():
    n = 1 << 17
    a = numelt.array(numpy.random.default_rng(1).permutation(numpy.arange(float(n))))

    def fork():
        nonlocal a
        pid = os.fork()
        if pid == 0:
            before = float(a[5])
            a *= -1
            os._exit(0 if float(a[5]) == -before else 1)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    assert beside(fork, lambda: numelt.argsort(a, kind="stable")) == [0] * ROUNDS


def test_draws_are_seen_as_a_whole():
    n = 1 << 16
    known = numpy.random.Generator(numpy.random.MT19937(3))
    draws = {known.random(n).tobytes() for _ in range(ROUNDS)} | {numpy.zeros(n).tobytes()}
    rng = numelt.random.Generator(numelt.random.MT19937(3))
    a, seen = numelt.zeros(n), []

    def look():
        seen.append((a + 0).tobytes())

    beside(lambda: rng.random(out=a), look)
    assert seen
    assert all(found in draws for found in seen)


@pytest.mark.parametrize("call", ["sort", "correlate", "unique", "median"])
def test_numpy_computes_with_arrays_that_another_thread_writes(call):
    a, times = numelt.arange(50000.0), 0
    calls = {
        "sort": lambda: numelt.sort(a[::2]),
        "correlate": lambda: numelt.correlate(a, a[:16]),
        "unique": lambda: numelt.unique(a),
        "median": lambda: numelt.median(a),
    }

    def add():
        nonlocal a, times
        a += 1
        times += 1
        assert float(a[3]) == 3 + times

    beside(calls[call], add)
    assert (a == numpy.arange(50000.0) + times).all()


@pytest.mark.parametrize("shape", [(1000,), (100, 10), (600, 1)])
def test_lists_are_of_one_moment(shape):
    a = numelt.ones(shape)

    class Adds:
        """An object that changes the array when the garbage collector finds it."""

        def __init__(self):
            self.itself = self

        def __del__(self):
            nonlocal a
            a += 1

    before = gc.get_threshold()
    gc.collect()
    try:
        gc.set_threshold(50, 1, 1)
        for _ in range(20):
            # what is pending is NumPy's to list, which sees such changes
            float(a.flat[0])
            Adds()
            now = a.tolist()
            assert len(set(numpy.ravel(now))) == 1
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert (a == 21).all()
