"""The fast paths of public functions return what NumPy returns, and pass other calls to the package."""

import inspect
import math
import pickle

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numelt as np
from numelt import _core

pytestmark = pytest.mark.core

COMPILED = [name for name in _core.compiled_functions() if "." not in name and name not in ("r_", "c_")]


def same(call):
    """Compare dtype, shape, strides and values of a call's results, or the exceptions."""
    results = []
    for module in (numpy, np):
        try:
            results.append(call(module))
        except Exception as error:
            results.append((type(error), str(error)))
    theirs, ours = results
    if isinstance(theirs, tuple):
        assert ours == theirs
        return
    assert isinstance(ours, np.ndarray)
    assert (ours.dtype, ours.shape, ours.strides) == (theirs.dtype, theirs.shape, theirs.strides)
    numpy.testing.assert_array_equal(numpy.asarray(ours), theirs, strict=True)


SHAPES = [0, 3, (), (2, 3), [2, 3], (0, 4), -1, (2, -1), True, numpy.int64(4), 2.0, "a", None]
DTYPES = [
    None,
    int,
    float,
    bool,
    complex,
    "f4",
    "i2",
    numpy.float32,
    numpy.dtype("u1"),
    "datetime64[s]",
    object,
    "q",
]


@pytest.mark.parametrize("name", ["zeros", "ones"])
@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_filled(name, shape):
    for dtype in DTYPES:
        if name == "ones" and dtype == "datetime64[s]":
            continue
        same(lambda m, dtype=dtype: getattr(m, name)(shape, dtype))
    same(lambda m: getattr(m, name)(shape, order="F"))
    same(lambda m: getattr(m, name)(shape=shape, dtype="f8", device="cpu"))
    same(lambda m: getattr(m, name)(shape, order="X"))


@pytest.mark.parametrize("value", [1, 2.5, -1, 300, True, 1j, 2**70, float("nan"), [1, 2, 3]], ids=repr)
def test_full(value):
    for dtype in (None, float, "f4", "i8", "u1", bool, complex):
        with numpy.errstate(all="ignore"):
            same(lambda m, dtype=dtype: m.full((2, 3), value, dtype))


@pytest.mark.parametrize("name", ["zeros_like", "ones_like"])
def test_like(name):
    base = numpy.arange(24).reshape(2, 3, 4)
    prototypes = [
        base,
        base.T,
        base[:, ::2],
        base[::-1],
        base[0, 0],
        base[:, :0],
        base.astype("f4"),
        base > 3,
    ]
    for prototype in prototypes:
        for kwargs in ({}, {"dtype": float}, {"order": "F"}, {"shape": (2, 2)}, {"dtype": "M8[s]"}):
            if name == "ones_like" and kwargs.get("dtype") == "M8[s]":
                continue
            same(lambda m, p=prototype, k=kwargs: getattr(m, name)(m.array(p), **k))
    same(lambda m: getattr(m, name)([1, 2]))
    same(lambda m: getattr(m, name)(3.0))


small = st.integers(-20, 20)


@given(
    st.lists(small | st.floats(-5, 5).map(lambda v: round(v, 3)), min_size=1, max_size=3),
    st.sampled_from([None, int, float, "f4"]),
)
def test_arange(values, dtype):
    same(lambda m: m.arange(*values, dtype=dtype))


@pytest.mark.parametrize("edge", [-(2**63), -(2**63) + 2, 2**63 - 1, 2**40, -(2**40), 2**63, 2**64])
def test_arange_at_the_ends_of_the_integers(edge):
    same(lambda m: m.arange(edge, edge + 3))
    same(lambda m: m.arange(edge, edge - 5, -2))


number = (
    st.integers(-(2**70), 2**70) | st.integers(-300, 300) | st.floats() | st.booleans() | st.complex_numbers()
)


@given(
    st.lists(number, max_size=5)
    | st.lists(st.lists(number, min_size=2, max_size=2), max_size=3)
    | st.lists(number | st.lists(number, max_size=2), max_size=3),
    st.sampled_from([None, None, float, int, bool, "f4", "u1", complex]),
    st.booleans(),
)
def test_sequences(values, dtype, outer_tuple):
    values = tuple(values) if outer_tuple else values
    with numpy.errstate(all="ignore"):
        same(lambda m: m.array(values, dtype))
        same(lambda m: m.asarray(values, dtype=dtype))


def test_array_copies_and_asarray_does_not():
    a = np.array([1.0, 2.0])
    b = np.array(a)
    b[0] = 5
    assert a.tolist() == [1.0, 2.0]
    assert np.asarray(a) is a
    assert np.asarray(a, dtype=float) is a
    assert np.asarray(a, dtype="f4") is not a


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=4),
    st.sampled_from([0, 1, -1, 2, None]),
    st.lists(st.sampled_from(["f8", "i4", "f4"]), min_size=4, max_size=4),
    st.sampled_from(["plain", "transposed", "reversed", "strided"]),
)
def test_joining(shapes, axis, dtypes, layout):
    view = {
        "plain": lambda a: a,
        "transposed": lambda a: a.T,
        "reversed": lambda a: a[::-1],
        "strided": lambda a: a[:, ::2],
    }[layout]

    def pieces(m):
        made = [
            m.array(numpy.arange(r * c).reshape(r, c).astype(d))
            for (r, c), d in zip(shapes, dtypes, strict=False)
        ]
        return [view(a) for a in made]

    for name in ("concatenate", "stack"):
        same(lambda m, name=name: getattr(m, name)(pieces(m), axis=axis))
    same(lambda m: m.concatenate(tuple(pieces(m))))


def test_dot_of_everything():
    a, b, v = numpy.arange(6.0).reshape(2, 3), numpy.arange(12.0).reshape(3, 4), numpy.arange(3.0)
    for x, y in [(a, b), (a, v), (v, b), (a, a), (v, v), (b, 2.0), (a.T, a), (a.astype("f4"), b)]:
        wrap = lambda m, z: m.array(z) if isinstance(z, numpy.ndarray) else z  # noqa: E731
        try:
            expected = numpy.dot(x, y)
        except ValueError as error:
            with pytest.raises(ValueError, match=str(error).replace("(", r"\(").replace(")", r"\)")):
                np.dot(wrap(np, x), wrap(np, y))
            continue
        assert numpy.array_equal(numpy.asarray(np.dot(wrap(np, x), wrap(np, y))), expected)


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_functions_are_proper_functions(name):
    function = getattr(np, name)
    assert callable(function._implementation)
    assert pickle.loads(pickle.dumps(function)) is function
    assert function.__module__ == "numpy"
    assert inspect.signature(function) == inspect.signature(getattr(numpy, name))
    holder = type("Holder", (), {"make": function})
    if name == "zeros":
        assert holder().make(3).shape == (3,)


COLUMNS = [
    lambda np: (np.arange(3), np.arange(3.0)[::-1]),
    lambda np: [np.arange(3, dtype="i1"), [1, 2, 3], numpy.arange(3)],
    lambda np: (np.arange(3), np.ones((3, 2)), np.ones((2, 3)).T, np.zeros((3, 0))),
    lambda np: [1, 2.5, numpy.float32(3), True],
    lambda np: np.arange(6.0).reshape(3, 2),
    lambda np: np.arange(24).reshape(2, 3, 4)[::-1],
    lambda np: (np.ones((2, 3, 4)), np.ones((2, 1, 4))),
    lambda np: [np.ones(3) + np.ones(3), np.arange(6)[::2]],
    lambda np: [np.zeros(0), np.zeros(0)],
    lambda np: (np.array(["a", "b"]), np.arange(2)),
    lambda np: [],
    lambda np: np.zeros(()),
    lambda np: np.zeros((0, 3)),
    lambda np: iter([np.zeros(2)]),
    lambda np: (np.zeros(2), np.zeros(3)),
    lambda np: (np.zeros(2), np.zeros((2, 1, 1))),
]


@pytest.mark.parametrize("pieces", COLUMNS)
def test_column_stack(pieces):
    same(lambda np: np.column_stack(pieces(np)))
    same(lambda np: np.column_stack(tup=pieces(np)))
    same(lambda np: (np.column_stack(pieces(np)).flags.f_contiguous,))


PLACES = [
    (0, 1), (0, -1), (-1, 0), (2, 0), ((0, 1), (-1, 0)), ([0, 2], [2, 1]), ((), ()), (1, (0,)),
    (numpy.int64(1), 0), (0, 3), (-4, 0), ((0, 0), (0, 1)), ((0, 1), (1, 1)), (0, (0, 1)),
    (0.5, 1), (None, 1), ("a", 0),
]  # fmt: skip


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (2, 3, 4), (3, 0, 2, 2)])
def test_moveaxis(places, shape):
    x = numpy.arange(math.prod(shape)).reshape(shape)
    same(lambda np: np.moveaxis(np.array(x), *places))
    same(lambda np: np.moveaxis(np.array(x)[..., ::-1] if shape else x.tolist(), *places))
    same(lambda np: np.moveaxis(x.astype(str).tolist(), *places))


def test_moveaxis_returns_a_view():
    x = np.zeros((2, 3, 4))
    moved = np.moveaxis(x, 0, -1)
    assert moved.base is x
    moved[1, 2, 0] = 5
    assert x[0, 1, 2] == 5
