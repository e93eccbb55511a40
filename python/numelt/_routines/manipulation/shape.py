"""Changing the shape and the order of axes, and reversing, as views.

Joining, splitting and repeating are in `joining`.
"""

from __future__ import annotations

from typing import Any

import numpy

from numelt import _core
from numelt._dispatch.native import (
    COMPILED,
    fall_back,
    native,
    ndarray,
    normalize_axes,
    normalize_axis,
    operand,
)

__all__ = [
    "broadcast_arrays", "broadcast_to", "expand_dims", "fliplr", "flipud", "matrix_transpose",
    "meshgrid", "ndim", "ravel", "reshape", "rollaxis", "rot90", "shape", "size", "squeeze",
    "swapaxes", "transpose",
]  # fmt: skip


@native
def shape(a: Any) -> Any:
    """Return the extents of an array along its axes.

    Examples
    --------
    >>> import numelt as np
    >>> np.shape([[1, 2, 3]])
    (1, 3)
    """
    return a.shape if type(a) is ndarray else numpy.shape(a)


@native
def ndim(a: Any) -> Any:
    """Return the number of axes.

    Examples
    --------
    >>> import numelt as np
    >>> np.ndim(np.zeros((2, 2)))
    2
    """
    return a.ndim if type(a) is ndarray else numpy.ndim(a)


@native
def size(a: Any, axis: Any = None) -> Any:
    """Return the number of elements, in total or along an axis.

    Examples
    --------
    >>> import numelt as np
    >>> np.size(np.zeros((2, 3))), np.size(np.zeros((2, 3)), 1)
    (6, 3)
    """
    if type(a) is not ndarray:
        return numpy.size(a) if axis is None else numpy.size(a, axis)
    if axis is None:
        return a.size
    if type(axis) is not int or not -a.ndim <= axis < a.ndim:
        return numpy.size(numpy.broadcast_to(numpy.empty(()), a.shape), axis)
    return a.shape[axis]


@native
def reshape(a: Any, /, shape: Any, order: str = "C", *, copy: Any = None) -> Any:
    """Give an array another shape, as a view where the layout allows it.

    Examples
    --------
    >>> import numelt as np
    >>> np.reshape(np.arange(4), (2, -1))
    array([[0, 1],
           [2, 3]])
    """
    array = operand(a)
    if array is None or copy is not None:
        named = {} if copy is None else {"copy": copy}
        return fall_back("reshape", a, shape, order, **named)
    return array.reshape(shape, order=order)


@native
def ravel(a: Any, order: str = "C") -> Any:
    """Return a one-dimensional array of the elements, as a view where the layout allows it.

    Examples
    --------
    >>> import numelt as np
    >>> np.ravel([[1, 2], [3, 4]])
    array([1, 2, 3, 4])
    """
    array = operand(a)
    return fall_back("ravel", a, order) if array is None else array.ravel(order=order)


@native
def transpose(a: Any, axes: Any = None) -> Any:
    """Return a view with the axes in another order, reversed by default.

    Examples
    --------
    >>> import numelt as np
    >>> np.transpose(np.ones((2, 3))).shape
    (3, 2)
    """
    array = operand(a)
    if array is None or isinstance(a, numpy.generic):
        return fall_back("transpose", a, axes)
    return array.transpose() if axes is None else array.transpose(axes)


@native
def matrix_transpose(x: Any, /) -> Any:
    """Swap the last two axes.

    Examples
    --------
    >>> import numelt as np
    >>> np.matrix_transpose(np.ones((2, 3, 4))).shape
    (2, 4, 3)
    """
    array = operand(x)
    if array is None or array.ndim < 2:
        return fall_back("matrix_transpose", x)
    return array.swapaxes(-1, -2)


@native
def swapaxes(a: Any, axis1: Any, axis2: Any) -> Any:
    """Exchange two axes.

    Examples
    --------
    >>> import numelt as np
    >>> np.swapaxes(np.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    array = operand(a)
    return fall_back("swapaxes", a, axis1, axis2) if array is None else array.swapaxes(axis1, axis2)


@native
def rollaxis(a: Any, axis: Any, start: Any = 0) -> Any:
    """Move one axis backwards until it lies in a given position.

    Examples
    --------
    >>> import numelt as np
    >>> np.rollaxis(np.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    array = operand(a) if hasattr(a, "ndim") else None
    if array is None or type(start) is not int or not -array.ndim <= start <= array.ndim:
        return fall_back("rollaxis", a, axis, start)
    axis = normalize_axis(axis, array.ndim)
    start = start + array.ndim if start < 0 else start
    start = start - 1 if axis < start else start
    if axis == start:
        return array[...]
    order = [other for other in range(array.ndim) if other != axis]
    order.insert(start, axis)
    return array.transpose(*order)


@native
def squeeze(a: Any, axis: Any = None) -> Any:
    """Remove axes of extent one.

    Examples
    --------
    >>> import numelt as np
    >>> np.squeeze(np.ones((1, 3, 1))).shape
    (3,)
    """
    array = operand(a)
    if array is None or isinstance(a, numpy.generic):
        return fall_back("squeeze", a, axis)
    return array.squeeze() if axis is None else array.squeeze(axis)


@native
def expand_dims(a: Any, axis: Any) -> Any:
    """Insert axes of extent one.

    Examples
    --------
    >>> import numelt as np
    >>> np.expand_dims(np.ones(3), 0).shape
    (1, 3)
    """
    array = operand(a)
    if array is None:
        return fall_back("expand_dims", a, axis)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    rank = array.ndim + len(axes)
    places = normalize_axes(axes, rank)
    extents = iter(array.shape)
    return array.reshape(tuple(1 if position in places else next(extents) for position in range(rank)))


@native
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """Return a read-only view in a larger shape, its elements repeated.

    Examples
    --------
    >>> import numelt as np
    >>> np.broadcast_to([1, 2], (2, 2))
    array([[1, 2],
           [1, 2]])
    """
    source = operand(array)
    if source is None:
        return fall_back("broadcast_to", array, shape, subok)
    extents = (
        shape if isinstance(shape, (tuple, list)) else tuple(shape) if numpy.iterable(shape) else (shape,)
    )
    if any(not isinstance(extent, (int, numpy.integer)) or extent < 0 for extent in extents):
        return fall_back("broadcast_to", array, shape, subok)
    result = _core.broadcast_to(source, extents)
    return fall_back("broadcast_to", array, shape, subok) if result is NotImplemented else result


@native
def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    """Broadcast arrays against each other.

    Examples
    --------
    >>> import numelt as np
    >>> [x.shape for x in np.broadcast_arrays(np.ones((2, 1)), np.ones(3))]
    [(2, 3), (2, 3)]
    """
    arrays = [operand(value) for value in args]
    if not arrays or any(array is None for array in arrays):
        return fall_back("broadcast_arrays", *args, subok=subok)
    try:
        extents = numpy.broadcast_shapes(*[array.shape for array in arrays])
    except ValueError:
        return fall_back("broadcast_arrays", *args)
    if all(array.shape == extents for array in arrays):
        return tuple(arrays)
    if not all(map(_core.is_native, arrays)):
        return fall_back("broadcast_arrays", *args)
    return tuple(array if array.shape == extents else _spread(array, extents) for array in arrays)


def _spread(array: Any, extents: tuple[int, ...]) -> Any:
    """Return a view in a larger shape, which NumPy still lets programs write to."""
    view = _core.broadcast_to(array, extents)
    view.flags.writeable = array.flags.writeable
    return view


@native
def flipud(m: Any) -> Any:
    """Reverse the order of rows, as a view.

    Examples
    --------
    >>> import numelt as np
    >>> np.flipud(np.eye(2))
    array([[0., 1.],
           [1., 0.]])
    """
    array = operand(m)
    return fall_back("flipud", m) if array is None or array.ndim < 1 else array[::-1]


@native
def fliplr(m: Any) -> Any:
    """Reverse the order of columns, as a view.

    Examples
    --------
    >>> import numelt as np
    >>> np.fliplr(np.eye(2))
    array([[0., 1.],
           [1., 0.]])
    """
    array = operand(m)
    return fall_back("fliplr", m) if array is None or array.ndim < 2 else array[:, ::-1]


@native
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """Rotate by quarter turns in the plane of two axes.

    Examples
    --------
    >>> import numelt as np
    >>> np.rot90(np.array([[1, 2], [3, 4]]))
    array([[2, 4],
           [1, 3]])
    """
    array = operand(m)
    axes = tuple(axes)
    if array is None or len(axes) != 2:
        return fall_back("rot90", m, k, axes)
    first, second = axes
    if not (-array.ndim <= first < array.ndim and -array.ndim <= second < array.ndim):
        return fall_back("rot90", m, k, axes)
    if (first - second) % array.ndim == 0 or type(k) is not int:
        return fall_back("rot90", m, k, axes)
    turns = k % 4
    if turns == 0:
        return array[:]
    flip = COMPILED["flip"]
    if turns == 2:
        return flip(flip(array, first), second)
    if turns == 1:
        return swapaxes(flip(array, second), first, second)
    return flip(swapaxes(array, first, second), second)


@native
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """Make coordinate arrays from coordinate vectors.

    Examples
    --------
    >>> import numelt as np
    >>> x, y = np.meshgrid([1, 2], [3, 4])
    >>> x
    array([[1, 2],
           [1, 2]])
    """
    arrays = [operand(value) for value in xi]
    if indexing not in ("xy", "ij") or not all(map(_core.is_native, arrays)):
        return fall_back("meshgrid", *xi, copy=copy, sparse=sparse, indexing=indexing)
    rank = len(arrays)
    axes = list(range(rank))
    if indexing == "xy" and rank > 1:
        axes[0], axes[1] = 1, 0
    spread = [
        array.reshape((1,) * axis + (-1,) + (1,) * (rank - axis - 1))
        for array, axis in zip(arrays, axes, strict=True)
    ]
    if not sparse:
        extents = numpy.broadcast_shapes(*[array.shape for array in spread])
        spread = [array if array.shape == extents else _spread(array, extents) for array in spread]
    if copy:
        return tuple(array.copy() for array in spread)
    return spread if sparse else tuple(spread)
