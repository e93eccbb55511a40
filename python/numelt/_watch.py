"""Noticing that a library is imported that may have to be adapted.

Most programs import none of them: what adapts them is loaded when the first one is.

In: nothing. Out: `install`.
"""

from __future__ import annotations

import functools
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from typing import Any

__all__ = ["PACKAGES", "install", "is_foreign"]

# the first parts of the names that `_adapted` lists
PACKAGES = frozenset(
    [
        "array_api_compat",
        "awkward",
        "bottleneck",
        "hypothesis",
        "jax",
        "joblib",
        "numba",
        "numexpr",
        "pandas",
        "scipy",
        "skimage",
        "sklearn",
        "statsmodels",
        "torch",
        "xarray",
    ]
)

_OTHERS = sys.stdlib_module_names | {"numpy", "numelt"}


def is_foreign(module: types.ModuleType) -> bool:
    """Has this module been compiled, and is neither the standard library's, nor NumPy's, nor ours?"""
    loader = getattr(module, "__loader__", None)
    return (
        isinstance(loader, importlib.machinery.ExtensionFileLoader)
        and module.__name__.partition(".")[0] not in _OTHERS
    )


def _is_listed(name: str) -> bool:
    return name.partition(".")[0] in PACKAGES


@functools.cache
def _adapters() -> Any:
    """Adapt the libraries that are imported, and those that will be; return what does."""
    from numelt import _adapters

    if _Watcher in sys.meta_path:
        sys.meta_path.remove(_Watcher)
    _adapters.install()
    return _adapters


class _Watcher(importlib.machinery.PathFinder):
    """Finds nothing by itself."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return what the finder that takes over returns for a module of one of the packages."""
        if not _is_listed(fullname):
            return None
        spec: importlib.machinery.ModuleSpec | None = _adapters().Finder.find_spec(fullname, path, target)
        return spec


def _watch_extensions() -> None:
    """Adapt extension modules when they have been loaded."""
    loader: Any = importlib.machinery.ExtensionFileLoader
    original = loader.exec_module

    @functools.wraps(original)
    def exec_module(self: importlib.machinery.ExtensionFileLoader, module: types.ModuleType) -> None:
        original(self, module)
        if is_foreign(module):
            _adapters().adapt_extension(module)

    loader.exec_module = exec_module


@functools.cache
def install() -> None:
    """Have libraries adapted from now on."""
    _watch_extensions()
    modules = [module for module in sys.modules.values() if isinstance(module, types.ModuleType)]
    if any(map(_is_listed, sys.modules)) or any(map(is_foreign, modules)):
        _adapters()
    else:
        sys.meta_path.insert(0, _Watcher)
