"""The namespace: every public name of NumPy and of its public submodules, seen from numelt.

In: a NumPy object and its dotted name. Out: our object for it (`mirror`): the native function, the
ufunc object, a wrapper that falls back, a module of mirrors, or the object itself where it holds no
arrays (dtypes, scalar types, constants, exceptions). A name that a new NumPy release brings is there
as a fallback without a change here.
"""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from numelt import _core, _fallback, _library, _ufuncs
from numelt._dispatch import NATIVE, binds, present
from numelt.compat import numpy_, watching

__all__ = ["Finder", "MirrorModule", "fill", "late", "mirror", "replace"]

# what describes, prints or saves arrays: a read of the data, not a computation done elsewhere
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

# functions that take other functions and run them: our arrays must reach those as they are
_CALLERS = frozenset(
    {
        "assert_raises", "assert_raises_regex", "assert_warns", "assert_no_warnings", "assert_no_gc_cycles",
        "suppress_warnings", "measure", "rundocs", "run_threaded",
    }
)  # fmt: skip

# modules of NumPy's that it loads when they are used, and what is native of them
_LATE = {
    "ctypeslib": "numelt._routines.pointers",
    "fft": "numelt._routines.transforms",
    "polynomial": "numelt._routines.series",
    "random": "numelt._random",
    "testing": "numelt.compat.assertions",
}

# attributes that the import system sets on our own module
_IMPORT_SYSTEM = frozenset({"__path__", "__file__", "__loader__", "__spec__", "__package__", "__cached__"})

# our replacements of NumPy's objects that are neither functions nor ufuncs, by id
_replacements: dict[int, tuple[Any, Any]] = {}
_wrappers: dict[int, tuple[Any, Any]] = {}


def replace(original: Any, ours: Any) -> None:
    """Let `ours` stand for NumPy's `original` in every namespace."""
    _replacements[id(original)] = (original, ours)
    _fallback.stands_for(ours, original)


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
    if uncounted or not _library.is_library(name):

        def general(*args: Any, **kwargs: Any) -> Any:
            if uncounted:
                return _fallback.uncounted(original, args, kwargs)
            return _fallback.call(name, original, args, kwargs)

        way = "uncounted" if uncounted else "fallback"
        run: Any = _core.routine(name, original, general, way, binds(original))
    else:
        run = _library.function(name, original)

    run.__qualname__ = run.__name__ = short
    function: Callable[..., Any] = present(run, original)
    _fallback.stands_for(function, original)
    return function


def mirror(value: Any, name: str) -> Any:
    """Return what stands for NumPy's `value`, whose name is `name` below ``numpy``."""
    replaced = _replacements.get(id(value))
    if replaced is not None:
        return replaced[1]
    if isinstance(value, numpy.ufunc):
        return _ufuncs.ufunc_for(value)
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
    """Is this a function that NumPy itself took from elsewhere (functools, os, ...)?"""
    home = getattr(value, "__module__", None)
    if isinstance(value, types.FunctionType):
        return not (isinstance(home, str) and home.partition(".")[0] == "numpy")
    return name.rpartition(".")[2].startswith("_")


def _module(module: types.ModuleType) -> types.ModuleType:
    """Return our module for one of NumPy's; modules from elsewhere are themselves."""
    root, _, rest = module.__name__.partition(".")
    if root != "numpy" or not rest or rest == "_core" or rest.startswith("_core."):
        return module
    return sys.modules.get(f"numelt.{rest}") or importlib.import_module(f"numelt.{rest}")


def find(original: types.ModuleType, name: str, ours: types.ModuleType) -> Any:
    """Return what one of NumPy's modules has by a name; the error for none names our module."""
    try:
        if name in vars(original):
            return vars(original)[name]
        # what the module makes when it is asked may warn
        return _fallback.at_user_line(getattr, (original, name), {})
    except AttributeError as error:
        message = str(error).replace(f"'{original.__name__}'", f"'{ours.__name__}'")
        raise AttributeError(message, name=name, obj=ours) from None


class MirrorModule(types.ModuleType):
    """A module whose names are looked up in one of NumPy's and mirrored when first used."""

    __slots__ = ("_mirror", "_original")
    _mirror: Callable[[Any, str], Any]
    _original: types.ModuleType

    # with the lookup of `ModuleType`, CPython would call a Python-level method for each name of this class
    __getattribute__ = object.__getattribute__

    def __init__(self, name: str, original: types.ModuleType) -> None:
        super().__init__(name, original.__doc__)
        self._original = original
        self._mirror = mirror
        public = getattr(original, "__all__", None)
        if public is not None:
            self.__all__ = list(public)

    # on the class: NumPy's modules hold no such function, which would be copied with their other names
    def __getattr__(self, name: str) -> Any:
        if name in _IMPORT_SYSTEM:
            raise AttributeError(name)
        value = find(self._original, name, self)
        if name.startswith("__"):
            return value
        ours = self._mirror(value, f"{self.__name__.partition('.')[2]}.{name}")
        if name in vars(self._original):
            setattr(self, name, ours)
        return ours

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """All names, for those who walk through them: ``vars(np.fft)``."""
        names: dict[str, Any] = _names(self)
        for name in list(vars(self._original)):
            if not name.startswith("_") and name not in names:
                getattr(self, name)
        return names

    def __dir__(self) -> list[str]:
        return sorted(set(dir(self._original)) | set(_names(self)))


# a module's names as they stand in it
_names: Callable[[types.ModuleType], dict[str, Any]] = vars(types.ModuleType)["__dict__"].__get__


class Finder(importlib.machinery.PathFinder):
    """Finds ``numelt.a.b`` as the mirror of ``numpy.a.b`` where numelt has no file of its own."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return a spec if NumPy has the module."""
        root, _, rest = fullname.partition(".")
        if root != "numelt" or not rest or rest.startswith("_"):
            return None
        try:
            original: Any = importlib.import_module(f"numpy.{rest}")
        except ImportError:
            return None
        if not isinstance(original, types.ModuleType):
            return None
        is_package = hasattr(original, "__path__")
        loader: Any = _Loader(original)
        return importlib.machinery.ModuleSpec(fullname, loader, is_package=is_package)


class _Loader:
    """Makes the mirror that `Finder` found."""

    def __init__(self, original: types.ModuleType) -> None:
        self.original = original

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return MirrorModule(spec.name, self.original)

    def exec_module(self, module: types.ModuleType) -> None:
        """Names come when they are used."""
        numpy_.teach(self.original)
        late = _LATE.get(module.__name__.partition(".")[2])
        if late is not None:
            setattr(module, "_mirror", getattr(importlib.import_module(late), "mirror", mirror))  # noqa: B010


def fill(package: types.ModuleType) -> None:
    """Add every name that NumPy's namespace holds and our package's lacks; find others when they are used."""
    watching.add_last_finder(Finder)
    namespace = vars(package)
    for name, value in vars(numpy).items():
        if name not in namespace and name != "__getattr__":
            namespace[name] = value if name.startswith("_") else mirror(value, name)


def late(package: types.ModuleType, name: str) -> Any:
    """Return a submodule or another name that NumPy makes when it is asked, or raise NumPy's error.

    The package's ``__getattr__``. CPython specializes lookups in modules without such a function, so each
    ``np.name`` takes 19 instead of 6 ns under 3.11 (27 instead of 8 under 3.13). A class of our own for the
    module would be slower: 25 (34) ns at best.
    """
    if name in vars(package):
        # another module has copied the namespace, this function included, and lacks a name
        raise AttributeError(f"module {package.__name__!r} has no attribute {name!r}", name=name, obj=package)
    value = find(numpy, name, package)
    if name.startswith("_"):
        return value  # private to NumPy: as it is
    ours = mirror(value, name)
    if name in vars(numpy):
        setattr(package, name, ours)
    return ours
