"""Compiled modules of libraries that read arrays in C: their functions get NumPy's views of our arrays.

Such code tests for NumPy's class itself and then reads the fields of its objects. It would refuse our arrays,
or treat them as sequences of numbers. So when a module that uses NumPy's C interface has been loaded, its
functions and the methods of its classes are wrapped. The views share the memory; nothing is copied.

In: an extension module. Out: `adapt`, `adapt_loaded`, `put_methods`, `replace`, `uses_c_interface`.
"""

from __future__ import annotations

import gc
import struct
import sys
import types
from collections.abc import Iterator
from typing import Any, BinaryIO

from numelt.compat import constructors, fortran
from numelt.compat.libraries import is_foreign, library
from numelt.compat.wrapping import Wrap, drawing

__all__ = ["adapt", "adapt_loaded", "put_methods", "replace", "uses_c_interface"]

Changed = dict[int, tuple[Any, Any]]

# NumPy's name of its C interface: modules that use the interface look the name up
_C_INTERFACE = b"_ARRAY_API"
# bytes of a file that are read at a time
_PIECE = 1 << 16
# libraries whose Python code converts our arrays before it calls compiled code
_CONVERTING = frozenset({"matplotlib", "contourpy", "PIL", "jaxlib"})
# classes of functions and methods that are made by C, Cython, Boost and pybind11
_FUNCTIONS = frozenset({"builtin_function_or_method", "cython_function_or_method", "function"})
_METHODS = frozenset({"method_descriptor", "cython_function_or_method", "function", "instancemethod"})


def _constants(file: BinaryIO) -> list[tuple[int, int]]:
    """Return where a file has constants: the first byte of each part, and its length.

    In files of the format ELF (64 bits, little-endian), these are the sections that are loaded (flag 2) and
    neither written (1) nor run (4), about an eighth of a file. Of all other files, it is everything.
    """
    whole = [(0, sys.maxsize)]
    head = file.read(64)
    if head[:6] != b"\x7fELF\x02\x01":
        return whole
    (start,) = struct.unpack_from("<Q", head, 0x28)
    size, count = struct.unpack_from("<HH", head, 0x3A)
    file.seek(start)
    table = file.read(size * count)
    found = []
    for number in range(count):
        _, kind, flags, _, start, length = struct.unpack_from("<IIQQQQ", table, number * size)
        if kind == 1 and flags & 7 == 2:
            found.append((start, length))
    return found or whole


def _holds(file: BinaryIO, start: int, length: int) -> bool:
    """Return whether a part of a file contains the name of NumPy's C interface.

    It is read in pieces. Mapping it into memory would cost more: when it is unmapped, each core that runs a
    thread of the process is interrupted.
    """
    file.seek(start)
    end = b""
    while length > 0 and (piece := file.read(min(length, _PIECE))):
        if _C_INTERFACE in end + piece:
            return True
        end = piece[1 - len(_C_INTERFACE) :]
        length -= len(piece)
    return False


def uses_c_interface(path: str) -> bool:
    """Return whether the file of a compiled module contains the name of NumPy's C interface."""
    try:
        with open(path, "rb", buffering=0) as file:
            return any(_holds(file, *part) for part in _constants(file))
    except (OSError, struct.error):
        return False


def _is_adapted(module: types.ModuleType) -> bool:
    """Return whether the functions of a compiled module are wrapped.

    The module of this folder about the library may say which modules are (`COMPILED`). If it does not, or if
    there is none, those that use NumPy's C interface are.
    """
    name = module.__name__
    package = name.partition(".")[0]
    wrapped = getattr(library(package), "COMPILED", None)
    if wrapped is not None:
        return name.startswith(wrapped)
    spec = module.__spec__
    if package in _CONVERTING or spec is None or not isinstance(spec.origin, str):
        return False
    if "SWIG_PyInstanceMethod_New" in vars(module):
        return False  # made by SWIG with fast methods: its C code reads the fields of all functions
    return uses_c_interface(spec.origin)


def _destructors(module: types.ModuleType) -> frozenset[str]:
    """Return the names of functions of which C code made by SWIG reads the fields. They take no arrays."""
    if not any(key.endswith("_swigregister") for key in vars(module)):
        return frozenset()
    return frozenset(key for key in vars(module) if key.startswith("delete_"))


def _parts(module: types.ModuleType) -> Iterator[types.ModuleType]:
    """Yield the module and the modules that its code has made as attributes."""
    yield module
    for value in list(vars(module).values()):
        if not isinstance(value, types.ModuleType) or value.__spec__ is not None:
            continue
        if value.__name__.startswith(f"{module.__name__}.") and "__file__" not in vars(value):
            yield from _parts(value)


def _is_compiled(value: Any, kinds: frozenset[str]) -> bool:
    return type(value).__name__ in kinds and not isinstance(value, types.FunctionType)


def _method(method: Any, wrap: Wrap) -> Any:
    """Return the wrapper of a compiled method, or None for any other attribute."""
    if _is_compiled(method, _METHODS):
        return wrap(method)
    if isinstance(method, staticmethod) and _is_compiled(method.__func__, _FUNCTIONS):
        return staticmethod(wrap(method.__func__))
    return None


def _adapt_class(cls: type, wrap: Wrap) -> None:
    """Wrap the methods of a class."""
    adapted = {name: _method(method, wrap) for name, method in vars(cls).items()}
    put_methods(cls, {name: method for name, method in adapted.items() if method is not None})


def put_methods(cls: type, methods: dict[str, Any]) -> None:
    """Replace methods of a class, which may be one that C code has declared.

    Such classes refuse ``setattr``, so the entries of their dictionary are replaced. The dictionary is found
    by the garbage collector, and the interpreter's cache of methods is invalidated. Without this, methods
    that read their arguments in C refuse our arrays. In the tests these are pyarrow's
    (``libraries/arrow.py``), h5py's low-level reads and writes, and the `shuffle` of NumPy's generators.
    """
    import ctypes

    (namespace,) = gc.get_referents(vars(cls))
    namespace |= methods
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))


def _adapt_part(module: types.ModuleType, wrap: Wrap) -> Changed:
    """Wrap what one module holds, except functions that take no arrays.

    These are those that the module of this folder names as `WITHOUT_ARRAYS`, and destructors made by SWIG.
    """
    changed: Changed = {}
    about = library(module.__name__.partition(".")[0])
    without_arrays: frozenset[str] = getattr(about, "WITHOUT_ARRAYS", frozenset())
    without_arrays |= _destructors(module)
    for name, value in list(vars(module).items()):
        if name.startswith("__") or name in without_arrays:
            continue
        if _is_compiled(value, _FUNCTIONS):
            adapted: Any = wrap(value)
            if isinstance(value, types.BuiltinFunctionType):
                adapted = staticmethod(adapted)  # builtin functions do not bind to instances
            setattr(module, name, adapted)
            changed[id(value)] = (value, adapted)
        elif isinstance(value, type) and constructors.is_own(value, module):
            _adapt_class(value, wrap)
            stand_in = constructors.place(module, name, value)
            if stand_in is not None:
                changed[id(value)] = (value, stand_in)
                put_methods(value, constructors.inherited(value))
    return changed


def adapt(module: types.ModuleType) -> Changed:
    """Wrap the functions and classes of a module that reads arrays in C; return the argument of `replace`."""
    if fortran.is_f2py(module):
        return fortran.adapt(module, drawing)
    changed: Changed = {}
    if "__numelt__" not in vars(module) and _is_adapted(module):
        vars(module)["__numelt__"] = True
        for part in _parts(module):
            changed |= _adapt_part(part, drawing)
    return changed


def replace(package: str, changed: Changed, loaded: str | None = None) -> None:
    """Replace functions in the modules of their package that have imported them before they were wrapped.

    Parameters
    ----------
    changed : dict
        By id of the old value: the old and the new value.
    loaded : str, optional
        The module of the functions, if it has just been loaded. Then only modules that began to load after it
        can have imported them, and these follow it in `sys.modules`.
    """
    for key, module in reversed(list(sys.modules.items())):
        if key == loaded:
            return
        if key.partition(".")[0] == package and isinstance(module, types.ModuleType):
            for name, value in list(vars(module).items()):
                if id(value) in changed:
                    setattr(module, name, changed[id(value)][1])


def adapt_loaded() -> None:
    """Adapt the modules that are loaded already."""
    for loaded in list(sys.modules.values()):
        # a module that is still being loaded is adapted when it has been
        is_loading = getattr(getattr(loaded, "__spec__", None), "_initializing", False)
        if isinstance(loaded, types.ModuleType) and is_foreign(loaded) and not is_loading:
            changed = adapt(loaded)
            if changed:
                replace(loaded.__name__.partition(".")[0], changed)
