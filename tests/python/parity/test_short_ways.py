"""Short ways of numbers of NumPy's, objects, text, dates and few elements: NumPy's results all the same."""

import contextvars
import datetime
import decimal
import fractions
import operator
import threading
import warnings

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numelt

from ..support.compare import as_numpy, assert_same

NATIVE = [
    "?", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip


def outcome(function, np):
    """What a call gives: its result and the warnings, or the class and text of its exception."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            made = as_plain(function(np))
        except Exception as error:
            made = type(error), str(error)
    return made, sorted(str(w.message) for w in caught)


def as_plain(made):
    if isinstance(made, (list, tuple)):
        return [as_plain(part) for part in made]
    return as_numpy(made) if isinstance(made, numelt.ndarray) else made


def check(function):
    (ours, told), (theirs, expected) = outcome(function, numelt), outcome(function, numpy)
    if isinstance(theirs, (numpy.ndarray, numpy.generic)):
        assert_same(ours, theirs)
    elif isinstance(theirs, list):
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other)
    else:
        assert ours == theirs
    assert told == expected


def grid(np, dtype):
    return (np.arange(-6, 6).reshape(3, 4) * 3).astype(dtype)


KEYS = [0, -1, 2, 3, -4, 12, -13, 1 << 40, -(1 << 62)]
SCALARS = [numpy.int64, numpy.int32, numpy.uint8, numpy.uint64, numpy.longlong, numpy.bool_, numpy.float64]


@pytest.mark.parametrize("kind", SCALARS)
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.filterwarnings("ignore")
def test_indices_of_numpys(kind, key):
    try:
        key = kind(key)
    except OverflowError:
        return
    for cut in (lambda a: a, lambda a: a[::-1], lambda a: a.T, lambda a: a[:, 1:2], lambda a: a[:0]):
        for index in (key, (key, 0), (0, key), (key, key), (slice(key), 0), (None, key), (..., key)):
            check(lambda np, c=cut, i=index: c(grid(np, "float64"))[i])
            check(lambda np, c=cut, i=index: c(grid(np, "int16"))[i])
        check(lambda np, c=cut: c(grid(np, "float64")).ravel()[key])


VALUES = [
    0, 1, -1, 300, 1 << 62, 1 << 63, 1 << 70, True, False, 2.5, -0.0, float("nan"), float("inf"), 1e300,
    2 + 3j, numpy.int64(-7), numpy.int64(2**63 - 1), numpy.float64(1.5), numpy.float64("nan"),
    numpy.float32(2.5), numpy.bool_(True), numpy.uint64(2**64 - 1), numpy.complex128(1j), None, "x",
    [1.0], (2,),
]  # fmt: skip


@pytest.mark.parametrize("dtype", NATIVE)
def test_stored_elements(dtype):
    def store(np, value, key, pending):
        a = grid(np, dtype)
        if not pending:
            a.tolist()
        a[key] = value
        return a

    for value in VALUES:
        for key in ((1, 2), (numpy.int64(1), numpy.int64(-1)), (-1, numpy.int64(0))):
            for pending in (False, True):
                check(lambda np, v=value, k=key, p=pending: store(np, v, k, p))


@pytest.mark.parametrize("dtype", ["?", "int64", "float64"])
def test_stores_where_they_are_refused_or_shared(dtype):
    def read_only(np):
        a = grid(np, dtype)
        a.flags.writeable = False
        a[0, 0] = True

    check(read_only)

    def shared(np):
        a = grid(np, dtype)
        row, copy, total = a[1], a.copy(), a.sum()
        a[1, numpy.int64(1)] = True
        row[numpy.int64(0)] = False
        return [a, copy, numpy.asarray(total)]

    check(shared)


ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.lt]


@pytest.mark.parametrize("operate", ARITHMETIC)
@pytest.mark.parametrize("dtype", NATIVE)
def test_scalars_on_either_side(operate, dtype):
    if dtype == "?" and operate is operator.sub:
        return
    scalars = [
        numpy.float64(0.1), numpy.float64(-0.0), numpy.float64("inf"), numpy.int64(3), numpy.int64(2**62 + 1),
        numpy.int64(0), numpy.float32(0.1), numpy.int8(2),
    ]  # fmt: skip
    for scalar in scalars:
        for cut in (
            lambda a: a,
            lambda a: a[::-1, ::2],
            lambda a: a[:0],
            lambda a: a[0, 0],
            lambda a: a.sum(),
        ):
            check(lambda np, s=scalar, c=cut: operate(s, c(grid(np, dtype))))
            check(lambda np, s=scalar, c=cut: operate(c(grid(np, dtype)), s))

        def update(np, s=scalar):
            a = grid(np, dtype)
            a += s
            a *= s
            return a

        check(update)


def test_scalars_of_numpys_and_others():
    class Asking(float):
        pass

    class Number(numpy.float64):
        def __rmul__(self, other):
            return "asked"

    for left in (numpy.float64(2), numpy.int64(2), Number(2)):
        for right in (
            3,
            2.5,
            Asking(1.5),
            True,
            numpy.float64(1),
            numpy.int64(4),
            [1, 2],
            "ab",
            None,
            Number(3),
        ):
            made = []
            for array in (numpy, numelt):
                array.arange(3) * left
                try:
                    made.append(repr(left * right))
                except TypeError as error:
                    made.append(str(error))
            assert made[0] == made[1]
    assert (numpy.float64(2) * numpy.arange(3)).tolist() == [0, 2, 4]
    assert type(numpy.float64(2) * numpy.arange(3)) is numpy.ndarray


# ---- the error state ---------------------------------------------------------------------------------


def test_a_strict_state_that_has_ended_is_over():
    x = numelt.array([1.0, 0.0])
    numelt.linalg.inv(numelt.eye(2))
    with numelt.errstate(divide="raise"):
        with pytest.raises(FloatingPointError):
            1.0 / x
        with numelt.errstate(divide="ignore"):
            assert (1.0 / x).tolist() == [1.0, numpy.inf]
        with pytest.raises(FloatingPointError):
            1.0 / x
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        (1.0 / x).tolist()
    with warnings.catch_warnings(), numelt.errstate(all="ignore"):
        warnings.simplefilter("error")
        (1.0 / x).tolist()


def test_states_of_contexts_and_threads():
    x = numelt.array([1.0, 0.0])
    told = []

    def divide(tell):
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                (x / x).tolist()
            tell.append(len(caught))
        except FloatingPointError:
            tell.append("raised")

    with numelt.errstate(invalid="raise"):
        strict = contextvars.copy_context()
    strict.run(divide, told)
    divide(told)
    strict.run(divide, told)
    thread = threading.Thread(target=divide, args=(told,))
    thread.start()
    thread.join()
    with numelt.errstate(invalid="ignore"):
        divide(told)
    assert told == ["raised", 1, "raised", 1, 0]


def test_states_that_come_and_go():
    def program(np):
        x, made = np.array([1.0, 0.0, -1.0]), []
        for k in range(6):
            with np.errstate(divide="ignore" if k % 2 else "warn", invalid="ignore"):
                made.append(np.log(x) / k if k else x / x)
            made.append(np.linalg.inv(np.eye(2) + k))
            made.append(np.sqrt(x))
        return made

    check(program)


# ---- functions ------------------------------------------------------------------------------------------


def rolls(np, dtype, shift, axis):
    a = grid(np, dtype)
    return [np.roll(cut, shift, axis) for cut in (a, a.T, a[::-1, ::2], a[:0], np.stack([a, a], 2))]


@pytest.mark.parametrize("dtype", ["?", "int16", "float64", "complex128"])
def test_rolled_along_axes(dtype):
    cases = [
        ((1, 2), (0, 1)), ((0, 0), (0, 1)), ((-1, 7), (1, 0)), ((1, 2), (0, 0)), ((3, -4), (-1, -2)),
        ((1,), (0,)), (2, (0, 1)), ((1, 2), 0), ((1, 2), (0, 5)), ((1, 2, 3), (0, 1)), (1 << 70, 0),
        ((1 << 62, 1 << 62), (0, 0)), (numpy.int64(1), 0), ((1, numpy.int64(1)), (0, 1)), (1, 0), (-5, 1),
        (3, None), ((), ()),
    ]  # fmt: skip
    for shift, axis in cases:
        check(lambda np, s=shift, a=axis: rolls(np, dtype, s, a))


def test_rolled_results_lie_as_numpys():
    for cut in (lambda a: a, lambda a: a.T, lambda a: a[::-1], lambda a: a[:, ::2]):
        for axes in ((0, 1), (1, 0), (0, 0)):
            ours = numelt.roll(cut(grid(numelt, "float64")), (1, 2), axes)
            theirs = numpy.roll(cut(grid(numpy, "float64")), (1, 2), axes)
            assert ours.strides == theirs.strides


FUNCTIONS = [
    "np.diff(a)", "np.diff(a[:1])", "np.diff(a[:0])", "np.diff(a[::-2])", "np.diff(a[0])", "np.diff(m)",
    "np.diff(m.T)", "np.diff(m, axis=0)", "np.diff(a, prepend=1)", "np.diff(b)", "np.flatnonzero(a)",
    "np.flatnonzero(m)", "np.flatnonzero(b)", "np.flatnonzero(a[::-1])", "np.flatnonzero(a[:0])",
    "np.flatnonzero(a[0])", "np.maximum.reduce([a, a + 1, a[::-1]])",
    "np.add.reduce([m, m.T[:3, :4] if 0 else m])", "np.add.reduce([a])", "np.logical_and.reduce([b, ~b])",
    "np.add.reduce([a, b])", "np.add.reduce([a, a[:2]])", "np.maximum.reduce([])",
    "np.multiply.reduce([m, m], 1)", "np.add.reduce([a[:0], a[:0]])", "np.maximum.reduce([a[0], a[1]])",
    "np.vstack([a, np.stack([a, a])])", "np.vstack([m, m[0]])", "np.vstack([m, a])",
    "np.vstack([a[0], a[1]])", "np.vstack([m, m[0], np.stack([m, m])])",
    "np.vstack([a[:0], np.zeros((0, 0))])", "np.vstack((b, np.stack([a, a])))", "np.hstack([m, m[0]])",
    "np.hstack([a, a[0]])", "np.repeat(a, n)", "np.repeat(m, n[:3], axis=0)", "np.repeat(m, [1, 0, 2], 0)",
    "np.repeat(m, n[:12])", "np.repeat(a, n - 5)", "np.repeat(a, n * 1.0)", "np.repeat(a, n[:3])",
    "np.repeat(m, n[:1], 1)", "np.pad(m, 1)", "np.pad(m, 1, mode='edge')",
    "np.pad(m, ((1, 0), (0, 2)), constant_values=3)", "np.pad(b, 2, mode='reflect')", "np.pad(a, -1)",
    "np.pad(a, 1, mode='no')", "np.split(a, 4)", "np.split(a, 5)", "np.array_split(a, 5)",
    "np.array_split(m, [1], axis=1)", "np.array_split(a, 0)", "np.append(a, 3)", "np.append(m, a)",
    "np.append(m, m, axis=0)", "np.append(a, [[1]], axis=0)", "np.triu(m)", "np.tril(m, 1)", "np.kron(m, m)",
    "np.kron(a, 2.5)", "np.meshgrid(a, a[:3])", "np.meshgrid(a, m, indexing='ij')", "np.isclose(a, a + 1e-9)",
    "np.isclose(x, x, equal_nan=True)", "np.isclose(x, x)", "np.isclose(x, 1)", "np.allclose(a, a + 1e-9)",
    "np.allclose(x, x)", "np.ptp(a)", "np.ptp(m, axis=0)", "np.ptp(b)", "np.linspace(0, 1, 5)",
    "np.linspace(a[0], a[1], 4, endpoint=False)", "np.linspace(m[0], 1, 3)", "np.linspace(0, 1, -1)",
    "np.lib.stride_tricks.sliding_window_view(a, 3)", "np.lib.stride_tricks.sliding_window_view(m, (2, 2))",
    "np.lib.stride_tricks.sliding_window_view(a, 99)", "np.cumsum(a)", "np.cumprod(m, axis=0)", "a.cumsum()",
    "a.dot(a)", "m.dot(m.T)", "np.atleast_1d(np.float64(2))", "np.atleast_1d(2)", "np.atleast_1d(2.5, a)",
    "np.atleast_2d(2.5)", "np.array(5.0)", "np.array(5)", "np.array(-0.0)", "np.array(1 << 60)",
    "np.array(1 << 70)", "np.array(5.5, dtype=int)", "np.array(5, dtype='f4')", "np.array(np.float64(5))",
    "np.array(np.int64(5), dtype='i1')", "np.array(np.float64(1e300), dtype='f4')", "np.array(True)",
    "np.array([np.int64(3), 2.5])", "np.array([1, np.float64(2)], dtype='f4')", "np.array([1 << 60, 1])",
    "np.array([1, True])", "np.arange(np.float64(0.5), 3, 0.25)", "np.arange(np.float64(3))",
    "np.arange(np.int64(3))", "np.arange(np.int64(1), 9, np.int64(2))",
    "np.arange(np.int64(1), np.float64(3))", "np.arange(np.float64('nan'))", "np.arange(np.float64(-0.0), 2)",
    "np.arange(np.int64(-1))", "np.apply_along_axis(np.bincount, 1, n.reshape(2, 6), minlength=9)",
    "np.apply_along_axis(np.sum, 0, m)", "np.apply_along_axis(np.cumsum, 1, m)",
    "np.apply_along_axis(lambda r: r * 2, 1, m)", "np.apply_over_axes(np.sum, m, [0])",
]  # fmt: skip


@pytest.mark.parametrize("text", FUNCTIONS)
def test_functions_on_few_elements(text):
    def run(np):
        space = {
            "np": np, "a": np.arange(12) % 5 * 1.5, "m": grid(np, "int64"), "b": np.arange(12) % 3 == 0,
            "n": np.arange(12) % 4, "x": np.array([1.0, numpy.nan, numpy.inf, -numpy.inf, -0.0]),
        }  # fmt: skip
        for value in space.values():
            if isinstance(value, np.ndarray):
                value.sum()
        return eval(text, space)

    check(run)
    check(run)


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=30),
    st.sampled_from(["?", "int8", "uint16", "int64", "float32", "float64", "complex128"]),
)
def test_repeated_by_counts(counts, dtype):
    values = numpy.arange(len(counts)).astype(dtype)
    theirs = numpy.repeat(values, counts)
    for many in (1, 200):
        ours = numelt.repeat(numelt.array(numpy.tile(values, many)), numelt.array(counts * many))
        assert_same(ours, numpy.tile(theirs, many))


# ---- what is not native -----------------------------------------------------------------------------------

OBJECTS = [
    "o + D", "D + o", "o * D", "o - F", "F / o", "o == D", "o < D", "t - delta", "t == day", "t > day",
    "day < t", "np.cumsum(o)", "np.cumprod(o)", "o.cumsum()", "o.dot(o)", "np.dot(o, o)",
    "np.add.accumulate(o)", "o.sum()", "o.max()", "-o", "abs(o)", "np.where(o > 0, o, D)",
    "np.concatenate([d, d])", "np.where(b, d, d[::-1])", "np.stack([s, s])", "np.vstack([d, d])", "d.max()",
    "d.min()", "d.astype(int)", "d.astype('M8[M]')", "d.astype(int, copy=False)",
    "d.astype('M8[D]', copy=False) is d", "d.view('i8')", "d.astype('f8', casting='safe')", "d.astype('no')",
    "d > np.datetime64('2024-01-02')", "np.datetime64('2024-01-02') > d", "d - np.timedelta64(1, 'D')",
    "np.timedelta64(1, 'D') + d", "d.argsort()", "np.sort(d)", "np.argsort(d)", "np.unique(s)",
    "np.searchsorted(d, d)", "d.reshape(2, 2)", "d.ravel()", "d.T", "d[1:]", "d[np.int64(1)]", "s[::-1]",
    "s == 'b'", "s.astype('U1')", "[x for x in d]", "[x for x in s.reshape(2, 2)]", "[x for x in o]",
    "list(d[:0])", "np.array([D, F], dtype=object)", "i4.astype('>i4')", "i4.astype('>i4').view(np.uint8)",
    "i4.astype('S2')", "np.isclose(o.astype(float), 1)", "np.ptp(o)", "np.append(s, 'x')", "np.split(d, 2)",
    "np.pad(o, 1)", "np.triu(o.reshape(2, 2))", "np.linspace(o[0], 4, 3)", "np.append(d, d)", "np.diff(d)",
    "np.flatnonzero(s == 'b')", "np.repeat(s, 2)", "np.repeat(s, [1, 2, 0, 1])",
    "np.roll(s, (1,), axis=(0,))", "np.lib.stride_tricks.sliding_window_view(s, 2)", "d + s", "s - s",
    "o + 'x'", "d.sum()", "s.max()",
]  # fmt: skip


@pytest.mark.parametrize("text", OBJECTS)
def test_objects_text_and_dates(text):
    def run(np):
        number = fractions.Fraction if "F" in text else decimal.Decimal
        space = {
            "np": np, "D": decimal.Decimal("0.1"), "F": fractions.Fraction(1, 3),
            "day": datetime.date(2024, 1, 2), "delta": datetime.timedelta(1),
            "b": np.array([True, False, True, False]),
            "o": np.array([number(n) for n in (3, -1, 4, 2)], object),
            "t": np.array([datetime.date(2024, 1, n) for n in (1, 2, 3, 9)], object),
            "d": np.array(["2024-01-03", "2024-01-01", "NaT", "2023-05-05"], "M8[D]"),
            "s": np.array(["b", "", "äb", "b"]), "i4": np.array([1, -2, 3], "i4"),
        }  # fmt: skip
        made = eval(text, space)
        return made if isinstance(made, (numpy.ndarray, numelt.ndarray, list, bool)) else repr(made)

    (ours, _), (theirs, _) = outcome(run, numelt), outcome(run, numpy)
    if isinstance(theirs, list):
        theirs, ours = numpy.array(theirs, object), numpy.array(ours, object)
    if isinstance(theirs, numpy.ndarray) and theirs.dtype != object:
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        assert ours.tobytes() == theirs.tobytes()
    elif isinstance(theirs, numpy.ndarray):
        assert repr(ours.tolist()) == repr(theirs.tolist())
    else:
        assert ours == theirs


def test_decimals_stay_the_very_objects():
    thing = decimal.Decimal("1.5")
    o = numelt.array([thing, thing])
    assert o[0] is thing
    made = numelt.array([thing] * 3000, dtype=object)
    assert made[2999] is thing
    assert numelt.where(numelt.array([True]), thing, o[:1])[0] is thing


def test_vectorized_functions():
    def run(np):
        step = np.vectorize(lambda k, by=1: k // 2 if k % 2 == 0 else 3 * k + by)
        n = np.arange(6)
        made = [step(n), step(n, 2), step(n, by=n), step(3), step(n.reshape(2, 3)[:, ::-1]), step([1, 2])]
        made.append(np.vectorize(str)(n))
        made.append(np.vectorize(lambda x: x * 2, otypes=[float])(np.arange(0)))
        made.append(np.vectorize(lambda r: r.sum(), signature="(n)->()")(n.reshape(2, 3)))
        made += list(np.vectorize(lambda x: (x, -x))(n))
        made.append(np.vectorize(lambda x, p: x + p[0], excluded=["p"])(n, p=[3]))

        @np.vectorize
        def twice(x):
            return 2 * x

        made.append(twice(n))
        return made

    check(run)
    assert type(numelt.vectorize(abs)(numelt.arange(2))) is numelt.ndarray
    with pytest.raises(ValueError, match="size 0"):
        numelt.vectorize(abs)(numelt.arange(0))


class Half(numpy.vectorize):
    """A class of the user's over it."""

    def __call__(self, *args):
        return super().__call__(*args) / 2


def test_classes_over_vectorize():
    half = type(
        "Half",
        (numelt.vectorize,),
        dict(vars(Half)) | {"__call__": lambda s, x: numelt.vectorize.__call__(s, x) / 2},
    )
    assert_same(half(abs)(numelt.arange(3)), Half(abs)(numpy.arange(3)))


def test_the_interface_of_text_without_letters():
    for dtype in ("S", "U"):
        theirs = numpy.ndarray((0,), dtype, numpy.empty(3, numpy.uint8)[:-1])
        ours = numelt.ndarray((0,), dtype, numelt.empty(3, numelt.uint8)[:-1])
        assert ours.dtype == theirs.dtype == numpy.dtype(dtype)
        assert ours.__array_interface__["typestr"] == theirs.__array_interface__["typestr"]
