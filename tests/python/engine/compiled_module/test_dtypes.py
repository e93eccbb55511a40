"""Result dtypes and values of every operation against NumPy, over all pairs of dtypes."""

import operator

import numpy as np
import pytest

from numelt import _core

from .helpers import DTYPES, ours, real, same, sample

BINARY = {
    "add": 0, "subtract": 0, "multiply": 0, "divide": 0, "floor_divide": 0, "remainder": 0, "fmod": 0,
    "power": 2, "maximum": 0, "minimum": 0, "fmax": 0, "fmin": 0, "copysign": 0, "arctan2": 2, "hypot": 2,
    "equal": 0, "not_equal": 0, "less": 0, "less_equal": 0, "greater": 0, "greater_equal": 0,
    "logical_and": 0, "logical_or": 0, "logical_xor": 0, "bitwise_and": 0, "bitwise_or": 0, "bitwise_xor":
    0, "left_shift": 0, "right_shift": 0,
}  # fmt: skip
UNARY = {
    "negative": 0, "positive": 0, "absolute": 1, "sign": 0, "square": 0, "reciprocal": 1, "sqrt": 4,
    "cbrt": 2, "exp": 4, "exp2": 2, "expm1": 2, "log": 4, "log2": 4, "log10": 4, "log1p": 2, "sin": 4,
    "cos": 4, "tan": 4, "arctan": 2, "sinh": 4, "cosh": 4, "tanh": 4, "arcsinh": 2, "floor": 0, "ceil": 0,
    "trunc": 0, "rint": 0, "logical_not": 0, "invert": 0, "isnan": 0, "isinf": 0, "isfinite": 0,
    "signbit": 0, "conjugate": 0,
}  # fmt: skip
WEAK = [True, 3, 2.5, 1j, -1, 300, 2**40, 2**63, 2**70]


def outcome(function, *args):
    try:
        return function(*args), None
    except Exception as error:
        return None, error


def check(ours_result, numpy_result, ulp):
    (got, got_error), (want, want_error) = ours_result, numpy_result
    if want_error is not None:
        assert got_error is not None, f"numpy raised {want_error!r}, we gave {got!r}"
        assert type(got_error) is type(want_error)
        assert str(got_error) == str(want_error)
        return
    assert got_error is None, repr(got_error)
    same(real(got), want, ulp)


@pytest.mark.parametrize("name", BINARY)
def test_binary_dtypes(name):
    ufunc = _core.ufunc(getattr(np, name), name)
    original = getattr(np, name)
    for left in DTYPES:
        a = sample(left, (3, 4), 1)
        for right in DTYPES:
            b = sample(right, (3, 4), 2)
            complex_pair = {"c8", "c16"} & {left, right}
            ulp = 8 if complex_pair and name in ("divide", "power", "multiply") else BINARY[name]
            check(outcome(ufunc, ours(a), ours(b)), outcome(original, a, b), ulp)


@pytest.mark.parametrize("name", BINARY)
def test_python_numbers(name):
    ufunc = _core.ufunc(getattr(np, name), name)
    original = getattr(np, name)
    for dtype in DTYPES:
        a = sample(dtype, (5,), 3)
        for number in WEAK:
            if name in ("left_shift", "right_shift") and abs(number) > 60:
                continue
            inexact = dtype in ("c8", "c16") or isinstance(number, complex)
            ulp = 8 if inexact and name in ("divide", "power", "multiply") else max(BINARY[name], 0)
            check(outcome(ufunc, ours(a), number), outcome(original, a, number), ulp)
            check(outcome(ufunc, number, ours(a)), outcome(original, number, a), ulp)


@pytest.mark.parametrize("name", UNARY)
def test_unary_dtypes(name):
    ufunc = _core.ufunc(getattr(np, name), name)
    original = getattr(np, name)
    for dtype in DTYPES:
        a = sample(dtype, (3, 4), 4)
        # NumPy's complex loops are contracted to fused multiply-adds on some machines
        ulp = 8 if dtype in ("c8", "c16") else UNARY[name]
        check(outcome(ufunc, ours(a)), outcome(original, a), ulp)


OPERATORS = [
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift", "rshift",
    "eq", "ne", "lt", "le", "gt", "ge",
]  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name):
    function = getattr(operator, name)
    for dtype in DTYPES:
        a = sample(dtype, (2, 3), 5)
        ulp = 8 if dtype in ("c8", "c16") or name == "pow" else 0
        for other in (
            sample(dtype, (2, 3), 6),
            2,
            2.0,
            0.5,
            -1,
            None,
            "text",
            [1, 2, 3],
            np.float32(2),
            np.int64(3),
        ):
            if name in ("lshift", "rshift") and isinstance(other, int) and other < 0:
                continue
            wrapped = ours(other) if isinstance(other, np.ndarray) else other
            check(outcome(function, ours(a), wrapped), outcome(function, a, other), ulp)
            check(outcome(function, wrapped, ours(a)), outcome(function, other, a), ulp)


@pytest.mark.parametrize(
    "name", ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand", "ior", "ixor"]
)
def test_in_place(name):
    function = getattr(operator, name)
    for left in DTYPES:
        for other in ("bool", "i4", "u8", "f4", "f8", "c16", 2, 2.5, -1):
            want = sample(left, (2, 3), 7)
            got = ours(want)
            b = sample(other, (3,), 8) if isinstance(other, str) else other
            wrapped = ours(b) if isinstance(b, np.ndarray) else b
            expected = outcome(function, want, b)
            result = outcome(function, got, wrapped)
            complex_pair = "c8" in (left, other) or "c16" in (left, other)
            check(result, expected, 8 if complex_pair or name == "ipow" else 0)
            if expected[1] is None:
                assert result[0] is got


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, -2, 0.0, 0.5, 1.0, 2.0, -1.0, 1.5, True])
def test_powers_of_special_values(exponent):
    a = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.0, 0.5])
    for dtype in ("f4", "f8"):
        got, want = real(ours(a.astype(dtype)) ** exponent), a.astype(dtype) ** exponent
        same(got, want, 2)
        np.testing.assert_array_equal(np.signbit(got[~np.isnan(got)]), np.signbit(want[~np.isnan(want)]))


def test_mixed_signs_compare_exactly():
    a = np.array([2**63, 2**63 + 1, 5], np.uint64)
    b = np.array([-1, 2**62, 5], np.int64)
    same(real(ours(a) > ours(b)), a > b)
    same(real(ours(a) == ours(b)), a == b)
