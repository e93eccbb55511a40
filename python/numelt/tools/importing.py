"""Giving a program's own files numelt where they import numpy, and nobody else.

A Python function takes its builtins from its module, and the ``import`` statement is a call of the
builtin ``__import__``. A module whose globals hold builtins of their own, with another ``__import__``,
thus sees numelt wherever it says ``numpy``, while installed libraries in the same process keep the
real NumPy. No source is changed and nothing in `sys.modules` is replaced. Modules that run the user's files
themselves (pytest's test files, `runpy`) get an ``exec`` that does the same.

In: which files are the user's. Out: `install`, `user_builtins`. Nothing is run here.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from typing import Any, cast

from numelt._dispatch import fallback, files
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
    """Import numelt's module for one of NumPy's, with NumPy's name in the error."""
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
    """Stand for ``__import__`` in the user's modules."""
    # C code that imports passes a list; it expects NumPy itself
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


# modules of Python in whose place the user's modules get others
_STAND_INS = frozenset({"importlib", "pickle"})


def _stand_in(module: types.ModuleType) -> types.ModuleType:
    """Return what the user's modules get for a module of Python."""
    if module is sys.modules["importlib"]:
        return _importlib
    if module is sys.modules.get("pickle"):
        from numelt.tools import unpickling  # it is needed only here

        return unpickling.module
    return module


class _Importlib(types.ModuleType):
    """The module `importlib`, but for `import_module`."""

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
    """Import a submodule named after ``from``; otherwise say what Python says."""
    try:
        _ours(f"{name}.{item}")
    except ModuleNotFoundError:
        path = getattr(_real_import(name, None, None, ("",), 0), "__file__", None)
        raise ImportError(
            f"cannot import name {item!r} from {name!r} ({path or 'unknown location'})", name=name, path=path
        ) from None


def _build_class(function: Any, name: str, /, *bases: Any, **keywords: Any) -> Any:
    """Stand for ``__build_class__`` in the user's modules: protocols lead from NumPy's side to ours."""
    cls: Any = builtins.__build_class__(function, name, *bases, **keywords)
    for protocol, wrap in _PROTOCOLS.items() if isinstance(cls, type) else ():
        method = vars(cls).get(protocol)
        if isinstance(method, types.FunctionType):
            setattr(cls, protocol, wrap(cls, method))
    return cls


def _giving_numpys(_: type, method: types.FunctionType) -> Any:
    """Let a method return NumPy's arrays: C wants them."""

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        return fallback.unwrap(method(*args, **kwargs))

    return call


def _knowing_ours(cls: type, method: types.FunctionType) -> Any:
    """Let a method be asked with our function where a library's call of NumPy's asks it."""
    import numpy

    if issubclass(cls, numpy.ndarray):
        return method  # its base knows NumPy's

    @functools.wraps(method)
    def call(self: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
        return method(self, ours_for(function), *args, **kwargs)

    return call


# NumPy's protocols, and that of pandas' windows
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
    """Runs a module of the user's with `user_builtins`."""

    def exec_module(self, module: types.ModuleType) -> None:
        module.__dict__["__builtins__"] = user_builtins()
        super().exec_module(module)


def _exec(code: Any, globals: dict[str, Any], /, *rest: Any) -> None:
    """Stand for ``exec`` in `running.RUNNERS`: code of the user's files runs with `user_builtins`."""
    __tracebackhide__ = True
    name = code.co_filename if isinstance(code, types.CodeType) else "<string>"
    # a debugger's statement reads the file that the namespace is of
    if is_users(globals.get("__file__") if name == "<string>" else name):
        globals["__builtins__"] = user_builtins()
    exec(code, globals, *rest)


class _Runner(Delegating):
    """Gives a module of `running.RUNNERS` another ``exec``."""

    def exec_module(self, module: types.ModuleType) -> None:
        super().exec_module(module)
        running.replace_exec(module, _exec)


def install_in_child() -> None:
    """Prepare a new process of the program's: its arguments are unpickled, and its files run, as here."""
    importlib.import_module("numelt")
    install()


class _InChild:
    """What calls `install_in_child` where it is unpickled."""

    def __reduce__(self) -> Any:
        return install_in_child, ()


class _Spawning(Delegating):
    """Lets what new processes are told first begin with `install_in_child`."""

    def exec_module(self, module: types.ModuleType) -> None:
        super().exec_module(module)
        running.tell_children(module, _InChild())


class _Finder(importlib.machinery.PathFinder):
    """Finds the modules that Python would find, and marks the user's."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return Python's spec, with another loader for a source file of the user's."""
        spec = super().find_spec(fullname, path, target)
        if spec is None or not isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            return spec  # the next finder would look again
        if fullname in running.RUNNERS:
            spec.loader = cast(Any, _Runner(spec.loader))
        elif fullname in running.SPAWNERS:
            spec.loader = cast(Any, _Spawning(spec.loader))
        elif is_users(spec.origin):
            spec.loader = cast(Any, _Loader(spec.loader))
        return spec


def install() -> None:
    """From now on, modules of the user's see numelt for numpy."""
    files.find_libraries()
    # after the finders of built-in and frozen modules
    if watching.add_finder(_Finder, before=importlib.machinery.PathFinder):
        for name in running.RUNNERS.intersection(sys.modules):
            running.replace_exec(sys.modules[name], _exec)
        for name in running.SPAWNERS.intersection(sys.modules):
            running.tell_children(sys.modules[name], _InChild())
