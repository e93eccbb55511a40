"""Statistics and other reductions: sums, extremes, means, running sums."""

from __future__ import annotations

import importlib
import math
import operator
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
from numelt._ufunc.reductions import dtype_with_out, extreme_of, is_first, reduce

__all__ = [
    "all", "amax", "amin", "any", "average", "corrcoef", "cov", "cumprod", "cumsum", "cumulative_prod",
    "cumulative_sum", "max", "mean", "min", "prod", "ptp", "std", "sum", "var",
]  # fmt: skip

# the module with NumPy's mean, variance and standard deviation, which are written in Python
_methods: Any = importlib.import_module("numpy._core._methods")

# by extreme: the operation that combines two of them
_LARGEST = {"max": "maximum", "min": "minimum"}


def _keep(keepdims: Any) -> bool:
    return keepdims is not NO_VALUE and (
        keepdims if type(keepdims) is bool else bool(operator.index(keepdims))
    )


def _reduce(op: str, a: Any, axis: Any, dtype: Any, out: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    """Reduce natively, or return NotImplemented."""
    plain = out is None and initial is NO_VALUE and (where is NO_VALUE or where is True)
    if plain and op in _LARGEST and is_first(axis) and not _keep(keepdims):
        result = extreme_of(_LARGEST[op], a)
        if result is not NotImplemented:
            return result
    array = operand(a)
    if array is None:
        return NotImplemented
    if plain:
        return _core.reduce(op, array, axis, _keep(keepdims), dtype)
    return reduce(op, array, axis, dtype, out, _keep(keepdims), initial, where)


@native
def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Any:
    """Sum of the elements over axes, in NumPy's pairwise order.

    Examples
    --------
    >>> import numelt as np
    >>> np.sum([[1, 2], [3, 4]], axis=0)
    array([4, 6])
    """
    result = _reduce("sum", a, axis, dtype, out, keepdims, initial, where)
    if result is NotImplemented:
        return fall_back("sum", a, axis, dtype, out, keepdims=keepdims, initial=initial, where=where)
    return result


@native
def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Any:
    """Product of the elements over axes.

    Examples
    --------
    >>> import numelt as np
    >>> int(np.prod([1, 2, 3]))
    6
    """
    result = _reduce("prod", a, axis, dtype, out, keepdims, initial, where)
    if result is NotImplemented:
        return fall_back("prod", a, axis, dtype, out, keepdims=keepdims, initial=initial, where=where)
    return result


def _extreme(op: str, name: str, a: Any, axis: Any, out: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    result = _reduce(op, a, axis, None, out, keepdims, initial, where)
    if result is NotImplemented:
        return fall_back(name, a, axis, out, keepdims=keepdims, initial=initial, where=where)
    return result


@native
def max(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Any:
    """Largest element over axes; a NaN wins.

    Examples
    --------
    >>> import numelt as np
    >>> np.max([[1, 5], [3, 4]], axis=1)
    array([5, 4])
    """
    return _extreme("max", "max", a, axis, out, keepdims, initial, where)


@native
def min(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Any:
    """Smallest element over axes; a NaN wins.

    Examples
    --------
    >>> import numelt as np
    >>> np.min([[1, 5], [3, 4]], axis=1)
    array([1, 3])
    """
    return _extreme("min", "min", a, axis, out, keepdims, initial, where)


@native
def amax(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Any:
    """Largest element over axes; another name of `max`.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.amax([1.0, 2.0]))
    2.0
    """
    return _extreme("max", "amax", a, axis, out, keepdims, initial, where)


@native
def amin(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Any:
    """Smallest element over axes; another name of `min`.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.amin([1.0, 2.0]))
    1.0
    """
    return _extreme("min", "amin", a, axis, out, keepdims, initial, where)


def _range(array: Any, axis: Any, keepdims: bool, out: Any) -> Any:
    high = _core.reduce("max", array, axis, keepdims)
    low = _core.reduce("min", array, axis, keepdims)
    if high is NotImplemented or low is NotImplemented or (out is not None and out.shape != high.shape):
        return NotImplemented
    if out is not None and out.dtype != array.dtype:
        high = high.astype(out.dtype)  # in NumPy, the output holds the largest element before the difference
    return _core.elementwise("subtract", (high, low), out)


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
        result = _core.composing(_range, (array, axis, _keep(keepdims), out))
        if result is not NotImplemented:
            return result
    return fall_back("ptp", a, axis, out, keepdims=keepdims)


@native
def any(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO_VALUE, *, where: Any = NO_VALUE) -> Any:
    """Tell whether any element over axes is true.

    Examples
    --------
    >>> import numelt as np
    >>> bool(np.any([0, 1]))
    True
    """
    result = _reduce("any", a, axis, None, out, keepdims, NO_VALUE, where)
    if result is NotImplemented:
        return fall_back("any", a, axis, out, keepdims=keepdims, where=where)
    return result


@native
def all(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO_VALUE, *, where: Any = NO_VALUE) -> Any:
    """Tell whether all elements over axes are true.

    Examples
    --------
    >>> import numelt as np
    >>> bool(np.all([0, 1]))
    False
    """
    result = _reduce("all", a, axis, None, out, keepdims, NO_VALUE, where)
    if result is NotImplemented:
        return fall_back("all", a, axis, out, keepdims=keepdims, where=where)
    return result


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
            result = _core.mean(array, axis, _keep(keepdims), dtype)
            if result is not NotImplemented:
                return result
    array = _recordable(a, out, where)
    # NumPy warns of an empty mean at a line that depends on its calls
    if array is not None and array.size:
        mask = where is NO_VALUE or where
        # NumPy converts the result to half precision by its scalar class, which returns NumPy's array
        return fallback.wrap(rebound(_methods._mean)(array, axis, dtype, out, _keep(keepdims), where=mask))
    return fall_back("mean", a, axis, dtype, out, keepdims=keepdims, where=where)


def _is_enough(array: Any, axis: Any, ddof: Any) -> bool:
    """Are there elements enough for a variance? If not, NumPy warns of a line that depends on its calls."""
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
    """Return the variance or the standard deviation; `leave` does the calls that have to run in NumPy."""
    plain = dtype is None and out is None and (where is NO_VALUE or where is True) and mean is NO_VALUE
    if plain and type(ddof) in (int, float):
        array = operand(a)
        if array is not None:
            result = _core.variance(array, axis, ddof, _keep(keepdims), name == "std")
            if result is not NotImplemented:
                return result
    array = _recordable(a, out, where, mean)
    if array is None or not _is_enough(array, axis, ddof):
        return leave(name, a, axis, dtype, out, ddof, keepdims=keepdims, where=where, mean=mean)
    mask, center = where is NO_VALUE or where, None if mean is NO_VALUE else mean
    steps = rebound(_methods._var if name == "var" else _methods._std)
    return steps(array, axis, dtype, out, ddof, _keep(keepdims), where=mask, mean=center)


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
    """Return what is taken from the count, by either of its names."""
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
    # an average of nothing divides by its size
    if array is not None and weights is None and not returned and array.size:
        return mean(array, axis, keepdims=keepdims)
    if recordable(a) is not None and (weights is None or recordable(weights) is not None):
        return rebound(numpy.average)(a, axis, weights, returned, keepdims=keepdims)
    return fall_back("average", a, axis, weights, returned, keepdims=keepdims)


def _scan(op: str, name: str, a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    array = operand(a)
    if array is not None and (out is None or type(out) is ndarray):
        flat = array.ravel() if axis is None else array
        if flat.ndim == 0:
            flat = flat.reshape(1)
        wider = NotImplemented if out is None else dtype_with_out(flat, dtype, out)
        dtype = dtype if wider is NotImplemented else wider
        result = _core.scan(op, flat, 0 if axis is None else axis, dtype, out)
        if result is not NotImplemented:
            return result
    return fall_back(name, a, axis, dtype, out)


@native
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running sum along an axis, or over the flattened array.

    Examples
    --------
    >>> import numelt as np
    >>> np.cumsum([1, 2, 3])
    array([1, 3, 6])
    """
    return _scan("cumsum", "cumsum", a, axis, dtype, out)


@native
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running product along an axis, or over the flattened array.

    Examples
    --------
    >>> import numelt as np
    >>> np.cumprod([1, 2, 3])
    array([1, 2, 6])
    """
    return _scan("cumprod", "cumprod", a, axis, dtype, out)


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
