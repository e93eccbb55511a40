"""The libraries that numelt changes, and the modules of this folder about them.

In: a module, or the name of a package. Out: whether the module is a compiled module of a library
(`is_foreign`), and the module of this folder about the package (`library`).
"""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import sys
import types
from typing import Any, cast

__all__ = ["PACKAGES", "Delegating", "is_foreign", "is_left_alone", "library"]

# by library: the module of this folder about it
PACKAGES = {
    "array_api_compat": "array_api_compat_", "astropy": "astropy_", "awkward": "awkward_",
    "bottleneck": "bottleneck_", "h5py": "h5py_", "hypothesis": "hypothesis_", "jax": "jax_",
    "joblib": "joblib_", "numba": "numba_", "numexpr": "numexpr_", "pandas": "pandas_", "pyarrow": "pyarrow_",
    "scipy": "scipy_", "skimage": "skimage_", "sklearn": "sklearn_", "statsmodels": "statsmodels_",
    "torch": "torch_", "xarray": "xarray_",
}  # fmt: skip

_OTHERS = sys.stdlib_module_names | {"numpy", "numelt"}
# Compiled functions of NumPy's test-suite. They read arrays in C as libraries do, some without checking
# whether an object is an array: the process crashes if it is not NumPy's.
_TEST_HELPERS = "numpy._core._multiarray_tests"


def is_left_alone(name: str) -> bool:
    """Return whether a module needs no changes: it is the standard library's, NumPy's or numelt's."""
    return name.partition(".")[0] in _OTHERS and name != _TEST_HELPERS


class Delegating:
    """A loader that passes everything on to another loader."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        """Make a module as the other loader does."""
        module: types.ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Run a module as the other loader does."""
        self._loader.exec_module(module)

    def load_module(self, fullname: str) -> types.ModuleType:
        """Load a module by the old protocol of loaders."""
        import importlib.abc  # takes milliseconds

        return importlib.abc.Loader.load_module(cast(Any, self), fullname)


def is_foreign(module: types.ModuleType) -> bool:
    """Return whether this is a compiled module of a library other than Python's, NumPy and numelt."""
    is_compiled = isinstance(getattr(module, "__loader__", None), importlib.machinery.ExtensionFileLoader)
    return is_compiled and not is_left_alone(module.__name__)


@functools.cache
def library(package: str) -> Any:
    """Return the module of this folder about a package, or None."""
    name = PACKAGES.get(package)
    return None if name is None else importlib.import_module(f"numelt.compat.{name}")
