"""Parakeet's operators return the same results as the Python loops that define them."""

import functools
import itertools

import hypothesis
import numpy
import pytest
from hypothesis import strategies as st

import numelt as np
from numelt._jit import reporting

pytestmark = pytest.mark.core

RNG = numpy.random.default_rng(3)
X = RNG.normal(size=1000)
K = RNG.integers(-9, 9, 1000)


def compiled_runs(function):
    reports = [unit.report() for unit in reporting.units(function)]
    return sum(variant["runs"] for report in reports for variant in report["variants"])


def same(got, wanted):
    got, wanted = numpy.asarray(got), numpy.asarray(wanted)
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    assert got.tobytes() == wanted.tobytes()


def bent(x):
    return x * 2 if x > 0 else x


def of_two(x, y, k):
    return x * y + k


def mixed(x):
    return x if x > 0 else 1


def halves(x):
    return numpy.array([x, x / 2])


def test_map():
    same(np.map(bent, X), [bent(x) for x in X])
    many = np.tile(X, 100)
    same(np.map(bent, many), [bent(x) for x in many])
    assert compiled_runs(bent)
    same(np.map(bent, K), [bent(x) for x in K])
    same(
        np.map(bent, X.reshape(20, 50).T),
        numpy.array([bent(x) for x in X.reshape(20, 50).T.flat]).reshape(50, 20),
    )
    same(np.map(of_two, X, K, fixed=[3]), [of_two(x, y, 3) for x, y in zip(X, K, strict=True)])
    same(np.map(of_two, X.reshape(20, 50), K[:50], fixed=[3]), X.reshape(20, 50) * K[:50] + 3)
    same(np.map(mixed, X), [mixed(x) for x in X])
    same(np.map(mixed, K), [mixed(x) for x in K])
    same(np.map(halves, X[:5]), [halves(x) for x in X[:5]])
    same(np.map(lambda r: r[0] - r[1], X.reshape(500, 2), axis=0), X[::2] - X[1::2])
    same(np.map(lambda c: c[0] - c[1], X.reshape(2, 500), axis=1), X[:500] - X[500:])
    same(np.map(lambda r: r * 2, X.reshape(500, 2), axis=0), X.reshape(500, 2) * 2)
    same(np.map(bent, numpy.zeros((0, 3))), numpy.zeros((0, 3)))
    same(np.map(bent, 2.5), numpy.array(5.0))
    with pytest.raises(TypeError):
        np.map(bent)
    with pytest.raises(ValueError, match="extents"):
        np.map(of_two, X, X[:3], fixed=[1], axis=0)


def test_map_of_python_integers_beyond_64_bits():
    got = np.map(lambda k: int(k) ** 40 % 10**30, numpy.arange(1000))
    assert got.tolist() == [k**40 % 10**30 for k in range(1000)]


def test_allpairs():
    same(np.allpairs(lambda a, b: a * b, X[:30], K[:40]), X[:30, None] * K[:40])
    a, b = X[:60].reshape(20, 3), X[60:150].reshape(30, 3)

    def distance(p, q):
        return abs(p[0] - q[0]) + abs(p[1] - q[1]) + abs(p[2] - q[2])

    same(np.allpairs(distance, a, b), [[distance(p, q) for q in b] for p in a])
    same(np.allpairs(distance, a.T, b.T, axis=1), [[distance(p, q) for q in b] for p in a])
    many = np.tile(b, (50, 1))
    same(np.allpairs(distance, a, many), [[distance(p, q) for q in many] for p in a])
    assert compiled_runs(distance)


@pytest.mark.parametrize("init", [None, 0, 1.5])
def test_reduce_and_scan(init):
    for values in (X, K, X.astype("f4"), X[:1]):
        for f in (lambda a, b: a + b, lambda a, b: a if a > b else b, lambda a, b: a * 0.5 + b):
            head = [] if init is None else [init]
            wanted = functools.reduce(f, [*head, *values])
            got = np.reduce(f, values, init=init)
            assert type(got) is type(wanted)
            same(got, wanted)
            steps = list(itertools.accumulate([*head, *values], f))[len(head) :]
            same(np.scan(f, values, init=init), steps)


def test_reduce_over_parts_and_several_arrays():
    rows = X.reshape(100, 10)
    same(np.reduce(lambda a, b: a + b, rows, axis=0), functools.reduce(lambda a, b: a + b, rows))
    same(np.scan(lambda a, b: a + b, rows, axis=0), numpy.cumsum(rows, axis=0))
    got = np.reduce(lambda s, x, y, k: s + x * y * k, X, K, fixed=[2], init=0)
    wanted = functools.reduce(lambda s, p: s + p[0] * p[1] * 2, zip(X, K, strict=True), 0)
    same(got, wanted)
    with pytest.raises(TypeError):
        np.reduce(lambda s, x, y: s, X, X)
    with pytest.raises(TypeError):
        np.reduce(lambda s, x: s, X[:0])
    assert np.reduce(lambda s, x: s, X[:0], init=3) == 3


def test_imap():
    same(np.imap(lambda i: i * i, 500), numpy.arange(500) ** 2)
    same(
        np.imap(lambda i, j, k: i * 1.5 - j + k, (30, 20), fixed=[2]),
        numpy.fromfunction(lambda i, j: i * 1.5 - j + 2, (30, 20)),
    )
    same(np.imap(lambda i: (i, -i), 3), [[0, 0], [1, -1], [2, -2]])
    same(np.imap(lambda: 5, ()), numpy.array(5))


def test_filter():
    same(np.filter(lambda x: x > 0, X), X[X > 0])
    same(np.filter(lambda x, k: x % k == 1, K, fixed=[3]), K[K % 3 == 1])
    rows = X.reshape(100, 10)
    same(np.filter(lambda r: r[0] > r[1], rows), rows[rows[:, 0] > rows[:, 1]])


PADS = {"constant": "constant", "wrap": "wrap", "reflect": "reflect", "nearest": "edge"}


@hypothesis.given(
    st.sampled_from(sorted(PADS)),
    st.sampled_from([(40,), (9, 11), (4, 5, 3)]),
    st.sampled_from([1, 3]),
    st.sampled_from(["f8", "i4", "u1"]),
)
@hypothesis.settings(max_examples=40, deadline=None)
def test_stencil(mode, shape, size, dtype):
    with numpy.errstate(invalid="ignore"):
        x = numpy.resize(abs(X) * 40, shape).astype(dtype)

    def total(window, k):
        s = 0
        for value in window.ravel():
            s = s + value
        return s * k

    def edges(window, k):
        return window[(0,) * window.ndim] * k - window[(-1,) * window.ndim]

    half = size // 2
    padded = numpy.pad(x, half, mode=PADS[mode], **({"constant_values": 3} if mode == "constant" else {}))
    for f in (total, edges):
        with numpy.errstate(over="ignore"):
            wanted = numpy.array(
                [f(padded[tuple(slice(i, i + size) for i in index)], 2) for index in numpy.ndindex(*shape)]
            ).reshape(shape)
            same(np.stencil(f, np.asarray(x), size, mode, cval=3, fixed=[2]), wanted)


def test_stencil_errors():
    with pytest.raises(ValueError, match="odd"):
        np.stencil(bent, X, 2)
    with pytest.raises(ValueError, match="mode"):
        np.stencil(bent, X, 3, mode="mirror")


def test_guvectorize():
    @np.guvectorize("(n),(n)->()")
    def dot(a, b, out):
        s = 0.0
        for i in range(len(a)):
            s += a[i] * b[i]
        out[0] = s

    @np.guvectorize("(m,n),(n)->(m),()", dtype=float)
    def apply(a, x, y, norm):
        norm[0] = 0.0
        for i in range(a.shape[0]):
            y[i] = 0.0
            for j in range(a.shape[1]):
                y[i] += a[i, j] * x[j]
            norm[0] += y[i]

    rows = X[:60].reshape(4, 5, 3)
    vectors = X[60:75].reshape(5, 3)
    numpy.testing.assert_allclose(dot(rows, vectors), (rows * vectors).sum(-1))
    assert numpy.ndim(dot(vectors[0], vectors[1])) == 0
    y, norm = apply(rows, vectors[:4])
    numpy.testing.assert_allclose(y, numpy.einsum("kij,kj->ki", rows, vectors[:4]))
    numpy.testing.assert_allclose(norm, y.sum(-1))
    with pytest.raises(ValueError, match="signature"):
        np.guvectorize("n->n")
    with pytest.raises(ValueError, match="result"):
        np.guvectorize("(n)->(m)")
    with pytest.raises(ValueError, match="extents"):
        dot(vectors, X[:4])


def test_do_while():
    x = np.ones(3)

    def grow(x):
        x *= 2
        return x[0] < 100

    assert np.do_while(grow, None, x) == 7
    assert np.do_while(grow, 3, x) == 1
    x[:] = 1
    assert np.do_while(grow, 3, x) == 3
    assert x.tolist() == [8.0] * 3
    assert np.do_while(grow, 0, x) == 0
