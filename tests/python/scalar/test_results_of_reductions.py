"""Deferred scalars behave like the NumPy scalars that they become."""

import collections.abc
import json
import math
import operator
import pickle
import sqlite3
import statistics
import struct
import threading
import warnings

import numpy as np
import pytest

import numelt
from numelt import _core

from ..engine.compiled_module.helpers import ours, real

pytestmark = pytest.mark.quick


def test_reductions_give_numpys_scalars_on_every_line(recorded):
    x = ours(np.arange(10.0))
    for _ in range(10):
        assert type(x.sum()) is np.float64
        assert type(x.mean()) is np.float64
        assert type((x > 3).any()) is np.bool
        assert type(x.argmax()) is np.int64
        assert type(x.astype("f4").max()) is np.float32
    assert issubclass(type(x.sum()), float)


def test_in_a_lazy_block_they_are_arrays_without_axes(recorded):
    x = ours(np.arange(10.0))
    with numelt.lazy():
        total = x.sum()
        mean = total / 10
        with numelt.lazy():
            pass
        largest = x.max()
    assert {type(total), type(mean), type(largest)} == {numelt.ndarray}
    assert _core.pending() > 0
    assert mean > 4
    assert _core.pending() == 0
    assert type(mean / 2) is np.float64
    assert (total.shape, float(total), float(largest)) == ((), 45, 9)


def test_lazy_blocks_concern_their_own_thread():
    x = ours(np.arange(10.0))
    found = []
    with numelt.lazy():
        thread = threading.Thread(target=lambda: found.append(type(x.sum())))
        thread.start()
        thread.join()
    assert found == [np.float64]


def test_looks_like_the_numpy_scalar():
    x = ours(np.arange(10.0)).sum()
    want = np.float64(45)
    assert isinstance(x, float)
    assert isinstance(x, np.floating)
    assert x.__class__ is np.float64
    assert repr(x) == repr(want)
    assert str(x) == str(want)
    assert f"{x:.3f}" == "45.000"
    assert f"{x!r:>20}" == f"{want!r:>20}"
    assert "%6.2f" % x == " 45.00"  # noqa: UP031 - the operator is what is tested
    assert hash(x) == hash(want)
    assert x == 45
    assert {x: 1}[45.0] == 1
    assert x.dtype == np.float64
    assert x.shape == ()
    assert x.ndim == 0
    assert x.item() == 45
    assert type(x.item()) is float
    assert round(x, 1) == 45
    assert math.sqrt(x) == math.sqrt(45)
    assert math.floor(x) == 45
    assert pickle.loads(pickle.dumps(x)) == 45
    assert type(pickle.loads(pickle.dumps(x))) is np.float64
    assert json.dumps(float(x)) == "45.0"
    assert np.asarray(x).shape == ()
    assert type(x) is np.float64
    assert x.as_integer_ratio() == (45, 1)
    assert sorted([x, 3.0, 50]) == [3.0, 45, 50]
    assert max(x, 3) == 45
    assert bool(x)


def test_integers_index():
    n = ours(np.arange(4)).sum()
    assert isinstance(n, np.integer)
    assert list(range(n)) == list(range(6))
    assert [10, 11, 12, 13, 14, 15, 16][n] == 16
    assert ours(np.arange(10))[n] == 6
    assert int(n) == 6
    with pytest.raises(TypeError, match=r"'numpy.float64' object cannot be interpreted as an integer"):
        range(ours(np.ones(2)).sum())


def test_arithmetic_dtypes():
    x32, x64, n = ours(np.ones(3, "f4")).sum(), ours(np.ones(3)).sum(), ours(np.ones(3, int)).sum()
    cases = [
        (x32 + 1, np.float32(3) + 1),
        (x32 + 1.5, np.float32(3) + 1.5),
        (x32 + x64, np.float32(3) + np.float64(3)),
        (n + 1, np.int64(3) + 1),
        (n / 2, np.int64(3) / 2),
        (2**n, 2 ** np.int64(3)),
        (n // 2, np.int64(3) // 2),
        (-x32, -np.float32(3)),
        (abs(-x64), np.float64(3)),
        (n > 2, np.int64(3) > 2),
        (1 / x64, 1 / np.float64(3)),
        (x64**2, np.float64(9)),
        (divmod(n, 2)[0], np.int64(1)),
        (x64 == None, np.float64(3) == None),  # noqa: E711
        (x64 == "a", np.float64(3) == "a"),
    ]
    for got, want in cases:
        got = real(got)
        assert type(got) is type(want), (got, want)
        assert got == want
    with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
        n**-1
    assert (x64 + ours(np.ones(2))).shape == (2,)
    assert (ours(np.ones(2)) - x64).tolist() == [-2, -2]
    assert np.float64(2) * x64 == 6
    assert (np.arange(2.0) + x64).tolist() == [3, 4]


def test_comparisons_decide():
    x = ours(np.arange(5.0))
    assert x.max() > 3
    assert not x.min() > 3
    assert (x.max() > 3) is not True
    assert isinstance(x.max() > 3, np.bool_)


def test_errors():
    x = ours(np.ones(3)).sum()
    with pytest.raises(TypeError):
        x + "text"
    with pytest.raises(TypeError):
        len(x)
    with pytest.raises(TypeError):
        iter(x)
    with pytest.raises(AttributeError, match=r"'numpy.float64' object has no attribute 'nothing'"):
        x.nothing


@pytest.mark.parametrize("code", "?bBhHiIlLefdFD")
def test_conversions_and_buffers_of_every_dtype(code):
    values = np.array([1, 0], code)
    theirs, found = np.max(values), numelt.max(numelt.array(values))
    assert complex(found) == complex(theirs)
    assert bytes(found) == bytes(theirs)
    assert memoryview(numelt.max(numelt.array(values))).tobytes() == theirs.tobytes()


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "c8", "c16"]
)
def test_class_of_each_dtype(dtype):
    array = np.ones(5, dtype)
    ours_is, theirs_is = type(ours(array).max()), type(array.max())
    assert ours_is == theirs_is
    assert theirs_is == ours_is
    assert ours_is != np.longdouble
    assert {theirs_is: 1}[ours_is] == 1
    assert (ours_is.__name__, ours_is.__module__) == (theirs_is.__name__, theirs_is.__module__)
    assert repr(ours_is) == repr(theirs_is)
    assert ours_is.__doc__ == theirs_is.__doc__
    made = ours_is(1)
    assert type(made) is theirs_is
    assert isinstance(made, ours_is)
    assert issubclass(theirs_is, ours_is)
    assert pickle.loads(pickle.dumps(ours_is)) is theirs_is


OTHERS = {
    "list * s": lambda s: [1, 2] * s,
    "s * tuple": lambda s: s * (1, 2),
    "text * s": lambda s: "ab" * s,
    "bytearray * s": lambda s: bytearray(b"ab") * s,
    "iter": iter,
    "list": list,
    "len": len,
    "item of a list": lambda s: [1, 2, 3, 4, 5, 6][s],
    "slice of a list": lambda s: [1, 2, 3, 4, 5, 6][:s],
    "range": lambda s: list(range(s)),
    "index": operator.index,
    "struct of an integer": lambda s: struct.pack("q", s),
    "struct of a float": lambda s: struct.pack("d", s),
    "json": json.dumps,
    "json, indented": lambda s: json.dumps({"a": [s]}, indent=1),
    "json, key": lambda s: json.dumps({s: 1}, indent=1),
    "statistics": lambda s: statistics.mean([s, s]),
    "attribute": lambda s: setattr(s, "other", 1),
    "power with a modulus": lambda s: pow(s, 2, 7),
    "factorial": math.factorial,
    "gcd": lambda s: math.gcd(s, 4),
    "database": lambda s: sqlite3.connect(":memory:").execute("select ?, typeof(?)", (s, s)).fetchone(),
    "iterable": lambda s: isinstance(s, collections.abc.Iterable),
    "zeros": lambda s: np.zeros(s).shape,
}


@pytest.mark.parametrize("dtype", ["?", "i8", "f4", "f8", "c16"])
@pytest.mark.parametrize("use", OTHERS)
def test_uses_by_the_standard_library(use, dtype):
    array = np.array([2, 0, 1]).astype(dtype)
    results = []
    for x in (ours(array), array):
        try:
            result = OTHERS[use](x.max())
            results.append((type(result), result))
        except Exception as error:
            results.append((type(error), str(error)))
    assert results[0] == results[1]


NUMBERS = [0, 1, -2, 3.5, 0.0, -0.0, 1e300, float("inf"), float("nan"), True, 2**40, 2**70, 1e-320]
OTHERS = [*NUMBERS, np.float64(2.5), np.float32(2.5), np.float64(1e300), np.int8(3)]
OPERATIONS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.lt, operator.ge, operator.eq, operator.ne,
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "complex128"])
@pytest.mark.parametrize("function", OPERATIONS)
def test_operations_with_numbers_scalars_and_arrays(dtype, function):
    def outcome(module, swapped, other):
        a = module.array(np.array([[1.5, -2.0, 3.0]]).astype(dtype))
        first, second = a.sum(), other
        if other == "scalar":
            second = a.max()
        elif other == "array":
            second = a
        elif other == "element":
            second = a[0, 1:2]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = function(second, first) if swapped else function(first, second)
                result = np.asarray(result)
            except (TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
                return type(error)
        # it is not specified which of several NaNs is the result
        value = np.where(result != result, 0, result).tolist()
        return result.dtype, repr(value), sorted(str(w.message) for w in caught)

    for other in [*OTHERS, "scalar", "array", "element"]:
        for swapped in (False, True):
            theirs, mine = outcome(np, swapped, other), outcome(numelt, swapped, other)
            assert mine == theirs, (other, swapped)


def test_scalars_in_place():
    for dtype in ("float64", "float32", "int64"):
        theirs, mine = np.arange(1, 5).astype(dtype), numelt.arange(1, 5).astype(dtype)
        for a in (theirs, mine):
            a *= a.max()
            a -= a.sum()
            a[1:] += a[:2].min()
        assert mine.tolist() == theirs.tolist()
