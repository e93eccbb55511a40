"""Statistics: means, variances, ranges, covariances. Sums, extremes and running sums are compiled."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy

from numelt import _core
from numelt._dispatch import fallback
from numelt._dispatch.composed import composed, rebound
from numelt._dispatch.native import (
    NO_VALUE,
    fall_back,
    given,
    native,
    ndarray,
    normalize_axes,
    operand,
    recordable,
)
from numelt._ufunc.reductions import keeps_axes

__all__ = [
    "average", "corrcoef", "cov", "cumulative_prod", "cumulative_sum", "mean", "ptp", "std", "var",
]  # fmt: skip

# the module with NumPy's mean, variance and standard deviation, which are written in Python
_methods: Any = importlib.import_module("numpy._core._methods")


def _range(array: Any, axis: Any, keepdims: bool, out: Any) -> Any:
    high = _core.reduce("max", array, axis, keepdims)
    if high is NotImplemented or (out is not None and out.shape != high.shape):
        return NotImplemented
    # In NumPy, the output holds the largest elements before the smallest are looked for: this matters if the
    # output has another dtype, or is a part of the operand.
    if out is not None and out.dtype != array.dtype:
        high = high.astype(out.dtype)
    elif out is not None:
        high = _core.elementwise("positive", (high,), out)
    low = _core.reduce("min", array, axis, keepdims)
    return NotImplemented if low is NotImplemented else _core.elementwise("subtract", (high, low), out)


@native
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO_VALUE) -> Any:
    """Range of the elements over axes: the largest minus the smallest.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.ptp([1.0, 4.0]))
    3.0
    """
    array = operand(a)
    if array is not None and array.dtype.kind in "iuf" and (out is None or type(out) is ndarray):
        result = _core.composing(_range, (array, axis, keeps_axes(keepdims), out))
        if result is not NotImplemented:
            return result
    return fall_back("ptp", a, axis, out, keepdims=keepdims)


def _recordable(a: Any, out: Any, where: Any, mean: Any = NO_VALUE) -> Any:
    """Return the array if NumPy's own steps can be recorded on these arguments, else None."""
    array = recordable(a)
    if array is None or not (out is None or type(out) is ndarray):
        return None
    plain_mask = where is NO_VALUE or type(where) is bool or type(where) is ndarray
    plain_mean = mean is NO_VALUE or (type(mean) is ndarray and array.dtype.kind != "c")
    return array if plain_mask and plain_mean else None


@native
def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    *,
    where: Any = NO_VALUE,
) -> Any:
    """Arithmetic mean over axes; integers are averaged in float64.

    Examples
    --------
    >>> import numelt as np
    >>> np.mean([[1, 2], [3, 4]], axis=1)
    array([1.5, 3.5])
    """
    if out is None and (where is NO_VALUE or where is True):
        array = operand(a)
        if array is not None:
            result = _core.mean(array, axis, keeps_axes(keepdims), dtype)
            if result is not NotImplemented:
                return result
    array = _recordable(a, out, where)
    # NumPy's warning about an empty mean has a line that depends on its calls
    if array is not None and array.size:
        mask = where is NO_VALUE or where
        # NumPy converts the result to half precision by its scalar class, which returns NumPy's array
        return fallback.wrap(
            rebound(_methods._mean)(array, axis, dtype, out, keeps_axes(keepdims), where=mask)
        )
    return fall_back("mean", a, axis, dtype, out, keepdims=keepdims, where=where)


def _is_enough(array: Any, axis: Any, ddof: Any) -> bool:
    """Return whether there are enough elements for a variance; if not, NumPy warns, at its own line."""
    if type(ddof) not in (int, float):
        return True
    axes = range(array.ndim) if axis is None else normalize_axes(axis, array.ndim, allow_duplicate=True)
    return bool(ddof < math.prod(array.shape[at] for at in axes))


def _spread(
    name: str,
    leave: Callable[..., Any],
    a: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    ddof: Any,
    keepdims: Any,
    where: Any,
    mean: Any,
) -> Any:
    """Return the variance or the standard deviation; `leave` is called if NumPy has to run the call."""
    plain = dtype is None and out is None and (where is NO_VALUE or where is True) and mean is NO_VALUE
    if plain and type(ddof) in (int, float):
        array = operand(a)
        if array is not None:
            result = _core.variance(array, axis, ddof, keeps_axes(keepdims), name == "std")
            if result is not NotImplemented:
                return result
    array = _recordable(a, out, where, mean)
    if array is None or not _is_enough(array, axis, ddof):
        return leave(name, a, axis, dtype, out, ddof, keepdims=keepdims, where=where, mean=mean)
    mask, center = where is NO_VALUE or where, None if mean is NO_VALUE else mean
    steps = rebound(_methods._var if name == "var" else _methods._std)
    return steps(array, axis, dtype, out, ddof, keeps_axes(keepdims), where=mask, mean=center)


def spread_method(name: str) -> Callable[..., Any]:
    """Return the method `var` or `std` of arrays, which falls back to NumPy's method."""

    def leave(name: str, *args: Any, **kwargs: Any) -> Any:
        return fallback.call(name, getattr(numpy.ndarray, name), args, given(**kwargs))

    def method(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: Any = NO_VALUE,
        *,
        where: Any = NO_VALUE,
        mean: Any = NO_VALUE,
    ) -> Any:
        return _spread(name, leave, a, axis, dtype, out, ddof, keepdims, where, mean)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = getattr(numpy.ndarray, name).__doc__
    return method


def _freedom(ddof: Any, correction: Any) -> Any:
    """Return what is subtracted from the count, by either of its names."""
    if correction is NO_VALUE:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


@native
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NO_VALUE,
    *,
    where: Any = NO_VALUE,
    mean: Any = NO_VALUE,
    correction: Any = NO_VALUE,
) -> Any:
    """Variance over axes: the mean squared deviation, with ``n - ddof`` as the divisor.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.var([1.0, 2.0, 3.0, 4.0]))
    1.25
    """
    ddof = _freedom(ddof, correction)
    return _spread("var", fall_back, a, axis, dtype, out, ddof, keepdims, where, mean)


@native
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NO_VALUE,
    *,
    where: Any = NO_VALUE,
    mean: Any = NO_VALUE,
    correction: Any = NO_VALUE,
) -> Any:
    """Standard deviation over axes: the square root of the variance.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.std([1.0, 3.0]))
    1.0
    """
    ddof = _freedom(ddof, correction)
    return _spread("std", fall_back, a, axis, dtype, out, ddof, keepdims, where, mean)


@native
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = NO_VALUE
) -> Any:
    """Weighted mean over axes.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.average([1.0, 2.0], weights=[3, 1]))
    1.25
    """
    array = operand(a)
    if array is not None and axis is not None:
        axis = normalize_axes(axis, array.ndim, "axis")
    # the average of no elements divides by their number
    if array is not None and weights is None and not returned and array.size:
        return mean(array, axis, keepdims=keepdims)
    if recordable(a) is not None and (weights is None or recordable(weights) is not None):
        return rebound(numpy.average)(a, axis, weights, returned, keepdims=keepdims)
    return fall_back("average", a, axis, weights, returned, keepdims=keepdims)


@composed
def cov(
    m: Any,
    y: Any = None,
    rowvar: Any = True,
    bias: Any = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """Covariance matrix of the rows (or columns).

    Examples
    --------
    >>> import numelt as np
    >>> float(np.cov([1.0, 2.0, 3.0]))
    1.0
    """


@composed
def corrcoef(x: Any, y: Any = None, rowvar: Any = True, *, dtype: Any = None) -> Any:
    """Correlation coefficients of the rows (or columns).

    Examples
    --------
    >>> import numelt as np
    >>> np.corrcoef([1.0, 2.0], [2.0, 1.0])
    array([[ 1., -1.],
           [-1.,  1.]])
    """


@composed
def cumulative_sum(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: Any = False
) -> Any:
    """Running sum along an axis, optionally from zero.

    Examples
    --------
    >>> import numelt as np
    >>> np.cumulative_sum([1, 2, 3], include_initial=True)
    array([0, 1, 3, 6])
    """


@composed
def cumulative_prod(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: Any = False
) -> Any:
    """Running product along an axis, optionally from one.

    Examples
    --------
    >>> import numelt as np
    >>> np.cumulative_prod([1, 2, 3])
    array([1, 2, 6])
    """
