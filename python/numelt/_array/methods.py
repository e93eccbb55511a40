"""Methods of the array class that are written in Python.

In: the compiled class `numelt._core.ndarray`. Out: the same class with every public method of
`numpy.ndarray`, NumPy's protocols, and a metaclass under which NumPy's arrays are instances. `complete` does
this once, at import.
"""

from __future__ import annotations

import functools
import importlib
import types
from collections.abc import Callable
from typing import Any

import numpy
from numpy._core import umath as _umath

from numelt import _core
from numelt._array import classes, fields, flat, resize
from numelt._dispatch import fallback, library, mirror, pickling
from numelt._dispatch.native import COMPILED, NATIVE, ndarray, present
from numelt._dispatch.routine import inner, library_function, method
from numelt._routines import sorting
from numelt._routines.indexing import picking
from numelt._routines.manipulation import joining
from numelt._routines.mathematical import elementwise
from numelt._routines.statistics import reductions

__all__ = ["complete"]

# functions that are methods, too: their first argument is the array
_SHARED = (
    "argmax", "argmin", "cumprod", "cumsum", "diagonal", "dot", "max", "min", "nonzero", "prod", "sum",
    "take", "trace",
)  # fmt: skip

# attributes of NumPy's array that our class does not copy
_NOT_TAKEN = frozenset(
    { "__class__", "__new__", "__init__", "__init_subclass__", "__subclasshook__", "__getattribute__",
    "__setattr__", "__delattr__", "__dir__", "__doc__", "__hash__", "__sizeof__", "__array_finalize__",
    "__array_wrap__", "__getstate__", "__module__", "__buffer__", "__release_buffer__", }
)  # fmt: skip


# compiled methods that leave arrays of non-native dtypes to NumPy's method
_LEAVING = frozenset({"astype", "flatten", "ravel", "reshape", "squeeze", "transpose", "view"})

# methods that save an array: they read data and are not counted as fallbacks
_READS = frozenset({"tofile", "dump", "dumps"})


def _method(name: str, original: Any) -> Callable[..., Any]:
    """Return a method that runs NumPy's method of the same name on a view."""
    label = f"ndarray.{name}"
    if library.is_library(label):
        return library_function(label, original)

    def general(self: Any, *args: Any, **kwargs: Any) -> Any:
        if name in _READS:
            return fallback.uncounted(original, (self, *args), kwargs)
        return fallback.call(label, original, (self, *args), kwargs)

    run = _core.method(label, original, general, "uncounted" if name in _READS else "fallback")
    functools.update_wrapper(run, original, assigned=("__doc__", "__name__"), updated=())
    run.__qualname__ = label
    return run


def _attach_compiled() -> None:
    """Replace the compiled methods of the class by objects of `_core.method`, which call them.

    Their calls are then handled like those of all methods, with NumPy's documentation and wording of errors.
    """
    for name, function in list(vars(ndarray).items()):
        original = getattr(numpy.ndarray, name, None)
        if type(function) is types.MethodDescriptorType and original and not name.startswith("__"):
            made = method(name, function, "foreign" if name in _LEAVING else "general")
            setattr(ndarray, name, present(made, original))


def _attribute(name: str) -> property:
    def get(self: Any) -> Any:
        return getattr(_core.to_numpy(self), name)

    return property(get, doc=getattr(getattr(numpy.ndarray, name), "__doc__", None))


def _refused(name: str) -> Callable[..., Any]:
    """Return a function that runs NumPy's method for calls that the compiled one has refused."""

    def general(*args: Any, **kwargs: Any) -> Any:
        return fallback.raising(f"ndarray.{name}", getattr(numpy.ndarray, name), args, kwargs)

    general.__name__, general.__qualname__ = name, f"_{name}"  # exceptions contain it
    return general


def clip(self: Any, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """Limit the elements to an interval; either end may be left out."""
    if kwargs.keys() <= {"dtype"}:
        result = elementwise._clip(self, min, max, out, kwargs.get("dtype"))
        if result is not NotImplemented:
            return result
    return fallback.call("ndarray.clip", numpy.ndarray.clip, (self, min, max, out), kwargs)


def round_(self: Any, decimals: Any = 0, out: Any = None) -> Any:
    """Round to a number of decimals, halves to even."""
    return elementwise.round(self, decimals, out)


def repeat(self: Any, repeats: Any, axis: Any = None) -> Any:
    """Repeat each element."""
    return joining.repeat(self, repeats, axis)


def mean(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Average over axes."""
    if _core.is_native(self) and self.size == 0:
        # the warnings of NumPy's method point at another line than those of its function
        return fallback.uncounted(numpy.ndarray.mean, (self, *args), kwargs)
    return inner(reductions.mean)(self, *args, **kwargs)


def setflags(self: Any, write: Any = None, align: Any = None, uic: Any = None) -> None:
    """Set flags of the array; of these, `write` can change."""
    if uic is not None and uic:
        raise ValueError("cannot set WRITEBACKIFCOPY flag to True")
    if align is not None and align and not self.flags.aligned:
        raise ValueError("cannot set aligned flag of mis-aligned array to True")
    if write is not None:
        self.flags.writeable = bool(write)


def array_function(self: Any, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a function of NumPy that was called with our arrays: our native function if there is one.

    The compiled module does this for most calls (`sharing/array_function.rs`).
    """
    func = fallback.unwrap(func)  # a class may pass on our function, with which it was called
    ours = NATIVE.get(func)
    if ours is None and getattr(func, "__module__", None) == "numpy.fft":
        importlib.import_module("numelt.fft")  # loaded at first use, as in NumPy

        ours = NATIVE.get(func)
    if ours is not None and not _foreign(types):
        key = func, id(args[0] if args else None)
        if key in _entered:
            return fallback.wrap(fallback.at_user_line(func._implementation, args, kwargs))
        _entered.add(key)
        try:
            return ours(*args, **kwargs)
        finally:
            _entered.discard(key)
    return fallback.call(
        getattr(func, "__name__", repr(func)), func, args, kwargs, "called as NumPy's function"
    )


# Calls in progress, by function and first argument. If our function falls back to NumPy's with an argument in
# which only NumPy finds our arrays, NumPy calls `array_function` again.
_entered: set[tuple[Any, int]] = set()
_own_kinds = frozenset({ndarray, numpy.ndarray})


def _foreign(kinds: Any) -> bool:
    """Return whether there is a class other than our array and NumPy's."""
    return not _own_kinds.issuperset(kinds)


_default_ufunc = numpy.ndarray.__array_ufunc__


def array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Run a ufunc of NumPy that was called with our arrays."""
    out = kwargs.get("out", ())
    ours = _own_kinds
    for value in (*inputs, *out):
        kind = type(value)
        if kind not in ours and isinstance(value, numpy.ndarray):
            break  # NumPy calls ``__array_ufunc__`` of subclasses of its array
        if kind not in ours and getattr(kind, "__array_ufunc__", _default_ufunc) is not _default_ufunc:
            return NotImplemented  # NumPy calls that of the other class
    else:
        # a ufunc of a library may have the same name as one of NumPy's
        numpys = getattr(_umath, ufunc.__name__, None) is ufunc
        if numpys and all(type(value) is ndarray for value in out):
            target = mirror.ufunc_for(ufunc)
            return (target if method == "__call__" else getattr(target, method))(*inputs, **kwargs)
    function = ufunc if method == "__call__" else getattr(ufunc, method)
    label = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    return fallback.call(label, function, inputs, kwargs, "called as NumPy's ufunc")


def array_wrap(self: Any, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    """Wrap a result that NumPy computed for one of our arrays."""
    if type(array) is not numpy.ndarray:
        return array
    return array[()] if return_scalar and array.ndim == 0 else _core.from_numpy(array, False)


def array_namespace(self: Any, /, *, api_version: Any = None) -> Any:
    """Return the module whose functions work on this array (the array API standard)."""
    numpy.empty(0).__array_namespace__(api_version=api_version)  # NumPy checks the version
    import numelt

    return numelt


def _new(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Make an array by its constructor: ``ndarray(shape, dtype, buffer, offset, strides, order)``."""
    given = {*_MAKING[: len(args)]} & kwargs.keys()
    if (
        given
        or len(args) > len(_MAKING)
        or not kwargs.keys() <= {*_MAKING}
        or not (args or "shape" in kwargs)
    ):
        return fallback.raising("ndarray", numpy.ndarray, args, kwargs)  # NumPy raises what is wrong
    return _made(cls, *args, **kwargs)


_MAKING = ("shape", "dtype", "buffer", "offset", "strides", "order")


def _made(
    cls: Any,
    shape: Any,
    dtype: Any = float,
    buffer: Any = None,
    offset: int = 0,
    strides: Any = None,
    order: Any = None,
) -> Any:
    if cls is not ndarray and issubclass(cls, numpy.ndarray):
        return numpy.ndarray.__new__(cls, shape, dtype, fallback.unwrap(buffer), offset, strides, order)
    if buffer is None and strides is None and offset == 0:
        result = _core.empty(shape, dtype, order or "C")
        if result is not NotImplemented:
            return result
    args = (shape, dtype, buffer, offset, strides, order)
    return fallback.uncounted(numpy.ndarray, args, {})


def _take_over() -> None:
    """Add every method and attribute of NumPy's array that the class does not have."""
    for name in dir(numpy.ndarray):
        if name in _NOT_TAKEN or name in vars(ndarray):
            continue
        original = getattr(numpy.ndarray, name)
        if not callable(original):
            setattr(ndarray, name, _attribute(name))
        elif name == "__class_getitem__":
            setattr(ndarray, name, classmethod(lambda cls, item: types.GenericAlias(cls, item)))
        else:
            setattr(ndarray, name, _method(name, original))


def _array_interface() -> property:
    """Return the property ``__array_interface__``; it is missing for dtypes that it cannot describe."""
    original = vars(ndarray)["__array_interface__"]

    def get(self: Any) -> Any:
        if not _core.is_native(self) and not _is_described(self.dtype):
            raise AttributeError("__array_interface__")
        return original.__get__(self)

    return property(get, doc=numpy.ndarray.__array_interface__.__doc__)


@functools.lru_cache(maxsize=256)
def _is_described(dtype: Any) -> bool:
    """Return whether NumPy makes the same dtype from its description in ``__array_interface__``."""
    try:
        return bool(numpy.dtype(dtype.descr if dtype.names else dtype.str) == dtype)
    except (TypeError, ValueError):
        return False


def _set_metaclass(cls: type, meta: type) -> None:
    if hasattr(_core, "set_metaclass"):
        _core.set_metaclass(cls, meta)


def complete() -> None:
    """Complete the array and ufunc classes."""
    _attach_compiled()
    for name in _SHARED:
        made = method(name, inner(COMPILED[name]))
        made.__doc__ = getattr(numpy.ndarray, name).__doc__
        setattr(ndarray, name, made)

    functions: dict[str, Any] = {
        "all": _refused("all"), "any": _refused("any"), "argsort": sorting.argsort_method,
        "choose": picking.choose_method, "clip": clip, "compress": picking.compress_method, "mean": mean,
        "put": picking.put_method, "repeat": repeat, "round": round_,
        "searchsorted": inner(sorting.searchsorted),
        "setflags": setflags, "sort": sorting.sort_in_place, "std": reductions.spread_method("std"),
        "var": reductions.spread_method("var"), **fields.METHODS,
    }  # fmt: skip
    own: dict[str, Any] = {
        **{name: method(name, function) for name, function in functions.items()},
        "flat": flat.flat, "__reduce__": pickling.reduce, "__reduce_ex__": pickling.reduce_ex,
        "__setstate__": pickling.setstate, "__array_function__": array_function,
        "__array_namespace__": array_namespace, "__array_wrap__": array_wrap,
    }  # fmt: skip
    own["__array_interface__"] = _array_interface()
    for name, value in own.items():
        setattr(ndarray, name, value)
        if isinstance(value, (types.FunctionType, _core.routine)):
            original = getattr(numpy.ndarray, name)
            value.__doc__, value.__name__ = original.__doc__, original.__name__
    ndarray.__doc__ = numpy.ndarray.__doc__
    _core.set_hooks(array_ufunc=array_ufunc, resize=resize.resize)
    _core.set_native(NATIVE, _entered)
    _take_over()
    mirror.replace(numpy.ndarray, ndarray)
    mirror.replace(numpy.ufunc, _core.ufunc)
    classes.collect_members()
    _set_metaclass(ndarray, classes.ArrayType)
    _set_metaclass(_core.ufunc, classes.UfuncType)
    pickling.install()
    ndarray.__new__ = staticmethod(_new)  # type: ignore[method-assign]
