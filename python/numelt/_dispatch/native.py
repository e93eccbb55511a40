"""The table of native functions: which numelt function replaces which function of NumPy.

In: functions decorated with `native`. Out: the table `NATIVE`, which the namespace, ``__array_function__``
and fallbacks read, and the helpers with which native functions convert their arguments.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy

from numelt import _core
from numelt._dispatch import fallback, table
from numelt._dispatch.routine import routine

__all__ = [
    "COMPILED",
    "NATIVE",
    "NO_VALUE",
    "fall_back",
    "given",
    "native",
    "operand",
    "present",
    "recordable",
    "reject",
]

ndarray = _core.ndarray
NO_VALUE: Any = numpy._NoValue

# by function of NumPy: our function
NATIVE: dict[Any, Callable[..., Any]] = {}

F = TypeVar("F", bound=Callable[..., Any])

# classes of arguments that can become native operands; NumPy interprets all others
_convertible = (int, float, complex, bool, list, tuple, numpy.ndarray)


def native(function: F, space: types.ModuleType = numpy) -> F:
    """Register a function as the native form of NumPy's function of the same name in the module `space`."""
    original = getattr(space, function.__name__, None)
    if original is None:
        return function  # this NumPy release does not have it
    if type(function) is not _core.routine:
        label = f"{space.__name__}.{function.__name__}".partition(".")[2]
        function = cast(F, routine(label, original, function))
    present(function, original)
    if NATIVE.setdefault(original, function) is not function:
        raise ValueError(f"two native forms of {function.__name__}")
    fallback.stands_for(function, original)
    return function


# attributes that describe a function
_TOLD = ("__name__", "__qualname__", "__module__", "__doc__", "__signature__", "__text_signature__")


def present(function: F, original: Any) -> F:
    """Give a public function the name, module, documentation and signature of NumPy's."""
    for name in _TOLD:
        # an attribute of a class may be a property rather than a string
        told = getattr(original, name, None)
        if isinstance(told, str) or (name == "__signature__" and told is not None):
            setattr(function, name, told)
    inner = getattr(original, "__wrapped__", original)
    if inner is not original or type(inner) is types.FunctionType:
        vars(function)["__wrapped__"] = inner
    else:
        vars(function).pop("__wrapped__", None)
    return function


def _compiled(name: str) -> Callable[..., Any]:
    """Register the compiled function `name`; calls that it declines are left to NumPy's function."""
    original = getattr(numpy, name)

    def general(*args: Any, **kwargs: Any) -> Any:
        return fallback.raising(name, original, args, kwargs)

    general.__name__ = general.__qualname__ = name
    return native(general)


def operand(value: Any, dtype: Any = None) -> Any:
    """Return `value` as a numelt array, or None if only NumPy can interpret it."""
    kind = type(value)
    if kind is ndarray:
        return value
    if dtype is None and (kind is float or kind is int or kind is numpy.float64):
        return _core.asarray(value)
    if kind in _convertible or isinstance(value, numpy.generic):
        if kind is list or kind is tuple:
            return _from_sequence(value, dtype)
        return _core.asarray(value, dtype)
    return None


def recordable(value: Any) -> Any:
    """Return `value` as an array of a native dtype, or None."""
    array = operand(value)
    return array if array is not None and _core.is_native(array) else None


def _from_sequence(value: Any, dtype: Any) -> Any:
    """Convert a nested sequence, or return None if NumPy has to: it is ragged, or holds other array-likes."""
    try:
        return _core.asarray(value, dtype)
    except (ValueError, TypeError, OverflowError):
        return None


def given(**kwargs: Any) -> dict[str, Any]:
    """Return the keyword arguments that the user gave."""
    return {key: value for key, value in kwargs.items() if value is not NO_VALUE}


def fall_back(name: str, *args: Any, **kwargs: Any) -> Any:
    """Run NumPy's function `name` as a counted fallback."""
    return fallback.call(name, getattr(numpy, name), args, given(**kwargs))


def reject(name: str, *args: Any, **kwargs: Any) -> Any:
    """Run NumPy's function `name`, which is expected to raise."""
    return fallback.raising(name, getattr(numpy, name), args, given(**kwargs))


def normalize_axis(axis: Any, ndim: int, argname: str | None = None) -> int:
    """Return a non-negative axis; raises NumPy's AxisError."""
    return int(numpy.lib.array_utils.normalize_axis_index(axis, ndim, argname))


def normalize_axes(
    axis: Any, ndim: int, argname: str | None = None, allow_duplicate: bool = False
) -> tuple[int, ...]:
    """Return a tuple of non-negative axes; raises NumPy's AxisError."""
    return tuple(numpy.lib.array_utils.normalize_axis_tuple(axis, ndim, argname, allow_duplicate))


# functions that have no other implementation than the compiled one
COMPILED = {name: _compiled(name) for name in sorted(table.COMPILED)}
