"""The rest of an iteration that compiled code has begun."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, cast

import numpy

from numelt import _core

__all__ = ["again", "begun", "rest"]


def again(iterator: Any, item: Any) -> Iterator[Any]:
    """Return an iterator over an item that has been taken already, and then what is left of an iteration."""
    if type(iterator) is _core.JitRest:
        iterator.again(item)
        return cast(Iterator[Any], iterator)
    return chain((item,), iterator)


def begun(source: Any) -> Any:
    """Return what a loop iterates over so that compiled code can take over: it knows how far it has come."""
    if type(source) is range or (type(source) in (numpy.ndarray, _core.ndarray) and source.ndim):
        return _core.JitRest(source, 0)
    # for compiled code a tuple would be one of which nothing has been taken
    return iter(source) if type(source) is tuple else source


def rest(kind: str, source: Any, position: int) -> Iterator[Any]:
    """Return an iterator over what is left of an iteration.

    Parameters
    ----------
    kind : {"iter", "range", "enumerate", "zip"}
        What is iterated over.
    source : object
        The iterable; with "enumerate" a pair of the iterable and the first number, with "zip" a tuple of
        iterables.
    position : int
        How many iterations have begun.
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
        # like the iterator that has come so far, this one sees what the loop does to the list
        iterator.__setstate__(position)
        return cast(Iterator[Any], iterator)
    return islice(iterator, position, None)
