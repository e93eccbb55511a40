"""Functions of installed libraries that take NumPy's arrays only: they get NumPy's view of ours.

Most of a library reads arrays through `numpy.asarray` or the buffer protocol and needs nothing. A few of its
functions tell arrays from other sequences by `isinstance`, or hand them to C code that wants NumPy's class: a
mask as a key of a data frame would be taken for a list of labels. Those are wrapped here when their module is
imported, in place where they are Python's, because libraries keep tables of functions; the memory is shared.

In: the names in `_adapted`. Out: `install`, which `_watch` calls when the first of the libraries is imported.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.machinery
import sys
import types
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, cast

import numpy

from numelt import _core, _extensions, _fallback
from numelt._adapted import (
    ADAPTED,
    CONVERTING,
    JAX,
    LOOKING_UP,
    MAKING,
    MAPPING,
    NAMED,
    NAMES,
    READING,
)
from numelt._import import Delegating

__all__ = ["Finder", "adapt_extension", "install"]

# NumPy's own generators, which libraries hand out
RANDOM = "numpy.random"
_FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, functools.partial)
_HELD = frozenset({_core.ndarray, type(_core.ndarray), list, tuple, dict})


def _adapted(function: Callable[..., Any], generators: Set[type] = frozenset()) -> Callable[..., Any]:
    """Return a function that calls another with NumPy's arrays in place of ours.

    Where the other returns an argument, that is the array that was given.

    Parameters
    ----------
    generators : set of types
        Classes of generators in whose place NumPy's are handed on.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        views: _fallback.Views = {}
        if not _HELD.isdisjoint(map(type, args)):
            args = tuple(_fallback.unwrap(arg, views) if type(arg) in _HELD else arg for arg in args)
        if kwargs:
            kwargs = {key: _fallback.unwrap(value, views) for key, value in kwargs.items()}
        if generators and not generators.isdisjoint(map(type, (*args, *kwargs.values()))):
            args = tuple(arg._plain if type(arg) in generators else arg for arg in args)
            kwargs = {key: arg._plain if type(arg) in generators else arg for key, arg in kwargs.items()}
        result = function(*args, **kwargs)
        if type(result) is tuple and views:
            return tuple(_given(item, views) for item in result)
        return _given(result, views)

    return call


def _converting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls another with NumPy's arrays in place of ours."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not _HELD.isdisjoint(map(type, args)):
            args = tuple(_fallback.unwrap(arg) if type(arg) in _HELD else arg for arg in args)
        if kwargs:
            kwargs = {key: _fallback.unwrap(value) for key, value in kwargs.items()}
        return function(*args, **kwargs)

    return call


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls a compiled one, for which generators draw NumPy's arrays, too."""
    return _adapted(function, _fallback.GENERATORS)


def _given(value: Any, views: _fallback.Views) -> Any:
    """Return the array of ours for a view that was handed on."""
    given = views.get(id(value))
    return value if given is None else given[1]


class _Made:
    """An object whose methods get NumPy's arrays in place of ours."""

    def __init__(self, made: Any) -> None:
        self._made = made

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._made)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _adapted(self._made)(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._made, name)
        return _adapted(value) if callable(value) else value


def _making(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls another and adapts the function or the object that it returns."""
    call = _adapted(function)

    @functools.wraps(function)
    def make(*args: Any, **kwargs: Any) -> Any:
        made = call(*args, **kwargs)
        return _adapted(made) if isinstance(made, _FUNCTIONS) else _Made(made)

    return make


def _mapping(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose results hold NumPy's arrays and numbers; ones of no dimension are numbers."""
    inner = _adapted(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        made = inner(*args, **kwargs)
        objects = made.tolist() if type(made) is numpy.ndarray and made.dtype == object else []
        if _HELD.isdisjoint(map(type, objects)):
            return made
        for at, value in enumerate(objects):
            held = _fallback.unwrap(value)
            made[at] = held.item() if type(held) is numpy.ndarray and not held.ndim else held
        return sys.modules["pandas._libs.lib"].maybe_convert_objects(made)

    return call


def _looking_up(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that finds NumPy's modules, functions and arrays where another finds ours."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _fallback.unwrap(_numpys_module(function(*args, **kwargs)))

    return call


def _naming(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that gets NumPy's modules and classes where another gets ours."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*(_fallback.numpys_own(_numpys_module(arg)) for arg in args), **kwargs)

    return call


def _reading(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of what says of which class a written array was; ours is ours again."""

    @functools.wraps(function)
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = function(self, *args, **kwargs)
        return _fallback.wrap(made) if self.subclass is _core.ndarray else made

    return read


def _numpys_module(value: Any) -> Any:
    if isinstance(value, types.ModuleType) and value.__name__.partition(".")[0] == "numelt":
        return sys.modules.get("numpy" + value.__name__.removeprefix("numelt"), value)
    return value


@functools.cache
def _adapt_shuffles() -> None:
    """Let NumPy's own generators, which libraries hand out, shuffle our arrays.

    They take what is not of NumPy's class for a list, and its rows for what stays as it is.
    """
    random = sys.modules[RANDOM]

    def adapted(original: Any) -> Any:
        @functools.wraps(original)
        def shuffle(self: Any, x: Any, *args: Any, **kwargs: Any) -> None:
            original(self, _core.to_numpy(x) if type(x) is _core.ndarray else x, *args, **kwargs)

        return shuffle

    for owner in (random.RandomState, random.Generator):
        _extensions.put_methods(owner, {"shuffle": adapted(vars(owner)["shuffle"])})


def _register_with_jax(pxla: types.ModuleType) -> None:
    """Let JAX take our arrays where it takes NumPy's: it looks up what to do by the very class."""
    core, dtypes = sys.modules["jax._src.core"], sys.modules["jax._src.dtypes"]
    ours, numpys = _core.ndarray, numpy.ndarray
    with contextlib.suppress(AttributeError, KeyError):  # another release
        shard = pxla.shard_arg_handlers[numpys]
        pxla.shard_arg_handlers[ours] = lambda xs, *rest: shard(list(map(_core.to_numpy, xs)), *rest)
        core.pytype_aval_mappings[ours] = core.pytype_aval_mappings[numpys]
        # in some releases a dict, in which our class is NumPy's
        former = dtypes.canonicalize_value_handlers[numpys]
        dtypes.register_canonicalize_value_handler(ours, lambda x: former(_core.to_numpy(x)))


def _tables() -> list[tuple[Mapping[str, tuple[str, ...]], Callable[..., Any]]]:
    """Return what is adapted, and how."""
    return [
        (NAMES, _adapted),
        (CONVERTING, _converting),
        (MAKING, _making),
        (LOOKING_UP, _looking_up),
        (MAPPING, _mapping),
        (NAMED, _naming),
        (READING, _reading),
    ]


def _adapt(module: types.ModuleType) -> dict[int, tuple[Any, Any]]:
    """Wrap what is listed of a module; return what `_extensions.replace` wants."""
    key = module.__name__
    changed: dict[int, tuple[Any, Any]] = {}
    if key == JAX:
        _register_with_jax(module)
        return changed
    # either may be loaded first; loading NumPy's takes tens of milliseconds
    if (key == RANDOM or key in NAMED) and RANDOM in sys.modules and not NAMED.keys().isdisjoint(sys.modules):
        _adapt_shuffles()
    for table, wrap in _tables():
        for name in table.get(key, ()):
            with contextlib.suppress(AttributeError, KeyError):  # another release of the library
                changed |= _wrap_name(module, name, wrap)
    return changed


def _wrap_name(module: types.ModuleType, name: str, wrap: Callable[..., Any]) -> dict[int, tuple[Any, Any]]:
    """Wrap one function, or method of a class, of a module; return what `_extensions.replace` wants."""
    owner_name, _, attribute = name.rpartition(".")
    owner = getattr(module, owner_name) if owner_name else module
    held = vars(owner).get(attribute) or getattr(owner, attribute)
    function = held.__func__ if isinstance(held, classmethod | staticmethod) else held
    if hasattr(function, "__numelt__"):
        return {}
    wrapped: Any = wrap(function)
    vars(wrapped)["__numelt__"] = True
    setattr(owner, attribute, type(held)(wrapped) if function is not held else wrapped)
    return {id(function): (function, wrapped)} if owner is module else {}


class _Loader(Delegating):
    """Adapts a module when it has been loaded."""

    def exec_module(self, module: types.ModuleType) -> None:
        super().exec_module(module)
        _adapt(module)


class Finder(importlib.machinery.PathFinder):
    """Finds the modules listed."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return a spec for a listed module; leave the rest to the next finder."""
        if fullname not in ADAPTED and fullname != RANDOM:
            return None
        spec = super().find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = cast(Any, _Loader(spec.loader))
        return spec


def adapt_extension(module: types.ModuleType) -> None:
    """Wrap what is compiled of a module that has just been loaded, where that is needed."""
    _extensions.adapt(module, _compiled)


def install() -> None:
    """Adapt the libraries that are imported, and those that will be.

    Examples
    --------
    >>> import numelt as np
    >>> import pandas
    >>> frame = pandas.DataFrame({"a": [1, 2, 3]})
    >>> frame[np.array([True, False, True])].a.tolist()
    [1, 3]
    """
    _extensions.adapt_loaded(_compiled)
    for name in (*ADAPTED, RANDOM):
        module = sys.modules.get(name)
        if isinstance(module, types.ModuleType):
            changed = _adapt(module)
            if changed:
                _extensions.replace(name.partition(".")[0], changed)
    if Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)
