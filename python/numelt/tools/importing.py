"""The import hook: files of the program get numelt where they import numpy, and no other file does.

The ``import`` statement calls the builtin ``__import__``, and a function takes its builtins from the global
``__builtins__`` of its module. A module of the program gets builtins with another ``__import__``, which
returns numelt for ``numpy``. Installed libraries in the same process keep NumPy. No source is changed, and
nothing in `sys.modules` is replaced. Modules that run files of the program themselves (pytest, `runpy`) get
an ``exec`` that does the same (`numelt.compat.running`).

In: nothing. Out: `install`, which adds the finder of the program's modules, and `user_builtins`.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import importlib.machinery
import os
import sys
import types
from collections.abc import Sequence
from typing import Any, cast

from numelt._array.classes import SubclassBase
from numelt._core import ndarray, to_numpy
from numelt._dispatch import fallback, files, overrides
from numelt._dispatch.files import is_users
from numelt._dispatch.mirror import ours_for
from numelt.compat import running, watching
from numelt.compat.libraries import Delegating

__all__ = ["import_for_users", "install", "user_builtins"]

_real_import = builtins.__import__


def _is_numpy(name: str) -> bool:
    return name == "numpy" or name.startswith("numpy.")


def _is_private(name: str) -> bool:
    return any(part.startswith("_") for part in name.split(".")[1:])


def _ours(name: str) -> types.ModuleType:
    """Import numelt's module for one of NumPy's. The error for a missing one has NumPy's name."""
    try:
        return importlib.import_module("numelt" + name[len("numpy") :])
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("numelt"):
            raise
        missing = "numpy" + error.name[len("numelt") :]
        raise ModuleNotFoundError(f"No module named {missing!r}", name=missing) from None


def import_for_users(
    name: str,
    globals: Any = None,
    locals: Any = None,
    fromlist: Any = (),
    level: int = 0,
) -> Any:
    """Replace ``__import__`` in modules of the program."""
    # C code passes a list, and expects NumPy itself
    if type(fromlist) is list or level:
        return _real_import(name, globals, locals, fromlist, level)
    if not _is_numpy(name):
        found = _real_import(name, globals, locals, fromlist, level)
        return _stand_in(found) if name.partition(".")[0] in _STAND_INS else found
    if _is_private(name):
        _real_import(name, globals, locals, fromlist, level)
        return _ours("numpy") if not fromlist else sys.modules[name]
    module = _ours(name)
    if not fromlist:
        return _ours("numpy")
    for item in fromlist:
        if item != "*" and not hasattr(module, item):
            _import_item(name, item)
    return module


# modules of Python for which modules of the program get replacements
_STAND_INS = frozenset({"importlib", "pickle"})


def _stand_in(module: types.ModuleType) -> types.ModuleType:
    """Return the replacement that modules of the program get for a module of Python."""
    if module is sys.modules["importlib"]:
        return _importlib
    if module is sys.modules.get("pickle"):
        from numelt.tools import unpickling  # few programs need it

        return unpickling.module
    return module


class _Importlib(types.ModuleType):
    """The module `importlib` with another `import_module`."""

    @staticmethod
    def import_module(name: str, package: str | None = None) -> types.ModuleType:
        """Import a module by its name; NumPy's public names give numelt's modules."""
        if isinstance(name, str) and _is_numpy(name) and not _is_private(name):
            return _ours(name)
        return importlib.import_module(name, package)

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib, name)

    def __dir__(self) -> list[str]:
        return dir(importlib)


_importlib = _Importlib("importlib", importlib.__doc__)
vars(_importlib)["__all__"] = importlib.__all__


def _import_item(name: str, item: str) -> None:
    """Import a submodule that ``from module import`` names, or raise Python's error."""
    try:
        _ours(f"{name}.{item}")
    except ModuleNotFoundError:
        path = getattr(_real_import(name, None, None, ("",), 0), "__file__", None)
        raise ImportError(
            f"cannot import name {item!r} from {name!r} ({path or 'unknown location'})", name=name, path=path
        ) from None


def _build_class(function: Any, name: str, /, *bases: Any, **keywords: Any) -> Any:
    """Replace ``__build_class__`` in modules of the program: NumPy's protocols of the class are wrapped.

    A class that is derived from ours is made from NumPy's at once: its metaclass, if it has one, need not be
    compatible with that of ours.
    """
    bases = tuple(SubclassBase if base is ndarray else base for base in bases)
    cls: Any = builtins.__build_class__(function, name, *bases, **keywords)
    for protocol, wrap in _PROTOCOLS.items() if isinstance(cls, type) else ():
        method = vars(cls).get(protocol)
        if method is not None:
            setattr(cls, protocol, wrap(cls, method))
    return cls


def _giving_numpys(_: type, method: Any) -> Any:
    """Return a method that returns NumPy's arrays, as NumPy's C code requires."""
    if not isinstance(method, types.FunctionType):
        return _GivingNumPys(method) if hasattr(method, "__get__") else method

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        made = method(*args, **kwargs)
        return to_numpy(made) if type(made) is ndarray else fallback.unwrap(made)

    # crates/python/src/sharing/array_like.rs looks for this
    vars(call)["gives_numpys_arrays"] = True
    return call


class _GivingNumPys:
    """A method that is no Python function (a decorator may have made it): it returns NumPy's arrays."""

    def __init__(self, method: Any) -> None:
        self._method = method

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        bound = self._method.__get__(instance, owner)
        if instance is None or not callable(bound):
            return bound
        return lambda *args, **kwargs: fallback.unwrap(bound(*args, **kwargs))

    def __getattr__(self, name: str) -> Any:
        if name == "_method":
            raise AttributeError(name)  # an object that is being unpickled has no attributes yet
        return getattr(self._method, name)


def _knowing_ours(cls: type, method: Any) -> Any:
    """Return a method that is called with our function if NumPy calls it with its own."""
    import numpy

    if issubclass(cls, numpy.ndarray) or not isinstance(method, types.FunctionType):
        return method  # a method of a subclass of arrays is called by NumPy, through the base class

    @functools.wraps(method)
    def call(self: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
        return method(self, ours_for(function), *args, **kwargs)

    return overrides.knows_ours(call)


# protocols of NumPy and of pandas' windows: how their methods are wrapped
_PROTOCOLS = {
    "__array__": _giving_numpys,
    "__array_function__": _knowing_ours,
    "__array_ufunc__": _knowing_ours,
    "get_window_bounds": _giving_numpys,
}


def user_builtins() -> dict[str, Any]:
    """Return builtins under which ``import numpy`` gives numelt."""
    return {**vars(builtins), "__import__": import_for_users, "__build_class__": _build_class}


class _Loader(Delegating):
    """Runs a module of the program with `user_builtins`."""

    def exec_module(self, module: types.ModuleType) -> None:
        module.__dict__["__builtins__"] = user_builtins()
        path = module.__spec__.origin if module.__spec__ is not None else None
        if path is None or not jits_loops():
            super().exec_module(module)
            return
        from numelt._jit import loading

        exec(loading.code_of(self.get_data(path), path, module.__dict__), module.__dict__)


def jits_loops() -> bool:
    """Return whether loops in files of the program are compiled."""
    return os.environ.get("NUMELT_JIT_LOOPS", "0") not in ("", "0", "off")


def _exec(code: Any, globals: dict[str, Any], /, *rest: Any) -> None:
    """Replace ``exec`` in `running.RUNNERS`: files of the program run with `user_builtins`."""
    __tracebackhide__ = True
    name = code.co_filename if isinstance(code, types.CodeType) else "<string>"
    # a statement typed into a debugger: the file is that of the namespace
    if is_users(globals.get("__file__") if name == "<string>" else name):
        globals["__builtins__"] = user_builtins()
    exec(code, globals, *rest)


class _Runner(Delegating):
    """Replace ``exec`` in a module of `running.RUNNERS`."""

    def exec_module(self, module: types.ModuleType) -> None:
        super().exec_module(module)
        running.replace_exec(module, _exec)


def install_in_child() -> None:
    """Prepare a process that the program has started, before it unpickles arguments and runs files."""
    importlib.import_module("numelt")
    install()


class _InChild:
    """An object whose unpickling calls `install_in_child`."""

    def __reduce__(self) -> Any:
        return install_in_child, ()


class _Spawning(Delegating):
    """Lets a module of `running.SPAWNERS` send an `_InChild` first."""

    def exec_module(self, module: types.ModuleType) -> None:
        super().exec_module(module)
        running.tell_children(module, _InChild())


class _Finder(importlib.machinery.PathFinder):
    """Finds modules as Python does, with other loaders for modules of the program."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return Python's spec; it has another loader if the module is a source file of the program."""
        spec = super().find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            if fullname in running.RUNNERS:
                spec.loader = cast(Any, _Runner(spec.loader))
            elif fullname in running.SPAWNERS:
                spec.loader = cast(Any, _Spawning(spec.loader))
            elif is_users(spec.origin):
                spec.loader = cast(Any, _Loader(spec.loader))
        return spec  # also a spec that is not changed: the next finder would search again


def install() -> None:
    """Give modules of the program that are imported from now on numelt for numpy."""
    files.find_libraries()
    # after the finders of built-in and frozen modules
    if watching.add_finder(_Finder, before=importlib.machinery.PathFinder):
        for name in running.RUNNERS.intersection(sys.modules):
            running.replace_exec(sys.modules[name], _exec)
        for name in running.SPAWNERS.intersection(sys.modules):
            running.tell_children(sys.modules[name], _InChild())
