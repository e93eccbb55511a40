"""Indexing with arrays and masks, copying under a mask, and diagonals: what plain slices do not reach."""

from __future__ import annotations

from typing import Any

import numpy

from numelt import _core, _fallback
from numelt._dispatch import fall_back, native, ndarray, operand

__all__ = ["copyto", "diagonal", "getitem", "indices", "setitem"]

_plain = (bool, int, float, complex)


def getitem(a: Any, key: Any) -> Any:
    """Read ``a[key]`` where the key holds arrays, masks or fields."""
    return _fallback.call("ndarray.__getitem__", _get, (a, key), {}, "indexing with arrays")


def _get(a: Any, key: Any) -> Any:
    return a[key]


def _set(a: Any, key: Any, value: Any) -> None:
    a[key] = value


def setitem(a: Any, key: Any, value: Any) -> None:
    """Write ``a[key] = value`` where the key holds arrays, masks or fields."""
    if not _set_masked(a, key, value):
        _fallback.call("ndarray.__setitem__", _set, (a, key, value), {}, "indexing with arrays")


def _set_masked(a: Any, key: Any, value: Any) -> bool:
    """Write a number under a boolean mask as a recorded selection; False if that is not the case at hand."""
    if type(key) is not ndarray or key.dtype != numpy.bool_ or key.ndim > a.ndim or key.ndim == 0:
        return False
    if not _core.is_native(a) or key.shape != a.shape[: key.ndim] or not a.flags.writeable:
        return False
    number = _core.realize(value) if type(value) is _core.scalar else value
    if type(number) not in _plain and not isinstance(number, numpy.generic):
        return False
    cell = numpy.empty((), a.dtype)
    cell[...] = number
    mask = key[(...,) + (None,) * (a.ndim - key.ndim)] if a.ndim > key.ndim else key
    # as a NumPy scalar the number has the array's dtype and cannot widen the selection
    result = _core.elementwise("where", (mask, cell[()], a))
    return result is not NotImplemented and _core.copy_into(a, result, "unsafe") is not NotImplemented


@native
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
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
        source = src if type(src) in _plain else operand(src)
        if source is not None and _copy_where(dst, source, casting, where):
            return
    fall_back("copyto", dst, src, casting=casting, where=where)


def _copy_where(dst: Any, source: Any, casting: Any, where: Any) -> bool:
    if where is True:
        return _core.copy_into(dst, source, casting) is not NotImplemented
    mask = operand(where)
    if mask is None or mask.dtype != numpy.bool_ or not _broadcasts(dst.shape, mask, source):
        return False
    if not numpy.can_cast(getattr(source, "dtype", dst.dtype), dst.dtype, casting) or type(source) in _plain:
        return False
    result = _core.elementwise("where", (mask, source.astype(dst.dtype), dst))
    return result is not NotImplemented and _core.copy_into(dst, result, "unsafe") is not NotImplemented


def _broadcasts(shape: tuple[int, ...], *arrays: Any) -> bool:
    try:
        return bool(
            numpy.broadcast_shapes(shape, *[array.shape for array in arrays if hasattr(array, "shape")])
            == shape
        )
    except ValueError:
        return False


@native
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return a diagonal as a read-only view.

    Examples
    --------
    >>> import numelt as np
    >>> np.diagonal(np.arange(4).reshape(2, 2))
    array([0, 3])
    """
    from numelt._routines.manipulation import diagonal_view

    array = operand(a)
    if array is not None:
        view = diagonal_view(array, offset, axis1, axis2)
        if view is not None:
            return _core.broadcast_to(view, view.shape)
    return fall_back("diagonal", a, offset, axis1, axis2)


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
