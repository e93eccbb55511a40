"""The table of native functions: which numelt function stands for which function of NumPy.

In: functions decorated with `native`. Out: the table that the namespace, the `__array_function__`
protocol and the fallback read. Also the few helpers that every native function starts with.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy

from numelt import _core
from numelt._dispatch import fallback

__all__ = [
    "FEW",
    "NATIVE",
    "NO_VALUE",
    "binds",
    "fall_back",
    "foreign_first",
    "fronted",
    "given",
    "native",
    "operand",
    "plain_first",
    "present",
    "recordable",
    "reject",
    "routine",
    "short_first",
    "small_call",
    "small_first",
]

ndarray = _core.ndarray
NO_VALUE: Any = numpy._NoValue

# NumPy's function -> ours
NATIVE: dict[Any, Callable[..., Any]] = {}

F = TypeVar("F", bound=Callable[..., Any])

# elements up to which NumPy has done several steps before a recorded one would have run
FEW = 1024
# the same for what becomes a side of the result
SIDE = 48

# kinds of argument that become a native operand; any other class is NumPy's to interpret
_convertible = (int, float, complex, bool, list, tuple, numpy.ndarray)


def native(function: F, space: types.ModuleType = numpy) -> F:
    """Register a function as the native form of NumPy's function of the same name in the module `space`."""
    original = getattr(space, function.__name__, None)
    if original is None:
        return function  # this NumPy release does not have it
    if type(function) is not _core.routine:
        function = _core.public(function, binds(original))
    present(function, original)
    if NATIVE.setdefault(original, function) is not function:
        raise ValueError(f"two native forms of {function.__name__}")
    fallback.stands_for(function, original)
    return function


def small_first(function: F) -> F:
    """Give calls on a few elements to NumPy's own function.

    For functions that would need several operations, or much argument handling, for what NumPy does in one.
    """
    return small_call(getattr(numpy, function.__name__), function)


def plain_first(function: F) -> F:
    """Give plain calls to the core (`shortcuts.rs`), and all others to the function."""
    name = function.__name__
    made = _core.routine(name, getattr(numpy, name), function, "general", True)
    return cast(F, functools.update_wrapper(made, function))


def foreign_first(function: F) -> F:
    """Give calls with arrays that are not native to NumPy's own function, and all others to the function."""
    return small_call(getattr(numpy, function.__name__), function, most="foreign")


def short_first(function: F) -> F:
    """Give calls with short sides to NumPy's own function: the result may be as large as their product."""
    return small_call(getattr(numpy, function.__name__), function, most=SIDE)


def routine(name: str, original: Any, function: Any, way: Any, most: int | None = None) -> Any:
    """Return the object that gives short calls to NumPy's `original`, and all others to `function`."""
    if name.startswith("ndarray."):
        return _core.method(name, original, function, way, most)
    return _core.routine(name, original, function, way, binds(original), most, method_of(name, original))


# functions that only call the array's method of the same name, with the same arguments, also by position
_METHODS = frozenset(
    { "argpartition", "argsort", "nonzero", "put", "repeat", "round", "searchsorted",
    "take", "trace", }
)  # fmt: skip


def method_of(name: str, original: Any) -> Any:
    """Return the method of NumPy's array that `original` calls, if it does nothing else, or None."""
    if name in _METHODS and original is getattr(numpy, name, None):
        return getattr(numpy.ndarray, name)
    return None


def small_call(original: Any, function: F, label: str | None = None, most: int | str = FEW) -> F:
    """Return `function` such that calls on at most `most` elements run NumPy's `original`.

    That holds while nobody looks at what is recorded. With ``"foreign"`` only calls with arrays that are
    not native do.
    """
    made = routine(label or function.__name__, original, function, most)
    return cast(F, functools.update_wrapper(made, function))


# what tells of a function, as far as it has that
_TOLD = ("__name__", "__qualname__", "__module__", "__doc__", "__signature__", "__text_signature__")


def binds(original: Any) -> bool:
    """Does NumPy's function become a method of a class that holds it, as in ``array = np.array`` there?"""
    return not isinstance(original, types.BuiltinFunctionType)


def present(function: F, original: Any) -> F:
    """Let a public function tell of itself what NumPy's tells: name, module, documentation, signature."""
    for name in _TOLD:
        # a class has texts that are not its instances'
        told = getattr(original, name, None)
        if isinstance(told, str) or (name == "__signature__" and told is not None):
            setattr(function, name, told)
    inner = getattr(original, "__wrapped__", original)
    if inner is not original or type(inner) is types.FunctionType:
        vars(function)["__wrapped__"] = inner
    else:
        vars(function).pop("__wrapped__", None)
    return function


# compiled functions whose other calls are several operations
_MANY_STEPS = frozenset(
    {
        "all", "any", "argmax", "argmin", "array", "concatenate", "dot", "max", "mean", "min", "prod", "roll",
        "stack", "sum", "where",
    }
)  # fmt: skip


def fronted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register the compiled function of the same name as native; it hands other calls on to `function`."""
    name = function.__name__
    original = getattr(numpy, name)
    _core.set_slow(name, small_call(original, function) if name in _MANY_STEPS else function)
    front = present(_core.public(getattr(_core.front, name), binds(original)), original)
    NATIVE[original] = front
    fallback.stands_for(front, original)
    return cast(Callable[..., Any], front)


def operand(value: Any, dtype: Any = None) -> Any:
    """Return `value` as a numelt array, or None when only NumPy knows what to do with it."""
    kind = type(value)
    if kind is ndarray:
        return value
    if dtype is None and (kind is float or kind is int or kind is numpy.float64):
        return _core.front.asarray(value)
    if kind in _convertible or isinstance(value, numpy.generic):
        if kind is list or kind is tuple:
            return _from_sequence(value, dtype)
        return _core.asarray(value, dtype)
    return None


def recordable(value: Any) -> Any:
    """Return `value` as an array whose operations can be recorded, else None."""
    array = operand(value)
    return array if array is not None and _core.is_native(array) else None


def _from_sequence(value: Any, dtype: Any) -> Any:
    """Nested sequences may hold foreign array-likes, or be ragged: those are left to NumPy."""
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


def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """Return a function's signature where Python can tell it."""
    try:
        return inspect.signature(function)
    except (ValueError, TypeError):
        return None
