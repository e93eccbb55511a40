"""Wrappers of functions of libraries: the functions get NumPy's views of our arrays.

A wrapped function is called with NumPy's arrays instead of numelt's, also inside lists, tuples and dicts; the
views share the memory. A `Name` says which function of which module is wrapped, how, and why. The module
about a library holds a list of them.

In: a module that has just been loaded, and the list of its library. Out: the same module, with wrapped
functions.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterable, Set
from typing import Any, NamedTuple

from numelt import _core
from numelt._dispatch import fallback

__all__ = [
    "HOLDING", "Name",
    "converting", "drawing", "for_compiled", "giving_back", "making", "naming", "wrap_module",
]  # fmt: skip

Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]

# classes of arguments that are our arrays or may contain them
HOLDING = frozenset({_core.ndarray, type(_core.ndarray), list, tuple, dict})
_FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, functools.partial)
# classes of compiled functions and methods
_DESCRIBED = frozenset({"builtin_function_or_method", "method_descriptor", "cython_function_or_method"})


class Name(NamedTuple):
    """A function of a library that is wrapped."""

    module: str
    name: str
    """The name of the function in the module, or ``Class.method``."""
    wrap: Wrap
    reason: str


def _numpys(args: tuple[Any, ...], kwargs: dict[str, Any], views: fallback.Views | None = None) -> Any:
    """Return arguments with NumPy's arrays instead of numelt's."""
    if not HOLDING.isdisjoint(map(type, args)):
        args = tuple(fallback.unwrap(arg, views) if type(arg) in HOLDING else arg for arg in args)
    if kwargs:
        kwargs = {key: fallback.unwrap(value, views) for key, value in kwargs.items()}
    return args, kwargs


def _described(call: Callable[..., Any], function: Any) -> Callable[..., Any]:
    """Give a wrapper the name, documentation and attributes of a function, as `functools.wraps` does.

    `functools.wraps` takes three times as long, and importing a library may make a thousand wrappers of its
    compiled functions.
    """
    if type(function).__name__ not in _DESCRIBED:
        return functools.update_wrapper(call, function)
    call.__name__, call.__qualname__ = function.__name__, function.__qualname__
    for name in ("__doc__", "__module__", "__annotations__"):
        value = getattr(function, name, None)
        if value is not None:
            setattr(call, name, value)
    vars(call).update(getattr(function, "__dict__", ()), __wrapped__=function)
    return call


def converting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function: NumPy's arrays instead of numelt's."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _numpys(args, kwargs)
        return function(*args, **kwargs)

    return call


def giving_back(function: Callable[..., Any], generators: Set[type] = frozenset()) -> Callable[..., Any]:
    """Wrap a function: NumPy's arrays instead of numelt's; a result that is such a view becomes our array.

    Parameters
    ----------
    generators : set of types
        Our classes of random generators, in whose place NumPy's generators are passed.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        views: fallback.Views = {}
        args, kwargs = _numpys(args, kwargs, views)
        if generators:
            args, kwargs = _drawn(args, kwargs, generators)
        result = function(*args, **kwargs)
        if type(result) is tuple and views:
            return tuple(_given(item, views) for item in result)
        return _given(result, views)

    return _described(call, function)


def _drawn(args: tuple[Any, ...], kwargs: dict[str, Any], generators: Set[type]) -> Any:
    """Return arguments with NumPy's random generators instead of numelt's."""
    if not generators.isdisjoint(map(type, (*args, *kwargs.values()))):
        args = tuple(arg._plain if type(arg) in generators else arg for arg in args)
        kwargs = {key: arg._plain if type(arg) in generators else arg for key, arg in kwargs.items()}
    return args, kwargs


def for_compiled(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return arguments for compiled code: NumPy's arrays and random generators instead of numelt's."""
    args, kwargs = _numpys(args, kwargs)
    return _drawn(args, kwargs, fallback.GENERATORS)


def drawing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a compiled function, which also gets NumPy's random generators instead of numelt's."""
    return giving_back(function, fallback.GENERATORS)


def _given(value: Any, views: fallback.Views) -> Any:
    """Return our array for one of the views that were passed, and any other value itself."""
    given = views.get(id(value))
    return value if given is None else given[1]


class _Made:
    """An object whose methods get NumPy's arrays instead of numelt's."""

    def __init__(self, made: Any) -> None:
        self._made = made

    # `isinstance` sees the class of the object
    __class__: Any = property(lambda self: type(self._made))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return giving_back(self._made)(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._made, name)
        return giving_back(value) if callable(value) else value


def making(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function that returns a function or a compiled object, which is wrapped, too."""
    call = giving_back(function)

    @functools.wraps(function)
    def make(*args: Any, **kwargs: Any) -> Any:
        made = call(*args, **kwargs)
        return giving_back(made) if isinstance(made, _FUNCTIONS) else _Made(made)

    return make


def naming(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function: NumPy's modules and classes instead of numelt's."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*(fallback.numpys_own(numpys_module(arg)) for arg in args), **kwargs)

    return call


def numpys_module(value: Any) -> Any:
    """Return NumPy's module for one of numelt, and any other object itself."""
    if isinstance(value, types.ModuleType) and value.__name__.partition(".")[0] == "numelt":
        return sys.modules.get("numpy" + value.__name__.removeprefix("numelt"), value)
    return value


def find(module: types.ModuleType, name: str) -> tuple[Any, str, Any]:
    """Return the module or class that holds a function, the name in it, and the attribute of that name.

    Raises
    ------
    AttributeError
        If this release of the library does not have it.
    """
    owner_name, _, attribute = name.rpartition(".")
    owner = getattr(module, owner_name) if owner_name else module
    return owner, attribute, vars(owner).get(attribute) or getattr(owner, attribute)


def _wrap(module: types.ModuleType, name: Name) -> dict[int, tuple[Any, Any]]:
    """Wrap one function; return the argument of `compiled.replace`."""
    owner, attribute, held = find(module, name.name)
    function = held.__func__ if isinstance(held, classmethod | staticmethod) else held
    if hasattr(function, "__numelt__"):
        return {}
    wrapped: Any = name.wrap(function)
    vars(wrapped)["__numelt__"] = True
    setattr(owner, attribute, type(held)(wrapped) if function is not held else wrapped)
    return {id(function): (function, wrapped)} if owner is module else {}


def wrap_module(module: types.ModuleType, names: Iterable[Name]) -> dict[int, tuple[Any, Any]]:
    """Wrap the named functions of a module; return the argument of `compiled.replace`.

    A name that this release of the library does not have is left out. `UntestedLibraryWarning` tells of that.
    """
    changed: dict[int, tuple[Any, Any]] = {}
    for name in names:
        if name.module == module.__name__:
            try:
                changed |= _wrap(module, name)
            except AttributeError:
                continue
    return changed
