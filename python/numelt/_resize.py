"""``ndarray.resize``: an array with another number of elements under the same name.

In: an array that owns its elements and new extents. Out: the array itself, its first elements kept in memory
order and the new ones zero. Views made before keep what they show.
"""

from __future__ import annotations

import operator
import sys
from typing import Any

from numelt import _core

__all__ = ["resize"]


def resize(self: Any, *new_shape: Any, refcheck: Any = True) -> None:
    """Change shape and size of the array itself.

    Parameters
    ----------
    new_shape : int or tuple of ints
        The new extents.
    refcheck : bool, optional
        Refuse while something else refers to the array.

    Raises
    ------
    ValueError
        If the array does not own its elements, or is referred to.

    Examples
    --------
    >>> import numelt as np
    >>> x = np.array([1, 2, 3])
    >>> x.resize(2, 2)
    >>> x
    array([[1, 2],
           [3, 0]])
    """
    refcheck = operator.index(refcheck)
    shape = _extents(new_shape)
    if shape is None or (_size(shape) == self.size and _same_memory(self, shape)):
        return
    if not _core.is_native(self):
        _owned(self)
        plain = _core.to_numpy(self)
        if refcheck and sys.getrefcount(self) > _REFERENCES:
            raise ValueError(_REFERRED)
        plain.resize(shape, refcheck=False)
        return
    if not (self.flags.c_contiguous or self.flags.f_contiguous):
        raise ValueError("resize only works on single-segment arrays")
    _owned(self)
    if refcheck and sys.getrefcount(self) > _REFERENCES:
        raise ValueError(_REFERRED)
    _core.become_like(self, _resized(self, shape))


_REFERRED = (
    "cannot resize an array that references or is referenced\n"
    "by another array in this way.\n"
    "Use the np.resize function or refcheck=False"
)


def _extents(given: tuple[Any, ...]) -> tuple[int, ...] | None:
    """Return the new extents, None where the call says nothing."""
    if len(given) == 1:
        if given[0] is None:
            return None
        given = tuple(given[0]) if hasattr(given[0], "__iter__") and type(given[0]) is not str else given
    elif not given:
        return None
    shape = tuple(operator.index(n) for n in given)
    if any(n < 0 for n in shape):
        raise ValueError("negative dimensions not allowed")
    return shape


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size


def _same_memory(array: Any, shape: tuple[int, ...]) -> bool:
    """Give an array new extents for the same elements, if its memory allows."""
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise ValueError("resize only works on single-segment arrays")
    if not array.flags.c_contiguous:
        return False
    array.shape = shape
    return True


def _owned(array: Any) -> None:
    if not array.flags.owndata:
        raise ValueError("cannot resize this array: it does not own its data")


def _resized(array: Any, shape: tuple[int, ...]) -> Any:
    """Return a new array with the elements of `array` in memory order, then zeros."""
    fortran = not array.flags.c_contiguous
    elements = (array.T if fortran else array).reshape(-1)
    made = _core.full(shape[::-1] if fortran else shape, 0, array.dtype)
    flat = made.reshape(-1)
    kept = min(flat.size, elements.size)
    flat[:kept] = elements[:kept]
    return made.T if fortran else made


def _count_references() -> int:
    """Count the references to an array that one variable holds, as `resize` sees them."""

    class Probe:
        def resize(self, *new_shape: Any, refcheck: Any = True) -> int:
            return sys.getrefcount(self)

    probe = Probe()
    return probe.resize(1)


_REFERENCES = _count_references()
