"""Public functions and methods as the compiled core calls them.

In: a function of NumPy and the package's Python function for it. Out: the object that users call. It decides
who answers a call, as `table` describes.
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
    """Return whether NumPy's function becomes a method if a class holds it, as in ``array = np.array``."""
    return not isinstance(original, types.BuiltinFunctionType)


def routine(name: str, original: Any, function: Any, share: Any = None, most: int | None = None) -> Any:
    """Return the object that replaces `original`; `function` answers the calls that nothing else answers.

    `name` is the dotted name below ``numpy``. `share` says which calls are left to NumPy's function, if the
    table does not (see `table`). A library function leaves calls on at most `most` elements to NumPy's
    function.
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
    """Return our arrays' method of this name; `function` answers the calls that nothing else answers."""
    return routine(f"ndarray.{name}", getattr(numpy.ndarray, name), function, share)


def inner(function: Any) -> Any:
    """Return the package's Python function that belongs to a public one."""
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
