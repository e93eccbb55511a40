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

from numelt import _beginning, _core, _extensions, _fallback
from numelt._adapted import (
    ADAPTED,
    CALLING,
    CONVERTING,
    GIVING_BACK,
    JAX,
    LOOKING_UP,
    MAKING,
    MAKING_ARRAYS,
    MAPPING,
    NAMED,
    NAMES,
    OF_ATTRIBUTES,
    READING,
)
from numelt._import import Delegating, is_installed

__all__ = ["Finder", "adapt_extension", "install"]

# NumPy's own generators, which libraries hand out
RANDOM = "numpy.random"
_FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, functools.partial)
_HELD = frozenset({_core.ndarray, type(_core.ndarray), list, tuple, dict})


@functools.cache
def _forward(cells: int) -> types.CodeType:
    """Return code that calls the function that `_within` puts in the place of the text.

    Parameters
    ----------
    cells : int
        How many variables of an enclosing function it holds: a frame that lacks them cannot be looked at.
    """
    names = "".join(f"_{i}, " for i in range(cells))
    made: dict[str, Any] = {}
    exec(
        f"def enclosing({names}):\n"
        "    def forward(*args, **kwargs):\n"
        "        function = 'function'\n"
        "        return function(*args, **kwargs)\n"
        f"        {names}\n"
        "    return forward.__code__\n",
        made,
    )
    code: types.CodeType = made["enclosing"](*range(cells))
    return code


def _placed(code: types.CodeType, function: types.CodeType) -> types.CodeType:
    """Return code that says it stands on the first line of a function: libraries know their own files."""
    # the locations of up to eight units of code each, without columns, on the first line
    units = len(code.co_code) // 2
    lengths = [8] * (units // 8) + [units % 8] * (units % 8 > 0)
    table = b"".join(bytes([0x80 | 13 << 3 | length - 1, 0]) for length in lengths)
    return code.replace(
        co_filename=function.co_filename, co_firstlineno=function.co_firstlineno, co_linetable=table
    )


def _within(function: types.FunctionType, wrap: Callable[..., Any]) -> None:
    """Wrap a Python function in place: it stays the object that tables and other modules hold.

    Its code goes to another function, which is wrapped, and its own code calls that.
    """
    inner = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    inner.__kwdefaults__ = function.__kwdefaults__
    for name in functools.WRAPPER_ASSIGNMENTS:
        setattr(inner, name, getattr(function, name))
    call: Any = wrap(inner)
    call.__code__ = _placed(call.__code__, function.__code__)
    names = function.__code__.co_freevars
    code = _placed(_forward(len(names)), function.__code__)
    function.__code__ = code.replace(
        co_consts=tuple(call if constant == "function" else constant for constant in code.co_consts),
        co_freevars=names,
        co_name=function.__name__,
    )
    # what tells signatures and shows sources follows this
    vars(function).setdefault("__wrapped__", inner)


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


def _calling(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function to which other functions, its arguments, return NumPy's arrays."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        wrapped = {key: _returning(value) for key, value in kwargs.items()}
        return function(*map(_returning, args), **wrapped)

    return call


class _Returning:
    """A function of the user's that returns NumPy's arrays; processes get it by what it stands for."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _fallback.unwrap(self._function(*args, **kwargs))

    def __reduce__(self) -> Any:
        return _returning, (self._function,)


def _returning(value: Any) -> Any:
    is_users = isinstance(value, types.FunctionType | types.MethodType | functools.partial)
    return _Returning(value) if is_users else value


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


def _giving_back(function: types.FunctionType) -> Callable[..., Any]:
    """Return a function that gives the array that it was given, where another returns all of its memory.

    So it is for a program's files. Libraries go on with NumPy's array.
    """
    own_file = function.__code__.co_filename

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        ours = [value for value in (*args, *kwargs.values()) if type(value) is _core.ndarray]
        if not ours:
            return result
        # `_within` stands between
        caller = sys._getframe(2)
        while caller.f_code.co_filename == own_file and caller.f_back is not None:
            caller = caller.f_back
        if is_installed(caller.f_code.co_filename):
            return result
        if type(result) is tuple:
            return tuple(_given_back(item, ours) for item in result)
        return _given_back(result, ours)

    return call


def _given_back(result: Any, ours: list[Any]) -> Any:
    """Return the array of ours whose memory a result of NumPy's is, all of it in the same order."""
    if type(result) is not numpy.ndarray:
        return result
    for array in ours:
        same = array.shape == result.shape and array.dtype == result.dtype
        if same and array.__array_interface__ == result.__array_interface__:
            return array
    return result


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
        (MAKING, _making),
        (CALLING, _calling),
        (GIVING_BACK, _giving_back),
        (LOOKING_UP, _looking_up),
        (MAPPING, _mapping),
        (NAMED, _naming),
        (READING, _reading),
    ]


def _adapt(module: types.ModuleType) -> None:
    """Wrap what is listed of a module."""
    key = module.__name__
    if key == JAX:
        _register_with_jax(module)
        return
    # either may be loaded first; loading NumPy's takes tens of milliseconds
    if (key == RANDOM or key in NAMED) and RANDOM in sys.modules and not NAMED.keys().isdisjoint(sys.modules):
        _adapt_shuffles()
    for table, wrap in _tables():
        for name in _names(module, table.get(key, ())):
            _adapt_name(module, name, wrap)


def _adapt_name(module: types.ModuleType, name: str, wrap: Callable[..., Any]) -> None:
    """Wrap one function, or method of a class, of a module."""
    key = module.__name__
    owner_name, _, attribute = name.rpartition(".")
    owner = getattr(module, owner_name, None) if owner_name else module
    function = getattr(owner, attribute, None)
    if isinstance(function, types.MethodType):
        function = function.__func__  # a class's
    if owner is None or function is None or hasattr(function, "__numelt__"):
        return  # another release of the library, or inherited
    if function is getattr(object, attribute, None):
        return  # what every class has
    if isinstance(function, types.FunctionType):
        converts = wrap is _adapted and key.startswith(CONVERTING)
        if not (converts and _beginning.convert(function)):
            _within(function, wrap)
        vars(function)["__numelt__"] = True
        return
    adapted = wrap(function)
    vars(adapted)["__numelt__"] = True
    setattr(owner, attribute, adapted)
    if owner is module:
        _extensions.replace(key.partition(".")[0], {id(function): (function, adapted)})


def _names(module: types.ModuleType, names: Sequence[str]) -> Sequence[str]:
    """Return what is adapted of a module; a star stands for its, or a class's, public functions."""
    if names == ("*",):
        return [
            name for name in module.__all__ if isinstance(getattr(module, name, None), types.FunctionType)
        ]
    return [found for name in names for found in _named(module, name)]


def _named(module: types.ModuleType, name: str) -> Sequence[str]:
    """Return what a name, or a class with a star, stands for."""
    owner, star, _ = name.partition(".*")
    if not star:
        return [name]
    special = module.__name__.startswith(CONVERTING)
    methods = vars(getattr(module, owner, object)).items()
    return [f"{owner}.{name}" for name, method in methods if _is_public(name, method, special)]


def _is_public(name: str, function: Any, special: bool) -> bool:
    """Is this a public function of a class, or, where these count, one that the interpreter calls?"""
    if isinstance(function, classmethod | staticmethod):
        function = function.__func__
    if not isinstance(function, types.FunctionType) or name in OF_ATTRIBUTES:
        return False
    also = name in MAKING_ARRAYS or (name.startswith("__") and name.endswith("__"))
    return not name.startswith("_") or (special and also)


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
            _adapt(module)
    if Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)
