"""NumPy's own Python functions, run over our arrays.

Many of NumPy's functions are written in Python: `numpy.nanvar` and `numpy.gradient` call ufuncs, reductions
and indexing one after the other. If the names in such a function refer to numelt's functions, these calls are
recorded and fused, and the numbers, warnings and exceptions are NumPy's because the steps are NumPy's. On a
million float64, `sinc` then takes a fifteenth of NumPy's time, `polyval` a ninth, and `nansum` a fifth.

In: a function of NumPy. Out: the same function in a copy of its module (`copies`), whose global names refer
to numelt's functions. It must reach its data by public names only. Nothing in NumPy is changed.
"""

from __future__ import annotations

import functools
import importlib
import types
import warnings
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

import numpy

from numelt import _core
from numelt._dispatch import fallback, library, mirror, overrides, table
from numelt._dispatch.copies import copy_of
from numelt._dispatch.native import NATIVE, NO_VALUE, native
from numelt._dispatch.routine import routine

__all__ = [
    "applying",
    "applying_compiled",
    "applying_prepared",
    "composed",
    "composed_in",
    "rebound",
    "replace_gufunc",
    "understood",
]

F = TypeVar("F", bound=Callable[..., Any])

# classes of arguments that mean the same in NumPy and in numelt
_PLAIN = frozenset(
    {
        int, float, complex, bool, str, type(None), type(NO_VALUE), slice, list, tuple, type, range,
        numpy.ndarray,
    }
)  # fmt: skip

# functions that compute several 0-d arrays and return a scalar
_OF_NUMBERS = frozenset({"nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum", "nanvar"})

# modules of NumPy whose functions handle shapes and dtypes, not data
_NO_DATA = ("numpy.lib.array_utils", "numpy._core.overrides", "numpy.lib._array_utils_impl")


# by gufunc of NumPy: what functions composed of it call instead
_INSTEAD: dict[numpy.ufunc, Callable[..., Any]] = {}


class _Warnings(types.ModuleType):
    """The module `warnings` for rebound functions: it leaves out the frame of our wrapper."""

    def __init__(self) -> None:
        super().__init__("warnings")

    def __getattr__(self, name: str) -> Any:
        return getattr(warnings, name)

    @staticmethod
    def warn(message: Any, category: Any = None, stacklevel: int = 1, source: Any = None) -> None:
        """Warn at the frame that `stacklevel` means in NumPy."""
        # there are two more frames here than in NumPy: this one and that of the wrapper
        warnings.warn(message, category, stacklevel + 2, source)


class _Converter:
    """Stands for NumPy's `_array_converter`, which converts arguments to arrays and wraps the result."""

    def __init__(self, *values: Any) -> None:
        import numelt

        self._values = values
        self._arrays = [numelt.asanyarray(value) for value in values]

    def __getitem__(self, index: int) -> Any:
        return self._arrays[index]

    @property
    def scalar_input(self) -> tuple[bool, ...]:
        """For each argument, whether it was a number."""
        return tuple(_is_number(value) for value in self._values)

    def as_arrays(self, subok: bool = True, pyscalars: str = "convert_if_no_array") -> tuple[Any, ...]:
        """Return the arguments as arrays."""
        return tuple(self._arrays)

    def result_type(self, extra_dtype: Any = None, ensure_inexact: bool = False) -> Any:
        """Return the common dtype of the arguments."""
        kinds = [
            value if type(value) in _PYTHON_NUMBERS else array.dtype
            for value, array in zip(self._values, self._arrays, strict=True)
        ]
        if extra_dtype is not None:
            kinds.append(extra_dtype)
        if ensure_inexact:
            kinds.append(0.0)
        return numpy.result_type(*kinds)

    def wrap(self, array: Any, to_scalar: Any = None) -> Any:
        """Return the result: a scalar if all arguments were numbers, or if the caller asks for one."""
        if to_scalar is None:
            to_scalar = all(self.scalar_input)
        return array[()] if to_scalar and array.ndim == 0 else array


_PYTHON_NUMBERS = (int, float, complex)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex, numpy.generic))


class _Module(types.ModuleType):
    """Stands for one of NumPy's private modules; its names are rebound when they are used."""

    def __init__(self, original: types.ModuleType) -> None:
        super().__init__(original.__name__)
        self.__dict__["_original"] = original

    def __getattr__(self, name: str) -> Any:
        original = self.__dict__["_original"]
        value = _meaning(getattr(original, name), name, original)
        if value is _OWN:
            _copied(original)
            value = getattr(_copies[original.__name__][0], name)
        self.__dict__[name] = value
        return value


_modules: dict[str, types.ModuleType] = {}
# by name of the original: a copy of a module whose names stand for ours, and its original names
_copies: dict[str, tuple[types.ModuleType, dict[str, Any]]] = {}


def _module(module: types.ModuleType) -> types.ModuleType:
    name = module.__name__
    if name == "numpy":
        import numelt

        return numelt
    if name == "warnings":
        return _modules.setdefault(name, _Warnings())
    if not name.startswith("numpy."):
        return module
    return _modules.setdefault(name, _Module(module))


def _meaning(value: Any, name: str, home: types.ModuleType) -> Any:
    """Return the object that replaces a value which NumPy's module `home` holds under a global name."""
    if isinstance(value, types.ModuleType):
        return _module(value)
    if isinstance(value, type):
        if value is numpy.ndarray:
            return _core.ndarray
        return _Converter if value.__name__ == "_array_converter" else value
    if isinstance(value, numpy.ufunc) and value in _INSTEAD:
        return _INSTEAD[value]
    if isinstance(value, Hashable) and value in NATIVE:
        return NATIVE[value]
    public = _public(value)
    if public in NATIVE:
        return NATIVE[public]
    implementation = getattr(value, "_implementation", value)
    ours = library.is_library(_dotted(value, name))
    if (
        isinstance(implementation, types.FunctionType)
        and implementation.__globals__ is vars(home)
        and not ours
    ):
        return _OWN
    if getattr(value, "__module__", None) in _NO_DATA or not callable(value):
        return value
    bound = _reduction(value)
    return mirror.mirror(value, _dotted(value, name)) if bound is None else bound


# `_meaning` returns this for a function that the copy itself defines
_OWN: Any = object()


def _public(value: Any) -> Any:
    """Return the public function of NumPy that the private `value` implements, or None."""
    if not isinstance(value, (types.FunctionType, types.BuiltinFunctionType)):
        return None
    public = getattr(numpy, value.__name__, None)
    return public if getattr(public, "_implementation", None) is value else None


def _dotted(value: Any, name: str) -> str:
    """Return the public name of a function below ``numpy``."""
    home = getattr(value, "__module__", None)
    home = home.partition(".")[2] if isinstance(home, str) else ""
    return f"{home}.{name}" if home in ("linalg", "fft") else name


def _reduction(value: Any) -> Any:
    """Return our method for a method of one of NumPy's ufuncs, such as ``add.reduce``, or None."""
    owner = getattr(value, "__self__", None)
    if isinstance(owner, numpy.ufunc):
        return getattr(mirror.mirror(owner, owner.__name__), value.__name__)
    return None


def _copied(home: types.ModuleType) -> dict[str, Any]:
    """Return the original names of the copy of one of NumPy's modules; make the copy if there is none."""
    if home.__name__ not in _copies:
        copy = copy_of(home)
        before = dict(vars(copy))
        _copies[home.__name__] = copy, before
        made: dict[int, Any] = {}
        for name, value in vars(home).items():
            if not name.startswith("__"):
                if id(value) not in made:
                    meaning = _meaning(value, name, home)
                    made[id(value)] = before[name] if meaning is _OWN else meaning
                vars(copy)[name] = made[id(value)]
    return _copies[home.__name__][1]


@functools.cache
def _rebound(original: Any) -> Callable[..., Any]:
    implementation = getattr(original, "_implementation", original)
    held = _copied(importlib.import_module(implementation.__globals__["__name__"]))
    name, *rest = implementation.__qualname__.split(".")
    return cast(Callable[..., Any], functools.reduce(getattr, rest, held[name]))


def replace_gufunc(original: numpy.ufunc, function: Callable[..., Any]) -> None:
    """Let functions that are composed of a generalized ufunc of NumPy call `function` instead of it."""
    _INSTEAD[original] = function


def rebound(original: Any) -> Callable[..., Any]:
    """Return NumPy's function or method `original` from a copy whose names stand for numelt's.

    It runs in NumPy if the file of its module cannot be read, because no file descriptor is left.
    """
    try:
        return _rebound(original)
    except OSError:
        return lambda *args, **kwargs: fallback.uncounted(original, args, kwargs)


def understood(value: Any) -> bool:
    """Return whether numelt treats an argument of this class as NumPy does."""
    kind = type(value)
    if kind is _core.ndarray:
        return bool(_core.is_native(value))
    if kind is list or kind is tuple:
        return not overrides.asked((value,), {})
    return kind in _PLAIN or isinstance(value, (numpy.generic, numpy.dtype, type))


def composed(stub: F) -> F:
    """Register NumPy's function of the same name to run over our arrays; `stub` documents it."""
    return _composed(stub, numpy, understood)


def applying(stub: F) -> F:
    """Register a function of NumPy that calls functions of the user, as `composed` does.

    The functions of the user receive our arrays.
    """
    return _composed(stub, numpy, _is_accepted)


def applying_compiled(compiled: Callable[..., Any]) -> Callable[[F], F]:
    """Return the decorator `applying` for a function that may be compiled together with that of the user.

    `compiled` gets the arguments first, and returns None for calls that are left to NumPy's function.
    """
    return lambda stub: _composed(stub, numpy, _is_accepted, compiled=compiled)


def applying_prepared(prepared: Callable[..., Any]) -> Callable[[F], F]:
    """Return the decorator `applying` for a function whose arguments `prepared` may replace first."""
    return lambda stub: _composed(stub, numpy, _is_accepted, prepared=prepared)


def _is_accepted(value: Any) -> bool:
    return understood(value) or _is_function(value)


def composed_in(space: types.ModuleType, few: bool = True) -> Callable[[F], F]:
    """Return the decorator `composed` for a submodule of NumPy.

    If `few` is false, NumPy's function does not run for small arrays either.
    """
    return lambda stub: _composed(stub, space, understood, few)


def _is_function(value: Any) -> bool:
    """Return whether an argument is a function, not a callable that converts itself to an array."""
    return callable(value) and not hasattr(type(value), "__array__")


def _composed(
    stub: F,
    space: types.ModuleType,
    accepted: Callable[[Any], bool],
    few: bool = True,
    compiled: Callable[..., Any] | None = None,
    prepared: Callable[..., Any] | None = None,
) -> F:
    name = stub.__name__
    original = getattr(space, name, None)
    if original is None:
        return stub  # this NumPy release does not have it
    label = f"{space.__name__}.{name}".partition(".")[2]
    implementation: Callable[..., Any] | None = None
    together = name in _OF_NUMBERS

    @functools.wraps(stub)
    def run(*args: Any, **kwargs: Any) -> Any:
        nonlocal implementation
        like = kwargs.get("like")
        if like is not None or not (all(map(accepted, args)) and all(map(accepted, kwargs.values()))):
            return fallback.call(label, original, args, kwargs)
        if compiled is not None and (made := compiled(*args, **kwargs)) is not None:
            return made
        if prepared is not None:
            args, kwargs = prepared(*args, **kwargs)
        if implementation is None:
            implementation = rebound(original)
        made = _core.composing(implementation, args, kwargs) if together else implementation(*args, **kwargs)
        # methods of NumPy's scalars, such as `reshape`, return NumPy's arrays
        return fallback.wrap(made) if type(made) is numpy.ndarray else made

    share = table.share(label, table.FEW) if few else table.FOREIGN
    return native(cast(F, routine(label, original, run, share)), space)
