"""Array creation routines that are composed of others. The others are compiled (`table.COMPILED`)."""

from __future__ import annotations

from typing import Any

import numpy

from numelt import _core
from numelt._dispatch.composed import rebound, understood
from numelt._dispatch.native import COMPILED, fall_back, native

__all__ = ["identity", "linspace", "tri"]


def _is_huge(value: Any) -> bool:
    """Return whether it is a Python int that no integer dtype holds, so that NumPy makes an object of it."""
    return type(value) is int and not -(1 << 63) <= value < 1 << 64


def _plain_real(value: Any) -> Any:
    """Return a Python int or float for a plain real number, else None."""
    kind = type(value)
    if kind is int or kind is float:
        return value
    if kind is numpy.float64 or kind is numpy.int64:
        return value.item()
    return None


def _difference(high: Any, low: Any) -> float:
    if all(type(value) is float or -(2**63) <= value < 2**63 for value in (high, low)):
        return float(high) - float(low)
    with numpy.errstate(all="ignore"):
        return float(numpy.subtract(high, low, dtype=numpy.float64))


@native
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """Return `num` evenly spaced numbers from `start` to `stop`.

    Examples
    --------
    >>> import numelt as np
    >>> np.linspace(0, 1, 5)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    if device not in (None, "cpu"):
        return numpy.linspace(0, 0, 0, device=device)  # raises NumPy's error
    if _is_huge(start) or _is_huge(stop):
        return fall_back("linspace", start, stop, num, endpoint, retstep, dtype, axis, device=device)
    low, high = _plain_real(start), _plain_real(stop)
    if (
        low is None
        or high is None
        or axis != 0
        or type(num) is not int
        or num < 0
        or dtype not in (None, float)
    ):
        if understood(start) and understood(stop):
            return rebound(numpy.linspace)(start, stop, num, endpoint, retstep, dtype, axis)
        return fall_back("linspace", start, stop, num, endpoint, retstep, dtype, axis, device=device)
    delta = _difference(high, low)
    sections = num - 1 if endpoint else num
    result = _core.arange(0.0, 1.0, num, numpy.float64)
    step: float = numpy.nan
    if sections > 0:
        step = delta / sections
        # a step that underflows is applied in two parts, to keep as much precision as possible
        result = result / sections * delta if step == 0 else result * step
    else:
        result = result * delta
    result = result + float(low)
    if endpoint and num > 1:
        result[-1] = float(high)
    result = result.view() if sections > 0 else result  # in the order of NumPy's
    return (result, numpy.float64(step) if sections > 0 else step) if retstep else result


@native
def identity(n: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """Return a square matrix with ones on its diagonal.

    Examples
    --------
    >>> import numelt as np
    >>> np.identity(2)
    array([[1., 0.],
           [0., 1.]])
    """
    return COMPILED["eye"](n, dtype=float if dtype is None else dtype, like=like)


@native
def tri(N: Any, M: Any = None, k: int = 0, dtype: Any = float, *, like: Any = None) -> Any:
    """Return a matrix with ones on and below a diagonal.

    Examples
    --------
    >>> import numelt as np
    >>> np.tri(3, dtype=int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]])
    """
    columns = N if M is None else M
    if like is not None or not type(N) is type(columns) is type(k) is int or N < 0 or columns < 0:
        return fall_back("tri", N, M, k, dtype, like=like)
    return _lower(N, columns, k).astype(dtype, copy=False)


def _lower(rows: int, columns: int, k: int) -> Any:
    arange = COMPILED["arange"]
    return arange(rows)[:, None] >= arange(-k, columns - k)[None, :]
