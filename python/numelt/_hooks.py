"""The compiled core's calls back into Python: everything it meets that is not native."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy

from numelt import _core, _fallback, _ufuncs
from numelt._routines import indexing

__all__ = ["install"]


def fallback(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run `function` in NumPy; a ufunc gets the chance to be composed of native operations first."""
    if isinstance(function, numpy.ufunc):
        return _ufuncs.call(function, args, kwargs or {})
    return _fallback.call(name, function, args, kwargs or {})


def ufunc_call(ufunc: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
    """Call a ufunc, given as object or by name, that was not recorded."""
    if isinstance(ufunc, str):
        ufunc = getattr(numpy, ufunc)
    elif type(ufunc) is _core.ufunc:
        ufunc = ufunc.numpy
    return _ufuncs.call(ufunc, args, kwargs or {})


def ufunc_method(ufunc: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
    """Call a method of a ufunc."""
    return _ufuncs.method(ufunc, name, args, kwargs or {})


def escape(frame: FrameType, at: int) -> int:
    """Say what becomes of the scalar that the frame's instruction makes."""
    from numelt import _escape  # many programs never need it

    return _escape.verdict(frame, at)


def install() -> None:
    """Hand the hooks to the core."""
    hooks: dict[str, Callable[..., Any]] = {
        "fallback": fallback,
        "note": _fallback.note,
        "getitem": indexing.getitem,
        "setitem": indexing.setitem,
        "ufunc_call": ufunc_call,
        "ufunc_method": ufunc_method,
        "escape": escape,
    }
    for name, function in hooks.items():
        try:
            _core.set_hooks(**{name: function})
        except (TypeError, ValueError, KeyError):
            continue  # a core that sends this case through another hook
