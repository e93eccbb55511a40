"""``ndarray.resize``: change the number of elements of an array in place.

In: an array that owns its elements, and a new shape. Out: the same array; the first elements in memory order
are kept, and additional elements are zero. Views that were made before keep their values.
"""

from __future__ import annotations

import operator
import sys
import weakref
from typing import Any

import numpy

from numelt import _core

__all__ = ["resize"]


def resize(self: Any, new_shape: tuple[Any, ...], is_held: bool, **options: Any) -> None:
    """Change shape and size of the array itself.

    Parameters
    ----------
    self : ndarray
        The array.
    new_shape : tuple
        The method's arguments: the new extents, one by one or as a tuple.
    is_held : bool
        Whether something else refers to the array.
    options
        ``refcheck``: whether to raise in this case, true by default.

    Raises
    ------
    ValueError
        If the array does not own its elements, or is referred to.

    Examples
    --------
    >>> import numelt as np
    >>> x = np.array([1, 2, 3])
    >>> x.resize(2, 2, refcheck=False)
    >>> x
    array([[1, 2],
           [3, 0]])
    """
    refcheck = operator.index(options.pop("refcheck", True))
    if options:
        numpy.empty(0).resize(0, **options)  # raises TypeError, in words that depend on Python's version
    shape = _extents(new_shape)
    if shape is None:
        return
    if not (self.flags.c_contiguous or self.flags.f_contiguous):
        raise ValueError("resize only works on single-segment arrays")
    if _size(shape) != self.size:
        _check(self, bool(refcheck) and (is_held or _core.is_lent(self)))
    if not _core.is_native(self):
        _core.to_numpy(self).resize(shape, refcheck=False)
    elif _size(shape) == self.size:
        _give(self, shape)
    else:
        _core.become_like(self, _resized(self, shape))


def _check(array: Any, is_held: bool) -> None:
    if not array.flags.owndata:
        raise ValueError("cannot resize this array: it does not own its data")
    if is_held:
        raise ValueError(_MAY_BE_REFERRED if sys.version_info >= (3, 14) else _REFERRED)
    if weakref.getweakrefcount(array):
        raise ValueError(_REFERRED)


_REFERRED = (
    "cannot resize an array that references or is referenced\n"
    "by another object in this way.\n"
    "Use the np.resize function to get a new resized copy or\n"
    " set refcheck=False to disable this check"
)
_MAY_BE_REFERRED = (
    "cannot resize an array that may be referenced by another object.\n"
    "It is possible that this is a false positive.\n"
    "If you are sure that the array is uniquely referenced, set refcheck=False."
)


def _extents(given: tuple[Any, ...]) -> tuple[int, ...] | None:
    """Return the new extents, or None if the call gives none."""
    if not given:
        return None
    if len(given) == 1:
        (only,) = given
        if only is None:
            return None
        if type(only) is bool:
            raise TypeError(f"expected a sequence of integers or a single integer, got '{only}'")
        shape = tuple(_core.dimensions(only))
    else:
        shape = tuple(_core.dimensions(given))
    if any(n < 0 for n in shape):
        raise ValueError("negative dimensions not allowed")
    return shape


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size


def _give(array: Any, shape: tuple[int, ...]) -> None:
    """Give an array another shape of the same size in place."""
    if array.flags.c_contiguous:
        moved = array.reshape(-1).reshape(shape)
    else:
        moved = array.T.reshape(shape[::-1]).T
    _core.become_like(array, moved)


def _resized(array: Any, shape: tuple[int, ...]) -> Any:
    """Return a new array with the elements of `array` in memory order, then zeros."""
    fortran = not array.flags.c_contiguous
    elements = (array.T if fortran else array).reshape(-1)
    made = _core.full(shape[::-1] if fortran else shape, 0, array.dtype)
    flat = made.reshape(-1)
    kept = min(flat.size, elements.size)
    flat[:kept] = elements[:kept]
    return made.T if fortran else made
