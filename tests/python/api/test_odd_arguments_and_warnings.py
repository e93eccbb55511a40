"""Details that would let a program detect numelt: warnings and their lines, error texts, unusual
arguments."""

import inspect
import warnings
from collections import namedtuple

import numpy
import pytest

import numelt

from ..support.compare import as_numpy, assert_same, outcome


def told(call, np):
    """Return how a call ended, its warnings, and their distances to the line of `call`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kind, value = outcome(call, np)
        value = as_numpy(value)
    first = inspect.unwrap(call).__code__.co_firstlineno
    lines = [w.lineno - first if w.filename == __file__ else w.filename for w in caught]
    texts = [(w.category.__name__, str(w.message)) for w in caught]
    return kind, value, texts, lines


def same(call, lines=True):
    ours, theirs = told(call, numelt), told(call, numpy)
    assert ours[0] == theirs[0], (ours, theirs)
    if theirs[0] == "error":
        assert type(ours[1]) is type(theirs[1])
        assert str(ours[1]).replace("numelt", "numpy") == str(theirs[1])
    else:
        numpy.testing.assert_array_equal(ours[1], theirs[1])
    assert ours[2] == theirs[2]
    if lines:
        assert ours[3] == theirs[3]


def changed(np, array, key, value):
    array[key] = value
    return array


CASTS = {
    "element": lambda np: changed(np, np.zeros(3, "f4"), 1, 1e300),
    "element of half": lambda np: changed(np, np.zeros(3, "f2"), 1, 10**6),
    "whole": lambda np: changed(np, np.zeros(3, "f4"), ..., 1e300),
    "masked": lambda np: changed(np, np.zeros(2, "f4"), np.array([True, False]), 1e300),
    "picked": lambda np: changed(np, np.zeros(2, "f4"), np.array([0, 1]), numpy.float64(-1e300)),
    "complex": lambda np: changed(np, np.zeros(2, "c8"), 0, 1e300 + 1j),
    "nan to int": lambda np: changed(np, np.zeros(2, "i4"), slice(None), numpy.float64("nan")),
    "fill": lambda np: np.zeros(3, "f4").fill(1e300),
    "array": lambda np: np.array([1e300], dtype="f4"),
    "asarray": lambda np: np.asarray([[1e300, 1.0]], dtype=np.float16),
    "half and int": lambda np: np.array([1.0], "f2") * 100000,
    "single and float": lambda np: np.array([1.0], "f4") + 1e300,
    "flat": lambda np: np.zeros(3, "f4").flat.__setitem__(0, 1e300),
    "put": lambda np: np.zeros(3, "f4").put([0], [1e300]),
    "infinity": lambda np: changed(np, np.zeros(3, "f4"), 1, numpy.inf),
    "fits": lambda np: changed(np, np.zeros(3, "f4"), 1, 1e38),
    "complex to real": lambda np: np.array([1 + 2j]).astype("f8"),
    "assigned complex": lambda np: changed(np, np.zeros(2), slice(None), np.array([1 + 2j, 3])),
}


@pytest.mark.parametrize("name", CASTS)
def test_conversions_warn_at_the_users_line(name):
    call = CASTS[name]
    inner = name in ("element", "element of half", "whole", "masked", "picked", "complex", "nan to int")
    same(call, lines=not (inner or name == "assigned complex"))


@pytest.mark.parametrize("name", ["element", "whole", "masked", "fill", "array", "half and int"])
def test_conversions_raise_where_the_state_says_so(name):
    def raising(np):
        with np.errstate(over="raise"):
            return CASTS[name](np)

    assert str(outcome(raising, numelt)[1]) == str(outcome(raising, numpy)[1])
    assert type(outcome(raising, numelt)[1]) is FloatingPointError


def test_deferred_conversions_warn():
    for dtype, value in (("f4", 1e300), ("f2", 1e6), ("i4", numpy.nan), ("i8", numpy.inf)):
        same(lambda np, dtype=dtype, value=value: np.array([value, 1.0]).astype(dtype), lines=False)


def test_filters_see_the_users_module():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", category=RuntimeWarning, module=__name__.replace(".", r"\."))
        with pytest.raises(RuntimeWarning, match="overflow encountered in cast"):
            numelt.array([1e300], dtype="f4")


def test_a_line_warns_once_by_default():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            numelt.array([1e300], dtype="f4")
    assert len(caught) == 1


CALLS = {
    "maximum of three": lambda np: np.maximum([1.0], [2.0], np.zeros(1)),
    "minimum of three": lambda np: np.minimum(np.array([1.0]), np.array([2.0]), np.zeros(1)),
    "fmax of three": lambda np: np.fmax(np.array([1.0]), np.array([2.0]), np.zeros(1)),
    "maximum out": lambda np: np.maximum(np.array([1.0]), np.array([2.0]), out=np.zeros(1)),
    "where alone": lambda np: np.add(np.array([1.0]), np.array([2.0]), where=np.array([True])),
    "where and no out": lambda np: np.add(np.array([1.0]), 2.0, where=np.array([True]), out=None),
    "where and out": lambda np: np.add(np.array([1.0]), 2.0, where=np.array([True]), out=np.zeros(1)),
    "where of a ufunc not native": lambda np: np.isnat(np.array(["NaT"], "M8[s]"), where=[True], out=None),
}


@pytest.mark.parametrize("name", CALLS)
def test_warnings_of_arguments(name):
    same(CALLS[name])


HALVES = {
    "sum": lambda np: np.full(100, 60000, "f2").sum(),
    "sum of columns": lambda np: np.full((100, 2), 60000, "f2").sum(axis=0),
    "running sum": lambda np: np.full(5, 60000, "f2").cumsum(),
    "product": lambda np: np.full(5, 600, "f2").prod(),
    "infinite before": lambda np: np.array([numpy.inf, 1.0], "f2").sum(),
    "running infinite": lambda np: np.array([numpy.inf, 1.0], "f2").cumsum(),
    "fits": lambda np: np.full(100, 600, "f2").sum(),
    "from integers": lambda np: np.array([70000]).astype("f2"),
    "from unsigned": lambda np: np.array([65535], "u2").astype("f2"),
    "from short": lambda np: np.array([32767], "i2").astype("f2"),
    "of two dtypes": lambda np: np.zeros(2, "f4").sum() / np.zeros(2, "i8").sum(),
    "of one dtype": lambda np: np.zeros(2).sum() / np.zeros(2, "i8").sum(),
    "mean of nothing": lambda np: np.mean(np.zeros(0, "f4")),
}


@pytest.mark.parametrize("name", HALVES)
def test_overflow_of_halves_and_scalars(name):
    same(HALVES[name], lines=False)


@pytest.mark.parametrize("seed", range(60))
def test_which_bad_index_is_named(seed):
    rng = numpy.random.default_rng(seed)
    shape = [(4,), (2, 3), (3, 4), (2, 2, 3), (300, 3)][seed % 5]
    bad = rng.choice([0, 1, 2, -1, 5, 7, 9, -8, -9], shape).astype(["i8", "i4"][seed % 2])
    layouts = {
        "C": lambda np: np.array(bad),
        "F": lambda np: np.asfortranarray(bad),
        "backward": lambda np: np.array(bad)[::-1],
        "mirrored": lambda np: np.array(bad)[..., ::-1],
    }
    uses = {
        "rows": lambda np, i: np.zeros((3, 5))[i],
        "columns": lambda np, i: np.zeros((3, 5))[:, i],
        "points": lambda np, i: np.zeros((3, 5))[i, i],
        "vector": lambda np, i: np.zeros(3)[i],
        "written rows": lambda np, i: np.zeros((3, 5)).__setitem__(i, 1),
        "written vector": lambda np, i: np.zeros(3).__setitem__(i, 1),
        "taken": lambda np, i: np.zeros((3, 5)).take(i, axis=0),
    }
    for layout in layouts.values():
        for use in uses.values():
            ours = outcome(lambda np, use=use, layout=layout: use(np, layout(np)), numelt)
            theirs = outcome(lambda np, use=use, layout=layout: use(np, layout(np)), numpy)
            assert str(ours[1]) == str(theirs[1])


WAYS = {
    "element": lambda np, a, v: changed(np, a, 0, v),
    "copyto of a number": lambda np, a, v: np.copyto(a, v, casting="unsafe"),
    "copyto": lambda np, a, v: np.copyto(a, np.array([v] * 3), casting="unsafe"),
    "copyto under a mask": lambda np, a, v: np.copyto(a, np.array([v] * 3), "unsafe", [True, False, True]),
    "astype": lambda np, a, v: np.array([v] * 40).astype(a.dtype),
    "astype of a view": lambda np, a, v: np.full((5, 5), v)[:, ::2].astype(a.dtype),
    "mask": lambda np, a, v: changed(np, a, [True, False, True], np.array([v, v])),
    "positions": lambda np, a, v: changed(np, a, [0, 1], np.array([v, v])),
    "flat": lambda np, a, v: a.flat.__setitem__(slice(None), np.array([v] * 3)),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_converting_warns_and_raises(way):
    pairs = [(70000, "f2"), (1e6, "f2"), (1e100, "f4"), (2e300, "c8"), (2e300j, "c8")]
    pairs += [
        (kind(v), to) for kind in (numpy.float32, numpy.float64) for v in ("inf", "nan") for to in "bHiQ"
    ]
    for value, dtype in pairs:
        if way == "element" and dtype in "bHiQ":
            continue  # NumPy refuses infinities there, or warns, depending on the class of the number

        def convert(np, dtype=dtype, value=value):
            target = np.zeros(3, dtype)
            result = WAYS[way](np, target, value)
            return numpy.asarray(target if result is None else result)

        def strict(np, dtype=dtype, value=value):
            with np.errstate(all="raise"):
                return WAYS[way](np, np.zeros(3, dtype), value)

        same(convert, lines=False)
        ours, theirs = outcome(strict, numelt)[1], outcome(strict, numpy)[1]
        assert (type(ours), str(ours)) == (type(theirs), str(theirs))
        assert type(ours) is FloatingPointError


def square(np):
    return np.arange(6.0).reshape(2, 3)


ERRORS = {
    "axis of argmax": lambda np: np.argmax(square(np), (0, 1)),
    "truth value as axis": lambda np: square(np).max(True),
    "truth value as axis of argmin": lambda np: square(np).argmin(True),
    "keepdims": lambda np: np.sum(square(np), keepdims="x"),
    "keepdims none": lambda np: np.min(square(np), keepdims=None),
    "order": lambda np: square(np).copy(1),
    "order of ravel": lambda np: square(np).ravel(1),
    "order of reshape": lambda np: square(np).reshape(6, order="K"),
    "order of zeros_like": lambda np: np.zeros_like(square(np), order="Q"),
    "order of full_like": lambda np: np.full_like(square(np), 1, order=1),
    "swapaxes": lambda np: square(np).swapaxes(2, 0),
    "average": lambda np: np.average(square(np), 2),
    "size": lambda np: np.size(square(np), 2),
    "gcd of truth values": lambda np: np.gcd(np.array([True]), np.array([False])),
    "device": lambda np: np.asarray(square(np), device="gpu"),
    "round out": lambda np: np.round(np.array(1.5), out=np.zeros(3)),
    "ptp out": lambda np: np.ptp([1, 2], out=np.zeros(0, int)),
    "broadcast_to": lambda np: np.broadcast_to(np.ones(3), -1),
    "unstack": lambda np: np.unstack([1, 2]),
    "out and initial": lambda np: np.sum(np.ones(3), out=np.zeros((4, 1)), initial=2.0),
    "out, initial and where": lambda np: np.max(
        [3, 4], out=np.zeros((2, 3), int), initial=-1, where=[True, False]
    ),
    "device of linspace": lambda np: np.linspace(0, 1, 3, device="gpu"),
    "casting": lambda np: np.hstack([np.ones(2)], casting="bad"),
    "rollaxis": lambda np: np.rollaxis([[1]], 1),
    "rot90": lambda np: np.rot90(square(np), axes=-1),
    "memory": lambda np: np.zeros(10**13),
    "memory of a range": lambda np: np.arange(10**13),
    "memory of a sum": lambda np: np.broadcast_to(np.ones(1), (10**13,)) + 1.0,
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    same(ERRORS[name])


RESULTS = {
    "unstack": lambda np: np.unstack(np.arange(3)),
    "transpose of a scalar": lambda np: np.transpose(np.int16(5)),
    "cumsum of a number": lambda np: np.cumsum(2.5, axis=-1),
    "tile once": lambda np: np.tile(np.asfortranarray(square(np)), 1).flags.f_contiguous,
    "layout of argmin": lambda np: np.asfortranarray(square(np)).argmin(axis=0, keepdims=True).strides,
    "count_nonzero": lambda np: np.count_nonzero(square(np), (0, 1), keepdims=1),
    "reshape copy": lambda np: square(np).reshape(3, 2, copy=1),
    "linspace of huge ints": lambda np: np.linspace(numpy.int8(2), 1 << 70, 3),
    "isclose": lambda np: np.isclose(np.ones(2, "f4"), 1e300),
    "clip in another dtype": lambda np: np.clip(np.arange(5, dtype="i4"), 1, 3, dtype="i8"),
    "clip of floats": lambda np: np.arange(5, dtype="f4").clip(1, 3.5, dtype="f8"),
    "gcd.reduce": lambda np: np.gcd.reduce(np.array([12, 18, 30])),
    "lcm.accumulate": lambda np: np.lcm.accumulate(np.array([4, 6, 10])),
    "reshape to none": lambda np: square(np).reshape(None),
    "ndmin": lambda np: np.array([1], ndmin=-1),
    "meshgrid": lambda np: type(np.meshgrid([1], [2], copy=False)),
    "sparse meshgrid": lambda np: type(np.meshgrid([1], [2], copy=False, sparse=True)),
    "linspace": lambda np: type(np.linspace(1, 2, num=1, retstep=True)[1]),
    "squeeze of a scalar": lambda np: np.squeeze(np.float16(1)),
    "degrees of a truth value": lambda np: np.degrees(True, np.zeros(1, "f4")),
    "require": lambda np: np.require([1, 2], like=np.zeros(1)),
    "matrix in order": lambda np: np.matrix(np.asfortranarray(square(np))).flags.c_contiguous,
    "matrix owns": lambda np: np.matrix(square(np)).flags.owndata,
}


@pytest.mark.parametrize("name", RESULTS)
def test_results(name):
    ours, theirs = RESULTS[name](numelt), RESULTS[name](numpy)
    assert_same(ours, theirs)


def test_squeeze_of_nothing_is_the_array():
    a = numelt.ones((2, 3))
    assert numelt.squeeze(a) is a
    assert a.squeeze() is a


def test_broadcast_arrays_can_be_written():
    a = numelt.zeros(3)
    wide, _ = numelt.broadcast_arrays(a, numelt.ones((2, 3)))
    wide[0, 1] = 4
    assert a[1] == 4
    assert [g.flags.writeable for g in numelt.meshgrid([1, 2], [3.0], copy=False)] == [True, True]


def test_matrix_shares_memory_where_numpys_would():
    a = numelt.eye(2)
    m = numelt.asmatrix(a)
    a[0, 0] = 5
    assert m[0, 0] == 5


def test_text_dtype_class():
    kind = numelt.dtypes.StringDType
    a = numelt.array(["a"], dtype=kind())
    assert numelt.add(a, a, dtype=kind)[0] == "aa"


SERIES = ["Polynomial", "Chebyshev", "Legendre", "Hermite", "HermiteE", "Laguerre"]


@pytest.mark.parametrize("name", SERIES)
def test_series_at_arrays_are_arrays(name):
    points = numpy.linspace(-2, 3, 12).reshape(3, 4)
    ours = getattr(numelt.polynomial, name)([1.0, -2.0, 3.0, 0.5], domain=[-2, 3])
    numelt.coverage(reset=True)
    result = ours(numelt.array(points))
    assert type(result) is numelt.ndarray
    assert_same(result, getattr(numpy.polynomial, name)([1.0, -2.0, 3.0, 0.5], domain=[-2, 3])(points))
    assert not numelt.coverage().fallback_calls
    assert type(ours(numpy.array(points))) is numpy.ndarray


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("dtype", "?bBhHiIlLefd")
@pytest.mark.parametrize("number", [-1, 300, 2**31, 2**63 - 1, 2**63, -(2**63), 2**70, 1.5, True])
def test_where_casts_numbers_that_do_not_fit(dtype, number):
    """Arithmetic refuses `uint8(1) + -1`; `where` wraps the number around."""
    truth = [True, False, True]
    programs = [
        lambda np, a, c: np.where(c, a, number),
        lambda np, a, c: np.where(c, number, a),
        lambda np, a, c: np.where(c, number, number),
    ]
    for program in programs:
        theirs = outcome(program, numpy, numpy.ones(3, dtype), numpy.array(truth))
        ours = outcome(program, numelt, numelt.ones(3, dtype), numelt.array(truth))
        assert ours[0] == theirs[0]
        if theirs[0] == "value":
            assert_same(ours[1], theirs[1])
        else:
            assert (type(ours[1]), str(ours[1])) == (type(theirs[1]), str(theirs[1]))


STORED = {
    "slice": lambda np, a, value: a.__setitem__(slice(0, 2), value),
    "all": lambda np, a, value: a[:2].__setitem__(..., value),
    "row": lambda np, a, value: a.reshape(2, 2).__setitem__(1, value),
    "positions": lambda np, a, value: a.__setitem__([0, 1], value),
    "mask": lambda np, a, value: a.__setitem__([True, True, False, False], value),
    "flat": lambda np, a, value: a[:2].flat.__setitem__(slice(None), value),
    "copyto": lambda np, a, value: np.copyto(a[:2], value),
    "number": lambda np, a, value: a.__setitem__(1, value[0]),
    "copyto of a number": lambda np, a, value: np.copyto(a, value[0]),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", STORED)
@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i4", "u8", "f2", "f8", "c8"])
def test_numbers_in_lists_are_stored_one_by_one(way, dtype):
    """`a[:] = [300, 1]` raises an error, whereas `a[:] = array([300, 1])` wraps the numbers around."""
    values = [[300, 1], [1.5, 2], (1e10, 1), [float("nan"), 1], ["3", "4"], [1j, 2], [None, 1], [2**70, 1]]
    for value in [*values, [True, 2], [-1, 3], [numpy.int64(300), 1], [numpy.float64(3.7), 1]]:
        theirs, ours = numpy.zeros(4, dtype), numelt.zeros(4, dtype)
        expected = outcome(STORED[way], numpy, theirs, value)
        got = outcome(STORED[way], numelt, ours, value)
        assert got[0] == expected[0], value
        assert got[0] == "value" or type(got[1]) is type(expected[1]), value
        assert_same(ours, theirs, context=str(value))


CLIPS = {
    "numbers": lambda np, a: np.clip(a, 0, 1),
    "other zero": lambda np, a: np.clip(a, -0.0, 1.0),
    "above": lambda np, a: np.clip(a, -1, -0.0),
    "method": lambda np, a: a.clip(-1.0, 0.0),
    "output": lambda np, a: np.clip(a, 0, 1, out=a.copy()),
    "arrays without axes": lambda np, a: np.clip(a, np.array(0.0), 5),
    "one array": lambda np, a: np.clip(a, -np.zeros(len(a), a.dtype), 1),
    "two arrays": lambda np, a: np.clip(a, np.zeros(len(a), a.dtype), np.ones(len(a), a.dtype)),
    "lower": lambda np, a: np.clip(a, 0, None),
    "nan": lambda np, a: np.clip(a, 0, np.nan),
}


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("size", [1, 3, 16, 100])
def test_clip_keeps_the_signs_of_zeros(clip, dtype, size, recorded):
    start = numpy.zeros(size, dtype)
    start[::2] = -0.0
    theirs = CLIPS[clip](numpy, start.copy())
    ours = as_numpy(CLIPS[clip](numelt, numelt.array(start)))
    assert ours.dtype == theirs.dtype
    numpy.testing.assert_array_equal(ours, theirs)
    numbers = ~numpy.isnan(theirs)
    assert numpy.array_equal(numpy.signbit(ours)[numbers], numpy.signbit(theirs)[numbers])


@pytest.mark.parametrize("dtype", ["i1", "u1", "i8", "f2", "f4", "f8"])
@pytest.mark.parametrize("wide", ["i2", "i8", "f2", "f4", "f8"])
def test_range_of_values_in_an_output(dtype, wide):
    start = (numpy.random.default_rng(3).random((4, 5)) * 9).astype(dtype)
    theirs = outcome(lambda: numpy.ptp(start, axis=0, out=numpy.zeros(5, wide)))
    ours = outcome(lambda: numelt.ptp(numelt.array(start), axis=0, out=numelt.zeros(5, wide)))
    assert ours[0] == theirs[0]
    if ours[0] == "value":
        assert_same(ours[1], theirs[1])


@pytest.mark.parametrize("fold", ["sum", "max", "min", "prod"])
@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u8"])
@pytest.mark.parametrize(
    "initial", [numpy.uint8(200), numpy.int64(-300), numpy.uint64(2**63), 200, numpy.int8(3)]
)
def test_initial_values_that_do_not_fit(fold, dtype, initial):
    theirs = outcome(lambda: getattr(numpy, fold)(numpy.arange(5).astype(dtype), initial=initial))
    ours = outcome(lambda: getattr(numelt, fold)(numelt.arange(5).astype(dtype), initial=initial))
    assert ours[0] == theirs[0]
    if ours[0] == "value":
        assert_same(ours[1], theirs[1])


@pytest.mark.parametrize(
    "program",
    [
        lambda np: np.broadcast_to(3, np.array([2, 3])),
        lambda np: np.broadcast_to(np.arange(3), np.array([2, 3])),
        lambda np: np.broadcast_to(np.arange(3), iter([2, 3])),
        lambda np: np.broadcast_to(3, np.eye(2)),
        lambda np: np.broadcast_to(3, b"ab"),
        lambda np: np.broadcast_to(3, [2, -1]),
        lambda np: np.arange(6).setflags(1, 0),
        lambda np: np.arange(6).setflags(write=False, align=True, uic=False),
        lambda np: np.arange(6).setflags(uic=True),
        lambda np: np.zeros(2, np.array(3)),
        lambda np: np.ones(2).astype(np.eye(3)),
        lambda np: np.asanyarray([1, 2], np.arange(3)),
    ],
)
def test_odd_arguments(program):
    def ends(np):
        try:
            return program(np)
        except Exception as error:
            return type(error)

    theirs, ours = ends(numpy), ends(numelt)
    if isinstance(theirs, numpy.ndarray):
        assert_same(ours, theirs)
    else:
        assert ours == theirs


@pytest.mark.parametrize("convert", ["asarray", "array"])
def test_a_memoryview_of_ours_becomes_another_array(convert):
    a = numelt.arange(3)
    b = getattr(numelt, convert)(memoryview(a), **({"copy": False} if convert == "array" else {}))
    assert b is not a
    assert not b.flags.owndata
    assert type(b.base) is memoryview
    assert b.base.obj is a
    assert b[1:].base is b
    b[0] = 5
    assert a.tolist() == [5, 1, 2]


def test_named_tuples_of_other_classes_are_handed_on():
    class Pair(namedtuple("Pair", "x y")):
        def __new__(cls, x, *, y):
            return super().__new__(cls, x, y)

    one = Pair(numelt.arange(3), y=numelt.ones(3))
    assert numelt.array(one).tolist() == [[0, 1, 2], [1, 1, 1]]
    assert numelt.stack(one).tolist() == [[0, 1, 2], [1, 1, 1]]
    numelt.testing.assert_allclose(one, ([0, 1, 2], [1, 1, 1]))
    numelt.testing.assert_allclose(Pair(1, y=2), Pair(1, y=2))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_numpys_assertions_see_pending_warnings():
    # the results are held, because a plan drops results that cannot be read
    np = numelt
    with np.testing.assert_warns(RuntimeWarning):
        x = np.ones(5000) / np.zeros(5000)
    x = np.testing.assert_warns(RuntimeWarning, lambda: np.ones(5000) / np.zeros(5000))
    assert np.isinf(x).all()
    with pytest.raises(AssertionError), np.testing.assert_no_warnings():
        x = np.log(np.zeros(5000))
    with np.testing.suppress_warnings() as caught:
        record = caught.record(RuntimeWarning)
        x = np.log(np.zeros(5000))
    assert len(record) == 1
    assert np.isinf(x).all()


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize(
    "program", [lambda s, t: s + t, lambda s, t: s - t, lambda s, t: s * t, lambda s, t: s + 1]
)
def test_integer_scalars_say_that_they_overflow(dtype, program):
    def computed(np, values):
        a = np.array(values, dtype=dtype)
        with warnings.catch_warnings(record=True) as met:
            warnings.simplefilter("always")
            s, t = a.max(), a.min()
            bool(s)
            result = program(s, t)
            value = (int(result), str(result.dtype))
        return value, [(w.category, str(w.message)) for w in met]

    info = numpy.iinfo(dtype)
    for values in ([info.min, info.max], [1, info.max], [2, 100], [info.min, 1], [3, 3]):
        assert computed(numelt, values) == computed(numpy, values)
