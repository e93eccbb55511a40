"""Logic functions: comparing arrays as a whole and element by element with a tolerance."""

from __future__ import annotations

from typing import Any, cast

import numpy

from numelt import _core
from numelt._dispatch.composed import composed
from numelt._dispatch.native import (
    fall_back,
    native,
    ndarray,
    operand,
    recordable,
)

__all__ = [
    "allclose", "array_equal", "array_equiv", "isclose", "iscomplex", "iscomplexobj", "isneginf", "isposinf",
    "isreal", "isrealobj", "isscalar",
]  # fmt: skip


def _close(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool) -> Any:
    """Compare natively: numeric operands, one of them an array, and tolerances that are plain numbers."""
    x, y = recordable(a), recordable(b)
    if x is None or y is None or type(rtol) not in (int, float) or type(atol) not in (int, float):
        return NotImplemented
    if x.dtype.kind not in "biuf" or y.dtype.kind not in "biuf" or x.ndim + y.ndim == 0:
        return NotImplemented
    if y.dtype.kind != "f":
        y = y.astype(numpy.result_type(y.dtype, 1.0))
    elif type(b) is float:
        y = b  # a Python float has the precision of the array
    apply = _core.elementwise
    difference = apply("absolute", (apply("subtract", (x, y)),))
    size = apply("absolute", (y,)) if type(y) is not float else abs(y)
    if type(size) is float:
        bound: Any = atol + rtol * size  # still a Python float, which adapts
    else:
        bound = apply("add", (atol, apply("multiply", (rtol, size))))
    near = apply("logical_and", (apply("less_equal", (difference, bound)), apply("isfinite", (y,))))
    result = apply("logical_or", (near, apply("equal", (x, y))))
    if equal_nan:
        result = apply(
            "logical_or", (result, apply("logical_and", (apply("isnan", (x,)), apply("isnan", (y,)))))
        )
    return result


# types of numbers that NumPy compares faster than the comparison could be recorded
_NUMBERS = frozenset({bool, int, float, complex, numpy.float64, numpy.float32, numpy.int64, numpy.complex128})


def _are_numbers(*values: Any) -> bool:
    return all(type(value) in _NUMBERS for value in values)


@native
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Tell where ``abs(a - b) <= atol + rtol * abs(b)``.

    Examples
    --------
    >>> import numelt as np
    >>> np.isclose(np.array([1.0, 2.0]), np.array([1.0, 2.1]))
    array([ True, False])
    """
    if _are_numbers(a, b, rtol, atol):
        return numpy.isclose(a, b, rtol, atol, equal_nan)
    with numpy.errstate(invalid="ignore"):
        result = _close(a, b, rtol, atol, equal_nan)
    if result is NotImplemented:
        return fall_back("isclose", a, b, rtol, atol, equal_nan)
    return result[()] if type(result) is ndarray else result


@native
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> bool:
    """Tell whether all elements agree within a tolerance.

    Examples
    --------
    >>> import numelt as np
    >>> np.allclose(np.ones(3), 1.0 + 1e-9)
    True
    """
    if _are_numbers(a, b, rtol, atol):
        return numpy.allclose(a, b, rtol, atol, equal_nan)
    with numpy.errstate(invalid="ignore"):
        result = _close(a, b, rtol, atol, equal_nan)
        if result is NotImplemented:
            return cast(bool, fall_back("allclose", a, b, rtol, atol, equal_nan))
        return bool(_core.reduce("all", result))


@native
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Tell whether two arrays have the same shape and elements.

    Examples
    --------
    >>> import numelt as np
    >>> np.array_equal([1, 2], np.array([1, 2]))
    True
    """
    if not equal_nan:
        answer = _core.arrays_equal(a1, a2)
        if answer is not NotImplemented:
            return cast(bool, answer)
    x, y = recordable(a1), recordable(a2)
    if x is not None and y is not None:
        if x.shape != y.shape:
            return False
        same = _core.elementwise("equal", (x, y))
        if equal_nan and same is not NotImplemented:
            both = _core.elementwise(
                "logical_and", (_core.elementwise("isnan", (x,)), _core.elementwise("isnan", (y,)))
            )
            same = _core.elementwise("logical_or", (same, both))
        if same is not NotImplemented:
            return bool(_core.reduce("all", same))
    return cast(bool, fall_back("array_equal", a1, a2, equal_nan))


@native
def array_equiv(a1: Any, a2: Any) -> Any:
    """Tell whether two arrays are equal after broadcasting.

    Examples
    --------
    >>> import numelt as np
    >>> np.array_equiv([1, 1], np.array([[1, 1], [1, 1]]))
    True
    """
    x, y = recordable(a1), recordable(a2)
    if x is not None and y is not None:
        try:
            numpy.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            return False
        same = _core.elementwise("equal", (x, y))
        if same is not NotImplemented:
            return bool(_core.reduce("all", same))
    return fall_back("array_equiv", a1, a2)


def _dtype_of(value: Any) -> Any:
    array = operand(value)
    return None if array is None else array.dtype


@native
def iscomplexobj(x: Any) -> bool:
    """Tell whether the argument has a complex dtype.

    Examples
    --------
    >>> import numelt as np
    >>> np.iscomplexobj(np.zeros(2))
    False
    """
    dtype = _dtype_of(x)
    return cast(bool, fall_back("iscomplexobj", x)) if dtype is None else dtype.kind == "c"


@native
def isrealobj(x: Any) -> bool:
    """Tell whether the argument has no complex dtype.

    Examples
    --------
    >>> import numelt as np
    >>> np.isrealobj(np.zeros(2))
    True
    """
    dtype = _dtype_of(x)
    return cast(bool, fall_back("isrealobj", x)) if dtype is None else dtype.kind != "c"


@native
def isscalar(element: Any) -> bool:
    """Tell whether the argument is a scalar rather than an array.

    Examples
    --------
    >>> import numelt as np
    >>> np.isscalar(np.sum([1.0, 2.0])), np.isscalar(np.ones(1))
    (True, False)
    """
    return bool(numpy.isscalar(element))


@composed
def iscomplex(x: Any) -> Any:
    """Tell where the imaginary part is not zero.

    Examples
    --------
    >>> import numelt as np
    >>> np.iscomplex([1 + 1j, 1 + 0j])
    array([ True, False])
    """


@composed
def isreal(x: Any) -> Any:
    """Tell where the imaginary part is zero.

    Examples
    --------
    >>> import numelt as np
    >>> np.isreal([1 + 1j, 1 + 0j])
    array([False,  True])
    """


@composed
def isneginf(x: Any, out: Any = None) -> Any:
    """Tell where the value is minus infinity.

    Examples
    --------
    >>> import numelt as np
    >>> np.isneginf([-np.inf, np.inf])
    array([ True, False])
    """


@composed
def isposinf(x: Any, out: Any = None) -> Any:
    """Tell where the value is plus infinity.

    Examples
    --------
    >>> import numelt as np
    >>> np.isposinf([-np.inf, np.inf])
    array([False,  True])
    """
