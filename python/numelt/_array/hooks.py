"""Functions that the compiled core calls if an operation is not native."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy

from numelt import _core
from numelt._dispatch import fallback, table
from numelt._dispatch.routine import routine
from numelt._routines.indexing import keys
from numelt._ufunc import reductions, ufuncs

__all__ = ["install"]


def fall_back(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run `function` in NumPy; a ufunc is composed of native operations if possible."""
    if isinstance(function, numpy.ufunc):
        return ufuncs.call(function, args, kwargs or {})
    return fallback.call(name, function, args, kwargs or {})


def ufunc_call(ufunc: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
    """Call a ufunc, given as object or by name, whose call has not been recorded."""
    if isinstance(ufunc, str):
        ufunc = getattr(numpy, ufunc)
    elif type(ufunc) is _core.ufunc:
        ufunc = ufunc.numpy
    return ufuncs.call(ufunc, args, kwargs or {})


def ufunc_method(ufunc: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
    """Call a method of a ufunc."""
    return ufuncs.method(ufunc, name, args, kwargs or {})


def _is_harmless(value: Any, depth: int = 0) -> bool:
    """Return whether passing this argument to NumPy again runs no program code and consumes nothing."""
    if isinstance(value, numpy.ndarray | _core.ndarray):
        return type(value) in (numpy.ndarray, _core.ndarray) and not value.dtype.hasobject
    if type(value) in (list, tuple):
        return depth < _DEEPEST and all(_is_harmless(item, depth + 1) for item in value)
    if isinstance(value, type | numpy.generic | numpy.dtype):
        return True
    return type(value).__module__ == "builtins" and not callable(value) and not hasattr(value, "__next__")


# depth of nested lists up to which their items are examined
_DEEPEST = 4


def reworded(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None, error: TypeError) -> Any:
    """Return the exception that NumPy raises for arguments with which one of our functions has raised."""
    original = fallback.numpys_own(function)
    kwargs = kwargs or {}
    if not all(map(_is_harmless, (*args, *kwargs.values()))):
        return error
    found: Exception
    try:
        fallback.uncounted(original, args, kwargs)
    except Exception as theirs:
        found = theirs
    else:
        return error
    found.__context__ = error.__context__
    return found.with_traceback(error.__traceback__)


_HALF = 2.0**31


def to_u32(a: Any) -> Any:
    """Convert contiguous floats to uint32, with the results of NumPy's loop for numbers that do not fit.

    The loop converts vectors of four through int32, with the upper half of the range shifted. It converts the
    rest, and all numbers of an array that is not contiguous, through int64.
    """
    high = _core.elementwise("greater_equal", (a, _HALF))
    near = _core.elementwise("subtract", (a, _core.elementwise("multiply", (high.astype(a.dtype), _HALF))))
    low = near.astype("i4").astype("u4")
    top = _core.elementwise("left_shift", (high.astype("u4"), 31))
    result = _core.elementwise("bitwise_xor", (low, top))
    left = a.size % 4
    if left:
        with numpy.errstate(invalid="ignore"):  # numbers that do not fit have been reported above
            result.ravel("K")[-left:] = a.ravel("K")[-left:]
    return result


def install() -> None:
    """Hand the hooks to the core."""
    hooks: dict[str, Callable[..., Any]] = {
        "fallback": fall_back,
        "note": fallback.note,
        "getitem": keys.getitem,
        "setitem": keys.setitem,
        "ufunc_call": ufunc_call,
        "ufunc_method": ufunc_method,
        "reduce": reductions.reduce,
        "reworded": reworded,
        "to_u32": routine("astype", operator.methodcaller("astype", "u4"), to_u32, table.FEW),
    }
    for name, function in hooks.items():
        try:
            _core.set_hooks(**{name: function})
        except (TypeError, ValueError, KeyError):
            continue  # a core without this hook
