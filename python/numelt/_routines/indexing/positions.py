"""Arrays of indices: diagonals, triangles, open meshes, and multi-indices as flat positions."""

from __future__ import annotations

from typing import Any

import numpy

from numelt import _core
from numelt._dispatch import fallback
from numelt._dispatch.composed import composed
from numelt._dispatch.native import fall_back, native, ndarray, recordable, reject

__all__ = [
    "diag_indices_from", "ix_", "ravel_multi_index", "tril_indices_from", "triu_indices_from",
]  # fmt: skip


@composed
def ix_(*args: Any) -> Any:
    """Make an open mesh of several sequences, to pick rows and columns at once.

    Examples
    --------
    >>> import numelt as np
    >>> np.arange(9).reshape(3, 3)[np.ix_([0, 2], [1, 2])]
    array([[1, 2],
           [7, 8]])
    """


@composed
def diag_indices_from(arr: Any) -> Any:
    """Return the indices of an array's main diagonal.

    Examples
    --------
    >>> import numelt as np
    >>> np.diag_indices_from(np.zeros((2, 2)))
    (array([0, 1]), array([0, 1]))
    """


@composed
def tril_indices_from(arr: Any, k: Any = 0) -> Any:
    """Return the indices of an array's lower triangle.

    Examples
    --------
    >>> import numelt as np
    >>> np.tril_indices_from(np.zeros((2, 2)), -1)
    (array([1]), array([0]))
    """


@composed
def triu_indices_from(arr: Any, k: Any = 0) -> Any:
    """Return the indices of an array's upper triangle.

    Examples
    --------
    >>> import numelt as np
    >>> np.triu_indices_from(np.zeros((2, 2)), 1)
    (array([0]), array([1]))
    """


def _extents(shape: Any) -> Any:
    """Return a shape as a tuple of ints, or None."""
    extents = (shape,) if isinstance(shape, (int, numpy.integer)) else shape
    if type(extents) not in (tuple, list) or not all(isinstance(n, (int, numpy.integer)) for n in extents):
        return None
    return tuple(int(n) for n in extents) if len(extents) <= 64 else None


@native
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: Any = "C") -> Any:
    """Turn one index per axis into flat positions.

    Examples
    --------
    >>> import numelt as np
    >>> np.ravel_multi_index((np.array([0, 1]), np.array([2, 2])), (2, 3))
    array([2, 5])
    """
    arguments = (multi_index, dims, mode, order)
    extents = _extents(dims)
    if type(multi_index) not in (tuple, list) or not any(type(i) is ndarray for i in multi_index):
        return (
            fall_back("ravel_multi_index", *arguments)
            if type(multi_index) is ndarray
            else (fallback.uncounted(numpy.ravel_multi_index, arguments, {}))
        )
    indices = [recordable(i) for i in multi_index]
    plain = extents is not None and mode in ("raise", "wrap", "clip") and order in ("C", "F")
    if (
        not plain
        or len(indices) != len(extents)
        or not all(i is not None and i.dtype.kind in "iu" for i in indices)
    ):
        return fall_back("ravel_multi_index", *arguments)
    weight, total = 1, None
    axes = range(len(extents) - 1, -1, -1) if order == "C" else range(len(extents))
    for axis in axes:
        n, index = extents[axis], indices[axis].astype(numpy.intp)
        if mode == "raise" or n == 0:
            if not _core.within(index, n):
                return reject("ravel_multi_index", *arguments)
        elif mode == "wrap":
            index = index % n
        else:
            index = _core.elementwise("minimum", (_core.elementwise("maximum", (index, 0)), n - 1))
        part = index * weight
        total = part if total is None else total + part
        weight *= n
    return total[()] if total is not None and total.ndim == 0 else total
