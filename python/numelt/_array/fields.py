"""``ndarray.getfield``, ``setfield`` and ``byteswap``: access to the bytes of elements.

In: an array, a dtype and an offset within each element. Out: a view of those bytes, or the elements with
their bytes reversed. Arrays of non-native dtypes (records, text, other byte orders) are left to NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from numelt import _core
from numelt._dispatch import fallback

__all__ = ["byteswap", "getfield", "setfield"]


def _window(array: Any, dtype: Any, offset: Any) -> Any:
    """Return the view of a field, or NotImplemented if the call has to run in NumPy."""
    if not _core.is_native(array) or type(offset) is not int:
        return NotImplemented
    kind = numpy.dtype(dtype)
    if not 0 <= offset <= array.itemsize - kind.itemsize or kind.itemsize == 0 or kind.hasobject:
        return NotImplemented
    if array.itemsize % kind.itemsize or offset % kind.itemsize:
        return NotImplemented  # the field is not aligned
    # a new last axis goes through the fields of an element; one of them is chosen
    parts = _core.as_strided(array, (*array.shape, 1), (*array.strides, array.itemsize), 0)
    parts = parts.view(kind)
    return parts[..., offset // kind.itemsize] if _core.is_native(parts) else NotImplemented


def getfield(self: Any, dtype: Any, offset: Any = 0) -> Any:
    """Return a view of some bytes of each element as another dtype.

    Examples
    --------
    >>> import numelt as np
    >>> np.array([1 + 2j, 3 + 4j]).getfield(np.float64, offset=8)
    array([2., 4.])
    """
    found = _window(self, dtype, offset)
    if found is NotImplemented:
        return fallback.call("ndarray.getfield", numpy.ndarray.getfield, (self, dtype, offset), {})
    return found


def setfield(self: Any, val: Any, dtype: Any, offset: Any = 0) -> None:
    """Store values in some bytes of each element as another dtype.

    Examples
    --------
    >>> import numelt as np
    >>> x = np.array([1 + 2j, 3 + 4j])
    >>> x.setfield([5, 6], np.float64, offset=8)
    >>> x
    array([1.+5.j, 3.+6.j])
    """
    found = _window(self, dtype, offset) if self.flags.writeable else NotImplemented
    if found is NotImplemented:
        fallback.call("ndarray.setfield", numpy.ndarray.setfield, (self, val, dtype, offset), {})
    else:
        found[...] = val


def byteswap(self: Any, inplace: Any = False) -> Any:
    """Return the elements with their bytes in the opposite order, or reverse them in place.

    Examples
    --------
    >>> import numelt as np
    >>> np.array([1, 256], dtype=np.int16).byteswap()
    array([256,   1], dtype=int16)
    """
    native = _core.is_native(self) and type(inplace) is bool and self.flags.writeable >= inplace
    if not native:
        return fallback.call("ndarray.byteswap", numpy.ndarray.byteswap, (self, inplace), {})
    result = self if inplace else self.copy("K")
    # real and imaginary parts are swapped separately
    width = result.itemsize // 2 if result.dtype.kind == "c" else result.itemsize
    if width > 1 and result.size:
        for part in (result.real, result.imag) if result.dtype.kind == "c" else (result,):
            octets = _core.as_strided(part, (*part.shape, 1), (*part.strides, width), 0).view(numpy.uint8)
            octets[...] = octets[..., ::-1].copy()
    return result


METHODS: dict[str, Callable[..., Any]] = {"getfield": getfield, "setfield": setfield, "byteswap": byteswap}
