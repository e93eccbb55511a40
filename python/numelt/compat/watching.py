"""Noticing that a library is imported, and the only place that puts finders into `sys.meta_path`.

Most programs import no library that needs anything. What changes a library is loaded with the library: for a
package of `PACKAGES` its module in this folder, for a compiled module `compiled`.

In: nothing. Out: `install`, `add_finder`, `add_last_finder`.
"""

from __future__ import annotations

import functools
import importlib.machinery
import sys
import types
import warnings
from collections.abc import Sequence
from typing import Any, cast

from numelt.compat.libraries import OTHERS, PACKAGES, Delegating, is_foreign, library

__all__ = [
    "UntestedLibraryWarning",
    "add_finder",
    "add_last_finder",
    "install",
]


class UntestedLibraryWarning(UserWarning):
    """A library was imported in a version with which numelt has not been tested."""


def add_finder(finder: Any, *, before: Any = None) -> bool:
    """Have a class of finders asked for modules; return whether it had not been among those before.

    Parameters
    ----------
    before : finder, optional
        The finder before which it is asked; if that is not there, it is asked first.
    """
    if finder in sys.meta_path:
        return False
    sys.meta_path.insert(sys.meta_path.index(before) if before in sys.meta_path else 0, finder)
    return True


def add_last_finder(finder: Any) -> None:
    """Have a class of finders asked for modules that no other finds."""
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
    """Is a version at least the first, and before the second, of ``">=x,<y"``?"""
    first, last = (_release(bound.lstrip(">=<")) for bound in tested.split(","))
    return first <= _release(version) < last


# the import statement of a program leads through these before a library is loaded
_IMPORTING = frozenset({"numelt", "importlib", "_frozen_importlib", "_frozen_importlib_external"})


def _importer() -> types.FrameType | None:
    """Return the frame that imports a library, or that imports numelt after it."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in _IMPORTING:
        frame = frame.f_back
    return frame


@functools.cache
def _check_version(package: str, version: str) -> None:
    """Warn of a version that a library's names were not tested with, once, at the line that imports it."""
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


def _adapt(module: types.ModuleType) -> None:
    """Change what is named of a library's module that has been loaded."""
    from numelt.compat import compiled, wrapping

    name = module.__name__
    package = name.partition(".")[0]
    about = library(package)
    if name == package and isinstance(version := getattr(module, "__version__", None), str):
        _check_version(package, version)
    changed = wrapping.wrap_module(module, getattr(about, "WRAPPED", ()))
    if changed:
        # modules that were loaded before, or in a circle, may hold the others
        compiled.replace(package, changed)
    change = getattr(about, "CHANGES", {}).get(name)
    if change is not None:
        change(module)


def _is_listed(name: str) -> bool:
    """Is something done about this module?"""
    package = name.partition(".")[0]
    return package in PACKAGES and name in _listed(package)


@functools.cache
def _listed(package: str) -> frozenset[str]:
    """Return the modules of a package that something is done about."""
    about = library(package)
    names = [name.module for name in getattr(about, "WRAPPED", ())]
    return frozenset({package, *names, *getattr(about, "CHANGES", ())})


class _Loader(Delegating):
    """Changes a module when it has been loaded. The module keeps the loader that found it."""

    def exec_module(self, module: types.ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        super().exec_module(module)
        if isinstance(self._loader, importlib.machinery.ExtensionFileLoader):
            from numelt.compat import compiled

            compiled.adapt(module)
        if _is_listed(module.__name__):
            _adapt(module)


class Finder:
    """Finds the compiled modules of libraries, and the modules that `PACKAGES` are about.

    The other finders do the work: the loader that they name is put into a `_Loader`.
    """

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return a spec for such a module; leave the rest to the next finder."""
        if fullname.partition(".")[0] in OTHERS:
            return None
        specs = (
            finder.find_spec(fullname, path, target)
            for finder in list(sys.meta_path)
            if finder is not cls and hasattr(finder, "find_spec")
        )
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is None:
            return None
        is_compiled = isinstance(spec.loader, importlib.machinery.ExtensionFileLoader)
        if spec.loader is not None and (is_compiled or _is_listed(fullname)):
            spec.loader = cast(Any, _Loader(spec.loader))
        return spec


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
