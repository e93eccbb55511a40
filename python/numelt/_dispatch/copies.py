"""Copies of NumPy's Python modules, in which global names can refer to other objects.

Much of NumPy is Python that calls compiled functions by the global names of its module. `copy_of` runs a
module's file a second time, as a module of numelt's own that is not in `sys.modules`. The caller then
replaces values in the copy: by our functions (`composed`), or by loops that several threads share (`stacks`).
NumPy's modules, and the functions in them, are not changed.

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
    """Stands for NumPy's module `overrides` in copies: its decorator returns the function itself."""

    def array_function_dispatch(self, *_: Any, **__: Any) -> Any:
        """Return a decorator that returns the function it is given."""
        return lambda function: function

    def __getattr__(self, name: str) -> Any:
        return getattr(overrides, name)


_overrides = _Overrides(overrides.__name__)


class _Importing(types.ModuleType):
    """Stands for a module of NumPy from which a copy imports `overrides`: it holds `_Overrides` instead."""

    def __init__(self, original: types.ModuleType) -> None:
        super().__init__(original.__name__)
        self.__dict__["_original"] = original

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.__dict__["_original"], name)
        return _overrides if value is overrides else value


def _import(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    """Stand for ``__import__`` while a copy runs."""
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
    # warnings and fallbacks are attributed to the innermost frame outside of numelt and NumPy
    copy.__name__ = f"numelt.{original.__name__.partition('.')[2]}"
    return copy
