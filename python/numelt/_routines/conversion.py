"""Array creation routines: conversion of existing data."""

from __future__ import annotations

from typing import Any

import numpy

from numelt import _core
from numelt._dispatch import fallback, overrides
from numelt._dispatch.native import NO_VALUE, fall_back, native, ndarray

__all__ = ["array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "copy"]


@native
def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: Any = NO_VALUE,
    like: Any = None,
) -> Any:
    """Make an array from nested sequences, numbers, or anything array-like.

    Examples
    --------
    >>> import numelt as np
    >>> np.array([[1, 2], [3, 4]], dtype=float)
    array([[1., 2.],
           [3., 4.]])
    """
    if type(copy) is not bool and copy is not None:
        copy = _copy_mode(copy)
    if like is None and ndmax is NO_VALUE and type(ndmin) is int and not (subok and _is_subclass(object)):
        ndmin = 0 if ndmin < 0 else ndmin
        result = _convert(object, dtype, copy, order, ndmin)
        if result is not NotImplemented:
            return result
    limit = {} if ndmax is NO_VALUE else {"ndmax": ndmax}
    return fall_back(
        "array", object, dtype=dtype, copy=copy, order=order, subok=subok, ndmin=ndmin, like=like, **limit
    )


def _convert(value: Any, dtype: Any, copy: Any, order: Any, ndmin: Any) -> Any:
    options = {"copy": copy, "order": order, "ndmin": ndmin}
    try:
        if dtype is not None and type(value) is not ndarray:  # elements may overflow
            return fallback.at_user_line(_core.asarray, (value, dtype), options)
        return _core.asarray(value, dtype, **options)
    except ValueError as error:
        if fallback._NOT_AN_ARRAY not in str(error):
            raise
    return _core.asarray(fallback.converted(value), dtype, copy=copy, order=order, ndmin=ndmin)


def _copy_mode(copy: Any) -> bool | None:
    """Return what NumPy's copy modes mean; other objects count by their truth."""
    modes = {"ALWAYS": True, "IF_NEEDED": None, "NEVER": False}
    return modes[copy.name] if type(copy).__name__ == "_CopyMode" else bool(copy)


def _is_subclass(value: Any) -> bool:
    kind = type(value)
    return kind is not ndarray and kind is not numpy.ndarray and isinstance(value, numpy.ndarray)


@native
def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None, like: Any = None
) -> Any:
    """Return the argument as an array, without a copy where none is needed.

    Examples
    --------
    >>> import numelt as np
    >>> x = np.arange(3)
    >>> np.asarray(x) is x
    True
    """
    if like is None and device in (None, "cpu"):
        if dtype is None and order is None and copy is None and type(a) is ndarray:
            return a
        result = _convert(a, dtype, copy if copy is None else bool(copy), order, 0)
        if result is not NotImplemented:
            return result
    return fall_back("asarray", a, dtype=dtype, order=order, device=device, copy=copy, like=like)


@native
def asanyarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None, like: Any = None
) -> Any:
    """Return the argument as an array, without a copy where none is needed.

    Examples
    --------
    >>> import numelt as np
    >>> x = np.arange(3)
    >>> np.asarray(x) is x
    True
    """
    if _is_subclass(a) or like is not None:
        return fall_back("asanyarray", a, dtype=dtype, order=order, device=device, copy=copy, like=like)
    return asarray(a, dtype, order, device=device, copy=copy)


@native
def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """Return a C-contiguous array of at least one dimension.

    Examples
    --------
    >>> import numelt as np
    >>> np.ascontiguousarray(np.ones((2, 3)).T).flags.c_contiguous
    True
    """
    if like is not None:
        return fall_back("ascontiguousarray", a, dtype, like=like)
    return array(a, dtype, copy=None, order="C", ndmin=1)


@native
def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """Return an array in Fortran order.

    Examples
    --------
    >>> import numelt as np
    >>> np.asfortranarray(np.ones((2, 3))).flags.f_contiguous
    True
    """
    if like is not None:
        return fall_back("asfortranarray", a, dtype, like=like)
    return array(a, dtype, copy=None, order="F", ndmin=1)


@native
def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """Return a copy of an array.

    Examples
    --------
    >>> import numelt as np
    >>> x = np.zeros(2)
    >>> y = np.copy(x)
    >>> y[0] = 1
    >>> x
    array([0., 0.])
    """
    if type(a) is not ndarray and overrides.asked((a,), {}):
        return fall_back("copy", a, order=order, subok=subok)
    return array(a, order=order, subok=subok, copy=True)
