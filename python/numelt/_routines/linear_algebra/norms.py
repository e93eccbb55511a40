"""Norms and products of numpy.linalg, which are recorded.

The functions are NumPy's, run over our arrays (`composed`).
"""

from __future__ import annotations

from typing import Any

import numpy

from numelt._dispatch.composed import composed_in

__all__: list[str] = []


@composed_in(numpy.linalg)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """Norm of a vector or matrix, or of many along axes.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.linalg.norm([3.0, 4.0]))
    5.0
    """


@composed_in(numpy.linalg)
def matrix_norm(x: Any, /, *, keepdims: Any = False, ord: Any = "fro") -> Any:
    """Norm of the matrices in the last two axes.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.linalg.matrix_norm([[3.0, 0.0], [0.0, 4.0]]))
    5.0
    """


@composed_in(numpy.linalg)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: Any = False, ord: Any = 2) -> Any:
    """Norm of vectors along axes.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.linalg.vector_norm([3.0, 4.0]))
    5.0
    """


@composed_in(numpy.linalg)
def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """Product of several matrices in the order that takes the fewest operations.

    Examples
    --------
    >>> import numelt as np
    >>> np.linalg.multi_dot([np.eye(2), np.ones((2, 3)), np.ones(3)])
    array([3., 3.])
    """


@composed_in(numpy.linalg)
def matrix_power(a: Any, n: Any) -> Any:
    """Power of a square matrix with an integer exponent.

    Examples
    --------
    >>> import numelt as np
    >>> np.linalg.matrix_power(np.array([[1, 1], [0, 1]]), 3)
    array([[1, 3],
           [0, 1]])
    """


@composed_in(numpy.linalg)
def cross(x1: Any, x2: Any, /, *, axis: Any = -1) -> Any:
    """Cross product of vectors of three elements.

    Examples
    --------
    >>> import numelt as np
    >>> np.linalg.cross([1, 0, 0], [0, 1, 0])
    array([0, 0, 1])
    """


@composed_in(numpy.linalg)
def outer(x1: Any, x2: Any, /) -> Any:
    """Outer product of two vectors.

    Examples
    --------
    >>> import numelt as np
    >>> np.linalg.outer([1, 2], [3, 4])
    array([[3, 4],
           [6, 8]])
    """


@composed_in(numpy.linalg)
def trace(x: Any, /, *, offset: Any = 0, dtype: Any = None) -> Any:
    """Sum along a diagonal of the last two axes.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.linalg.trace(np.eye(3)))
    3.0
    """


@composed_in(numpy.linalg)
def diagonal(x: Any, /, *, offset: Any = 0) -> Any:
    """Return a diagonal of the last two axes as a read-only view.

    Examples
    --------
    >>> import numelt as np
    >>> np.linalg.diagonal(np.arange(4).reshape(2, 2))
    array([0, 3])
    """


@composed_in(numpy.linalg)
def vecdot(x1: Any, x2: Any, /, *, axis: Any = -1) -> Any:
    """Dot products of the vectors along an axis.

    Examples
    --------
    >>> import numelt as np
    >>> np.linalg.vecdot(np.array([[1, 2], [3, 4]]), np.array([1, 1]))
    array([3, 7])
    """


@composed_in(numpy.linalg)
def matrix_transpose(x: Any, /) -> Any:
    """Return the matrices in the last two axes transposed, as a view.

    Examples
    --------
    >>> import numelt as np
    >>> np.linalg.matrix_transpose(np.ones((2, 3))).shape
    (3, 2)
    """


@composed_in(numpy.linalg)
def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """Sum of products over chosen axes of two arrays.

    Examples
    --------
    >>> import numelt as np
    >>> np.linalg.tensordot(np.ones((2, 3)), np.ones((3, 4)), axes=1).shape
    (2, 4)
    """


@composed_in(numpy.linalg)
def matmul(x1: Any, x2: Any, /) -> Any:
    """Matrix product.

    Examples
    --------
    >>> import numelt as np
    >>> np.linalg.matmul(np.eye(2), np.array([1.0, 2.0]))
    array([1., 2.])
    """
