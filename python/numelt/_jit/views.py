"""Views of NumPy's arrays that compiled code has made."""

from __future__ import annotations

from typing import Any

import numpy

__all__ = ["part"]


class _Part:
    """A part of an array, by NumPy's array protocol. It keeps the array alive."""

    def __init__(self, array: Any, interface: dict[str, Any]) -> None:
        self.array = array
        self.__array_interface__ = interface


def part(array: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """Return a view of an array.

    Parameters
    ----------
    array : numpy.ndarray
        What is looked at.
    offset : int
        The place of its first element, in bytes from that of the array.
    shape, strides : tuple of int
        Extents, and distances in bytes.
    """
    interface = dict(array.__array_interface__)
    address, is_read_only = interface["data"]
    interface.update(data=(address + offset, is_read_only), shape=shape, strides=strides)
    # NumPy takes the memory from the part, whose base is the array itself
    return numpy.asarray(_Part(array, interface))
