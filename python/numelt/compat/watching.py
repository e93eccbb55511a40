"""A finder that notices the import of libraries; the only module that changes `sys.meta_path`.

Most programs import no library that has to be changed. The code that changes one is loaded with the library:
for a package of `PACKAGES` its module in this folder, for a compiled module `compiled`.

In: nothing. Out: `install`, and `add_finder` and `add_last_finder` for other finders.
"""

from __future__ import annotations

import _thread
import functools
import importlib.machinery
import sys
import types
import warnings
from collections.abc import Sequence
from typing import Any, cast

from numelt.compat.libraries import PACKAGES, Delegating, is_foreign, is_left_alone, library

__all__ = [
    "UntestedLibraryWarning",
    "add_finder",
    "add_last_finder",
    "install",
]


class UntestedLibraryWarning(UserWarning):
    """A library was imported in a version with which numelt has not been tested."""


def add_finder(finder: Any, *, before: Any = None) -> bool:
    """Add a finder to `sys.meta_path`; return False if it is there already.

    Parameters
    ----------
    before : finder, optional
        The finder before which it is added. If that is not there, it becomes the first one.
    """
    if finder in sys.meta_path:
        return False
    sys.meta_path.insert(sys.meta_path.index(before) if before in sys.meta_path else 0, finder)
    return True


def add_last_finder(finder: Any) -> None:
    """Add a finder as the last one, for modules that no other finds."""
    if finder not in sys.meta_path:
        sys.meta_path.append(finder)


def _release(version: str) -> tuple[int, ...]:
    """Return the numbers that a version begins with."""
    numbers: list[int] = []
    for part in version.split("."):
        if not part.isdecimal():
            break
        numbers.append(int(part))
    return tuple(numbers)


def is_tested(version: str, tested: str) -> bool:
    """Does a version satisfy a range such as ``">=3.1,<3.2"``?"""
    first, last = (_release(bound.lstrip(">=<")) for bound in tested.split(","))
    return first <= _release(version) < last


# packages with frames between the import statement of a program and the loading of a module
_IMPORTING = frozenset({"numelt", "importlib", "_frozen_importlib", "_frozen_importlib_external"})


def _importer() -> types.FrameType | None:
    """Return the frame whose import statement loads a library, or loads numelt after the library."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in _IMPORTING:
        frame = frame.f_back
    return frame


@functools.cache
def _check_version(package: str, version: str) -> None:
    """Warn of a version of a library that was not tested, once, at the line that imports it."""
    tested = library(package).TESTED
    if tested is None or is_tested(version, tested):
        return
    message = (
        f"numelt was tested with {package} {tested}, not {version}: functions of it may take arrays for "
        "something else (numelt.UntestedLibraryWarning)"
    )
    frame = _importer()
    if frame is None:
        warnings.warn(message, UntestedLibraryWarning, stacklevel=2)
        return
    space = frame.f_globals
    registry = space.setdefault("__warningregistry__", {})
    place = frame.f_code.co_filename, frame.f_lineno, space.get("__name__", "<unknown>")
    warnings.warn_explicit(message, UntestedLibraryWarning, *place, registry)


def _adapt(module: types.ModuleType, *, just_loaded: bool = False) -> None:
    """Change a module of a library that has been loaded, as the module of this folder says."""
    from numelt.compat import compiled, wrapping

    name = module.__name__
    package = name.partition(".")[0]
    about = library(package)
    if name == package and isinstance(version := getattr(module, "__version__", None), str):
        _check_version(package, version)
    changed = wrapping.wrap_module(module, getattr(about, "WRAPPED", ()))
    if changed:
        # modules that were loaded before may hold the functions that have been wrapped
        compiled.replace(package, changed, name if just_loaded else None)
    change = getattr(about, "CHANGES", {}).get(name)
    if change is not None:
        change(module)


def _is_listed(name: str) -> bool:
    """Return whether numelt changes this module."""
    package = name.partition(".")[0]
    return package in PACKAGES and name in _listed(package)


@functools.cache
def _listed(package: str) -> frozenset[str]:
    """Return the names of the modules of a package that numelt changes."""
    about = library(package)
    names = [name.module for name in getattr(about, "WRAPPED", ())]
    return frozenset({package, *names, *getattr(about, "CHANGES", ())})


class _Loader(Delegating):
    """Changes a module when it has been loaded. The module keeps the loader that found it."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        if not isinstance(self._loader, importlib.machinery.ExtensionFileLoader):
            return super().create_module(spec)
        from numelt.compat import constructors

        with constructors.withdrawn():  # this may run all the code that a module runs when it is loaded
            return super().create_module(spec)

    def exec_module(self, module: types.ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        if not isinstance(self._loader, importlib.machinery.ExtensionFileLoader):
            super().exec_module(module)
        else:
            from numelt.compat import compiled, constructors

            with constructors.withdrawn():
                super().exec_module(module)
            compiled.adapt(module)
        if _is_listed(module.__name__):
            _adapt(module, just_loaded=True)


class _Search:
    """One search for a module."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        """The finders that are being asked; several if one of them searches through others itself."""
        self.is_repeated = False
        """Whether one of them has asked `Finder` for the same module."""


# the searches that are in progress, by thread and name of the module
_searches: dict[tuple[int, str], _Search] = {}


class Finder:
    """Finds the compiled modules of libraries, and the modules that numelt changes.

    It is the first of the finders, asks the others, and replaces the loader in their answer by a `_Loader`.
    The others are asked a second time only for modules that do not exist, and if one of them asks this finder
    in turn: a program may put wrappers around all finders into `sys.meta_path`.
    """

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec that another finder finds, or None."""
        if is_left_alone(fullname):
            return None
        key = _thread.get_ident(), fullname
        search = _searches.get(key)
        if search is not None:
            search.is_repeated = True
            return cls._find_changed(search, fullname, path, target)
        search = _searches[key] = _Search()
        try:
            return cls._find_changed(search, fullname, path, target)
        finally:
            del _searches[key]

    @classmethod
    def _find_changed(
        cls, search: _Search, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None
    ) -> importlib.machinery.ModuleSpec | None:
        """Ask the other finders, except those that are being asked."""
        spec = None
        for finder in list(sys.meta_path):
            if finder is cls or not hasattr(finder, "find_spec") or any(finder is f for f in search.asked):
                continue
            search.asked.append(finder)
            try:
                spec = finder.find_spec(fullname, path, target)
            finally:
                search.asked.pop()
            if spec is not None:
                break
        if spec is None or spec.loader is None:
            return spec
        if isinstance(spec.loader, importlib.machinery.ExtensionFileLoader) or _is_listed(fullname):
            spec.loader = cast(Any, _Loader(spec.loader))
            return spec
        # the next finder finds the same again, and a wrapper around this one does not see it twice
        return None if search.is_repeated else spec


@functools.cache
def install() -> None:
    """Have libraries changed that are imported from now on, and those that have been."""
    add_finder(Finder)
    modules = [module for module in list(sys.modules.values()) if isinstance(module, types.ModuleType)]
    if any(map(is_foreign, modules)):
        from numelt.compat import compiled

        compiled.adapt_loaded()
    for name in list(sys.modules):
        if _is_listed(name) and isinstance(sys.modules[name], types.ModuleType):
            _adapt(sys.modules[name])
