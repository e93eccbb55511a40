"""Copies of NumPy's Python modules, in which names can mean something else.

Much of NumPy is Python that calls compiled functions by the global names of its module. `copy_of` runs a
module's file a second time, as a module of numelt's own that `sys.modules` does not hold. Whoever asks for a
copy puts other values under its names: our functions (`composed`), or loops that several threads share
(`stacks`). NumPy's modules, and the functions in them, stay as they are.

In: a module of NumPy. Out: a module of the same functions. They are plain functions: ``__array_function__``
has been asked before one of them is called.
"""

from __future__ import annotations

import builtins
import importlib.util
import types
from typing import Any

from numpy._core import overrides

__all__ = ["copy_of"]


class _Overrides(types.ModuleType):
    """NumPy's module `overrides` for copies: functions are not made to ask ``__array_function__``."""

    def array_function_dispatch(self, *_: Any, **__: Any) -> Any:
        """Return a decorator that changes nothing."""
        return lambda function: function

    def __getattr__(self, name: str) -> Any:
        return getattr(overrides, name)


_overrides = _Overrides(overrides.__name__)


class _Importing(types.ModuleType):
    """A module of NumPy for the import statements of copies: `_Overrides` is in it."""

    def __init__(self, original: types.ModuleType) -> None:
        super().__init__(original.__name__)
        self.__dict__["_original"] = original

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.__dict__["_original"], name)
        return _overrides if value is overrides else value


def _import(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    """Import a module for a copy."""
    module = builtins.__import__(name, globals, locals, fromlist, level)
    if module is overrides:
        return _overrides
    return _Importing(module) if "overrides" in (fromlist or ()) else module


def copy_of(original: types.ModuleType) -> types.ModuleType:
    """Return a new copy of one of NumPy's Python modules."""
    spec = original.__spec__
    assert spec is not None
    assert spec.loader is not None
    copy = importlib.util.module_from_spec(spec)
    vars(copy)["__builtins__"] = {**vars(builtins), "__import__": _import}
    spec.loader.exec_module(copy)
    # frames of numelt's own are not the user's
    copy.__name__ = f"numelt.{original.__name__.partition('.')[2]}"
    return copy
