"""What numelt changes in `warnings`: pending work warns in time, and the core knows the filters.

In: changes of filters, and `warnings.catch_warnings`. Out: `watch`, `settling`.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from typing import Any, cast

from numelt import _core

__all__ = ["settling", "watch"]


def _settled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that lets pending work warn before it calls another function."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        _core.settle_warnings()
        return function(*args, **kwargs)

    return call


class _Caught(list[Any]):
    """The list of `warnings.catch_warnings`; before it is read, pending work warns."""

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
    """Return whether the filters turn some `RuntimeWarning` into an exception."""
    for action, message, category, module, line in warnings.filters:
        if issubclass(RuntimeWarning, category):
            if action == "error":
                return True
            if message is None and module is None and not line:
                return False
    # the action if no filter matches; the stubs do not have it
    return bool(vars(warnings)["defaultaction"] == "error")


def _filters_changed() -> None:
    """Tell the core whether warnings are errors, so that operations have to run when they are called."""
    _core.warnings_are_errors(_are_errors())


def settling(manager: Any) -> None:
    """Let pending work warn when a context manager of this class is entered, read and left."""
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
    """Return a function that changes filters after pending work has warned, and tells the core."""
    settled = _settled(change)

    @functools.wraps(change)
    def changed(*args: Any, **kwargs: Any) -> None:
        settled(*args, **kwargs)
        _filters_changed()

    return changed


def watch() -> None:
    """Wrap the functions that change filters, and `warnings.catch_warnings`."""
    settling(warnings.catch_warnings)
    for name in ("simplefilter", "filterwarnings", "resetwarnings"):
        change = getattr(warnings, name)
        if not hasattr(change, "__wrapped__"):
            setattr(warnings, name, _watched(change))
    _filters_changed()
