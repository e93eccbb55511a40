"""Sweeps in place that alternate between two arrays: NumPy's bits for any number of sweeps."""

import numpy
import pytest

import numelt


def heat(np, u, turns):
    for _ in range(turns):
        u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) * 0.25
    return u


def made_here(np, u, turns):
    w = u.copy()
    w[0] = 1
    w[:, -1] = u[:, 0]
    heat(np, w, turns)
    w[-1] = 2
    return w, heat(np, u * 2, turns)


def added(np, u, turns):
    v = u[1:-1, 2:]
    for _ in range(turns):
        v += u[:-2, 1:-1] - v
        v *= 0.5
    return u, v


def named(np, u, turns):
    for _ in range(turns):
        old = u.copy()
        u[1:-1, 1:-1] = old[1:-1, :-2] - old[2:, 1:-1]
    return u, old


def summed(np, u, turns):
    sums = []
    for _ in range(turns):
        u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1]) * 0.5
        sums.append(np.sum(u))
    return u, np.stack(sums)


def two_fields(np, u, turns):
    v = u * 0.5
    a, b = u[1:-1, 1:-1], v[1:-1, 1:-1]
    for _ in range(turns):
        left, right = u[1:-1, :-2] - a, v[1:-1, 2:] - b
        both = a * b
        a += left * 0.1 - both
        b += right * 0.1 + both
    return u, v


def edges_between(np, u, turns):
    for _ in range(turns):
        u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1]) * 0.5
        u[:, 0] = u[:, 1]
        u[0] = u[-2]
    return u


def masked(np, u, turns):
    for _ in range(turns):
        c = u[1:-1, 1:-1]
        c[...] = np.where(u[1:-1, :-2] > c, u[2:, 1:-1], c)
    return u


def another_type(np, u, turns):
    g = (u > 0).astype("i4")
    for _ in range(turns):
        n = g[:-2, 1:-1] + g[2:, 1:-1] + g[1:-1, :-2] + g[1:-1, 2:]
        g[1:-1, 1:-1] = (n == 3) | ((g[1:-1, 1:-1] == 1) & (n == 2))
    return g


PROGRAMS = [heat, made_here, added, named, summed, two_fields, edges_between, masked, another_type]


def start(shape):
    return numpy.random.default_rng(8).standard_normal(shape)


def same(got, want):
    want = want if isinstance(want, tuple) else (want,)
    got = got if isinstance(got, tuple) else (got,)
    for ours, theirs in zip(got, want, strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(ours), theirs)


@pytest.mark.parametrize("turns", [1, 2, 3, 4, 5, 8, 11])
@pytest.mark.parametrize("shape", [(3, 3), (9, 30), (40, 41), (150, 200)])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_same_bits(program, shape, turns):
    want = program(numpy, start(shape), turns)
    for layout in (lambda x: x, lambda x: x[::-1], lambda x: x.T.copy().T):
        ours = layout(numelt.asarray(start(shape)))
        theirs = layout(start(shape))
        want = program(numpy, theirs, turns)
        with numelt.inspect():
            got = program(numelt, ours, turns)
            numelt.flush()
        same(got, want)
        same(program(numelt, layout(numelt.asarray(start(shape))), turns), want)


@pytest.mark.parametrize("turns", [4, 5])
def test_what_others_see(turns):
    theirs = start((150, 200))
    ours = numelt.asarray(theirs.copy())
    row, seen = ours[3], numpy.asarray(ours)
    heat(numelt, ours, turns), heat(numpy, theirs, turns)
    same(row, theirs[3])
    same(seen, theirs)


def test_sweeps_are_a_kernel_each_and_the_rest_is_copied_once():
    u = numelt.asarray(start((150, 200))).copy()
    numelt.flush()
    with numelt.inspect() as seen:
        heat(numelt, u, 8)
        numelt.flush()
    assert seen.kernels <= 8 + 4
    assert seen.bytes_moved <= 8 * 2 * u.nbytes + 4 * (150 + 200) * 8
    assert [size for size in seen.allocated if size > 64] == [u.nbytes]
