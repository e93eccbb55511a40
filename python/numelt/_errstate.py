"""Floating-point errors: NumPy's error state reaches the core, and the core's warnings reach the user.

In: changes of NumPy's error state by anybody, warnings of finished work. Out: a note to the core, and
`RuntimeWarning` at the user's line. Operations report what held when they were written; the warning
appears when their values are needed, and no later than at the next `warnings.catch_warnings`.
Where a statement overwrote its own input, the operation named is the likeliest one of the fused kernel.
"""

from __future__ import annotations

import contextvars
import functools
import sys
import warnings
from typing import Any

import numpy
from numpy._core import _ufunc_config

from numelt import _core

# NumPy's state as it is when nobody has changed it
_DEFAULT = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}

__all__ = ["install"]


class _State:
    """NumPy's context variable of the error state, with a note to the core at the first change.

    From then on the core asks for the state itself, and the variable is NumPy's own again: functions of
    NumPy's that set the state for themselves would take half a microsecond longer.
    """

    __slots__ = ("_variable",)

    def __init__(self, variable: contextvars.ContextVar[Any]) -> None:
        self._variable = variable

    def set(self, value: Any) -> contextvars.Token[Any]:
        token = self._variable.set(value)
        _changed(self._variable)
        return token

    def __getattr__(self, name: str) -> Any:
        return getattr(self._variable, name)


# NumPy's stubs do not have the variable
_config: Any = _ufunc_config


def _changed(variable: contextvars.ContextVar[Any]) -> None:
    _core.errstate_changed()
    _config._extobj_contextvar = variable


def warn(texts: list[str]) -> None:
    """Give warnings at the innermost line that is neither numelt's nor NumPy's."""
    level = 2
    frame = sys._getframe(1)
    while frame.f_globals.get("__name__", "").partition(".")[0] in ("numelt", "numpy"):
        if frame.f_back is None:
            break
        frame = frame.f_back
        level += 1
    for text in texts:
        warnings.warn(text, RuntimeWarning, stacklevel=level)


def settling(manager: Any) -> None:
    """Have a class of context managers give pending warnings before they are entered and left."""
    enter, leave = manager.__enter__, manager.__exit__
    if hasattr(enter, "__wrapped__"):
        return

    @functools.wraps(enter)
    def __enter__(self: Any) -> Any:
        _core.settle_warnings()
        return enter(self)

    @functools.wraps(leave)
    def __exit__(self: Any, *exception: Any) -> Any:
        try:
            _core.settle_warnings()
        finally:
            leave(self, *exception)

    manager.__enter__, manager.__exit__ = __enter__, __exit__


def install() -> None:
    """Watch NumPy's error state and `warnings.catch_warnings`, once per process."""
    _core.set_hooks(warn=warn)
    # all changes of the state in NumPy's Python code go through this name
    variable = getattr(_config._extobj_contextvar, "_variable", _config._extobj_contextvar)
    if numpy.geterr() != _DEFAULT:
        _changed(variable)
    else:
        _config._extobj_contextvar = _State(variable)
    settling(warnings.catch_warnings)
