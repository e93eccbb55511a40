"""Sorting, searching and counting; sorting itself runs in NumPy."""

from __future__ import annotations

from typing import Any

import numpy

from numelt import _core
from numelt._dispatch import NO_VALUE, fall_back, fronted, native, ndarray, operand, small_first
from numelt._routines.picking import where_alone

__all__ = ["argmax", "argmin", "count_nonzero", "where"]


def _argument(op: str, a: Any, axis: Any, out: Any, keepdims: Any) -> Any:
    array = operand(a)
    if array is not None and out is None:
        keep = keepdims is not NO_VALUE and bool(keepdims)
        result = _core.reduce(op, array, axis, keep)
        if result is not NotImplemented:
            return result
    return fall_back(op, a, axis, out, keepdims=keepdims)


@fronted
def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO_VALUE) -> Any:
    return _argument("argmax", a, axis, out, keepdims)


@fronted
def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO_VALUE) -> Any:
    return _argument("argmin", a, axis, out, keepdims)


@native
@small_first
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Count the elements that are not zero.

    Examples
    --------
    >>> import numelt as np
    >>> int(np.count_nonzero([0, 3, 4]))
    2
    """
    if axis is None and not keepdims:
        count = _core.count_true(a)
        if count is not None:
            return numpy.intp(count)
    array = operand(a)
    if array is not None and array.dtype.kind in "biufc":
        truth = array if array.dtype.kind == "b" else operand(_core.elementwise("not_equal", (array, 0)))
        if truth is not None:
            result = _core.reduce("sum", truth, axis, bool(keepdims), numpy.intp)
            if result is not NotImplemented:
                return result
    return fall_back("count_nonzero", a, axis, keepdims=keepdims)


def _choice(value: Any) -> Any:
    """Python numbers stay themselves, so that they do not widen the other choice."""
    if type(value) in (bool, int, float, complex) or isinstance(value, numpy.generic):
        return value
    return operand(value)


@fronted
def where(*args: Any) -> Any:
    if len(args) == 1:
        return where_alone(args[0])
    if len(args) == 3:
        condition, x, y = operand(args[0]), _choice(args[1]), _choice(args[2])
        if condition is not None and x is not None and y is not None:
            result = _core.elementwise("where", (condition, x, y))
            if result is not NotImplemented:
                # unlike a ufunc, `where` gives an array for scalar operands too
                return result if type(result) is ndarray else _core.asarray(result)
    return fall_back("where", *args)
