"""Files of the program whose loops are compiled: ``python -m numelt --jit-loops``, ``NUMELT_JIT_LOOPS=1``.

In: the text of a file. Out: its code. `numelt.tools` decides which files are loaded so. Making a twin takes
several times as long as compiling the file, so twins are kept on disk, beside the compiled objects.
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
    """Return the code of a file, with loops that ask the compiled core.

    Parameters
    ----------
    text : bytes or str
        What the file holds.
    filename : str
        Its name, for tracebacks.
    namespace : dict
        The namespace that the code will run in. It gets what the code needs.
    """
    key, is_main = _key(text, filename), namespace.get("__name__") == "__main__"
    kept = _read(_core.jit_kept(key))
    if kept is None:
        return _made(text, filename, namespace, key, is_main)
    code, loops, warns = kept
    if warns and is_main:
        # CPython compiles the main file in each run
        compile(text, filename, "exec", dont_inherit=True)
    units.LOADED.setdefault(filename, []).append((code, text))
    if loops:
        namespace.update(units.hidden(loops, namespace, filename))
    return code


def _made(
    text: bytes | str, filename: str, namespace: dict[str, Any], key: bytes, is_main: bool
) -> types.CodeType:
    """Make the code of a file, and keep it."""
    from numelt._jit.twin import module_twin  # needed the first time only

    made = None
    try:
        warns = is_main and _warns(text, filename)
        if warns:
            # what the file's own code warns of; the twin has some statements twice
            compile(text, filename, "exec", dont_inherit=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = module_twin(text, filename, namespace)
        else:
            made = module_twin(text, filename, namespace)
    except (SyntaxError, RecursionError):
        pass
    if made is None:
        # nested too deeply with what is added, or an error of the file itself, which is raised now
        return compile(text, filename, "exec", dont_inherit=True)
    _core.jit_keep(key, marshal.dumps((*made, warns)))
    return made[0]


def _warns(text: bytes | str, filename: str) -> bool:
    """Does compiling the main file warn? Nothing has run yet that could see that filters were changed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compile(text, filename, "exec", dont_inherit=True)
    return bool(caught)


def _key(text: bytes | str, filename: str) -> bytes:
    """Return all that the twin of a file depends on."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    about = "twin", importlib.util.MAGIC_NUMBER, sys.version, sys.flags.optimize, _sources(), filename
    return repr((about, type(text).__name__, len(data))).encode("utf-8", "surrogatepass") + data


def _sources() -> list[tuple[str, int, int]]:
    """Return the sizes and times of the files that decide about twins: they change with numelt's version."""
    found = []
    with os.scandir(os.path.dirname(__file__)) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                about = entry.stat()
                found.append((entry.name, about.st_size, about.st_mtime_ns))
    return sorted(found)


def _read(data: bytes | None) -> tuple[types.CodeType, list[tuple[str, str, bool]], bool] | None:
    """Return the code and the loops of a file that was kept, and whether compiling the file warns."""
    if data is None:
        return None
    try:
        code, loops, warns = marshal.loads(data)
    except (EOFError, ValueError, TypeError):
        return None
    return code, loops, warns
