"""Contractions by labels, Kronecker products, and the library calls of numpy.linalg.

In: arrays and NumPy's arguments. Out: views and recorded products if nothing is summed, so that the numbers
are NumPy's; otherwise library calls of NumPy's compiled loops and LAPACK.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy

from numelt import _core
from numelt._dispatch import library
from numelt._dispatch.native import fall_back, native, recordable

__all__ = ["einsum", "kron"]

library.extend(
    f"linalg.{name}"
    for name in vars(numpy.linalg)
    if callable(getattr(numpy.linalg, name)) and name[0] != "_"
)
library.extend(["einsum_path", "linalg.linalg"])
_DECOMPOSITIONS = ("solve", "inv", "cholesky", "eigh", "eigvalsh", "svd", "svdvals")
library.on_devices(
    (f"linalg.{name}" for name in _DECOMPOSITIONS), "numelt._routines.linear_algebra.decompositions"
)

_einsum_call = library.handle("einsum", numpy.einsum)


@functools.lru_cache(256)
def _labels(subscripts: str, count: int) -> tuple[list[str], str] | None:
    """Return the labels of each operand and of the result if nothing is summed over, else None."""
    left, arrow, result = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    letters = "".join(terms)
    if len(terms) != count or not (letters + result).isalpha() or not (letters + result).isascii():
        return None
    if not arrow:
        result = "".join(sorted(label for label in set(letters) if letters.count(label) == 1))
    if not result or len(set(result)) != len(result) or set(result) != set(letters):
        return None
    return terms, result


def _spread(array: Any, labels: str, result: str) -> Any:
    """Return a view of `array` with one axis for each label of the result, None where extents disagree."""
    if array.ndim != len(labels):
        return None
    extents: dict[str, int] = {}
    steps: dict[str, int] = {}
    for label, extent, stride in zip(labels, array.shape, array.strides, strict=True):
        if extents.setdefault(label, extent) != extent:
            return None
        steps[label] = steps.get(label, 0) + stride
    shape = [extents.get(label, 1) for label in result]
    return _core.as_strided(array, shape, [steps.get(label, 0) for label in result], 0)


def _unsummed(subscripts: Any, operands: tuple[Any, ...]) -> Any:
    """Return a contraction that sums over nothing: a view, or a product."""
    parsed = _labels(subscripts, len(operands)) if type(subscripts) is str else None
    if parsed is None:
        return NotImplemented
    terms, result = parsed
    arrays = [recordable(value) for value in operands]
    if any(array is None for array in arrays):
        return NotImplemented
    views = [_spread(array, labels, result) for array, labels in zip(arrays, terms, strict=True)]
    if any(view is None or view is NotImplemented for view in views):
        return NotImplemented
    if len(views) == 1:
        return views[0]
    if any(m != n and 1 not in (m, n) for m, n in zip(views[0].shape, views[1].shape, strict=True)):
        return NotImplemented
    return _core.elementwise("multiply", tuple(views))


@native
def einsum(*operands: Any, out: Any = None, optimize: Any = False, **kwargs: Any) -> Any:
    """Sum of products over labelled axes.

    Parameters
    ----------
    operands : str, then arrays
        Labels such as ``"ij,jk->ik"``, and the arrays they name the axes of.
    out : ndarray, optional
        Array that the result is written to.
    optimize : bool or str, optional
        Order of the pairwise products; see `numpy.einsum_path`.

    Examples
    --------
    >>> import numelt as np
    >>> np.einsum("i,j->ij", np.arange(2), np.arange(3))
    array([[0, 0, 0],
           [0, 1, 2]])
    """
    if out is None and not kwargs and optimize is False and len(operands) in (2, 3):
        result = _unsummed(operands[0], operands[1:])
        if result is not NotImplemented:
            return result
    if out is not None:
        kwargs["out"] = out
    if optimize is not False:
        kwargs["optimize"] = optimize
    return _einsum_call(*operands, **kwargs)


@native
def kron(a: Any, b: Any) -> Any:
    """Kronecker product: `b` scaled by each element of `a`.

    Examples
    --------
    >>> import numelt as np
    >>> np.kron([1, 10], [1, 2])
    array([ 1,  2, 10, 20])
    """
    x, y = recordable(a), recordable(b)
    if x is None or y is None or x.ndim == 0 or y.ndim == 0:
        return fall_back("kron", a, b)
    rank = max(x.ndim, y.ndim)
    if 2 * rank > 64:  # NumPy's way of doing it has twice the dimensions, and is refused
        return fall_back("kron", a, b)
    left = (1,) * (rank - x.ndim) + x.shape
    right = (1,) * (rank - y.ndim) + y.shape
    first = x.reshape([n for extent in left for n in (extent, 1)])
    second = y.reshape([n for extent in right for n in (1, extent)])
    product = _core.elementwise("multiply", (first, second))
    if product is NotImplemented:
        return fall_back("kron", a, b)
    return product.reshape([m * n for m, n in zip(left, right, strict=True)])
