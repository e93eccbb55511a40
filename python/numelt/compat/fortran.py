"""Modules made by f2py: their routines get NumPy's views of our arrays.

f2py's code copies any argument that is not of NumPy's class. A routine would then refuse arrays that it is to
change. The views share the memory; nothing is copied.

In: an extension module. Out: the module, with its routines, and its containers of routines, wrapped.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from numelt._dispatch import fallback

__all__ = ["adapt", "is_f2py"]

Adapted = Callable[[Callable[..., Any]], Callable[..., Any]]


def is_f2py(module: types.ModuleType) -> bool:
    """Return whether f2py has made this module."""
    return "__f2py_numpy_version__" in vars(module)


def _is_fortran(value: Any) -> bool:
    return type(value).__name__ == "fortran"


class Fortran:
    """A routine, a common block or a module of Fortran; its arguments are converted."""

    __slots__ = ("__weakref__", "_adapted", "_call", "_fortran")

    def __init__(self, fortran: Any, adapted: Adapted) -> None:
        object.__setattr__(self, "_fortran", fortran)
        object.__setattr__(self, "_adapted", adapted)
        object.__setattr__(self, "_call", None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # made at first use, because it makes f2py write the documentation, and most routines are never called
        if self._call is None:
            object.__setattr__(self, "_call", self._adapted(self._fortran))
        return self._call(*args, **kwargs)

    # `isinstance` and documentation see the routine
    __class__: Any = property(lambda self: type(self._fortran))
    __doc__: Any = property(lambda self: self._fortran.__doc__)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._fortran, name)
        return Fortran(value, self._adapted) if _is_fortran(value) else value

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._fortran, name, fallback.unwrap(value))

    def __dir__(self) -> list[str]:
        return dir(self._fortran)

    def __repr__(self) -> str:
        return repr(self._fortran)


def adapt(module: types.ModuleType, adapted: Adapted) -> dict[int, tuple[Any, Any]]:
    """Wrap the routines of a module of f2py; return old and new values by the id of the old one.

    Parameters
    ----------
    adapted : callable
        Returns a function that passes NumPy's views on.
    """
    changed = {}
    for name, value in list(vars(module).items()):
        if _is_fortran(value):
            ours = Fortran(value, adapted)
            setattr(module, name, ours)
            changed[id(value)] = (value, ours)
    return changed
