"""The numelt object that replaces each object of NumPy.

In: a NumPy object and its dotted name. Out: our object for it (`mirror`): the native function, the ufunc
object, a wrapper that falls back, a module of mirrors, or the object itself if it holds no arrays (dtypes,
scalar types, constants, exceptions).
"""

from __future__ import annotations

import functools
import importlib
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy

from numelt import _core
from numelt._dispatch import fallback, library, overrides
from numelt._dispatch.native import NATIVE, present
from numelt._dispatch.routine import library_function, routine

__all__ = ["mirror", "ours_for", "replace", "ufunc_for"]

# functions that describe, print or save arrays: they read data and are not counted as fallbacks
READS = frozenset(
    { "array2string", "array_repr", "array_str", "can_cast", "format_float_positional",
    "format_float_scientific", "info", "may_share_memory", "min_scalar_type", "promote_types",
    "result_type", "save", "savetxt", "savez", "savez_compressed", "shares_memory", "broadcast_shapes",
    "issubdtype", "isdtype", "iterable", "typename", "set_printoptions", "get_printoptions",
    "printoptions", "seterr", "geterr", "seterrcall", "geterrcall", "setbufsize", "getbufsize",
    "base_repr", "binary_repr", "mintypecode", "datetime_data", "show_config", "show_runtime",
    "get_include", "test", "isfortran", "common_type", "fromfile", "frombuffer", "fromiter",
    "from_dlpack", "load", "loadtxt", "genfromtxt", "fromstring", "fromregex", "tofile", "dump", "dumps", }
)  # fmt: skip

# functions that call a function of the user, whose arguments must stay our arrays
_CALLERS = frozenset(
    {
        "assert_raises", "assert_raises_regex", "assert_warns", "assert_no_warnings", "assert_no_gc_cycles",
        "suppress_warnings", "measure", "rundocs", "run_threaded",
    }
)  # fmt: skip

# NumPy's ufuncs whose operation has another name in the op table; the others have their own name
_OP_NAMES = {"divmod": None}

_by_numpy: dict[numpy.ufunc, Any] = {}

# by id of an object of NumPy: that object, and the object that replaces it in every namespace
_replacements: dict[int, tuple[Any, Any]] = {}
_wrappers: dict[int, tuple[Any, Any]] = {}


def ufunc_for(original: numpy.ufunc) -> Any:
    """Return our ufunc for one of NumPy's: for each of them there is one object."""
    ours = _by_numpy.get(original)
    if ours is None:
        name = original.__name__
        op = _OP_NAMES.get(name, name)
        try:
            ours = _core.ufunc(original, op)
        except (ValueError, TypeError):  # not in the op table
            ours = _core.ufunc(original, None)
        _by_numpy[original] = ours
    return ours


overrides.find_ufuncs_by(ufunc_for)


def replace(original: Any, ours: Any) -> None:
    """Replace NumPy's `original` by `ours` in every namespace."""
    _replacements[id(original)] = (original, ours)
    fallback.stands_for(ours, original)


def _is_function(value: Any) -> bool:
    if isinstance(value, type):
        return False
    kind = type(value)
    return kind in (types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial) or (
        kind.__name__
        in ("_ArrayFunctionDispatcher", "cython_function_or_method", "builtin_function_or_method")
    )


def _wrapper(original: Any, name: str) -> Callable[..., Any]:
    """Return a function that runs `original` in NumPy on views of our arrays."""
    short = name.rpartition(".")[2]
    uncounted = short in READS or name.startswith("testing.")
    if uncounted or not library.is_library(name):

        def general(*args: Any, **kwargs: Any) -> Any:
            if uncounted:
                return fallback.uncounted(original, args, kwargs)
            return fallback.call(name, original, args, kwargs)

        way = "uncounted" if uncounted else "fallback"
        run: Any = routine(name, original, general, way)
    else:
        run = library_function(name, original)

    run.__qualname__ = run.__name__ = short
    function: Callable[..., Any] = present(run, original)
    fallback.stands_for(function, original)
    return function


def mirror(value: Any, name: str) -> Any:
    """Return our object for NumPy's `value`; `name` is its dotted name below ``numpy``."""
    replaced = _replacements.get(id(value))
    if replaced is not None:
        return replaced[1]
    if isinstance(value, numpy.ufunc):
        return ufunc_for(value)
    if isinstance(value, types.ModuleType):
        return _module(value)
    if not _is_function(value) or name.rpartition(".")[2] in _CALLERS or _private(value, name):
        return value
    try:
        native = NATIVE.get(value)
    except TypeError:  # unhashable
        native = None
    if native is not None:
        return native
    made = _wrappers.get(id(value))
    if made is None:
        made = _wrappers[id(value)] = (value, _wrapper(value, name))
    return made[1]


def _private(value: Any, name: str) -> bool:
    """Return whether this is a private function, or one that NumPy has imported from another package."""
    home = getattr(value, "__module__", None)
    if isinstance(value, types.FunctionType):
        return not (isinstance(home, str) and home.partition(".")[0] == "numpy")
    return name.rpartition(".")[2].startswith("_")


def _module(module: types.ModuleType) -> types.ModuleType:
    """Return our module for one of NumPy's, and any other module itself."""
    root, _, rest = module.__name__.partition(".")
    if root != "numpy" or not rest or rest == "_core" or rest.startswith("_core."):
        return module
    return sys.modules.get(f"numelt.{rest}") or importlib.import_module(f"numelt.{rest}")


def ours_for(function: Any) -> Any:
    """Return our function or ufunc for one of NumPy's, and any other object itself."""
    if isinstance(function, numpy.ufunc):
        return ufunc_for(function)
    pair = fallback.OURS.get(id(function))
    return function if pair is None else pair[1]
