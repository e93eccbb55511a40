"""What numelt changes in numba: compiled functions accept our arrays, and `np` in them means NumPy.

Functions whose loops numelt compiles are given to numba as they are written.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable
from typing import Any

from numelt._dispatch import fallback
from numelt.compat.wrapping import Name, giving_back, numpys_module

TESTED = ">=0.68,<0.69"
# numba calls these with NumPy's arrays, and some of them from C by address
COMPILED: tuple[str, ...] = ()


def _looking_up(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose result holds NumPy's modules, functions and arrays, not numelt's."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return fallback.unwrap(numpys_module(function(*args, **kwargs)))

    return call


# by function: the copy of it, with the code that CPython makes of its source, that numba has compiled
_copies: weakref.WeakKeyDictionary[types.FunctionType, Any] = weakref.WeakKeyDictionary()


def _as_written(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose result, a function, has the code that CPython makes of its source."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        from numelt._jit.source import as_written  # not needed until numba compiles something

        found = function(*args, **kwargs)
        if type(found) is not types.FunctionType:
            return found
        made = _copies.get(found)
        if made is None:
            made = as_written(found)
            if made is not found:
                _copies[found] = made
        return made

    return call


def _by_copy(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that is called with the copy of a function that numba has compiled."""

    @functools.wraps(function)
    def call(self: Any, py_func: Any) -> Any:
        is_function = type(py_func) is types.FunctionType
        return function(self, _copies.get(py_func, py_func) if is_function else py_func)

    return call


_GLOBALS = "numba knows what it compiles by the function itself: `np.sin` has to be NumPy's"
WRAPPED = (
    Name(
        "numba.core.dispatcher",
        "Dispatcher.__call__",
        giving_back,
        "its C code reads arrays of NumPy's class",
    ),
    Name("numba.core.interpreter", "Interpreter.get_global_value", _looking_up, _GLOBALS),
    Name("numba.core.interpreter", "Interpreter.get_closure_value", _looking_up, _GLOBALS),
    Name(
        "numba.core.bytecode",
        "get_function_object",
        _as_written,
        "it reads the code of functions, which with compiled loops (--jit-loops) is that of their twins",
    ),
    Name(
        "numba.core.typing.context",
        "CallStack.finditer",
        _by_copy,
        "it searches for a function among those that are being compiled, which may be copies",
    ),
)
