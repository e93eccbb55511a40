"""Public functions and methods as the compiled core calls them.

In: a function of NumPy's and the package's Python function for it. Out: the object that users call, which
leads a call along the road that `table` describes.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy

from numelt import _core
from numelt._dispatch import library, table

__all__ = ["binds", "inner", "library_function", "method", "routine"]


def binds(original: Any) -> bool:
    """Does NumPy's function become a method of a class that holds it, as in ``array = np.array`` there?"""
    return not isinstance(original, types.BuiltinFunctionType)


def routine(name: str, original: Any, function: Any, share: Any = None, most: int | None = None) -> Any:
    """Return the object that stands for NumPy's `original`; what nothing else answers, `function` does.

    `name` is the dotted name below ``numpy``. `share` says which calls NumPy's function does, where the table
    does not: see `table`; or it is a library function, which does calls on at most `most` elements.
    """
    if share is None:
        share = table.share(name)
        if name in table.COUNTED:
            share, most = library.handle(name, original), int(share)
    made: Any
    if name.startswith("ndarray."):
        made = _core.method(name, original, function, share, most)
    else:
        made = _core.routine(
            name, original, function, share, binds(original), most, _method_of(name, original)
        )
    return functools.update_wrapper(made, function)


def method(name: str, function: Any, share: Any = None) -> Any:
    """Return the method of this name of our arrays; what nothing else answers, `function` does."""
    return routine(f"ndarray.{name}", getattr(numpy.ndarray, name), function, share)


def inner(function: Any) -> Any:
    """Return the package's Python function that stands behind a public one."""
    return function._implementation


def _method_of(name: str, original: Any) -> Any:
    """Return the method of NumPy's array that `original` calls, if it does nothing else, or None."""
    if name in table.METHODS and original is getattr(numpy, name, None):
        return getattr(numpy.ndarray, name)
    return None


def library_function(name: str, original: Any) -> Callable[..., Any]:
    """Return a function that runs `original` as the library call `name`."""
    made = library.handle(name, original)
    run = routine(name, original, made, made, library.most(name))
    return functools.wraps(original, updated=())(run)
