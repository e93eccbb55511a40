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
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy
from numpy._core import multiarray, numeric

from numelt import _core
from numelt._dispatch import mirror
from numelt._dispatch.files import MARK, names_libraries
from numelt._dispatch.naming import by_name

__all__ = [
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
_OWN = frozenset({__name__, "numelt._random.generators", "numpy._core.numeric"})

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
    from numelt._array import pickling

    return pickling.frombuffer(buf, dtype, shape, order, axis_order)


def _scalar(dtype: Any, obj: Any = None) -> Any:
    """Stand for NumPy's function that makes a scalar; one that holds objects comes as an array."""
    return _make_scalar(dtype, _core.to_numpy(obj) if type(obj) is ndarray else obj)


# ---- what has a name ----------------------------------------------------------------------------


def _ufunc(ufunc: Any) -> Any:
    """Pickle a ufunc: by its name, or around one that NumPy's namespace does not have."""
    original, name = ufunc.numpy, ufunc.numpy.__name__
    if getattr(numpy, name, None) is original:
        return by_name("numpy", name)
    return mirror.ufunc_for, (original,)


def put(module: Any, name: str, ours: Callable[..., Any]) -> Callable[..., Any]:
    """Give a module of NumPy's another function of the same name, which pickles by that name."""
    original = getattr(module, name)
    ours.__name__ = ours.__qualname__ = name
    ours.__module__ = original.__module__
    ours.__doc__ = original.__doc__
    setattr(module, name, ours)
    return ours


def _function(function: Any) -> Any:
    return by_name(function.__module__, function.__qualname__)


def install() -> None:
    """Teach NumPy's constructors where pickles come from."""
    for name, ours in (("_reconstruct", _empty), ("scalar", _scalar)):
        # NumPy looks its own up in the compiled module when it pickles
        vars(_compiled)[name] = put(multiarray, name, ours)
    # NumPy may have remembered this one
    _numeric._frombuffer.__code__ = _call_frombuffer.__code__
    for kind in (_core.routine, _core.method):
        copyreg.pickle(kind, _function)
    copyreg.pickle(_core.ufunc, _ufunc)
    for meta in (type(ndarray), type(_core.ufunc)):
        copyreg.pickle(meta, lambda cls: by_name("numpy", cls.__name__))
