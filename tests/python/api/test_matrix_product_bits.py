"""Products of vectors and matrices have NumPy's bits for all dtypes and layouts."""

import warnings

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numelt

INEXACT = ["float32", "float64", "complex64", "complex128"]
OTHERS = ["float16", "int64", "uint8", "bool"]
EXTENTS = [0, 1, 2, 3, 8, 37, 70]


# name -> (shape of the base from that of the view, the view)
LAYOUTS = {
    "C": (lambda s: s, lambda x: x),
    "F": (lambda s: s[::-1], lambda x: x.T),
    "columns": (lambda s: (*s[:-2], s[-1], s[-2]), lambda x: x.swapaxes(-1, -2)),
    "rotated": (lambda s: s[1:] + s[:1], lambda x: x.transpose(
        x.ndim - 1, *range(x.ndim - 1))),
    "window": (lambda s: tuple(n + 2 for n in s), lambda x: x[(slice(1, -1),) * x.ndim]),
    "steps": (lambda s: (*s[:-1], 2 * s[-1]), lambda x: x[..., ::2]),
    "column": (lambda s: (*s, 3), lambda x: x[..., 1]),
    "rows": (lambda s: (3 * s[0], *s[1:]), lambda x: x[::3]),
    "backwards": (lambda s: s, lambda x: x[..., ::-1]),
    "upwards": (lambda s: s, lambda x: x[::-1]),
    "reversed steps": (lambda s: (*s[:-1], 2 * s[-1]), lambda x: x[(slice(None, None, -1),) * (x.ndim - 1)][
        ..., ::-2]),
    "row": (lambda s: (1, *s[1:]), lambda x: x),
    "spread": (lambda s: (*s[:-1], 1), lambda x: x),
}  # fmt: skip
STRETCHED = {"row", "spread"}
VECTORS = [name for name in LAYOUTS if name not in ("columns",)]


def values(rng, dtype, shape):
    """Return values whose sums are rounded."""
    kind = numpy.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) < 0.3
    if kind in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    data = rng.standard_normal(shape) * rng.choice([1e-3, 1.0, 30.0, 0.0], shape)
    if kind == "c":
        data = data + 1j * rng.standard_normal(shape)
    return data.astype(dtype)


def both(rng, dtype, shape, name):
    """Return the same view in NumPy and here."""
    base_shape, view = LAYOUTS[name]
    base = values(rng, dtype, base_shape(shape))
    theirs, ours = view(base), view(numelt.array(base))
    if name in STRETCHED:
        theirs, ours = numpy.broadcast_to(theirs, shape), numelt.broadcast_to(ours, shape)
    return theirs, ours


def same(got, want):
    """Assert equal bits, shape and dtype, and the order in memory."""
    real = numpy.asarray(got)
    assert (real.dtype, real.shape) == (want.dtype, want.shape)
    if want.size:
        assert [s for s, n in zip(real.strides, want.shape, strict=True) if n > 1] == [
            s for s, n in zip(want.strides, want.shape, strict=True) if n > 1
        ]
    assert real.tobytes() == want.tobytes()


FUNCTIONS = {
    "matmul": lambda np, a, b: a @ b,
    "dot": lambda np, a, b: np.dot(a, b),
    "method": lambda np, a, b: a.dot(b),
    "inner": lambda np, a, b: np.inner(a, b.swapaxes(-1, -2) if b.ndim > 1 else b),
    "vdot": lambda np, a, b: np.vdot(a, a[::-1]),
    "vecdot": lambda np, a, b: np.vecdot(a, a[::-1]),
    "matvec": lambda np, a, b: np.matvec(a, b[..., 0] if b.ndim > 1 else b),
    "vecmat": lambda np, a, b: np.vecmat(a[..., 0, :] if a.ndim > 1 else a, b),
    "tensordot": lambda np, a, b: np.tensordot(a, b, axes=([-1], [-2 if b.ndim > 1 else 0])),
    "outer": lambda np, a, b: np.outer(a, b),
    "einsum": lambda np, a, b: np.einsum("...j,...j->...", a, a[::-1]),
}


@st.composite
def cases(draw, dtypes=INEXACT):
    m, k, n = (draw(st.sampled_from(EXTENTS)) for _ in range(3))
    lead = draw(st.sampled_from([(), (), (), (3,), (2, 3)]))
    left = draw(st.sampled_from([(k,), (m, k), (m, k), (*lead, m, k)]))
    right = draw(st.sampled_from([(k,), (k, n), (k, n), (*lead, k, n)]))
    names = [draw(st.sampled_from(list(LAYOUTS) if len(s) > 1 else VECTORS)) for s in (left, right)]
    first = draw(st.sampled_from(dtypes))
    second = draw(st.sampled_from([first, first, first, *dtypes]))
    return left, right, names, (first, second), draw(st.integers(0, 2**32))


def check(name, case):
    left, right, names, dtypes, seed = case
    rng = numpy.random.default_rng(seed)
    operands = [both(rng, d, s, n) for d, s, n in zip(dtypes, (left, right), names, strict=True)]
    theirs, ours = zip(*operands, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            want = numpy.asarray(FUNCTIONS[name](numpy, *theirs))
        except (ValueError, IndexError) as error:
            with pytest.raises(type(error)):
                numpy.asarray(FUNCTIONS[name](numelt, *ours))
            return
        same(FUNCTIONS[name](numelt, *ours), want)


@pytest.mark.parametrize("name", list(FUNCTIONS))
@settings(max_examples=60)
@given(cases())
def test_products(name, case):
    check(name, case)


@pytest.mark.parametrize("name", ["matmul", "dot", "vecdot", "inner"])
@settings(max_examples=25)
@given(cases(dtypes=OTHERS + INEXACT))
def test_products_of_other_dtypes(name, case):
    check(name, case)


@pytest.mark.parametrize("dtype", INEXACT)
@pytest.mark.parametrize(
    "shape", [(5, 7), (40, 3), (3, 40), (150, 130), (1, 9), (9, 1), (2, 30, 20)], ids=str
)
def test_products_with_itself(dtype, shape):
    """NumPy computes only one triangle of a matrix times its transpose if both share their memory."""
    for name in LAYOUTS:
        theirs, ours = both(numpy.random.default_rng(3), dtype, shape, name)
        for np_, x in ((numpy, theirs), (numelt, ours)):
            turned = x.swapaxes(-1, -2)
            results = [x @ turned, turned @ x, np_.dot(x, turned), np_.dot(turned, x), x @ turned.copy()]
            results += [(x + x) @ (x + x).swapaxes(-1, -2), np_.inner(x, x)]
            if np_ is numpy:
                want = results
        for got, expected in zip(results, want, strict=True):
            same(got, expected)


@pytest.mark.parametrize("dtype", INEXACT)
def test_products_into_outputs(dtype):
    rng = numpy.random.default_rng(4)
    names = ["C", "F", "window", "steps", "column", "backwards", "upwards", "reversed steps"]
    for m, k, n in [(7, 37, 9), (40, 30, 50), (1, 37, 6), (6, 37, 1), (1, 9, 1), (6, 1, 5)]:
        for name in names:
            for second in ("C", "F", "steps"):
                (a, x), (b, y) = both(rng, dtype, (m, k), "C"), both(rng, dtype, (k, n), second)
                want, out = both(rng, dtype, (m, n), name)
                assert numelt.matmul(x, y, out=out) is out
                numpy.matmul(a, b, out=want)
                same(out.copy(), want.copy())


@pytest.mark.parametrize("dtype", INEXACT)
def test_products_with_scalars(dtype):
    rng = numpy.random.default_rng(5)
    for shape in [(), (1,), (9,), (4, 9), (9, 4), (1, 7), (7, 1), (2, 3, 4), (0,)]:
        for name in LAYOUTS if shape else ["C"]:
            if name in ("columns", "rows", "row", "spread") and len(shape) < 2:
                continue
            a, x = both(rng, dtype, shape, name)
            for factor in (numpy.array(2.5), numpy.array(0.0), numpy.array(-1e-300, dtype)):
                same(numelt.dot(numelt.array(factor), x), numpy.asarray(numpy.dot(factor, a)))
                same(numelt.dot(x, numelt.array(factor)), numpy.asarray(numpy.dot(a, factor)))


def test_products_of_pending_operands():
    """Fusing, sharing or omitting copies must not change which matrices share their memory."""

    def program(np, x):
        first, second = x * 2 + 1, x * 2 + 1
        copied = first.copy()
        return (
            first @ second.T,
            first @ first.T,
            first @ copied.T,
            np.dot(first, copied.T),
            copied[::2] @ copied[::2].T,
        )

    data = numpy.random.default_rng(6).standard_normal((150, 90)).astype("f4")
    for got, want in zip(program(numelt, numelt.array(data)), program(numpy, data), strict=True):
        same(got, want)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("matmul", lambda np, x, y: x @ y),
        ("dot", lambda np, x, y: np.dot(x, y)),
        ("dot", lambda np, x, y: np.inner(x, y)),
        ("dot", lambda np, x, y: np.tensordot(x, y, 1)),
        ("vecdot", lambda np, x, y: np.vecdot(x, y)),
        (None, lambda np, x, y: np.vdot(x, y)),
    ],
)
def test_products_warn_in_their_own_name(name, call):
    for np in (numpy, numelt):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            numpy.asarray(call(np, np.full((3, 3), numpy.inf), np.zeros((3, 3))))
        texts = {str(w.message) for w in caught}
        assert texts == ({f"invalid value encountered in {name}"} if name else set())
