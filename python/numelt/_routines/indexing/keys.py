"""Indexing with arrays and masks, copying under a mask, and diagonals: everything beyond plain slices."""

from __future__ import annotations

import operator
from typing import Any

import numpy

from numelt import _core
from numelt._dispatch import fallback
from numelt._dispatch.native import fall_back, native, ndarray, operand

__all__ = ["copyto", "indices"]

# Python's numbers from the lowest kind to the highest, and by kind of dtype the highest that it can hold
_KINDS = (bool, int, float, complex)
_KINDS_OF = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}


def getitem(a: Any, key: Any) -> Any:
    """Read ``a[key]`` if the key or the array is not native: a field, an index that NumPy refuses."""
    if _core.is_native(a):
        places = _without_ranges(key)
        if places is not None:
            return a[places]
        return fallback.raising("ndarray.__getitem__", operator.getitem, (a, key), {})
    return fallback.call(
        "ndarray.__getitem__", operator.getitem, (a, key), {}, "indexing an array that is not native"
    )


def _without_ranges(key: Any) -> Any:
    """Return a key with arrays in place of its ranges, or None if it has none."""
    if type(key) is range:
        return _positions(key)
    if type(key) is tuple and any(type(part) is range for part in key):
        return tuple(_positions(part) if type(part) is range else part for part in key)
    return None


def _positions(places: range) -> Any:
    return _core.asarray(numpy.arange(places.start, places.stop, places.step))


def _is_element(a: Any, key: Any) -> bool:
    """Return whether there is an integer for each axis. A sequence for one element is left to NumPy."""
    parts = key if type(key) is tuple else (key,)
    return len(parts) == a.ndim and all(map(_is_integer, parts))


def _is_integer(part: Any) -> bool:
    if isinstance(part, (ndarray, numpy.ndarray)):
        return part.ndim == 0 and part.dtype.kind in "iu"
    return isinstance(part, (int, numpy.integer))


def _is_too_deep(items: Any, a: Any, key: Any) -> bool:
    """Return whether a sequence is nested deeper than the part of an array to which it is assigned."""
    parts = key if type(key) is tuple else (key,)
    plain = all(part is None or part is ... or type(part) in (int, slice) for part in parts)
    return plain and bool(items.ndim > numpy.ndim(a[key]))


def setitem(a: Any, key: Any, value: Any) -> None:
    """Write ``a[key] = value`` if the array, the key or the value is not native."""
    if _core.is_native(a):
        places = _without_ranges(key)
        if places is not None:
            a[places] = value
            return
        several = type(value) in (list, tuple) and not _is_element(a, key)
        items = operand(value, a.dtype) if several else None
        if items is not None and _core.is_native(items) and not _is_too_deep(items, a, key):
            a[key] = items
        else:
            fallback.raising("ndarray.__setitem__", operator.setitem, (a, key, value), {})
    else:
        reason = "indexing an array that is not native"
        fallback.call("ndarray.__setitem__", operator.setitem, (a, key, value), {}, reason)


@native
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> Any:
    """Copy values into an array, optionally only where a mask is true.

    Examples
    --------
    >>> import numelt as np
    >>> x = np.zeros(3)
    >>> np.copyto(x, [1, 2, 3])
    >>> x
    array([1., 2., 3.])
    """
    if type(dst) is ndarray and dst.flags.writeable:
        source = src if type(src) in _KINDS else operand(src)
        if source is not None and _copy_where(dst, source, casting, where):
            return None
    return fall_back("copyto", dst, src, casting=casting, where=where)


def _copy_where(dst: Any, source: Any, casting: Any, where: Any) -> bool:
    if type(source) in _KINDS and casting in ("no", "equiv"):
        return False  # which dtype a Python number has then is NumPy's rule
    if where is True:
        return _core.copy_into(dst, source, casting) is not NotImplemented
    mask = operand(where)
    if mask is None or mask.dtype != numpy.bool_ or not _broadcasts(dst.shape, mask, source):
        return False
    if type(source) in _KINDS:
        if _KINDS.index(type(source)) > _KINDS_OF.get(dst.dtype.kind, -1):
            return False
        dst[_core.broadcast_to(mask, dst.shape)] = source
        return True
    if not numpy.can_cast(source.dtype, dst.dtype, casting):
        return False
    if dst.dtype == numpy.uint32 and source.dtype.kind == "f":
        return False  # numbers that do not fit depend on how many true values of the mask follow each other
    result = _core.elementwise("where", (mask, source.astype(dst.dtype), dst))
    return result is not NotImplemented and _core.copy_into(dst, result, "unsafe") is not NotImplemented


def _broadcasts(shape: tuple[int, ...], *arrays: Any) -> bool:
    shapes = {array.shape for array in arrays if hasattr(array, "shape")} - {shape, ()}
    try:
        return not shapes or bool(numpy.broadcast_shapes(shape, *shapes) == shape)
    except ValueError:
        return False


@native
def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """Return arrays holding the index of each element along each axis.

    Examples
    --------
    >>> import numelt as np
    >>> np.indices((2, 2))[0]
    array([[0, 0],
           [1, 1]])
    """
    extents = tuple(dimensions)
    kind = numpy.dtype(dtype)
    if kind.kind not in "iuf" or not all(type(extent) is int and extent >= 0 for extent in extents):
        return fall_back("indices", dimensions, dtype, sparse)
    rank = len(extents)
    if rank >= 64:  # the result has an axis more, which NumPy refuses
        return fall_back("indices", dimensions, dtype, sparse)
    grids = []
    for axis, extent in enumerate(extents):
        ramp = _core.arange(0, 1, extent, kind)
        if ramp is NotImplemented:
            return fall_back("indices", dimensions, dtype, sparse)
        grids.append(ramp.reshape((1,) * axis + (extent,) + (1,) * (rank - axis - 1)))
    if sparse:
        return tuple(grids)
    result = _core.empty((rank, *extents), kind, "C")
    for axis, grid in enumerate(grids):
        result[axis] = grid
    return result
