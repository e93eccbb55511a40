"""Calls that go straight to NumPy's functions, and few elements picked and reduced at once."""

import itertools

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numelt

from ..support.compare import as_numpy, assert_same
from .test_short_ways import check, outcome

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def assert_alike(ours, theirs):
    """The same, strides included."""
    assert_same(ours, theirs)
    assert as_numpy(ours).strides == theirs.strides


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("source", ["?", "u1", "f2", "f4", "f8", "c16"])
def test_positions_of_any_dtype(dtype, source):
    def picked(np):
        array = (np.arange(12) % 5).astype(source)
        keys = [np.array(key).astype(dtype) for key in ([0, 3, 11], [[1, 2], [2, 0]], [])]
        keys += [np.arange(8).astype(dtype)[::-2], np.array(3).astype(dtype)]
        parts = [array[key] for key in keys] + [array.reshape(4, 3)[keys[0] // 3]]
        array[keys[0]] = 1
        array[keys[1].ravel()] = np.arange(4).astype(source)
        return [*parts, array]

    check(picked)


@pytest.mark.parametrize("key", [[-1, 0], [12], [-13], [2**63], [127, -128]])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_positions_outside(key, dtype):
    info = numpy.iinfo(dtype)
    if not all(info.min <= at <= info.max for at in key):
        return

    def picked(np):
        array = np.arange(12.0)
        return array[np.array(key, dtype)]

    def stored(np):
        array = np.arange(12.0)
        array[np.array(key, dtype)] = 5
        return array

    check(picked)
    check(stored)


PARTS = {
    "int": lambda np: 1,
    "negative": lambda np: -1,
    "scalar": lambda np: np.int64(0),
    "outside": lambda np: 9,
    "list": lambda np: [0, 2],
    "list of scalars": lambda np: [np.int64(1), 1],
    "long list": lambda np: [0, 1] * 40,
    "truths": lambda np: [True, False, True],
    "truth": lambda np: True,
    "empty": lambda np: [],
    "vector": lambda np: np.array([2, 0]),
    "reversed": lambda np: np.array([0, 1, 2, 1])[::-2],
    "small": lambda np: np.array([1, -1], "i1"),
    "unsigned": lambda np: np.array([1, 0], "u8"),
    "three": lambda np: np.array([0, 1, 2]),
    "slice": lambda np: slice(1, None),
}


@pytest.mark.parametrize(
    "names", [*itertools.product(PARTS, repeat=2), *itertools.product(list(PARTS)[:8:2], repeat=3)]
)
def test_a_position_for_each_axis(names):
    def picked(np):
        array = np.arange(27.0 if len(names) == 3 else 9.0).reshape((3,) * len(names))
        return [
            array[tuple(PARTS[name](np) for name in names)],
            array.T[tuple(PARTS[name](np) for name in names)],
        ]

    def stored(np):
        array = np.zeros((3,) * len(names), "f4")
        array[tuple(PARTS[name](np) for name in names)] = 2.5
        array[tuple(PARTS[name](np) for name in names)] += 1
        return array

    check(picked)
    check(stored)


@given(
    shape=st.lists(st.integers(1, 9), min_size=1, max_size=3),
    step=st.integers(1, 4),
    dtype=st.sampled_from(["?", "i1", "i4", "u8", "f2", "f4", "f8", "c8", "c16"]),
    name=st.sampled_from(["sum", "prod", "max", "min", "any", "all", "mean", "argmax", "std"]),
    axis=st.sampled_from([None, 0, -1]),
    special=st.booleans(),
    flip=st.booleans(),
)
def test_reductions_of_what_lies_apart(shape, step, dtype, name, axis, special, flip):
    values = numpy.random.default_rng(len(shape) * step).normal(0, 3, (*shape, step)).astype(dtype)
    if special and values.dtype.kind in "fc":
        values.ravel()[:: max(values.size // 3, 1)] = [numpy.nan, -0.0, numpy.inf][step % 3]
    if name in ("argmax", "max", "min") and values.dtype.kind == "c":
        return

    def reduced(np):
        array = np.array(values)
        for _ in range(6):
            float(np.arange(3.0).sum())  # few results are read, so that what follows is done at once
        part = array[..., 0]
        part = part[..., ::-1] if flip else part
        found = [getattr(part, name)(axis), getattr(part.T, name)(axis)]
        if values.dtype.kind == "c":
            found += [getattr(part.real, name)(axis), getattr(part.imag, name)(axis)]
        return found

    with numpy.errstate(all="ignore"):
        check(reduced)


FOREIGN = {
    "records": lambda np: np.array([(1, 2.5, "a"), (3, -1.0, "b")], [("n", "i4"), ("x", "f8"), ("s", "U2")]),
    "packed": lambda np: np.array([(1, 2.5, True), (3, -1.0, False)], [("n", "i1"), ("x", "f8"), ("b", "?")])[
        "x"
    ],
    "text": lambda np: np.array(["b", "a", "cc"]),
    "dates": lambda np: np.array(["2024-01-01", "2024-03-05"], "M8[D]"),
    "durations": lambda np: np.array([3, -5], "m8[h]"),
    "swapped": lambda np: np.arange(6).astype(">u4"),
    "objects": lambda np: np.array([1, 2.5, None], object),
}
CALLS = {
    "view": lambda np, a: a.view(),
    "view of bytes": lambda np, a: a.view(np.uint8),
    "view by name": lambda np, a: a.view("i1"),
    "view by keyword": lambda np, a: a.view(dtype=np.int8),
    "view of a class": lambda np, a: a.view(np.ndarray),
    "astype": lambda np, a: a.astype(int),
    "astype text": lambda np, a: a.astype("U8"),
    "astype keywords": lambda np, a: a.astype(a.dtype, copy=False),
    "astype wrong": lambda np, a: a.astype(foo=1),
    "reshape": lambda np, a: a.reshape(1, -1),
    "reshape F": lambda np, a: a.reshape((-1, 1), order="F"),
    "ravel": lambda np, a: a.ravel(),
    "transpose": lambda np, a: a.transpose(),
    "transpose wrong": lambda np, a: a.transpose(1, 0),
    "squeeze": lambda np, a: a.reshape(1, -1).squeeze(0),
    "sum": lambda np, a: a.sum(),
    "max": lambda np, a: a.max(),
    "argsort": lambda np, a: a.argsort(kind="stable"),
    "searchsorted": lambda np, a: a.searchsorted(a[0]),
    "cumsum": lambda np, a: a.cumsum(),
    "where": lambda np, a: np.where(np.arange(a.size) > 0, a, a[0]),
    "reduce": lambda np, a: np.add.reduce(a),
    "reduceat": lambda np, a: np.maximum.reduceat(a, [0, 1]),
    "item": lambda np, a: a[0],
    "items": lambda np, a: list(a),
    "mask": lambda np, a: a[np.arange(a.size) > 0],
    "list": lambda np, a: np.array([item for item in a if True], object),
    "unique": lambda np, a: np.unique(a, return_counts=True),
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("call", CALLS)
def test_arrays_that_are_not_native(kind, call):
    (ours, _), (theirs, _) = (
        outcome(lambda np: CALLS[call](np, FOREIGN[kind](np)), np) for np in (numelt, numpy)
    )
    if isinstance(theirs, tuple) and isinstance(theirs[0], type):
        assert ours[0] is theirs[0]
    elif isinstance(theirs, (list, tuple)):
        assert [str(as_numpy(a)) for a in ours] == [str(a) for a in theirs]
    else:
        assert_same(ours, theirs)


def test_fallbacks_are_counted_once():
    dates = numelt.array(["2024-01-01", "2024-03-05"], "M8[D]")
    numelt.coverage(reset=True)
    for _ in range(3):
        dates.astype("M8[M]")
        dates.view("i8")
    counts = {entry.function: entry.calls for entry in numelt.coverage(reset=True).fallbacks}
    assert counts == {"ndarray.astype": 3, "ndarray.view": 3}


@pytest.mark.parametrize("size", [(), (3,), (2, 2), (100,), (30, 40)])
@pytest.mark.parametrize(
    "name", ["rand", "randn", "random", "normal", "uniform", "randint", "standard_normal", "choice"]
)
def test_draws_leave_numpys_state(name, size):
    def drawn(np):
        np.random.seed(5)
        function = getattr(np.random, name)
        arguments = {"randint": (7,), "choice": (9,)}.get(name, ())
        if name in ("rand", "randn"):
            parts = [function(*size), function(), function(*size)]
        else:
            parts = [
                function(*arguments, size=size or None),
                function(*arguments),
                function(*arguments, size=size or None),
            ]
        return [*map(np.asarray, parts), np.random.get_state()[1], np.random.random()]

    (ours, _), (theirs, _) = outcome(drawn, numelt), outcome(drawn, numpy)
    for one, other in zip(ours, theirs, strict=True):
        assert numpy.array_equal(as_numpy(one), other)


@pytest.mark.parametrize("name", ["rand", "normal", "randint"])
def test_draws_complain_as_numpys(name):
    for arguments in [("a",), (-1, "b", 3)]:
        with pytest.raises((TypeError, ValueError)) as theirs:
            getattr(numpy.random, name)(*arguments)
        with pytest.raises(theirs.type):
            getattr(numelt.random, name)(*arguments)


def test_methods_of_the_class_and_of_instances():
    array = numelt.array([3, 1, 2])
    method = array.argsort
    assert_same(method(), numpy.array([1, 2, 0]))
    assert_same(method(kind="stable"), numpy.array([1, 2, 0]))
    assert_same(numelt.ndarray.argsort(array), numpy.array([1, 2, 0]))
    assert method.__self__ is array
    with pytest.raises(TypeError, match="unexpected keyword"):
        array.argsort(foo=3)

    class Holder:
        unique = numelt.unique
        dot = numelt.dot

    with pytest.raises(TypeError, match="'out' must be an array"):  # as NumPy's, it becomes a method
        Holder().dot([1, 2], [3, 4])
    with pytest.raises(TypeError):
        Holder().unique(1, 2, 3, 4, 5, 6, 7, 8)


@pytest.mark.parametrize(
    "value", [1, 2.5, "a", None, [1], numpy.arange(3), numpy.ma.array([1]), numpy.float64(1)]
)
def test_instances(value):
    assert isinstance(value, numelt.ndarray) is isinstance(value, numpy.ndarray)

    class Proxy:
        __class__ = type(value)

    class Odd:
        @property
        def __class__(self):
            raise ValueError("no class")

    assert isinstance(Proxy(), numelt.ndarray) is isinstance(value, numpy.ndarray)
    with pytest.raises(ValueError, match="no class"):
        isinstance(Odd(), numelt.ndarray)
    assert isinstance(numelt.arange(3), (int, numelt.ndarray))
    assert not isinstance(3, (str, numelt.ndarray))


@pytest.mark.parametrize(
    "a", [0.3, 1, 2.5, float("nan"), float("inf"), True, 1j, numpy.float64(0.3), numpy.float32(0.3)]
)
@pytest.mark.parametrize("b", [0.3, 1, float("nan"), float("inf"), numpy.int64(1)])
def test_closeness_of_numbers(a, b):
    check(lambda np: [np.isclose(a, b), np.isclose(a, b, equal_nan=True), np.isclose(a, b, 0.5, 0.5)])
    check(lambda np: np.allclose(a, b))
    check(lambda np: np.allclose(a, b, rtol=[0.1, 2.0]))


def test_kinds_of_dtypes():
    for kind in (numpy.floating, numpy.integer, numpy.number, numpy.generic, numpy.inexact, numpy.flexible):
        for dtype in ("f4", "i8", "U3", "c16", "?"):
            assert numelt.issubdtype(numelt.dtype(dtype), kind) is numpy.issubdtype(numpy.dtype(dtype), kind)
    assert numelt.issubdtype(float, numelt.floating)
    assert not numelt.issubdtype(int, numelt.floating)


@pytest.mark.parametrize("dtype", ["?", "i1", "i8", "u8", "f2", "f8", "c16"])
@pytest.mark.parametrize("shape", [(2, 2), (3, 5), (5, 3), (0, 3), (1, 1), (12, 12), (2, 3, 4)])
def test_traces_and_scans(dtype, shape):
    def made(np):
        array = (np.arange(numpy.prod(shape)) % 7).reshape(shape).astype(dtype)
        line = array.ravel()[::-1]
        parts = [np.trace(array), array.trace(), array.T.trace(), array[::-1].trace(1)]
        parts += [np.cumsum(line), line.cumsum(), line.cumprod(), np.cumprod(line)]
        return [*parts, array.cumsum(), array.cumsum(0)]

    check(made)


@pytest.mark.parametrize("n", [2, 3, 6])
def test_parts_of_complex_results(n):
    """What NumPy returns may be a part of an array of its own, whose elements do not lie side by side."""

    def solved(np):
        matrix = (np.arange(n * n).reshape(n, n) + np.eye(n) * 7.0) / 5
        return np.linalg.eig(matrix + matrix.T)

    ours, theirs = solved(numelt), solved(numpy)
    for one, other in zip(ours, theirs, strict=True):
        assert_alike(one, other)
    assert type(ours).__name__ == type(theirs).__name__
    ours.eigenvalues[0] = 5  # its own memory
    assert complex(ours.eigenvalues[0]) == 5.0


def test_lists_of_what_passes():
    values = [numpy.float64(1), 2.5, 3, numpy.int64(4), True]
    check(lambda np: np.sort(values))
    check(lambda np: np.array(values * 9, object))
    check(lambda np: np.unique([np.array(2), *values]))
    check(lambda np: np.lexsort([[1, 2], np.array([2, 1])]))
