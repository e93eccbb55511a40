"""Random programs on views of shared arrays: numelt and NumPy run the same statements and must agree.

A program is a list of statements on a few named arrays: new values, views of views, writes through
overlapping views and through views that overlap themselves, operators in place, mixed dtypes, and reductions
whose results later statements use.
"""

import operator
import warnings

import hypothesis.strategies as st
import numpy
import pytest
from hypothesis import HealthCheck, given, settings

import numelt

from ..support.compare import as_numpy, assert_same
from ..support.layouts import OVERLAPPING, overlapping

pytestmark = pytest.mark.quick


DTYPES = ["float64", "float64", "float32", "int64", "int32", "uint8", "bool", "complex128"]
MORE_DTYPES = [*DTYPES, "float16", "complex64", "int8", "int16", "uint16", "uint32", "uint64"]
UNARY = [
    "negative",
    "absolute",
    "square",
    "sqrt",
    "rint",
    "floor",
    "logical_not",
    "isfinite",
    "sign",
    "conjugate",
]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "maximum",
    "minimum",
    "less",
    "equal",
    "divide",
    "logical_and",
    "copysign",
]
REDUCE = ["sum", "min", "max", "any", "all", "prod", "mean"]
IN_PLACE = ["iadd", "isub", "imul"]

slices = st.builds(
    slice,
    st.one_of(st.none(), st.integers(-7, 7)),
    st.one_of(st.none(), st.integers(-7, 7)),
    st.sampled_from([None, 1, 1, 2, -1, -2, 3]),
)
rows = st.lists(st.integers(-4, 3), min_size=0, max_size=6)
keys = st.one_of(slices, st.tuples(slices, slices), st.just(Ellipsis), st.just(None))
index = st.integers(0, 31)
number = st.one_of(st.integers(-3, 5), st.sampled_from([0.5, -1.25, 2.0]))

statement = st.one_of(
    st.tuples(
        st.just("new"), st.sampled_from(DTYPES), st.sampled_from([(6,), (4, 5), (5, 4), (1, 5), (3, 1), ()])
    ),
    st.tuples(st.just("view"), index, keys),
    st.tuples(st.just("view"), index, keys),
    st.tuples(st.just("overlapping"), index, st.sampled_from(sorted(OVERLAPPING))),
    st.tuples(st.just("transpose"), index),
    st.tuples(st.just("reshape"), index),
    st.tuples(st.just("unary"), st.sampled_from(UNARY), index),
    st.tuples(st.just("binary"), st.sampled_from(BINARY), index, index),
    st.tuples(st.just("binary"), st.sampled_from(BINARY), index, index),
    st.tuples(st.just("number"), st.sampled_from(BINARY[:7]), index, number),
    st.tuples(st.just("in place"), st.sampled_from(IN_PLACE), index, index),
    st.tuples(st.just("in place number"), st.sampled_from(IN_PLACE), index, number),
    st.tuples(st.just("assign"), index, keys, index),
    st.tuples(st.just("assign"), index, keys, index),
    st.tuples(st.just("assign number"), index, keys, number),
    st.tuples(st.just("out"), st.sampled_from(BINARY[:5]), index, index, index),
    st.tuples(st.just("mask"), index, index, number),
    st.tuples(st.just("own mask"), index, number),
    st.tuples(st.just("reduce"), st.sampled_from(REDUCE), index, st.sampled_from([None, 0, -1])),
    st.tuples(st.just("cumsum"), index),
    st.tuples(st.just("where"), index, index, index),
    st.tuples(st.just("cast"), index, st.sampled_from(DTYPES)),
    st.tuples(st.just("read"), index),
    st.tuples(st.just("drop"), index),
)

# less common ways to access memory
more_statements = st.one_of(
    statement,
    statement,
    st.tuples(
        st.just("new"), st.sampled_from(MORE_DTYPES), st.sampled_from([(6,), (4, 5), (0, 5), (), (2, 3, 4)])
    ),
    st.tuples(st.just("cast"), index, st.sampled_from(MORE_DTYPES)),
    st.tuples(st.just("alias"), index, st.sampled_from(["memoryview", "buffer", "interface", "strided"])),
    st.tuples(st.just("pick"), index, rows),
    st.tuples(st.just("put"), index, rows, index),
    st.tuples(st.just("put number"), index, rows, number),
    st.tuples(st.just("add at"), index, rows, number),
    st.tuples(st.just("select"), index, index),
    st.tuples(st.just("masked"), index, index, index),
    st.tuples(st.just("out where"), st.sampled_from(BINARY[:7]), index, index, index, index),
    st.tuples(st.just("copy where"), index, index, index),
    st.tuples(st.just("reduce more"), st.sampled_from(REDUCE[:6]), index, st.booleans(), index),
    st.tuples(st.just("accumulate"), st.sampled_from(["add", "maximum", "multiply"]), index),
    st.tuples(st.just("reduce out"), st.sampled_from(["sum", "max"]), index, index),
    st.tuples(st.just("nonzero"), index),
    st.tuples(st.just("real"), index, index),
    st.tuples(st.just("item"), index),
)


class Memory:
    """An object that states where an array's memory is, and keeps the array alive."""

    def __init__(self, array):
        self.__array_interface__ = array.__array_interface__
        self.array = array


def alias(np, array, way):
    """Return another array on the same memory that is not made from the array itself."""
    match way:
        case "memoryview":
            return np.asarray(memoryview(array))
        case "buffer":
            if array.size == 0 or not array.flags.c_contiguous:
                return None
            return np.frombuffer(array, array.dtype)
        case "interface":
            return np.asarray(Memory(array)) if array.size else None
    return np.lib.stride_tricks.as_strided(array, array.shape, array.strides)


def run(np, program, scale):
    """Run a program; returns the result of each statement, errors included, and the arrays at the end.

    `scale` multiplies the extents: small arrays find most mistakes, larger ones reach the vector loops.
    """
    rng = numpy.random.default_rng(7)
    arrays = [np.array(rng.integers(-4, 9, (4 * scale, 5 * scale)).astype("float64"))]
    log = []
    for step in program:
        try:
            result = execute(np, step, arrays, rng, scale)
        except (ValueError, TypeError, IndexError, OverflowError) as error:
            log.append((type(error), str(error)))
            continue
        if result is not None:
            arrays.append(result)
            log.append(getattr(result, "shape", None))
    return log, arrays


def execute(np, step, arrays, rng, scale):
    """Run one statement; if it returns a new array, that joins the others."""
    kind, *rest = step

    def get(position):
        return arrays[position % len(arrays)]

    match kind, rest:
        case "new", [dtype, shape]:
            extents = [n if n == 1 else n * scale for n in shape]
            return np.array(rng.integers(0, 9, extents).astype(dtype))
        case "view", [a, key]:
            return get(a)[key]
        case "overlapping", [a, way]:
            return overlapping(np, get(a), way)
        case "transpose", [a]:
            return get(a).T
        case "reshape", [a]:
            return get(a).reshape(-1)
        case "unary", [name, a]:
            return getattr(np, name)(get(a))
        case "binary", [name, a, b]:
            return getattr(np, name)(get(a), get(b))
        case "number", [name, a, value]:
            return getattr(np, name)(get(a), value)
        case "in place", [name, a, b]:
            getattr(operator, name)(get(a), get(b))
        case "in place number", [name, a, value]:
            getattr(operator, name)(get(a), value)
        case "assign", [a, key, b]:
            # the copy prevents NumPy from reading elements that it has just written
            get(a)[key] = get(b).copy() if np is numpy else get(b)
        case "assign number", [a, key, value]:
            get(a)[key] = value
        case "out", [name, a, b, c]:
            getattr(np, name)(get(a), get(b), out=get(c))
        case "mask", [a, b, value]:
            get(a)[get(b) > value] = 1
        case "own mask", [a, value]:
            get(a)[get(a) > value] = 0
        case "reduce", [name, a, axis]:
            return getattr(np, name)(get(a), axis=axis)
        case "cumsum", [a]:
            return np.cumsum(get(a))
        case "where", [a, b, c]:
            return np.where(get(a), get(b), get(c))
        case "cast", [a, dtype]:
            return get(a).astype(dtype)
        case "alias", [a, way]:
            return alias(np, get(a), way)
        case "pick", [a, key]:
            return get(a)[key]
        case "put", [a, key, b]:
            get(a)[key] = get(b).copy() if np is numpy else get(b)
        case "put number", [a, key, value]:
            get(a)[numpy.array(key, int)] = value
        case "add at", [a, key, value]:
            np.add.at(get(a), numpy.array(key, int), value)
        case "select", [a, b]:
            return get(a)[get(b) > 1]
        case "masked", [a, b, c]:
            mask = get(b) > 1
            get(a)[mask] = get(c)[mask]
        case "out where", [name, a, b, c, d]:
            getattr(np, name)(get(a), get(b), out=get(c), where=get(d) > 1)
        case "reduce more", [name, a, keepdims, b]:
            initial = {} if name in ("any", "all") else {"initial": 2}
            return getattr(np, name)(get(a), keepdims=keepdims, where=get(b) > 0, **initial)
        case "copy where", [a, b, c]:
            np.copyto(get(a), get(b).copy(), where=get(c) > 1, casting="unsafe")
        case "accumulate", [name, a]:
            return getattr(np, name).accumulate(get(a))
        case "reduce out", [name, a, b]:
            getattr(np, name)(get(a), axis=0, out=get(b)[0])
        case "nonzero", [a]:
            return get(a).nonzero()[0]
        case "real", [a, b]:
            get(a).real[...] = get(b).imag
        case "item", [a]:
            return np.asarray(get(a)[(0,) * get(a).ndim])
        case "read", [a]:
            str(as_numpy(get(a)))
        case "drop", [a]:
            if len(arrays) > 1:
                del arrays[a % len(arrays)]
    return None


@pytest.fixture(params=["at once", "recorded"])
def way(request):
    """Run small operations at once, or record all of them."""
    before = numelt.config.at_once
    numelt.config.at_once = before if request.param == "at once" else 0
    for _ in range(8):
        float((numelt.arange(3.0) + 1)[0])
    yield
    numelt.config.at_once = before


UNCHECKED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


@pytest.mark.core
@settings(max_examples=170, deadline=None, suppress_health_check=UNCHECKED)
@given(program=st.lists(statement, min_size=3, max_size=25), scale=st.sampled_from([1, 1, 1, 23]))
def test_random_program(way, program, scale):
    agree(program, scale)


@settings(max_examples=100, deadline=None, suppress_health_check=UNCHECKED)
@given(program=st.lists(more_statements, min_size=3, max_size=18), scale=st.sampled_from([1, 1, 1, 23]))
def test_random_program_of_rarer_ways(way, program, scale):
    agree(program, scale)


def agree(program, scale):
    """Both packages run the program with the same results."""
    with numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, expected = run(numpy, program, scale)
        ours, got = run(numelt, program, scale)
        assert ours == theirs
        for position, (x, y) in enumerate(zip(got, expected, strict=True)):
            # if NumPy sums strided data in an order of its own, sums may differ in the last places
            rtol = 1e-6 if as_numpy(y).dtype.itemsize < 8 else 1e-10
            assert_same(x, y, rtol=rtol if as_numpy(y).dtype.kind in "fc" else 0, context=f"array {position}")


@settings(max_examples=100, deadline=None, suppress_health_check=UNCHECKED)
@given(
    n=st.integers(1, 40),
    length=st.integers(1, 140),
    step=st.sampled_from([1, 2, 3, -1, -2]),
    source=st.integers(0, 12),
    target=st.integers(0, 12),
)
def test_overlapping_copies(way, n, length, step, source, target):
    """``x[a:b] = f(x[c:d])`` on the same memory has the same effect as if the right side were copied
    first."""
    theirs = numpy.arange(float(n + length + 30))
    ours = numelt.array(theirs)
    for x in (theirs, ours):
        right = x[source : source + length][::step]
        count = len(right)
        x[target : target + count] = right * 2 + x[target : target + count]
        # NumPy's own assignment reads elements that it has just written if only the step differs
        x[target : target + count] = right.copy() if x is theirs else right
    assert_same(ours, theirs)
