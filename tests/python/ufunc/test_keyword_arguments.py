"""The keyword arguments and methods of ufuncs, against NumPy: values, dtypes, layouts, exceptions."""

import warnings

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numelt

from ..support.compare import as_numpy, assert_same

DTYPES = ["bool", "int8", "uint8", "int32", "int64", "float32", "float64", "complex128"]
BINARY = ["add", "multiply", "maximum", "divide", "less", "logical_and", "hypot", "floor_divide"]
UNARY = ["negative", "sqrt", "absolute", "floor", "isnan", "logical_not", "square"]
CASTINGS = ["no", "equiv", "safe", "same_kind", "unsafe"]


def values(rng, shape, dtype):
    """Return small values, including zeros."""
    data = rng.integers(-4, 5, shape)
    if numpy.dtype(dtype).kind in "bu":
        data = abs(data)
    return (data * (1 if numpy.dtype(dtype).kind in "biu" else 0.75)).astype(dtype)


def outcome(np, build):
    """Return the results as NumPy arrays, or the exception."""
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = build(np)
        except Exception as error:
            return type(error), str(error)
        return as_numpy(result)


def check(build):
    """Assert that `build` returns the same with numelt and with NumPy."""
    theirs, ours = outcome(numpy, build), outcome(numelt, build)
    if isinstance(theirs, tuple) and theirs and isinstance(theirs[0], type):
        assert isinstance(ours, tuple), (theirs, ours)
        assert ours == theirs
    else:
        assert not (isinstance(ours, tuple) and ours and isinstance(ours[0], type)), (ours, theirs)
        assert_same(numelt.asarray(ours) if isinstance(ours, numpy.ndarray) else ours, theirs, 4)


@settings(max_examples=150, deadline=None)
@given(
    name=st.sampled_from(BINARY),
    first=st.sampled_from(DTYPES),
    second=st.sampled_from(DTYPES),
    target=st.sampled_from([None, *DTYPES]),
    loop=st.sampled_from([None, None, "float32", "float64", "int32", "complex128", "bool"]),
    casting=st.sampled_from([None, None, *CASTINGS]),
    mask=st.sampled_from([None, "full", "row", "true", "false", "ints"]),
    order=st.sampled_from([None, "C", "F", "A", "K"]),
    shapes=st.sampled_from([((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (4,)), ((), (4,)), ((0, 4), (4,))]),
    seed=st.integers(0, 1000),
)
def test_binary_keywords(name, first, second, target, loop, casting, mask, order, shapes, seed):
    rng = numpy.random.default_rng(seed)
    a, b = values(rng, shapes[0], first), values(rng, shapes[1], second)
    shape = numpy.broadcast_shapes(*shapes)
    masks = {"full": rng.random(shape) < 0.5, "row": rng.random(4) < 0.5, "true": True, "false": False}
    masks["ints"] = numpy.arange(4)
    if shape == () or (mask in ("row", "full", "ints") and target is None):
        mask = None  # without an output, masked elements are undefined
    old = values(rng, shape, target or "float64")

    def build(np):
        kwargs = {}
        if target is not None:
            kwargs["out"] = np.array(old)
        if loop is not None:
            kwargs["dtype"] = loop
        if casting is not None:
            kwargs["casting"] = casting
        if order is not None:
            kwargs["order"] = order
        if mask is not None and (target is not None or mask == "true"):
            given = masks[mask]
            kwargs["where"] = np.array(given) if isinstance(given, numpy.ndarray) else given
        result = getattr(np, name)(np.array(a), np.array(b), **kwargs)
        if target is not None:
            assert result is kwargs["out"]
        elif order is not None and result.size:
            return result, numpy.array(result.strides)
        return result

    check(build)


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", DTYPES)
def test_unary_keywords(name, dtype):
    rng = numpy.random.default_rng(1)
    a, mask, old = values(rng, (4, 5), dtype), rng.random((4, 5)) < 0.5, rng.random((4, 5))

    def build(np):
        call = getattr(np, name)
        target = np.array(old)
        first = call(np.array(a), out=target, where=np.array(mask), casting="unsafe")
        assert first is target
        return first, call(np.array(a), None), call(np.array(a), out=(None,)), call(np.array(a), order="F")

    check(build)


def test_masked_division_does_not_divide_elsewhere():
    a, b = numelt.arange(6.0), numelt.array([1.0, 0, 2, 0, 4, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = numelt.divide(a, b, out=numelt.zeros(6), where=b != 0)
        assert result.tolist() == [0.0, 0.0, 1.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("step", [1, -1, 2])
def test_output_over_inputs(step):
    def build(np):
        x = np.arange(20.0)
        np.add(x[:10], x[5:15], out=x[3:13])
        np.multiply(x[::step][:6], 2, out=x[2:8], where=np.arange(6) % 2 == 0)
        np.subtract(x, x[::-1], out=x)
        return x

    check(build)


def test_masked_calls_are_recorded():
    numelt.coverage(reset=True)
    x = numelt.linspace(0.0, 1.0, 50)
    numelt.sqrt(x, out=x, where=x > 0.5)
    numelt.add(x, 1, out=x, casting="unsafe", subok=False)
    assert numelt.coverage().fallbacks == []


@pytest.mark.parametrize(
    "build",
    [
        lambda np: np.add(np.arange(3), 1.5, out=np.arange(3)),
        lambda np: np.add(np.arange(3.0), 1, dtype=int),
        lambda np: np.add(np.arange(3), 1, casting="never"),
        lambda np: np.add(np.arange(3), 1, order="Z"),
        lambda np: np.add(np.arange(3), 1, axis=0),
        lambda np: np.add(np.arange(3), 1, unknown=0),
        lambda np: np.add(np.arange(3), 1, out=np.zeros(2)),
        lambda np: np.add(np.arange(3), 1, out=np.zeros((2, 2))),
        lambda np: np.add(np.arange(3), 1, out=[1, 2, 3]),
        lambda np: np.add(np.arange(3), 1, out=(np.zeros(3), np.zeros(3))),
        lambda np: np.add(np.arange(3), 1, np.zeros(3), out=np.zeros(3)),
        lambda np: np.add(np.arange(3), 1, where=np.arange(3)),
        lambda np: np.add(np.arange(3), 1, out=np.zeros(3), where=np.ones(4, bool)),
        lambda np: np.add(np.arange(3)),
        lambda np: np.add(1, 2, 3, 4),
        lambda np: np.equal(np.arange(3), 1, dtype=float),
        lambda np: np.subtract(np.ones(3, bool), np.ones(3, bool), dtype=bool),
        lambda np: np.sqrt(np.arange(3), sig="f->f"),
        lambda np: np.add(np.arange(3), 1, signature="dd->d"),
        lambda np: np.sqrt(np.arange(3), signature="dd->d"),
        lambda np: np.sqrt(np.arange(3.0), sig="f->f", casting="unsafe"),
        lambda np: np.add(np.arange(3), 1, signature=(None, None, "d")),
        lambda np: np.add(np.arange(3, dtype="i4"), np.arange(3, dtype="i8"), casting="no"),
        lambda np: np.divmod(np.arange(3), 2, out=(np.zeros(3, int), None)),
        lambda np: np.divmod(np.arange(3), 2, out=np.zeros(3, int)),
        lambda np: np.exp(np.arange(3), out=np.zeros(3, int)),
        lambda np: np.add(np.float64(1), 2, out=...),
        lambda np: np.add(np.array(1.0), 2, out=...),
        lambda np: np.greater(-1, np.arange(3, dtype="u2"), dtype="u8"),
        lambda np: np.equal(np.arange(3, dtype="i1"), 300, dtype=bool),
        lambda np: np.sqrt(np.arange(3.0), ...),
        lambda np: np.add(np.arange(3.0), 1, ...),
        lambda np: np.sqrt(np.arange(3.0), out=(...,)),
    ],
)
def test_exceptions_and_edges(build):
    check(build)
