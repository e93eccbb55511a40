"""Load files with compiled loops, for ``python -m numelt --jit-loops`` and ``NUMELT_JIT_LOOPS=1``.

In: the text of a file. Out: the code of its twin. `numelt.tools` decides which files are loaded in this way.
Making a twin takes several times as long as compiling the file, so twins are kept on disk, in the folder of
the compiled kernels.
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import re
import sys
import types
import warnings
from typing import Any

from numelt import _core
from numelt._dispatch import fallback
from numelt._jit import units

__all__ = ["code_of"]

# these statements begin a line of the program; a line of a longer text may begin in this way, too
_LOOP = re.compile(rb"(?:\A(?:\xef\xbb\xbf)?|[\r\n])[ \t\f]*(?:for|while)\b")


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
    if _LOOP.search(_bytes(text)) is None:
        return compile(text, filename, "exec", dont_inherit=True)
    key = _key(text, filename)
    kept = _read(_core.jit_kept(key))
    if kept is None:
        return _made(text, filename, namespace, key)
    code, loops, idle, warns = kept
    if warns and namespace.get("__name__") == "__main__":
        # the main file is compiled only to show its warnings, which CPython does in each run
        compile(text, filename, "exec", dont_inherit=True)
    units.LOADED.setdefault(filename, []).append((code, text))
    units.IDLE[filename] = idle
    if loops:
        namespace.update(units.hidden(loops, namespace, filename))
    return code


def _made(text: bytes | str, filename: str, namespace: dict[str, Any], key: bytes) -> types.CodeType:
    """Make the code of a file's twin, and keep it on disk."""
    from numelt._jit.twin import module_twin  # not needed for a file whose twin is on disk

    made = None
    try:
        with warnings.catch_warnings(record=True) as caught, units.without_collector():
            # no code runs yet that could notice the changed filters
            warnings.simplefilter("always")
            made = module_twin(text, filename, namespace, has_idle=_reports_loops())
    except (SyntaxError, RecursionError):
        pass
    if made is None or caught:
        # the twin is nested too deeply, or the file has an error or warnings, which are shown here; the twin
        # contains some statements twice
        code = compile(text, filename, "exec", dont_inherit=True)
    if made is None:
        return code
    units.IDLE[filename] = made.idle
    _core.jit_keep(key, marshal.dumps((*made, bool(caught))))
    return made.code


def _reports_loops() -> bool:
    """Does the program want to know at once of each loop that CPython runs?"""
    return fallback.policy() != "silent"


def _bytes(text: bytes | str) -> bytes:
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def _key(text: bytes | str, filename: str) -> bytes:
    """Return the key of a twin on disk: everything that the twin depends on."""
    data = _bytes(text)
    version = importlib.util.MAGIC_NUMBER, sys.version, sys.flags.optimize, _sources()
    about = "twin", *version, filename, _reports_loops()
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


def _read(
    data: bytes | None,
) -> tuple[types.CodeType, list[tuple[str, str, bool]], list[tuple[str, int, str]], bool] | None:
    """Decode a twin from the disk: what `twin.module_twin` returns, and whether the file has warnings."""
    if data is None:
        return None
    try:
        code, loops, idle, warns = marshal.loads(data)
    except (EOFError, ValueError, TypeError):
        return None
    return code, loops, idle, warns
