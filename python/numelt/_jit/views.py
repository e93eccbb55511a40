"""Objects for views of NumPy's own arrays. Compiled code computes such views as an address and strides."""

from __future__ import annotations

from typing import Any

import numpy

__all__ = ["part"]


class _Part:
    """A part of an array, described by NumPy's array interface. It keeps the array alive."""

    def __init__(self, array: Any, interface: dict[str, Any]) -> None:
        self.array = array
        self.__array_interface__ = interface


def part(array: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """Return a view of an array.

    Parameters
    ----------
    array : numpy.ndarray
        The array.
    offset : int
        The distance of the view's first element from that of the array, in bytes.
    shape, strides : tuple of int
        The shape of the view, and its strides in bytes.
    """
    interface = dict(array.__array_interface__)
    address, is_read_only = interface["data"]
    interface.update(data=(address + offset, is_read_only), shape=shape, strides=strides)
    # the new array refers to the part object, and through it to the array
    return numpy.asarray(_Part(array, interface))
