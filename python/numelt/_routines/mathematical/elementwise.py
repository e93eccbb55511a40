"""Mathematical functions that are not ufuncs: rounding, clipping, complex parts."""

from __future__ import annotations

from typing import Any

import numpy

from numelt import _core
from numelt._dispatch import overrides
from numelt._dispatch.composed import rebound
from numelt._dispatch.native import (
    COMPILED,
    NO_VALUE,
    fall_back,
    native,
    ndarray,
    operand,
    recordable,
)

__all__ = ["angle", "around", "clip", "fix", "imag", "real", "round"]

_bounds = (int, float)


def _clip(array: Any, low: Any, high: Any, out: Any, dtype: Any = None) -> Any:
    """Limit natively, in the common dtype of all operands, or in the dtype that was requested."""
    if out is not None and type(out) is not ndarray:
        return NotImplemented
    least, most = (end if end is None or type(end) in _bounds else recordable(end) for end in (low, high))
    if (low is None) != (least is None) or (high is None) != (most is None):
        return NotImplemented
    return _core.clip(array, least, most, out, dtype)


@native
def clip(
    a: Any,
    a_min: Any = NO_VALUE,
    a_max: Any = NO_VALUE,
    out: Any = None,
    *,
    min: Any = NO_VALUE,
    max: Any = NO_VALUE,
    **kwargs: Any,
) -> Any:
    """Limit the elements to an interval.

    Examples
    --------
    >>> import numelt as np
    >>> np.clip(np.arange(5), 1, 3)
    array([1, 1, 2, 3, 3])
    """
    positional = a_min is not NO_VALUE or a_max is not NO_VALUE
    keyword = min is not NO_VALUE or max is not NO_VALUE
    if kwargs.keys() <= {"dtype"} and positional != keyword:
        low, high = (a_min, a_max) if positional else (min, max)
        array = operand(a)
        # positional bounds come in pairs
        if array is not None and (keyword or (low is not NO_VALUE and high is not NO_VALUE)):
            result = _clip(array, _absent(low), _absent(high), out, kwargs.get("dtype"))
            if result is not NotImplemented:
                return result
    return fall_back("clip", a, a_min=a_min, a_max=a_max, out=out, min=min, max=max, **kwargs)


def _absent(bound: Any) -> Any:
    return None if bound is NO_VALUE else bound


def _round(array: Any, decimals: Any, out: Any) -> Any:
    """Scale, round to even, scale back, as NumPy does for real floating-point data."""
    if type(decimals) is not int or (out is not None and type(out) is not ndarray):
        return NotImplemented
    if out is not None and out.shape != array.shape:
        return NotImplemented
    if array.dtype.kind in "iu" and decimals >= 0 and _core.is_native(array):
        if out is array:
            return out
        if out is None:
            return array.copy("K") if array.ndim else array[()]
    if array.dtype.kind == "c" and out is None and _core.is_native(array):
        if array.ndim:
            return _round_parts(array, decimals)
        rounded = _round_parts(array.reshape(1), decimals)
        return rounded if rounded is NotImplemented else rounded[0]
    if array.dtype.kind != "f" or abs(decimals) > 22:
        return NotImplemented
    if decimals == 0:
        return _core.elementwise("rint", (array,), out)
    scale = 10.0 ** abs(decimals)
    first, last = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
    result = _core.elementwise(first, (array, scale))
    if result is NotImplemented:
        return result
    return _core.elementwise(last, (_core.elementwise("rint", (result,)), scale), out)


def _round_parts(array: Any, decimals: int) -> Any:
    """Round real and imaginary parts."""
    result = COMPILED["empty_like"](array)
    for part in ("real", "imag"):
        rounded = _round(getattr(array, part), decimals, None)
        if rounded is NotImplemented:
            return rounded
        setattr(result, part, rounded)
    return result


@native
def round(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    """Round to a number of decimals, halves to even.

    Examples
    --------
    >>> import numelt as np
    >>> np.round([0.5, 1.5, 2.345])
    array([0., 2., 2.])
    """
    array = operand(a)
    result = NotImplemented if array is None else _round(array, decimals, out)
    return fall_back("round", a, decimals, out) if result is NotImplemented else result


@native
def around(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    """Round to a number of decimals; another name of `round`.

    Examples
    --------
    >>> import numelt as np
    >>> np.around(np.array([2.5, 3.5]))
    array([2., 4.])
    """
    if overrides.asked((a, out), {}):
        return fall_back("around", a, decimals, out)
    return round(a, decimals, out)


@native
def fix(x: Any, out: Any = None) -> Any:
    """Round towards zero.

    Examples
    --------
    >>> import numelt as np
    >>> np.fix(np.array([-1.5, 1.5]))
    array([-1.,  1.])
    """
    array = operand(x)
    if array is not None and array.dtype.kind == "f" and (out is None or type(out) is ndarray):
        result = _core.elementwise("trunc", (array,), out)
        if result is not NotImplemented:
            return result
    return fall_back("fix", x, out)


@native
def real(val: Any) -> Any:
    """Return the real part; of an array it is a view.

    Examples
    --------
    >>> import numelt as np
    >>> np.real(np.array([1 + 2j]))
    array([1.])
    """
    if type(val) is not ndarray and overrides.asked((val,), {}):
        return fall_back("real", val)
    try:
        return val.real
    except AttributeError:
        return COMPILED["asanyarray"](val).real


@native
def imag(val: Any) -> Any:
    """Return the imaginary part; of a complex array it is a view.

    Examples
    --------
    >>> import numelt as np
    >>> np.imag(np.array([1 + 2j]))
    array([2.])
    """
    if type(val) is not ndarray and overrides.asked((val,), {}):
        return fall_back("imag", val)
    try:
        return val.imag
    except AttributeError:
        return COMPILED["asanyarray"](val).imag


@native
def angle(z: Any, deg: bool = False) -> Any:
    """Return the angle of complex numbers, in radians or degrees.

    Examples
    --------
    >>> import numelt as np
    >>> np.angle(np.array([1.0, 1.0j]), deg=True)
    array([ 0., 90.])
    """
    array = operand(z)
    if array is not None and array.dtype.kind == "c" and array.ndim:
        result = _core.elementwise("arctan2", (array.imag, array.real))
        if result is not NotImplemented:
            return result * (180 / numpy.pi) if deg else result
    if array is not None and _core.is_native(array):
        return rebound(numpy.angle)(z, deg)
    return fall_back("angle", z, deg)
