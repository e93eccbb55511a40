"""Floating-point errors: NumPy's error state reaches the core, and the core's warnings reach the user.

In: changes of NumPy's error state by anybody, warnings of finished work. Out: a note to the core, and
`RuntimeWarning` at the line where the operation stands. Operations report what held when they were written;
the warning appears when their values are needed, and no later than somebody looks: at the next change of
filters, or at the list that `warnings.catch_warnings` records. Where warnings are errors, operations run one
at a time. Where a statement overwrote its own input, the operation named is the likeliest one of the fused
kernel.
"""

from __future__ import annotations

import contextvars
import functools
import sys
import warnings
from collections.abc import Callable
from types import CodeType
from typing import Any, cast

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


def _warn_at(text: str, code: CodeType, offset: int, module: str) -> None:
    """Give a warning at the line of an instruction."""
    lines = (line for start, end, line in code.co_lines() if start <= offset < end and line)
    found = sys.modules.get(module)
    registry = None if found is None else vars(found).setdefault("__warningregistry__", {})
    line = next(lines, code.co_firstlineno)
    warnings.warn_explicit(text, RuntimeWarning, code.co_filename, line, module, registry)


def warn(told: list[tuple[str, tuple[CodeType, int, str] | None]]) -> None:
    """Give warnings where the operations stand, or at the innermost line neither numelt's nor NumPy's."""
    level = 2
    frame = sys._getframe(1)
    while frame.f_globals.get("__name__", "").partition(".")[0] in ("numelt", "numpy"):
        if frame.f_back is None:
            break
        frame = frame.f_back
        level += 1
    for text, place in told:
        if place is None:
            warnings.warn(text, RuntimeWarning, stacklevel=level)
        else:
            _warn_at(text, *place)


def _settled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Have pending warnings given before a function is called."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        _core.settle_warnings()
        return function(*args, **kwargs)

    return call


class _Caught(list[Any]):
    """The warnings that `warnings.catch_warnings` records: whoever looks sees those of pending work, too."""

    __hash__ = None


# fmt: off
for _name in (
    "__len__", "__getitem__", "__iter__", "__reversed__", "__contains__", "__repr__", "__eq__", "__ne__",
    "__add__", "__iadd__", "__mul__", "__setitem__", "__delitem__", "clear", "copy", "count", "index",
    "insert", "pop", "remove", "reverse", "sort",
):
    setattr(_Caught, _name, _settled(getattr(list, _name)))
# fmt: on


def _are_errors() -> bool:
    """Do the filters turn some `RuntimeWarning` into an exception?"""
    for action, message, category, module, line in warnings.filters:
        if issubclass(RuntimeWarning, category):
            if action == "error":
                return True
            if message is None and module is None and not line:
                return False
    # the action where no filter matches; the stubs do not have it
    return bool(vars(warnings)["defaultaction"] == "error")


def _filters_changed() -> None:
    """Tell the core whether operations have to warn when they are called."""
    _core.warnings_are_errors(_are_errors())


def settling(manager: Any) -> None:
    """Have a class of context managers give pending warnings before they are entered, looked at and left."""
    enter, leave = manager.__enter__, manager.__exit__
    if hasattr(enter, "__wrapped__"):
        return

    @functools.wraps(enter)
    def __enter__(self: Any) -> Any:
        _core.settle_warnings()
        caught: Any = enter(self)
        module = sys.modules["warnings"]
        show = getattr(module, "_showwarnmsg_impl", None)
        if type(caught) is list and getattr(show, "__self__", None) is caught:
            caught = _Caught(cast(list[Any], caught))
            vars(module)["_showwarnmsg_impl"] = super(_Caught, caught).append
        _filters_changed()
        return caught

    @functools.wraps(leave)
    def __exit__(self: Any, *exception: Any) -> Any:
        try:
            _core.settle_warnings()
        finally:
            leave(self, *exception)
            _filters_changed()

    manager.__enter__, manager.__exit__ = __enter__, __exit__


def _watched(change: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that changes filters after pending warnings have been given, and tells the core."""
    settled = _settled(change)

    @functools.wraps(change)
    def changed(*args: Any, **kwargs: Any) -> None:
        settled(*args, **kwargs)
        _filters_changed()

    return changed


def _watch_filters() -> None:
    """Watch the functions that change filters."""
    for name in ("simplefilter", "filterwarnings", "resetwarnings"):
        change = getattr(warnings, name)
        if not hasattr(change, "__wrapped__"):
            setattr(warnings, name, _watched(change))
    _filters_changed()


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
    _watch_filters()
