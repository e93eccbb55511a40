"""Pickles: written so that a process with NumPy alone reads them, read so that a program has our arrays.

Arrays are pickled by names of NumPy's, with arguments that NumPy takes as it takes its own and that tell
where they come from: what was ours is ours again in a process with numelt, what a library pickled of NumPy's
stays NumPy's. Pickles of NumPy's that the program's own files read give our arrays as well, up to the first
class or function of a library's: what that holds is its own. Functions, ufuncs and classes are looked up
where an array says they are.

In: what `pickle` asks for. Out: constructors in NumPy's modules under their own names.
"""

from __future__ import annotations

import copyreg
import importlib
import operator
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy
from numpy._core import multiarray, numeric

from numelt import _core
from numelt._import import MARK, names_libraries

__all__ = [
    "Named",
    "by_name",
    "frombuffer",
    "install",
    "put",
    "reads_for_program",
    "reduce",
    "reduce_ex",
    "setstate",
]

ndarray: Any = _core.ndarray

# modules of what stands here, between C code that unpickles and who called it
_OWN = frozenset({__name__, "numelt._random", "numpy._core.numeric"})

_compiled: Any = importlib.import_module("numpy._core._multiarray_umath")
_reconstruct: Callable[..., Any] = multiarray._reconstruct
_make_scalar: Callable[..., Any] = multiarray.scalar


def reads_for_program() -> bool:
    """Is what is being unpickled for one of the program's files under the launcher, and no library's?"""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") in _OWN:
        frame = frame.f_back
    return frame is not None and MARK in frame.f_builtins and not names_libraries(frame)


# ---- arrays -------------------------------------------------------------------------------------


def reduce(self: Any) -> Any:
    """Pickle an array as NumPy does; the typecode is a ``str``, where NumPy's own is ``bytes``."""
    return multiarray._reconstruct, (numpy.ndarray, (0,), "b"), _core.to_numpy(self).__reduce__()[2]


def reduce_ex(self: Any, protocol: Any) -> Any:
    """Pickle an array by its buffer where NumPy does; the shape is a list, where NumPy's own is a tuple."""
    made = _core.to_numpy(self).__reduce_ex__(protocol)
    if made[0] is not _numeric._frombuffer:
        return reduce(self)
    buffer, dtype, shape, *order = made[1]
    return made[0], (buffer, dtype, list(shape), *order)


def setstate(self: Any, state: Any) -> None:
    """Make an array what a pickle says that it is."""
    real = _reconstruct(numpy.ndarray, (0,), b"b")
    real.__setstate__(state)
    _core.become_like(self, _core.from_numpy(real, sys.getrefcount(real) <= 2))


def _empty(subtype: type, shape: Any, dtype: Any) -> Any:
    """Stand for NumPy's function that makes an array for a pickle to fill."""
    if subtype is numpy.ndarray and (type(dtype) is str or reads_for_program()):
        return ndarray(shape, dtype)
    return _reconstruct(subtype, shape, dtype)


_numeric: Any = numeric
_frombuffer = types.FunctionType(
    _numeric._frombuffer.__code__, vars(numeric), "_frombuffer", _numeric._frombuffer.__defaults__
)


def frombuffer(buf: Any, dtype: Any, shape: Any, order: Any, axis_order: Any = None) -> Any:
    """Stand for NumPy's function that makes an array of a buffer."""
    made = _frombuffer(buf, dtype, shape, order, axis_order)
    return _core.from_numpy(made, False) if type(shape) is list or reads_for_program() else made


def _call_frombuffer(buf: Any, dtype: Any, shape: Any, order: Any, axis_order: Any = None) -> Any:
    from numelt import _pickling

    return _pickling.frombuffer(buf, dtype, shape, order, axis_order)


def _scalar(dtype: Any, obj: Any = None) -> Any:
    """Stand for NumPy's function that makes a scalar; one that holds objects comes as an array."""
    return _make_scalar(dtype, _core.to_numpy(obj) if type(obj) is ndarray else obj)


# ---- what has a name ----------------------------------------------------------------------------


class _Empty:
    """What is read as an array, and written as no array: some picklers pickle an array's class before it."""

    def __reduce__(self) -> Any:
        return multiarray._reconstruct, (numpy.ndarray, (0,), "b")


class _Namespace:
    """What an array says that its functions are in: NumPy where there is only NumPy."""

    def __reduce__(self) -> Any:
        return operator.methodcaller("__array_namespace__"), (_Empty(),)

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.modules["numelt"], name)


def by_name(module: str, name: str) -> Any:
    """Return how to pickle what NumPy has by this name."""
    dotted = ".".join([*module.split(".")[1:], name])
    return operator.attrgetter(dotted), (_Namespace(),)


class Named(type):
    """Metaclass of classes that stand for NumPy's of the same names, whose instances are theirs, too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        own = type.__instancecheck__(cls, instance)
        return own or (_stands(cls) and isinstance(instance, cls.__bases__[0]))

    def __subclasscheck__(cls, subclass: type) -> bool:
        own = type.__subclasscheck__(cls, subclass)
        return own or (_stands(cls) and issubclass(subclass, cls.__bases__[0]))


def _stands(cls: type) -> bool:
    """Is a class no class of the program's, derived from one of these?"""
    return cls.__module__.startswith("numpy")


def _class(cls: type) -> Any:
    return by_name(cls.__module__, cls.__name__) if _stands(cls) else cls.__qualname__


copyreg.pickle(Named, _class)


def _ufunc(ufunc: Any) -> Any:
    """Pickle a ufunc: by its name, or around one that NumPy's namespace does not have."""
    original, name = ufunc.numpy, ufunc.numpy.__name__
    if getattr(numpy, name, None) is original:
        return by_name("numpy", name)
    from numelt import _ufuncs  # it needs what needs this module

    return _ufuncs.ufunc_for, (original,)


def put(module: Any, name: str, ours: Callable[..., Any]) -> Callable[..., Any]:
    """Give a module of NumPy's another function of the same name, which pickles by that name."""
    original = getattr(module, name)
    ours.__name__ = ours.__qualname__ = name
    ours.__module__ = original.__module__
    ours.__doc__ = original.__doc__
    setattr(module, name, ours)
    return ours


def install() -> None:
    """Teach NumPy's constructors where pickles come from."""
    for name, ours in (("_reconstruct", _empty), ("scalar", _scalar)):
        # NumPy looks its own up in the compiled module when it pickles
        vars(_compiled)[name] = put(multiarray, name, ours)
    # NumPy may have remembered this one
    _numeric._frombuffer.__code__ = _call_frombuffer.__code__
    copyreg.pickle(_core.ufunc, _ufunc)
    for meta in (type(ndarray), type(_core.ufunc)):
        copyreg.pickle(meta, lambda cls: by_name("numpy", cls.__name__))
