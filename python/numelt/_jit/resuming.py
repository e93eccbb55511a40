"""Iterators with which CPython, or compiled code that takes over again, continues a loop."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, cast

import numpy

from numelt import _core

__all__ = ["again", "begun", "rest"]


def again(iterator: Any, item: Any) -> Iterator[Any]:
    """Return an iterator over an item that the loop has taken already, followed by the remaining items."""
    if type(iterator) is _core.JitRest:
        iterator.again(item)
        return cast(Iterator[Any], iterator)
    return chain((item,), iterator)


def begun(source: Any) -> Any:
    """Return an iterable that tells compiled code how many items have been taken, where that is possible."""
    if type(source) is range or (type(source) in (numpy.ndarray, _core.ndarray) and source.ndim):
        return _core.JitRest(source, 0)
    # given a tuple or a list, compiled code would start with its first item again; their iterators it does
    # not accept
    return iter(source) if type(source) in (tuple, list) else source


def rest(kind: str, source: Any, position: int) -> Iterator[Any]:
    """Return an iterator over the items of an iterable from a position on.

    Parameters
    ----------
    kind : {"iter", "range", "enumerate", "zip"}
        The kind of the iterable.
    source : object
        The iterable; with "enumerate" a pair of the iterable and the first number, with "zip" a tuple of
        iterables.
    position : int
        The number of items that have been taken.
    """
    if kind == "enumerate":
        return enumerate(_from(source[0], position), source[1] + position)
    if kind == "zip":
        return zip(*(_from(part, position) for part in source), strict=False)
    return _from(source, position)


def _from(source: Any, position: int) -> Iterator[Any]:
    """Return an iterator over an iterable that begins at a position."""
    if isinstance(source, range):
        return iter(source[position:])
    iterator: Any = iter(source)
    if isinstance(source, list | tuple):
        # the iterator of the list itself: it sees changes that the loop makes to the list
        iterator.__setstate__(position)
        return cast(Iterator[Any], iterator)
    return islice(iterator, position, None)
