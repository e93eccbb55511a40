"""The compiled core's calls back into Python: everything it meets that is not native."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy

from numelt import _core
from numelt._dispatch import fallback, table
from numelt._dispatch.routine import routine
from numelt._routines.indexing import keys
from numelt._ufunc import ufuncs

__all__ = ["install"]


def fall_back(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run `function` in NumPy; a ufunc gets the chance to be composed of native operations first."""
    if isinstance(function, numpy.ufunc):
        return ufuncs.call(function, args, kwargs or {})
    return fallback.call(name, function, args, kwargs or {})


def ufunc_call(ufunc: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
    """Call a ufunc, given as object or by name, that was not recorded."""
    if isinstance(ufunc, str):
        ufunc = getattr(numpy, ufunc)
    elif type(ufunc) is _core.ufunc:
        ufunc = ufunc.numpy
    return ufuncs.call(ufunc, args, kwargs or {})


def ufunc_method(ufunc: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
    """Call a method of a ufunc."""
    return ufuncs.method(ufunc, name, args, kwargs or {})


def _is_harmless(value: Any, depth: int = 0) -> bool:
    """Does NumPy run none of the program's code, and use nothing up, when it looks at an argument again?"""
    if isinstance(value, numpy.ndarray | _core.ndarray):
        return type(value) in (numpy.ndarray, _core.ndarray) and not value.dtype.hasobject
    if type(value) in (list, tuple):
        return depth < _DEEPEST and all(_is_harmless(item, depth + 1) for item in value)
    if isinstance(value, type | numpy.generic | numpy.dtype):
        return True
    return type(value).__module__ == "builtins" and not callable(value) and not hasattr(value, "__next__")


# nested lists that are looked into
_DEEPEST = 4


def reworded(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None, error: TypeError) -> Any:
    """Return what NumPy raises for arguments that one of our functions finds wrong."""
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
    """Convert contiguous floats to uint32, numbers that do not fit as NumPy's loop does.

    Its vectors of four convert through int32, the half of the range that this lacks apart; what is left over
    goes through int64, as every number of an array with gaps does.
    """
    high = _core.elementwise("greater_equal", (a, _HALF))
    near = _core.elementwise("subtract", (a, _core.elementwise("multiply", (high.astype(a.dtype), _HALF))))
    low = near.astype("i4").astype("u4")
    top = _core.elementwise("left_shift", (high.astype("u4"), 31))
    result = _core.elementwise("bitwise_xor", (low, top))
    left = a.size % 4
    if left:
        with numpy.errstate(invalid="ignore"):  # what does not fit was met above
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
        "reworded": reworded,
        "to_u32": routine("astype", operator.methodcaller("astype", "u4"), to_u32, table.FEW),
    }
    for name, function in hooks.items():
        try:
            _core.set_hooks(**{name: function})
        except (TypeError, ValueError, KeyError):
            continue  # a core that sends this case through another hook
