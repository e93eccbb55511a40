"""The namespace: every public name of NumPy and of its public submodules, seen from numelt.

In: NumPy's modules. Out: numelt's modules. A name is looked up in NumPy's module when it is first used, and
replaced by our object (`numelt._dispatch.mirror`). So a function that a new NumPy release adds is present as
a fallback without a change here.
"""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from numelt import _core
from numelt._dispatch import fallback
from numelt._dispatch.mirror import mirror
from numelt.compat import numpy_, watching

__all__ = ["TOOLS", "Finder", "MirrorModule", "fill", "late"]

# numelt's own names that most programs do not use, and the modules that have them
TOOLS = {
    "Coverage": "numelt.tools.coverage",
    "allpairs": "numelt._jit.operators",
    "coverage": "numelt.tools.coverage",
    "do_while": "numelt._jit.operators",
    "extension": "numelt.tools.extensions",
    "filter": "numelt._jit.operators",
    "guvectorize": "numelt._jit.generalized",
    "imap": "numelt._jit.operators",
    "jit": "numelt._jit.decorator",
    "map": "numelt._jit.operators",
    "Profile": "numelt.tools.profiling",
    "profile": "numelt.tools.profiling",
    "reduce": "numelt._jit.operators",
    "scan": "numelt._jit.operators",
    "stencil": "numelt._jit.operators",
}

# by name of a module that NumPy loads at first use: our module of its native functions
_LATE = {
    "ctypeslib": "numelt._routines.ctypeslib",
    "fft": "numelt._routines.fourier",
    "polynomial": "numelt._routines.series",
    "random": "numelt._random.generators",
    "testing": "numelt.compat.assertions",
}

# attributes that the import system sets on our modules
_IMPORT_SYSTEM = frozenset({"__path__", "__file__", "__loader__", "__spec__", "__package__", "__cached__"})


def find(original: types.ModuleType, name: str, ours: types.ModuleType) -> Any:
    """Return an attribute of one of NumPy's modules. The error for a missing one names our module."""
    try:
        if name in vars(original):
            return vars(original)[name]
        # a module's ``__getattr__`` may warn
        return fallback.at_user_line(getattr, (original, name), {})
    except AttributeError as error:
        message = str(error).replace(f"'{original.__name__}'", f"'{ours.__name__}'")
        raise AttributeError(message, name=name, obj=ours) from None


class MirrorModule(types.ModuleType):
    """Our module for one of NumPy's: a name is mirrored when it is first used."""

    __slots__ = ("_mirror", "_original")
    _mirror: Callable[[Any, str], Any]
    _original: types.ModuleType

    # with the lookup of `ModuleType`, CPython would call a Python-level method for each name of this class
    __getattribute__ = object.__getattribute__

    def __init__(self, name: str, original: types.ModuleType) -> None:
        super().__init__(name, original.__doc__)
        self._original = original
        self._mirror = mirror
        public = getattr(original, "__all__", None)
        if public is not None:
            self.__all__ = list(public)

    # This is a method of the class and not a function of the module, because programs copy all names of a
    # module, and NumPy's modules have no such name.
    def __getattr__(self, name: str) -> Any:
        if name in _IMPORT_SYSTEM:
            raise AttributeError(name)
        value = find(self._original, name, self)
        if name.startswith("__"):
            return value
        ours = self._mirror(value, f"{self.__name__.partition('.')[2]}.{name}")
        if name in vars(self._original):
            setattr(self, name, ours)
        return ours

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """All names of the module, for ``vars(np.fft)``."""
        names: dict[str, Any] = _names(self)
        for name in list(vars(self._original)):
            if not name.startswith("_") and name not in names:
                getattr(self, name)
        return names

    def __dir__(self) -> list[str]:
        return sorted(set(dir(self._original)) | set(_names(self)))


# the dictionary of a module, without the property above
_names: Callable[[types.ModuleType], dict[str, Any]] = vars(types.ModuleType)["__dict__"].__get__


class Finder(importlib.machinery.PathFinder):
    """Finds ``numelt.a.b`` as the mirror of ``numpy.a.b`` if numelt has no such file."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return a spec if NumPy has the module."""
        root, _, rest = fullname.partition(".")
        if root != "numelt" or not rest or rest.startswith("_"):
            return None
        try:
            original: Any = importlib.import_module(f"numpy.{rest}")
        except ImportError:
            return None
        if not isinstance(original, types.ModuleType):
            return None
        is_package = hasattr(original, "__path__")
        loader: Any = _Loader(original)
        return importlib.machinery.ModuleSpec(fullname, loader, is_package=is_package)


class _Loader:
    """Makes the mirror that `Finder` found."""

    def __init__(self, original: types.ModuleType) -> None:
        self.original = original

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return MirrorModule(spec.name, self.original)

    def exec_module(self, module: types.ModuleType) -> None:
        """Prepare the mirror; its names are filled when they are used."""
        numpy_.teach(self.original)
        late = _LATE.get(module.__name__.partition(".")[2])
        if late is not None:
            setattr(module, "_mirror", getattr(importlib.import_module(late), "mirror", mirror))  # noqa: B010


def fill(package: types.ModuleType) -> None:
    """Add the names of NumPy's namespace that the package lacks, and the finder of submodules."""
    # `numpy._core` is private, but used: names that our `_core` lacks are looked up there
    setattr(_core, "__getattr__", functools.partial(getattr, sys.modules["numpy._core"]))  # noqa: B010
    numpy_.teach(numpy)
    watching.add_last_finder(Finder)
    namespace = vars(package)
    for name, value in vars(numpy).items():
        if name not in namespace and name != "__getattr__":
            namespace[name] = value if name.startswith("_") else mirror(value, name)


def late(package: types.ModuleType, name: str) -> Any:
    """Return one of `TOOLS` or what NumPy makes on demand, such as a submodule, or raise NumPy's error.

    The package's ``__getattr__``. CPython specializes lookups in modules without such a function, so each
    ``np.name`` takes 19 instead of 6 ns under 3.11 (27 instead of 8 under 3.13). A class of our own for the
    module would be slower: 25 (34) ns at best.
    """
    if name in vars(package):
        # another module has copied the package's names, this function included
        raise AttributeError(f"module {package.__name__!r} has no attribute {name!r}", name=name, obj=package)
    if name in TOOLS:
        tool = getattr(importlib.import_module(TOOLS[name]), name)
        setattr(package, name, tool)
        return tool
    value = find(numpy, name, package)
    if name.startswith("_"):
        return value  # private names are not mirrored
    ours = mirror(value, name)
    if name in vars(numpy):
        setattr(package, name, ours)
    return ours
