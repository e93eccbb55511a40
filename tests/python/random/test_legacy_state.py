"""`RandomState` and the global functions: NumPy's numbers for the same seed, and its state afterwards."""

import threading

import numpy
import pytest

import numelt

from ..support.compare import outcome
from .test_generators import SIZES, assert_same_bits, check, same_state, state_of


def legacy_pair(seed=3):
    return numelt.random.RandomState(seed), numpy.random.RandomState(seed)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(
    "draw",
    [
        lambda g, size: g.random_sample(size),
        lambda g, size: g.random(size=size),
        lambda g, size: g.rand(*(size if isinstance(size, tuple) else (size,) if size is not None else ())),
        lambda g, size: g.randn(*(size if isinstance(size, tuple) else (size,) if size is not None else ())),
        lambda g, size: g.uniform(-3, 7.5, size),
        lambda g, size: g.uniform(size=size),
        lambda g, size: g.uniform(2.0, 2.0, size),
        lambda g, size: g.uniform(3, 1, size),
        lambda g, size: g.randint(10, size=size),
        lambda g, size: g.randint(-5, 3, size, numpy.int32),
        lambda g, size: g.randint(0, 2**32, size),
        lambda g, size: g.randint(0, 2**32, size, numpy.uint32),
        lambda g, size: g.randint(0, 2**32 - 1, size=size, dtype=numpy.uint64),
        lambda g, size: g.randint(0, 2**31, size, dtype=numpy.uint32),
        lambda g, size: g.randint(2**40, size=size),
        lambda g, size: g.randint(5, 6, size),
        lambda g, size: g.randint(0, 200, size, dtype="u1"),
        lambda g, size: g.standard_normal(size),
        lambda g, size: g.normal(2, 3.5, size),
        lambda g, size: g.normal(size=size),
        lambda g, size: g.normal(1.0, 0, size),
        lambda g, size: g.exponential(2.0, size),
    ],
)
def test_legacy_draws(size, draw):
    ours, theirs = legacy_pair()
    check(ours, theirs, lambda g, np: draw(g, size))
    # a normal number is kept back, and a word of the state is left over
    assert_same_bits(ours.randn(3), theirs.randn(3))
    assert_same_bits(ours.bytes(4), theirs.bytes(4))
    check(ours, theirs, lambda g, np: draw(g, size))


def test_global_functions_share_one_state():
    def draws(g):
        g.seed(5)
        return [
            g.rand(3000), g.randint(0, 9, 5000), g.randn(1001), g.normal(0, 1, 2001), g.uniform(1, 2, (3, 4)),
            g.random(7), g.sample(5), g.ranf(6), g.randn(),
        ]  # fmt: skip

    assert_same_bits(draws(numelt.random), draws(numpy.random))


@pytest.mark.parametrize(
    "draw",
    [
        lambda g: g.rand(-1),
        lambda g: g.rand("a"),
        lambda g: g.randint(5, 2, 10),
        lambda g: g.randint(5, 2**70, 10),
        lambda g: g.randint(0, 300, 10, numpy.uint8),
        lambda g: g.uniform(0, numpy.inf, 10),
        lambda g: g.normal(0, -1, 1000),
        lambda g: g.normal(0, -0.0, 1000),
        lambda g: g.normal(0, 1, -5),
        lambda g: g.randn(3, wrong=1),
        lambda g: g.standard_normal(size="x"),
    ],
)
def test_legacy_errors(draw):
    ours, theirs = legacy_pair()
    (kind, expected), (got_kind, got) = outcome(draw, theirs), outcome(draw, ours)
    assert (kind, got_kind) == ("error", "error")
    assert (type(got), str(got)) == (type(expected), str(expected))
    assert same_state(state_of(ours), state_of(theirs))


def test_another_bit_generator_of_the_legacy_class():
    ours = numelt.random.RandomState(numelt.random.PCG64(3))
    theirs = numpy.random.RandomState(numpy.random.PCG64(3))
    for draw in (lambda g: g.rand(5000), lambda g: g.randn(5001), lambda g: g.randint(7, size=5000)):
        assert_same_bits(draw(ours), draw(theirs))
    assert same_state(state_of(ours), state_of(theirs))


def test_threads_share_the_legacy_state():
    state = numelt.random.RandomState(1)
    drawn = []

    def work():
        for _ in range(20):
            drawn.append(numpy.asarray(state.random_sample(5000)))

    threads = [threading.Thread(target=work) for _ in range(3)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    expected = numpy.random.RandomState(1).random_sample(300_000)
    assert numpy.array_equal(numpy.sort(numpy.concatenate(drawn)), numpy.sort(expected))
