"""reduce, accumulate, outer, at and reduceat of every ufunc with these methods, against NumPy."""

import inspect
import pickle
import re
import warnings

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numelt

from .test_keyword_arguments import check, values

DTYPES = ["bool", "int8", "uint8", "int32", "int64", "uint64", "float32", "float64"]
REDUCED = [
    "add", "multiply", "maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or", "logical_xor",
    "bitwise_and", "bitwise_or", "bitwise_xor", "subtract", "divide", "hypot", "power", "less",
]  # fmt: skip


def sample(dtype, shape, seed=0):
    """Return values, including NaN if the dtype has it."""
    rng = numpy.random.default_rng(seed)
    data = values(rng, shape, dtype)
    if data.dtype.kind == "f":
        data = numpy.where(rng.random(shape) < 0.2, numpy.nan, data).astype(dtype)
    return data


@pytest.mark.parametrize("name", REDUCED)
@settings(max_examples=40, deadline=None)
@given(
    dtype=st.sampled_from(DTYPES),
    shape=st.sampled_from([(4,), (3, 5), (2, 3, 4), (0,), (3, 0), (300, 40)]),
    axis=st.sampled_from(["default", None, 0, -1, (0, 1), ()]),
    keepdims=st.booleans(),
    initial=st.sampled_from([None, 0, 2]),
    masked=st.booleans(),
    result=st.sampled_from([None, "float64", "int64", "bool"]),
)
def test_reduce(name, dtype, shape, axis, keepdims, initial, masked, result):
    x = sample(dtype, shape)
    mask = numpy.random.default_rng(1).random(shape) < 0.6

    def build(np):
        kwargs = {} if axis == "default" else {"axis": axis}
        if initial is not None:
            kwargs["initial"] = initial
        if masked:
            kwargs["where"] = np.array(mask)
        if result is not None:
            kwargs["dtype"] = result
        return getattr(np, name).reduce(np.array(x), keepdims=keepdims, **kwargs)

    check(build)


@pytest.mark.parametrize("name", REDUCED)
@pytest.mark.parametrize("dtype", DTYPES)
def test_accumulate(name, dtype):
    x = sample(dtype, (6, 40), 2)

    def build(np):
        ufunc = getattr(np, name)
        return [
            ufunc.accumulate(np.array(x)),
            ufunc.accumulate(np.array(x), 1),
            ufunc.accumulate(np.array(x)[::-1, ::3], axis=-1),
            ufunc.accumulate(np.array(x).T, axis=0),
        ]

    check(lambda np: tuple(build(np)))


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "less", "arctan2", "maximum"])
def test_outer(name):
    x, y = sample("float64", (3,)), sample("float32", (2, 2))
    check(lambda np: getattr(np, name).outer(np.array(x), np.array(y)))
    check(lambda np: getattr(np, name).outer(np.array(x), 2))
    check(lambda np: getattr(np, name).outer([1, 2], np.array(y)))
    check(lambda np: np.add.outer(np.array(x), np.array(y), out=np.zeros((3, 2, 2))))


INDICES = [
    [0, 2, 2, 1],
    [-1, 0, -1],
    [],
    [5],
    1,
    [[0, 1], [1, 1]],
    (slice(None), 1),
    [True, False, True, False],
]


@pytest.mark.parametrize(
    "name", ["add", "subtract", "multiply", "maximum", "minimum", "divide", "logical_xor"]
)
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "uint8"])
@pytest.mark.parametrize("place", range(len(INDICES)))
def test_at(name, dtype, place):
    index = INDICES[place]

    def build(np, shape, operand):
        x = np.array(sample(dtype, shape, 4))
        key = np.array(index) if isinstance(index, list) and index else index
        getattr(np, name).at(x, key, operand)
        return x

    check(lambda np: build(np, (4,), 2))
    check(lambda np: build(np, (4, 3), np.arange(3, dtype=dtype)))
    check(lambda np: build(np, (4, 3), 1.5))


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
def test_many_positions(dtype):
    rng = numpy.random.default_rng(7)
    where, what = rng.integers(0, 50, 5000), rng.standard_normal(5000).astype(dtype)

    def build(np):
        x = np.zeros(50, dtype)
        np.add.at(x, np.array(where), np.array(what))
        np.subtract.at(x[::-1], np.array(where[:100]), np.array(what[:100]))
        np.maximum.at(x, np.array(where[:40]), 0)
        np.add.at(x, x.astype(int)[:0], 1)
        return x

    check(build)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 500), (500, 3), (4, 300, 2), (1, 9), (9, 1)])
def test_reduceat_of_sums(dtype, shape):
    x = rng_values(shape, dtype)
    for axis in range(len(shape)):
        n = shape[axis]
        edges = sorted({0, n // 3, n // 2, n - 1})
        check(lambda np, axis=axis, edges=edges: np.add.reduceat(np.array(x), edges, axis=axis))
        check(lambda np, axis=axis, edges=edges: np.add.reduceat(np.array(x)[::-1], edges[::-1], axis=axis))
        check(lambda np, axis=axis, edges=edges: np.add.reduceat(np.array(x.T).T, edges, axis=axis))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.999])
@pytest.mark.parametrize("shape", [(1,), (40_000,), (7, 3000), (300, 40), (5, 6, 70)])
def test_sums_under_a_mask(dtype, share, shape):
    x = rng_values(shape, dtype)
    mask = numpy.random.default_rng(2).uniform(size=shape) < share
    for axis in (None, -1, 0, tuple(range(1, len(shape)))):
        if axis == ():
            continue
        for turn in (lambda a: a, lambda a: a.T, lambda a: a[::-1], lambda a: a[..., ::2]):
            check(
                lambda np, axis=axis, turn=turn: np.sum(turn(np.array(x)), axis, where=turn(np.array(mask)))
            )
        check(lambda np, axis=axis: np.mean(np.array(x), axis, where=np.array(mask)))
        check(lambda np, axis=axis: np.sum(np.array(x), axis, initial=0.3, where=np.array(mask)))
    check(lambda np: np.sum(np.array(x), where=False))
    check(lambda np: np.sum(np.array(x), where=np.array(mask[..., :1])))


KEYS = [
    lambda np, i, j, k: (np.array(i), np.array(j)),
    lambda np, i, j, k: (np.array(i)[:, None], np.array(j)),
    lambda np, i, j, k: (np.array(i), np.array(j), np.array(k)),
    lambda np, i, j, k: (np.array(i), 2),
    lambda np, i, j, k: (slice(None), np.array(j)),
    lambda np, i, j, k: (slice(None), np.array(j), np.array(k)),
    lambda np, i, j, k: (slice(None), slice(None), np.array(k)),
    lambda np, i, j, k: (np.array(i), slice(None), slice(None)),
    lambda np, i, j, k: (np.array(i), slice(None), np.array(k)),
    lambda np, i, j, k: (np.array(i), np.array(j)[:5]),
    lambda np, i, j, k: (np.array(i), np.array(j) + 9),
    lambda np, i, j, k: (np.array(i) - 4, np.array(j) - 5, np.array(k)),
    lambda np, i, j, k: (slice(None), [1, 1, 0]),
    lambda np, i, j, k: (np.array(i), Ellipsis),
]


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum"])
@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("turn", [lambda x: x, lambda x: x.T, lambda x: x[::-1], lambda x: x[:, ::2]])
def test_at_several_axes(name, dtype, key, turn):
    rng = numpy.random.default_rng(5)
    start = rng.integers(-9, 9, (4, 5, 4)).astype(dtype)
    i, j, k = (rng.integers(0, n, 30) for n in (4, 2, 3))

    def build(np):
        x = np.array(start)
        view = turn(x)
        index = key(np, i, j, k)
        shape = numpy.shape(turn(start)[key(numpy, i, j, k)])
        getattr(np, name).at(view, index, np.array(rng_values(shape, dtype)))
        getattr(np, name).at(view, index, 2)
        return x

    check(build)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "divide"])
@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", "complex128"])
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("is_pending", [False, True])
def test_few_positions_of_a_large_target(name, dtype, key, is_pending):
    rng = numpy.random.default_rng(5)
    start = rng.integers(-9, 9, (40, 50, 30)).astype(dtype)
    i, j, k = (rng.integers(0, n, 12) for n in (4, 2, 3))

    def build(np):
        x = np.array(start)
        if is_pending:
            x = x + x[::-1]
        view = x[::2, :, ::-1]
        index = key(np, i, j, k)
        shape = numpy.shape(start[::2][key(numpy, i, j, k)])
        getattr(np, name).at(view, index, np.array(rng_values(shape, dtype)))
        getattr(np, name).at(x, index, 2)
        return x

    check(build)


def test_attributes_of_ufuncs():
    names = (
        "nin", "nout", "nargs", "ntypes", "types", "identity", "signature", "__name__", "__module__",
        "__doc__", "__qualname__", "__text_signature__", "unknown",
    )  # fmt: skip
    for name in ("add", "sqrt", "matmul", "divmod", "isfinite"):
        ours, numpys = getattr(numelt, name), getattr(numpy, name)
        for attribute in names:
            assert getattr(ours, attribute, "absent") == getattr(numpys, attribute, "absent")
        assert inspect.signature(ours) == inspect.signature(numpys)
        for attribute in ("nin", "identity", "signature", "__name__"):
            with pytest.raises(AttributeError) as theirs:
                setattr(numpys, attribute, 1)
            with pytest.raises(AttributeError, match=re.escape(str(theirs.value))):
                setattr(ours, attribute, 1)
        with pytest.raises(AttributeError, match=r"'numpy\.ufunc' object has no attribute 'unknown'"):
            ours.unknown


@pytest.mark.parametrize("name", ["reduce", "accumulate", "reduceat", "outer", "at"])
def test_methods_as_objects(name):
    ours, numpys = getattr(numelt.add, name), getattr(numpy.add, name)
    assert type(ours) is type(numpys)
    assert (ours.__name__, ours.__doc__) == (numpys.__name__, numpys.__doc__)
    assert ours.__text_signature__ == numpys.__text_signature__
    assert ours.__self__ is numelt.add
    assert pickle.loads(pickle.dumps(ours)) == ours
    with pytest.raises(TypeError):
        ours()
    with pytest.raises(TypeError):
        vars(numelt._core.ufunc)[name](3)


def rng_values(shape, dtype):
    return numpy.random.default_rng(8).uniform(-3, 3, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", [(7,), (1000,), (20_000,), (30, 40), (3, 4, 200), (5, 1)])
def test_sums_from_an_initial_value(dtype, shape):
    x = rng_values(shape, dtype)
    for axis in (None, 0, -1, (0, 1)):
        if axis != (0, 1) or len(shape) > 1:
            check(lambda np, axis=axis: np.sum(np.array(x), axis=axis, initial=0.1))
            check(lambda np, axis=axis: np.sum(np.array(x).T, axis=axis, initial=-0.0, keepdims=True))
            check(lambda np, axis=axis: np.sum(np.array(x)[::2], axis=axis, initial=3))
            check(lambda np, axis=axis: np.add.reduce(np.array(x), axis=axis, initial=1e9))
            check(lambda np, axis=axis: np.prod(np.array(x), axis=axis, initial=1.1))


def test_unary_at():
    def build(np):
        x = np.array([4.0, 9.0, 16.0])
        np.sqrt.at(x, [0, 0, 2])
        np.negative.at(x, 1)
        return x

    check(build)


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "logical_and", "subtract"])
@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
@pytest.mark.parametrize("axis", [0, 1])
def test_reduceat(name, dtype, axis):
    x = sample(dtype, (300, 40), 3)
    check(lambda np: getattr(np, name).reduceat(np.array(x), [0, 5, 5, 3, 39], axis=axis))


@pytest.mark.parametrize(
    "build",
    [
        lambda np: np.add.reduce(np.arange(3), axis=1),
        lambda np: np.add.reduce(np.arange(3), axis=(0, 0)),
        lambda np: np.add.reduce(np.arange(3), 0, None, None, False, 0, True, 1),
        lambda np: np.add.reduce(np.arange(3), unknown=1),
        lambda np: np.add.reduce(np.zeros((2, 3)), out=np.zeros(2)),
        lambda np: np.maximum.reduce(np.zeros(0)),
        lambda np: np.fmax.reduce(np.zeros((0, 2))),
        lambda np: np.bitwise_and.reduce(np.zeros(0, int)),
        lambda np: np.bitwise_or.reduce(np.zeros(0, "u1")),
        lambda np: np.bitwise_and.reduce(np.zeros(2)),
        lambda np: np.minimum.reduce(np.arange(3), where=np.array([True, False, True])),
        lambda np: np.minimum.reduce(np.arange(3), initial=None),
        lambda np: np.sqrt.reduce(np.arange(3)),
        lambda np: np.add.accumulate(np.arange(3), axis=2),
        lambda np: np.add.accumulate(np.float64(3)),
        lambda np: np.less.accumulate(np.arange(3)),
        lambda np: np.add.at(np.arange(3), [3], 1),
        lambda np: np.add.at(np.arange(3), [0], 1.5),
        lambda np: np.add.at([1, 2], [0], 1),
        lambda np: np.add.at(np.arange(3), 0, 1, unknown=2),
        lambda np: np.add.outer(np.arange(3)),
        lambda np: np.matmul.outer(np.ones((2, 2)), np.ones((2, 2))),
        lambda np: np.sqrt.outer(np.arange(3), np.arange(2)),
        lambda np: np.add.reduce(np.arange(6, dtype="i1"), out=np.zeros((), "f8")),
        lambda np: np.multiply.reduce(np.full(9, 100, "i1"), out=np.zeros((), "f8")),
        lambda np: np.add.reduce(np.ones(4, bool), out=np.zeros((), bool)),
        lambda np: np.maximum.accumulate(np.array([3, 1, 4], "i1"), out=np.zeros(3)),
        lambda np: np.add.reduce(np.array(5.0), axis=None),
        lambda np: np.add.reduce(np.array(5.0), axis=()),
        lambda np: np.add.reduce(np.array(5.0), axis=0),
    ],
)
def test_exceptions_and_edges(build):
    check(build)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "u1", "?", "c8"])
@pytest.mark.parametrize("wide", ["f2", "f4", "f8", "i8", "c8", "c16"])
def test_scans_compute_in_the_dtype_of_their_output(name, dtype, wide):
    start = (numpy.random.default_rng(1).random((17, 3)) * 9).astype(dtype)
    results = []
    for np in (numpy, numelt):
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            flat, rows = np.zeros(51, wide), np.zeros((17, 3), wide)
            getattr(np, name)(np.array(start), out=flat)
            getattr(np.array(start), name)(axis=0, out=rows)
        results.append([numpy.array(flat), numpy.array(rows)])
    for theirs, ours in zip(*results, strict=True):
        numpy.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "name", ["identity", "signature", "nargs", "nin", "nout", "ntypes", "types", "resolve_dtypes", "reduce"]
)
def test_attributes_of_the_class_are_described_as_numpys(name: str) -> None:
    ours, numpys = getattr(numelt.ufunc, name), getattr(numpy.ufunc, name)
    assert ours.__doc__ == numpys.__doc__
    if callable(numpys):
        assert inspect.signature(ours) == inspect.signature(numpys)
    if name != "reduce":
        assert repr(getattr(numelt.add, name)) == repr(getattr(numpy.add, name))
