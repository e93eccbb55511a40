"""Products of vectors and matrices; decompositions are NumPy's (see numelt.linalg)."""

from __future__ import annotations

import math
from typing import Any

from numelt import _core
from numelt._dispatch.native import fall_back, native, ndarray, operand

__all__ = ["inner", "outer", "tensordot", "vdot"]


def _numeric(*arrays: Any) -> bool:
    return all(array is not None and _core.is_native(array) for array in arrays)


@native
def inner(*args: Any, **named: Any) -> Any:
    """Inner product over the last axes.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.inner(np.array([1.0, 2.0]), np.array([3.0, 4.0])))
    11.0
    """
    if len(args) == 2 and not named:
        x, y = operand(args[0]), operand(args[1])
        if _numeric(x, y) and x.ndim and y.ndim:
            result = _core.product("dot", x, y if y.ndim == 1 else y.swapaxes(-1, -2))
            if result is not NotImplemented:
                return result
    return fall_back("inner", *args, **named)


@native
def vdot(*args: Any, **named: Any) -> Any:
    """Dot product of the flattened operands, the first conjugated.

    Examples
    --------
    >>> import numelt as np
    >>> complex(np.vdot(np.array([1j]), np.array([1j])))
    (1+0j)
    """
    if len(args) == 2 and not named:
        x, y = operand(args[0]), operand(args[1])
        if _numeric(x, y) and x.size == y.size and x.ndim and y.ndim:
            result = _core.product("vdot", x.reshape(-1), y.reshape(-1))
            if result is not NotImplemented:
                return result
    return fall_back("vdot", *args, **named)


@native
def outer(a: Any, b: Any, out: Any = None) -> Any:
    """Outer product of the flattened operands.

    Examples
    --------
    >>> import numelt as np
    >>> np.outer([1, 2], [3, 4])
    array([[3, 4],
           [6, 8]])
    """
    x, y = operand(a), operand(b)
    if _numeric(x, y) and (out is None or type(out) is ndarray):
        result = _core.elementwise("multiply", (x.ravel()[:, None], y.ravel()[None, :]), out)
        if result is not NotImplemented:
            return result
    return fall_back("outer", a, b, out)


def _contracted(axes: Any, x: Any, y: Any) -> tuple[list[int], list[int]] | None:
    """Return the axes of each operand that `tensordot` sums over, or None if they do not fit."""
    try:
        first, second = axes
    except TypeError:
        first, second = list(range(-axes, 0)), list(range(axes))
    left = list(first) if hasattr(first, "__iter__") else [first]
    right = list(second) if hasattr(second, "__iter__") else [second]
    if len(left) != len(right):
        return None
    for i, j in zip(left, right, strict=True):
        if not (-x.ndim <= i < x.ndim and -y.ndim <= j < y.ndim) or x.shape[i] != y.shape[j]:
            return None
    return [i % x.ndim for i in left], [j % y.ndim for j in right]


@native
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Sum of products over chosen axes of two arrays.

    Examples
    --------
    >>> import numelt as np
    >>> np.tensordot(np.ones((2, 3)), np.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    x, y = operand(a), operand(b)
    pairs = _contracted(axes, x, y) if _numeric(x, y) else None
    if pairs is None:
        return fall_back("tensordot", a, b, axes)
    left, right = pairs
    kept_x = [axis for axis in range(x.ndim) if axis not in left]
    kept_y = [axis for axis in range(y.ndim) if axis not in right]
    length = math.prod(x.shape[axis] for axis in left)
    shape_x = [x.shape[axis] for axis in kept_x]
    shape_y = [y.shape[axis] for axis in kept_y]
    x = x.transpose(*kept_x, *left).reshape(math.prod(shape_x), length)
    y = y.transpose(*right, *kept_y).reshape(length, math.prod(shape_y))
    result = _core.product("dot", x, y)
    if result is NotImplemented:
        return fall_back("tensordot", a, b, axes)
    return result.reshape(tuple(shape_x + shape_y))
