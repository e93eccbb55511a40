"""Pickles: a process with NumPy alone reads NumPy's objects from them, and one with numelt reads ours.

A pickle is a small program that calls functions by their names. A pickle of a NumPy array calls
``numpy._core.multiarray._reconstruct``. The pickles written here look the function up first: in this module
where it is loaded, and in NumPy's where it is not. Python's own functions do that, as in this expression::

    loaded = sys.modules.get("numelt._dispatch.pickling", numpy._core.multiarray)
    loaded._reconstruct(numpy.ndarray, (0,), b"b")

The name of this module and those of `_reconstruct`, `_frombuffer`, `__generator_ctor` and
`__randomstate_ctor` are therefore part of the format: if one of them is missing, a pickle gives NumPy's
object.

Functions, ufuncs and classes are looked up in what the method ``__array_namespace__`` of such an array
returns.

In: the methods by which `pickle` asks for an object's state. Out: how to make the object again. `READERS` are
the functions that make our objects, by the names that are in NumPy's own pickles (`numelt.tools.unpickling`).
"""

from __future__ import annotations

import copyreg
import importlib
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy
from numpy._core import multiarray

from numelt import _core
from numelt._dispatch import mirror

__all__ = [
    "READERS",
    "Named",
    "install",
    "make_generator",
    "make_state",
    "reduce",
    "reduce_ex",
    "setstate",
]

ndarray: Any = _core.ndarray
_numeric: Any = importlib.import_module("numpy._core.numeric")


# ---- reading ------------------------------------------------------------------------------------


def _reconstruct(subtype: type, shape: Any, dtype: Any) -> Any:
    """Make an array that a pickle fills: ours, or of a subclass of NumPy's array."""
    if subtype is numpy.ndarray:
        return ndarray(shape, dtype)
    return multiarray._reconstruct(subtype, shape, dtype)


def _frombuffer(*args: Any) -> Any:
    """Make an array on the buffer of a pickle of protocol 5."""
    return _core.from_numpy(_numeric._frombuffer(*args), False)


def scalar(dtype: Any, value: Any = None) -> Any:
    """Make a scalar of NumPy. If it holds objects, `value` is an array."""
    return multiarray.scalar(dtype, _core.to_numpy(value) if type(value) is ndarray else value)


def __generator_ctor(*args: Any) -> Any:
    made = getattr(importlib.import_module("numpy.random._pickle"), "__generator_ctor")(*args)
    return importlib.import_module("numelt.random").Generator(made.bit_generator)


def __randomstate_ctor(*args: Any) -> Any:
    made = getattr(importlib.import_module("numpy.random._pickle"), "__randomstate_ctor")(*args)
    return importlib.import_module("numelt.random").RandomState(made._bit_generator)


READERS: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "scalar"): scalar,
    ("numpy._core.numeric", "_frombuffer"): _frombuffer,
    ("numpy.random._pickle", "__generator_ctor"): __generator_ctor,
    ("numpy.random._pickle", "__randomstate_ctor"): __randomstate_ctor,
}


# ---- writing ------------------------------------------------------------------------------------


class _Imported:
    """Pickles as a module that is imported when the pickle is read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __reduce__(self) -> Any:
        return importlib.import_module, (self._name,)


class _LoadedModules:
    """Pickles as the dictionary `sys.modules` of the process that reads."""

    def __reduce__(self) -> Any:
        return getattr, (_Imported("sys"), "modules")


class _Home:
    """Pickles as this module if it is loaded in the reading process, otherwise as a module of NumPy."""

    def __init__(self, numpys: str) -> None:
        self._numpys = _Imported(numpys)

    def __reduce__(self) -> Any:
        return operator.methodcaller("get", __name__, self._numpys), (_loaded_modules,)


class _Constructor:
    """A function of this module; pickles as NumPy's function of the same name if numelt is not loaded.

    A pickle names each of these objects once, however many arrays it holds.
    """

    def __init__(self, function: Callable[..., Any], numpys: str) -> None:
        self._function = function
        self._home = _Home(numpys)

    def __call__(self, *args: Any) -> Any:
        return self._function(*args)

    def __reduce__(self) -> Any:
        return operator.attrgetter(self._function.__name__), (self._home,)


_loaded_modules = _LoadedModules()
_make_empty = _Constructor(_reconstruct, "numpy._core.multiarray")
_make_from_buffer = _Constructor(_frombuffer, "numpy._core.numeric")
make_generator = _Constructor(__generator_ctor, "numpy.random._pickle")
make_state = _Constructor(__randomstate_ctor, "numpy.random._pickle")


def reduce(self: Any) -> Any:
    """Return what `pickle` needs for an array in the protocols before 5."""
    return _make_empty, (numpy.ndarray, (0,), b"b"), _core.to_numpy(self).__reduce__()[2]


def reduce_ex(self: Any, protocol: Any) -> Any:
    """Return what `pickle` needs for an array: its buffer, from protocol 5 on, where NumPy passes its own."""
    made = _core.to_numpy(self).__reduce_ex__(protocol)
    return (_make_from_buffer, *made[1:]) if made[0] is _numeric._frombuffer else reduce(self)


def setstate(self: Any, state: Any) -> None:
    """Fill an array that `_reconstruct` has made."""
    real: Any = multiarray._reconstruct(numpy.ndarray, (0,), b"b")
    real.__setstate__(state)
    _core.become_like(self, _core.from_numpy(real, sys.getrefcount(real) <= 2))


# ---- functions, ufuncs and classes --------------------------------------------------------------


class _EmptyArray:
    """Pickles as an array without elements."""

    def __reduce__(self) -> Any:
        return _make_empty, (numpy.ndarray, (0,), b"b")


class _Namespace:
    """Pickles as the module of an array's functions, which is NumPy if numelt is not loaded."""

    def __reduce__(self) -> Any:
        return operator.methodcaller("__array_namespace__"), (_EmptyArray(),)

    # picklers written in Python evaluate what `_by_name` returns, to check that it gives the same object
    def __getattr__(self, name: str) -> Any:
        return getattr(sys.modules["numelt"], name)


def _by_name(module: str, name: str) -> Any:
    """Return how to pickle the object with this name in NumPy."""
    dotted = ".".join([*module.split(".")[1:], name])
    return operator.attrgetter(dotted), (_Namespace(),)


class Named(type):
    """Metaclass of our classes that replace NumPy's, such as generators; NumPy's objects are instances.

    A class that the program derives from one of them is an ordinary class.
    """

    def __instancecheck__(cls, instance: Any) -> bool:
        own = type.__instancecheck__(cls, instance)
        return own or (_is_public(cls) and isinstance(instance, cls.__bases__[0]))

    def __subclasscheck__(cls, subclass: type) -> bool:
        own = type.__subclasscheck__(cls, subclass)
        return own or (_is_public(cls) and issubclass(subclass, cls.__bases__[0]))


def _is_public(cls: type) -> bool:
    """Return whether this class replaces one of NumPy's, rather than being derived from such a class."""
    return cls.__module__.startswith("numpy")


def _reduce_named(cls: type) -> Any:
    return _by_name(cls.__module__, cls.__name__) if _is_public(cls) else cls.__qualname__


def _reduce_function(function: Any) -> Any:
    return _by_name(function.__module__, function.__qualname__)


def _reduce_ufunc(ufunc: Any) -> Any:
    """Pickle a ufunc by its name, or as a wrapper of NumPy's ufunc if NumPy's namespace does not have it."""
    original, name = ufunc.numpy, ufunc.numpy.__name__
    if getattr(numpy, name, None) is original:
        return _by_name("numpy", name)
    return mirror.ufunc_for, (original,)


def _reduce_class(cls: type) -> Any:
    return _by_name("numpy", cls.__name__)


def install() -> None:
    """Register how functions, ufuncs and classes are pickled."""
    for kind in (_core.routine, _core.method):
        copyreg.pickle(kind, _reduce_function)
    copyreg.pickle(_core.ufunc, _reduce_ufunc)
    for meta in (type(ndarray), type(_core.ufunc)):
        copyreg.pickle(meta, _reduce_class)
    copyreg.pickle(Named, _reduce_named)
