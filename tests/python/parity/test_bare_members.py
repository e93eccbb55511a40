"""Attributes, methods and functions that the interpreter calls directly: NumPy's answers and errors."""

import gc
import inspect
import itertools
import math
import pickle
import sys
import types
import warnings

import numpy
import pytest
from numpy._core import _ufunc_config

import numelt

from ..support.compare import as_numpy, assert_same

DTYPES = [numpy.dtype(c) for c in "?bBhHiIlLefdFD"]
SHAPES = [(), (0,), (1,), (7,), (3, 4), (1, 5), (2, 0, 3), (2, 3, 4), (2, 1, 2, 1, 3)]


@pytest.fixture(params=["recorded", "at once"], autouse=True)
def habit(request):
    """Do all of it while operations are recorded, and while small ones run at once."""
    before = numelt.config.at_once
    if request.param == "recorded":
        numelt.config.at_once = 0
    else:
        for _ in range(8):
            float((numelt.arange(3.0) + 1)[0])
    yield
    numelt.config.at_once = before


def outcome(function, *args, **kwargs):
    """Return what a call gives: the result, or the exception's class and words."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args, **kwargs)
            text = as_numpy(result)
        except Exception as error:  # the exception is what is compared
            result, text = None, (type(error), str(error).replace("numelt", "numpy"))
    return result, text, [(w.category, str(w.message)) for w in caught]


def same(ours, theirs, context=""):
    assert ours[2] == theirs[2], context
    if theirs[0] is None:
        assert ours[1] == theirs[1], context
    else:
        assert_same(ours[0], theirs[0], context=context)


def layouts(np, shape, dtype):
    """Return arrays of one shape in several layouts."""
    size = math.prod(shape)
    dense = (np.arange(size) % 5).astype(dtype).reshape(shape)
    yield dense
    yield dense.T
    if shape:
        yield np.concatenate([dense, dense], axis=-1)[..., ::2]
        yield dense[::-1]
        yield np.broadcast_to(dense, (2, *shape))
    frozen = dense.copy()
    frozen.flags.writeable = False
    yield frozen


def pairs(shape, dtype):
    return zip(layouts(numelt, shape, dtype), layouts(numpy, shape, dtype), strict=True)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_attributes(shape):
    for dtype in DTYPES:
        for ours, theirs in pairs(shape, dtype):
            for name in ("shape", "strides", "dtype", "ndim", "size", "itemsize", "nbytes"):
                expected, got = getattr(theirs, name), getattr(ours, name)
                assert got == expected, (name, dtype)
                assert type(got) is type(expected), (name, dtype)
            for name in ("T", "real"):
                assert_same(getattr(ours, name), getattr(theirs, name), context=name)
                assert getattr(ours, name).strides == getattr(theirs, name).strides
            assert (ours.real is ours) == (theirs.real is theirs)
            for flag in ("C_CONTIGUOUS", "F_CONTIGUOUS", "WRITEABLE", "ALIGNED"):
                assert ours.flags[flag] == theirs.flags[flag], (flag, dtype)


def test_attributes_that_are_set():
    results = []
    for np in (numelt, numpy):
        x, found = np.arange(6.0), []
        x.shape = (2, 3)
        found.append(x.copy())
        z = np.arange(3) + 0j
        z.real = 7
        found.append(z)
        for name in ("ndim", "size", "itemsize", "nbytes", "T"):
            found.append(outcome(setattr, x, name, 3)[1][0])
        for name in ("shape", "dtype", "ndim"):
            found.append(outcome(delattr, x, name)[1][0])
        found.append(outcome(setattr, x, "shape", (4, 4))[1])
        results.append(found)
    for ours, theirs in zip(*results, strict=True):
        if isinstance(theirs, numpy.ndarray):
            assert_same(ours, theirs)
        else:
            assert ours == theirs


METHODS = {
    "reshape": [
        (-1,), (6, 2), ((6, 2),), ((-1, 3),), (2, -1, 2), (5, 5), (-1, -1), (None,), ([3, 4],),
        (numpy.int64(12),), (True, 12), ((),), (12, 1, 1, 1, 1), (-12,), (0, -1),
    ],
    "ravel": [(), ("C",), ("F",), ("K",), ("x",)],
    "transpose": [
        (), (None,), (0,), (1, 0), (0, 1), (-1, 0), (1, 1), (0, 2), ((1, 0),), (0, 2, 1), (2, 0, 1),
        (1.0, 0),
        (1, 0, 3, 2, 4),
    ],
    "squeeze": [(), (None,), (5,)],
    "view": [(), ("i4",), (numpy.uint8,)],
    "item": [(), (0,), (-1,), (3,), (100,), (1, 2), ((1, 2),), (numpy.int64(1),), (1.0,), (None,), (0, 0, 0)],
    "tolist": [(), (1,)],
    "astype": [
        ("f4",), ("float32",), ("?",), ("u4",), ("c8",), ("nonsense",), (">f8",), ("O",), ("S3",), (int,),
        (float,), (bool,), (complex,),
    ],
    "fill": [
        (0,), (1.5,), (True,), (-1,), (300,), (1e300,), (1 + 2j,), (numpy.float64(2.5),), ("a",),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    for shape in ((12,), (3, 4), (2, 3, 2), (), (0,), (1, 12), (2, 1, 3, 2, 1)):
        for dtype in ("?", "i1", "i8", "f2", "f4", "f8", "c16"):
            for args in METHODS[name]:
                for ours, theirs in pairs(shape, numpy.dtype(dtype)):
                    context = f"{dtype} {shape} {name}{args}"
                    got = outcome(getattr(ours, name), *args)
                    expected = outcome(getattr(theirs, name), *args)
                    same(got, expected, context)
                    assert_same(ours, theirs, context=context)
                    if isinstance(expected[0], numpy.ndarray):
                        assert got[0].strides == expected[0].strides or theirs.size == 0, context
                        # tests of 0-d results and copies: does writing to one show in the other?
                        assert numpy.shares_memory(as_numpy(got[0]), as_numpy(ours)) == numpy.shares_memory(
                            expected[0], theirs
                        ), context


def calls_with_words(np):
    x = np.arange(12.0).reshape(3, 4)
    return [
        lambda: x.reshape(4, 3, order="C"), lambda: x.reshape(4, 3, order="F"),

        lambda: x.reshape((4, 3), order="A"), lambda: x.reshape(4, 3, copy=True),
        lambda: x.ravel(order="F"),
        lambda: x.reshape(4, 3, order="C", copy=False), lambda: x.reshape(4, 3, order="c"),
        lambda: x.reshape(4, 3, order="x"), lambda: x.ravel(order="C"), lambda: x.T.ravel(order="C"),
        lambda: x.T.ravel(order="K"), lambda: x.squeeze(axis=0), lambda: x.astype(dtype="f4"),
        lambda: x.astype("f4", copy=False), lambda: x.astype(float, copy=False), lambda: x.item(*(1, 2)),
        lambda: x.astype("i4", casting="safe"), lambda: x.view(dtype="i8"),
        lambda: np.zeros(shape=3), lambda: np.zeros((2, 2), dtype="f4"), lambda: np.zeros(3, dtype=None),
        lambda: np.zeros(3, order="F"), lambda: np.zeros((2, 3), int, "F"), lambda: np.zeros(3, nothing=1),
        lambda: np.zeros(-1), lambda: np.zeros((2, -1)), lambda: np.zeros("a"), lambda: np.zeros(2.0),
        lambda: np.zeros(3, "nonsense"), lambda: np.zeros([2, 3]), lambda: np.ones(3, like=x),
        lambda: np.empty((), "?").shape, lambda: np.ones((), "?"), lambda: np.array(x, copy=False),
        lambda: np.array(x, copy=None), lambda: np.array(x, ndmin=3),
        lambda: np.array([1.0, 2.0], order="F"),
        lambda: np.array(object=[1.0, 2.0]), lambda: np.array([1.0, 2.0], "f4", copy=True),
        lambda: np.asarray(x, dtype="f4"), lambda: np.asarray(x, order="F"), lambda: np.asarray(a=[1, 2]),
        lambda: np.asarray(x, copy=True), lambda: np.asarray(x, dtype=None), lambda: np.full_like(x, 2.5),
        lambda: np.full_like(x, 7), lambda: np.full_like(x.T, 7), lambda: np.full_like(np.arange(3), 2.7),
        lambda: np.full_like(np.arange(3), 2**70), lambda: np.full_like(np.ones(3, "f4"), 1e300),
        lambda: np.full_like(x, 1, dtype="i4"), lambda: np.full_like(np.arange(2), [1, 2]),
    ]  # fmt: skip


def test_words_for_arguments():
    both = zip(calls_with_words(numelt), calls_with_words(numpy), strict=True)
    for at, (ours, theirs) in enumerate(both):
        got, expected = outcome(ours), outcome(theirs)
        same(got, expected, str(at))
        if isinstance(expected[0], numpy.ndarray):
            assert got[0].strides == expected[0].strides, at


NAMES = [
    "?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "bool", "int8",
    "uint16",
    "int64", "float16", "float32", "float64", "complex64", "complex128", "float", "complex", "int", "d",
    "f", "l",
    "<f8", ">f8", "=i4", "U3", "S2", "O", "M8[s]", "F", "D", "longdouble", "g", "", "i3", "float8", bool,
    int, float,
    complex, str, object, numpy.float32, numpy.bool_, numpy.int64, numpy.intc, numpy.longlong,
    numpy.dtype("f4"),
    numpy.dtype(">i4"), numpy.longdouble, numpy.floating, None, [("a", int)],
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES, ids=str)
def test_dtypes(name):
    calls = [
        lambda np: np.zeros(3, name), lambda np: np.ones((2, 2), dtype=name),
        lambda np: np.zeros((2, 0), dtype=name),
        lambda np: np.array([1.0, 2.0], dtype=name), lambda np: np.asarray([1, 2], name),
        lambda np: np.asarray(np.arange(3), name), lambda np: np.array(np.arange(3.0), dtype=name),
        lambda np: np.arange(3).astype(name), lambda np: np.full(3, 1, dtype=name),
    ]  # fmt: skip
    for at, call in enumerate(calls):
        ours, theirs = outcome(call, numelt), outcome(call, numpy)
        if theirs[0] is None or theirs[0].dtype.kind in "?biufc":
            same(ours, theirs, f"{name} {at}")
        else:
            assert ours[1].dtype == theirs[0].dtype
            assert (ours[1] == theirs[0]).all()


SEQUENCES = [
    [1.0, 2.0, 3.0], (1.0, -0.0), [math.nan, math.inf, -math.inf], [1, 2], [1, 2.5], [True, 1.0], [],
    [[1.0], [2.0]],
    [[1.0, 2.0], [3.0]], [1.0, "a"], [1.0, None], [numpy.float64(1.5), 2.0], [numpy.float32(1.5), 2.0],
    [1.0, 1j],
    [2**60, 1], [2**63, 1.0], [2**70], [1e300, 1e-300], 3.5, 7, "abc", [0.1] * 5000, [1.0, [2.0]],
    range(3), {1.0},
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sequence", SEQUENCES, ids=lambda s: str(s)[:30])
def test_sequences(sequence):
    for name in ("array", "asarray"):
        for dtype in (None, float, int, "f4", "f2", "u1", "?", "c8"):
            ours = outcome(getattr(numelt, name), sequence, dtype)
            theirs = outcome(getattr(numpy, name), sequence, dtype)
            if theirs[0] is None or theirs[0].dtype.kind in "?biufc":
                same(ours, theirs, f"{name} {dtype}")
            else:
                assert ours[1].dtype == theirs[0].dtype


def test_arrays_are_copied_or_given_back():
    x = numelt.arange(5.0)
    assert all(y is x for y in (numelt.asarray(x), numelt.asarray(x, float), numelt.asarray(x, dtype="f8")))
    copy = numelt.array(x)
    copy[0] = 9
    assert copy is not x
    assert float(x[0]) == 0
    assert numelt.asarray(x, "f4").dtype == "f4"
    plain = numpy.arange(4.0)
    shared = numelt.asarray(plain)
    shared[1] = 7
    assert plain[1] == 7
    z = numelt.zeros(3)
    z += 1
    assert numelt.zeros(3).tolist() == [0, 0, 0]  # the memory of one that has ended may be another's


@pytest.mark.parametrize("np", [numelt, numpy], ids=["numelt", "numpy"])
def test_keys_and_values(np):
    x = np.zeros((3, 4))
    x[:, 1] = np.arange(3.0)
    x[..., 2] = 2
    x[None, 0] = [[1.0, 2.0, 3.0, 4.0]]
    x[1:, 1:] = -1.5
    x[...] += 1
    x[::-1, 0] = np.arange(3)
    x[2] = x[1]
    x[1:] = x[:-1]
    assert x.tolist() == [[2.0, 3.0, 4.0, 5.0], [2.0, 3.0, 4.0, 5.0], [1.0, -0.5, -0.5, -0.5]]
    for key, value in [
        ((0, 9), 1.0),
        (9, 1.0),
        (slice(None), np.arange(5.0)),
        ((slice(None), 7), 0.0),
        ("a", 1),
    ]:
        with pytest.raises((IndexError, ValueError)):
            x[key] = value
    x.flags.writeable = False
    for key in (0, (0, 0), slice(1), (slice(None), 1), ..., None):
        with pytest.raises(ValueError, match="read-only"):
            x[key] = 1.0
    with pytest.raises(ValueError, match="cannot delete"):
        del x[0]


def test_special_values_that_are_stored():
    for dtype in ("?", "i1", "u8", "f2", "f4", "f8", "c16"):
        for value in (0, -0.0, math.nan, math.inf, 300, -1, 2**40, 1e300, 2.7, True, 1j):
            results = []
            for np in (numelt, numpy):
                x = np.ones((3, 4), dtype)
                results.append(
                    [outcome(x.__setitem__, key, value) for key in ((0, 0), (slice(None), 1), ..., 2)]
                )
                results[-1].append((x, None, []))
            for ours, theirs in zip(*results, strict=True):
                assert ours[2] == theirs[2], (dtype, value)
                assert isinstance(theirs[1], tuple) == isinstance(ours[1], tuple), (dtype, value)
            assert_same(results[0][-1][0], results[1][-1][0], context=f"{dtype} {value}")


def test_calls_of_ufuncs():
    def cases(np):
        x, y, z = np.arange(1.0, 5.0), np.arange(4), np.empty(4)
        return [
            lambda: np.sqrt(x), lambda: np.sqrt(4.0), lambda: np.sqrt(numpy.float64(2)), lambda: np.sqrt(2),
            lambda: np.sqrt(numpy.int8(2)), lambda: np.sqrt([1.0, 4.0]), lambda: np.sqrt(-1.0),
            lambda: np.sqrt(),
            lambda: np.sqrt(x, z), lambda: np.sqrt(x, out=z), lambda: np.sqrt(x, None),
            lambda: np.sqrt(x, x, x),
            lambda: np.sqrt(x, dtype="f4"), lambda: np.sqrt(x, nothing=1), lambda: np.sqrt(*(x,)),
            lambda: np.add(x, y), lambda: np.add(1, 2.5), lambda: np.add(x, y, dtype="i8"),
            lambda: np.add(x),
            lambda: np.add(x, 1, where=x > 2, out=np.zeros(4)),
            lambda: np.add(*(x, y), **{"casting": "no"}),
            lambda: np.maximum(x, 2.5), lambda: np.maximum(x, math.nan), lambda: np.frexp(x),
            lambda: np.divmod(x, 2),
            lambda: np.add(True, False), lambda: np.add("a", "b"), lambda: np.negative(y),
            lambda: np.abs(-x),
            lambda: np.logical_and(x, y), lambda: -x, lambda: abs(-y), lambda: -(x > 2), lambda: abs(x > 2),
            lambda: -np.arange(3, dtype="u1"), lambda: abs(np.array([1 + 1j, -2])),
            lambda: -np.array(["a"]),
            lambda: list(map(np.sqrt, [1.0, 4.0])), lambda: np.matmul(x, y), lambda: np.sqrt.__call__(x),
        ]  # fmt: skip

    for at, (ours, theirs) in enumerate(zip(cases(numelt), cases(numpy), strict=True)):
        same(outcome(ours), outcome(theirs), str(at))


def test_members_tell_what_they_are():
    for name in ("reshape", "ravel", "transpose", "squeeze", "view", "item", "tolist", "astype", "fill"):
        method = vars(numelt.ndarray)[name]
        assert type(method) is types.MethodDescriptorType
        assert method.__name__ == name
        with pytest.raises(TypeError):
            method()
        with pytest.raises(TypeError):
            method(3)
    assert type(vars(numelt.ndarray)["shape"]) is types.GetSetDescriptorType
    for name in ("zeros", "ones", "empty", "array", "asarray"):
        function = getattr(numelt, name)
        assert function.__name__ == name
        assert ">>>" in function.__doc__
        assert next(iter(inspect.signature(function).parameters)) in ("shape", "object", "a")
        assert pickle.loads(pickle.dumps(function)) is function
    for name in ("sqrt", "add"):
        assert pickle.loads(pickle.dumps(getattr(numelt, name))) is getattr(numelt, name)


def test_names_that_are_found_late():
    for module, name in [
        (numelt, "float_"),
        (numelt, "nonsense"),
        (numelt.linalg, "nonsense"),
        (numelt.random, "x"),
    ]:
        theirs = sys.modules[module.__name__.replace("numelt", "numpy")]
        assert outcome(getattr, module, name)[1] == outcome(getattr, theirs, name)[1]
        assert not hasattr(module, name)
        assert getattr(module, name, 5) == 5
    assert numelt.linalg.inv is numelt.linalg.inv
    assert numelt.testing.__name__ == "numelt.testing"
    assert numelt.random.rand is numelt.random.rand
    with pytest.raises(ImportError):
        exec("from numelt import nonsense")
    # other modules find theirs as ever
    other = types.ModuleType("other")
    with pytest.raises(AttributeError, match="module 'other' has no attribute 'x'"):
        _ = other.x
    other.__getattr__ = lambda name: name * 2
    assert (other.x, getattr(other, "y", None)) == ("xx", "yy")
    with pytest.raises(TypeError):
        getattr(other, 3)


def under_states(np):
    def division():
        return (np.ones(3) / np.zeros(3)).tolist()

    found = []
    for _ in range(2):
        with np.errstate(divide="raise"):
            found.append(outcome(division)[1:])
        found.append(outcome(division)[1:])
        with np.errstate(all="ignore"):
            found.append(outcome(division)[1:])
            with np.errstate(divide="raise"):
                found.append(outcome(division)[1:])
            found.append(outcome(division)[1:])
    return found


def test_the_error_state_is_seen_after_the_first_change():
    assert under_states(numelt) == under_states(numpy)
    # which is NumPy's own variable from then on
    assert type(_ufunc_config._extobj_contextvar).__name__ == "ContextVar"


def test_nothing_is_kept():
    x = numelt.arange(12.0)
    kinds = [
        lambda: x.shape, lambda: x.reshape(3, 4), lambda: x.T, lambda: numelt.asarray(x), lambda: x.flags,
        lambda: iter(x), lambda: numelt.zeros(3), lambda: x.reshape(5, 5), lambda: x.item(99),
        lambda: x.tolist(),
        lambda: numelt.sqrt(x), lambda: numelt.sqrt(2.0), lambda: numelt.sqrt(x, dtype="f4"),
        lambda: x.fill(2),
        lambda: x.view(), lambda: x.squeeze(), lambda: x.astype("f4", copy=False), lambda: numelt.nonsense,
        lambda: x.__setitem__((0, 0), 1.0), lambda: x.__setitem__(slice(3), 1.0),
        lambda: numelt.array([1.0, 2.0]),
    ]  # fmt: skip
    for at, kind in enumerate(kinds):
        for _ in range(5):
            outcome(kind)
        gc.collect()
        before = sys.getrefcount(x), len(gc.get_objects())
        for _ in range(200):
            outcome(kind)
        gc.collect()
        assert sys.getrefcount(x) == before[0], at
        assert len(gc.get_objects()) - before[1] < 100, at


def test_iterators():
    for shape in ((3,), (2, 3), (0,), (0, 3)):
        for ours, theirs in pairs(shape, numpy.dtype("f8")):
            assert_same(list(ours), list(theirs))
            pieces = iter(ours)
            first = list(itertools.islice(pieces, 1))
            assert_same(first + list(pieces), list(theirs))
    with pytest.raises(TypeError, match="0-d"):
        iter(numelt.array(1.0))


def test_isinstance_of_other_classes():
    x = numelt.arange(3)
    for kind in (list, tuple, dict, object, str):
        assert isinstance(x, kind) == isinstance(numpy.arange(3), kind)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_small_assignments(dtype):
    values = [0, 1, 1.0, 2.7, -1, math.nan, math.inf, 300, 1j]
    both = []
    for np in (numelt, numpy):
        x, found = (np.arange(40) % 7).astype(dtype), []
        pieces = [x[2:9], x[::-3], x[5:5], x[1::2], x.reshape(5, 8)[:, 3], x.reshape(5, 8)[2], x[:1]]
        y = np.arange(40, 80).astype(dtype)
        sources = [
            y[3:10],
            y[::-3],
            y[7:7],
            y[::-2],
            y.reshape(8, 5)[3, ::-1],
            y[8:16],
            y[9:10],
            x[3:10],
            x[::3],
        ]
        for piece in pieces:
            for source in sources:
                found.append(outcome(piece.__setitem__, slice(None), source))
                found.append((x.copy(), None, []))
            for value in values:
                found.append(outcome(piece.__setitem__, ..., value))
                found.append((x.copy(), None, []))
        # what was recorded before sees what was there before
        later = x + 1
        x[:3] = y[:3]
        x[10:12] = 1
        found.append((later, None, []))
        frozen = x[:4]
        frozen.flags.writeable = False
        found.append(outcome(frozen.__setitem__, slice(None), y[:4]))
        both.append(found)
    for at, (ours, theirs) in enumerate(zip(*both, strict=True)):
        assert ours[2] == theirs[2], at
        if isinstance(theirs[0], numpy.ndarray):
            assert_same(ours[0], theirs[0], context=str(at))
        else:
            assert isinstance(ours[1], tuple) == isinstance(theirs[1], tuple), at


def test_memory_that_others_see():
    x, y = numelt.arange(6.0), numelt.arange(10.0, 16.0)
    seen, other = numpy.asarray(x), numpy.arange(6.0)
    adopted = numelt.asarray(other)
    x[1:3] = y[::-1][:2]
    assert seen.tolist() == [0, 15, 14, 3, 4, 5]
    x[:2] = 7
    assert seen[:2].tolist() == [7, 7]
    adopted[1:] = x[1:]
    assert other.tolist() == [0, 7, 14, 3, 4, 5]
    adopted[0] = 9
    adopted[4:] = 8
    assert other.tolist() == [9, 7, 14, 3, 8, 8]
    window = numelt.asarray(other[2:])
    window[:] = adopted[:4]
    assert other.tolist() == [9, 7, 9, 7, 14, 3]


def test_named_results():
    matrix = numelt.array([[2.0, 1.0], [1.0, 3.0]])
    for name in ("eigh", "eig", "svd", "qr", "slogdet"):
        ours = getattr(numelt.linalg, name)(matrix)
        theirs = getattr(numpy.linalg, name)(numpy.array(matrix.tolist()))
        assert type(ours).__name__ == type(theirs).__name__
        assert ours._fields == theirs._fields
        assert_same(tuple(ours), tuple(theirs), rtol=1e-12)
