"""`pickle` for the program's own files: arrays that NumPy has pickled become ours.

The import statement of these files gives `module` for ``import pickle`` (`numelt.tools.importing`). Libraries
keep Python's module, and NumPy arrays that they read stay NumPy's. Arrays that numelt has pickled are ours,
whoever reads them (`numelt._dispatch.pickling`).

In: the arguments of `pickle.load` and `pickle.loads`. Out: their results.
"""

from __future__ import annotations

import io
import pickle
import sys
import types
from typing import Any

from numelt._dispatch.files import is_installed
from numelt._dispatch.pickling import READERS

__all__ = ["module"]


class Unpickler(pickle.Unpickler):
    """Reads pickles as `pickle.Unpickler` does, but makes our arrays and generators instead of NumPy's.

    After the first class or function of an installed library, it makes NumPy's: objects of a library hold the
    arrays that the library has pickled.
    """

    _met_library = False

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        """Return the function or class that a pickle names."""
        current = module_name.replace("numpy.core.", "numpy._core.", 1)  # the name in pickles of NumPy 1
        ours = READERS.get((current, global_name))
        if ours is not None and not self._met_library:
            return ours
        found = super().find_class(module_name, global_name)
        home = sys.modules.get(module_name)
        self._met_library |= is_installed(str(getattr(home, "__file__", None)))
        return found


def load(file: Any, **options: Any) -> Any:
    """Read an object from a file, as `pickle.load` does."""
    return Unpickler(file, **options).load()


def loads(data: Any, /, **options: Any) -> Any:
    """Read an object from bytes, as `pickle.loads` does."""
    return Unpickler(io.BytesIO(data), **options).load()


class _Module(types.ModuleType):
    """The module `pickle`, with the names that are set on this module in place of its own."""

    def __getattr__(self, name: str) -> Any:
        return getattr(pickle, name)

    def __dir__(self) -> list[str]:
        return dir(pickle)


module = _Module("pickle", pickle.__doc__)
vars(module)["__all__"] = pickle.__all__
for _own in (Unpickler, load, loads):
    vars(module)[_own.__name__] = _own
