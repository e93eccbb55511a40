"""Array creation routines: ranges and triangles. The others are compiled (`table.COMPILED`)."""

from __future__ import annotations

import math
from typing import Any

import numpy

from numelt import _core
from numelt._dispatch.composed import rebound, understood
from numelt._dispatch.native import COMPILED, fall_back, native, recordable

__all__ = ["arange", "identity", "linspace", "tri", "tril", "triu"]


def _is_huge(value: Any) -> bool:
    """Is it a Python int that no integer dtype holds, so that NumPy makes an object of it?"""
    return type(value) is int and not -(1 << 63) <= value < 1 << 64


def _plain_real(value: Any) -> Any:
    """Return a Python int or float for a plain real number, else None."""
    kind = type(value)
    if kind is int or kind is float:
        return value
    if kind is numpy.float64 or kind is numpy.int64:
        return value.item()
    return None


@native
def arange(*args: Any, dtype: Any = None, device: Any = None, like: Any = None, **named: Any) -> Any:
    """Return evenly spaced values: ``arange(stop)``, ``arange(start, stop, step)``.

    The length is ``ceil((stop - start) / step)`` in floating-point arithmetic.

    Examples
    --------
    >>> import numelt as np
    >>> np.arange(1, 2, 0.25)
    array([1.  , 1.25, 1.5 , 1.75])
    """
    result: Any = NotImplemented
    if len(args) == 4 and dtype is None:
        dtype, args = args[3], args[:3]
    if like is None and device in (None, "cpu") and not named and 1 <= len(args) <= 3:
        result = _arange(args, dtype)
    if result is NotImplemented:
        return fall_back("arange", *args, dtype=dtype, device=device, like=like, **named)
    return result


def _arange(args: tuple[Any, ...], dtype: Any) -> Any:
    if len(args) == 3 and args[2] is None:
        args = args[:2]
    values = [_plain_real(value) for value in args]
    if None in values:
        return NotImplemented
    if len(values) == 1:
        values.insert(0, 0)
    start, stop = values[0], values[1]
    step = values[2] if len(values) == 3 else 1
    whole = type(start) is type(stop) is type(step) is int
    kind = numpy.dtype(dtype) if dtype is not None else _INTEGER if whole else _DOUBLE
    if kind.kind == "c":  # the imaginary parts are zero
        result = _arange(args, numpy.float32 if kind == numpy.complex64 else numpy.float64)
        return result if result is NotImplemented else result.astype(kind)
    if step == 0 or kind.kind not in "iuf" or not all(map(math.isfinite, (start, stop, step))):
        return NotImplemented
    length = _range_length(start, stop, step)
    if length is None:
        return NotImplemented
    if kind is _INTEGER and whole:
        last = start + step * max(length - 1, 0)
        fits = min(start, last) >= -(2**63) and max(start, start + step, last) < 2**63
        return _core.arange(start, step, length, kind) if fits else NotImplemented
    if kind is _DOUBLE:
        return _float_range(float(start), float(start + step), length)
    # NumPy converts start and start + step to the dtype, and steps by their difference
    with numpy.errstate(all="ignore"):
        try:
            first, second = kind.type(start), kind.type(start + step)
        except OverflowError:
            return NotImplemented
        delta = second - first
        if length > 1 and first + delta != second:
            return NotImplemented
    if kind.kind in "iu" and not _fits(first, delta, length, kind):
        return NotImplemented
    return _from(first.item(), _core.arange(first.item(), delta.item(), length, kind))


_INTEGER, _DOUBLE = numpy.dtype(numpy.int64), numpy.dtype(numpy.float64)


def _float_range(first: float, second: float, length: int) -> Any:
    delta = second - first
    if length > 1 and first + delta != second:
        return NotImplemented
    return _from(first, _core.arange(first, delta, length, _DOUBLE))


def _from(first: Any, made: Any) -> Any:
    """Return a range whose first element is stored as it is: the sum with nothing of minus zero is zero."""
    if first == 0 and type(first) is float and math.copysign(1.0, first) < 0 and made.size:
        made[0] = first
    return made


def _range_length(start: Any, stop: Any, step: Any) -> int | None:
    """Return NumPy's length of a range, None where it is not an ordinary number."""
    try:
        span = stop - start
        count = span / step
    except (OverflowError, ZeroDivisionError):
        return None
    if count == 0.0 and span != 0:
        return 0 if numpy.signbit(count) else 1
    if not -(2.0**62) < count < 2.0**62:
        return None
    return max(0, -int(-count // 1))


def _fits(first: Any, delta: Any, length: int, kind: numpy.dtype[Any]) -> bool:
    last = int(first) + int(delta) * max(length - 1, 0)
    info = numpy.iinfo(kind)
    return bool(info.min <= last <= info.max)


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
    if device not in (None, "cpu") or _is_huge(start) or _is_huge(stop):
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
        # a step that underflows is applied in two parts, to keep what precision there is
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
    return arange(rows)[:, None] >= arange(-k, columns - k)[None, :]


def _triangle(name: str, m: Any, k: int, lower: bool) -> Any:
    array_ = recordable(m)
    if array_ is None or array_.ndim < 2 or type(k) is not int:
        return fall_back(name, m, k)
    rows, columns = array_.shape[-2:]
    mask = _lower(rows, columns, k if lower else k - 1)
    zero = _core.full((), 0, array_.dtype, "C")
    ins = (mask, array_, zero) if lower else (mask, zero, array_)
    result = _core.elementwise("where", ins) if zero is not NotImplemented else NotImplemented
    return fall_back(name, m, k) if result is NotImplemented else result


@native
def tril(m: Any, k: int = 0) -> Any:
    """Return a copy with the elements above a diagonal set to zero.

    Examples
    --------
    >>> import numelt as np
    >>> np.tril(np.ones((2, 2)))
    array([[1., 0.],
           [1., 1.]])
    """
    return _triangle("tril", m, k, lower=True)


@native
def triu(m: Any, k: int = 0) -> Any:
    """Return a copy with the elements below a diagonal set to zero.

    Examples
    --------
    >>> import numelt as np
    >>> np.triu(np.ones((2, 2)))
    array([[1., 1.],
           [0., 1.]])
    """
    return _triangle("triu", m, k, lower=False)
