"""Load files with compiled loops, for ``python -m numelt --jit-loops`` and ``NUMELT_JIT_LOOPS=1``.

In: the text of a file. Out: the code of its twin. `numelt.tools` decides which files are loaded in this way.
Making a twin takes several times as long as compiling the file, so twins are kept on disk, in the folder of
the compiled kernels.
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import sys
import types
import warnings
from typing import Any

from numelt import _core
from numelt._jit import units

__all__ = ["code_of"]


def code_of(text: bytes | str, filename: str, namespace: dict[str, Any]) -> types.CodeType:
    """Return the code of a file's twin, from the disk if it is there.

    Parameters
    ----------
    text : bytes or str
        The contents of the file.
    filename : str
        The file's name, for tracebacks.
    namespace : dict
        The namespace in which the code will run. The names that the twin uses are added to it.
    """
    key, is_main = _key(text, filename), namespace.get("__name__") == "__main__"
    kept = _read(_core.jit_kept(key))
    if kept is None:
        return _made(text, filename, namespace, key, is_main)
    code, loops, warns = kept
    if warns and is_main:
        # the main file is compiled only to show its warnings, which CPython does in each run
        compile(text, filename, "exec", dont_inherit=True)
    units.LOADED.setdefault(filename, []).append((code, text))
    if loops:
        namespace.update(units.hidden(loops, namespace, filename))
    return code


def _made(
    text: bytes | str, filename: str, namespace: dict[str, Any], key: bytes, is_main: bool
) -> types.CodeType:
    """Make the code of a file's twin, and keep it on disk."""
    from numelt._jit.twin import module_twin  # not needed for a file whose twin is on disk

    made = None
    try:
        warns = is_main and _warns(text, filename)
        if warns:
            # show the warnings of the file's own code; the twin contains some statements twice
            compile(text, filename, "exec", dont_inherit=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = module_twin(text, filename, namespace)
        else:
            made = module_twin(text, filename, namespace)
    except (SyntaxError, RecursionError):
        pass
    if made is None:
        # the twin is nested too deeply, or the file itself has an error, which is raised here
        return compile(text, filename, "exec", dont_inherit=True)
    _core.jit_keep(key, marshal.dumps((*made, warns)))
    return made[0]


def _warns(text: bytes | str, filename: str) -> bool:
    """Does compiling the main file show warnings? No code runs yet that could notice the changed filters."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compile(text, filename, "exec", dont_inherit=True)
    return bool(caught)


def _key(text: bytes | str, filename: str) -> bytes:
    """Return the key of a twin on disk: everything that the twin depends on."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    about = "twin", importlib.util.MAGIC_NUMBER, sys.version, sys.flags.optimize, _sources(), filename
    return repr((about, type(text).__name__, len(data))).encode("utf-8", "surrogatepass") + data


def _sources() -> list[tuple[str, int, int]]:
    """Return sizes and modification times of this package's files, which change with numelt's version."""
    found = []
    with os.scandir(os.path.dirname(__file__)) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                about = entry.stat()
                found.append((entry.name, about.st_size, about.st_mtime_ns))
    return sorted(found)


def _read(data: bytes | None) -> tuple[types.CodeType, list[tuple[str, str, bool]], bool] | None:
    """Decode a twin from the disk: its code, its loops, and whether compiling the file shows warnings."""
    if data is None:
        return None
    try:
        code, loops, warns = marshal.loads(data)
    except (EOFError, ValueError, TypeError):
        return None
    return code, loops, warns
