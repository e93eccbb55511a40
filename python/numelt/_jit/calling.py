"""Compile the loops in functions that the user passes to `numpy.fromfunction` and similar functions.

`numpy.fromfunction`, `piecewise` and `apply_over_axes` call a function a few times, with arrays. Array
operations in it are recorded as usual; if it contains loops, it is replaced by its twin (see `twin`).
"""

from __future__ import annotations

import functools
import linecache
import re
import types

from numelt._jit import reporting, twin
from numelt._jit.units import UNITS

__all__ = ["with_compiled_loops"]

_LOOP = re.compile(r"\b(for|while)\b")


def with_compiled_loops(function: types.FunctionType) -> types.FunctionType:
    """Return the twin of a function, or the function itself if it has no loops.

    Functions with the same code share the compiled loops.
    """
    code, names = function.__code__, function.__code__.co_freevars
    # the function is a twin already, because of `numelt.jit` or `--jit-loops`
    if UNITS in names or UNITS in function.__globals__ or not _may_loop(code):
        return function
    key = _Function(function)
    found = _template(code, key)
    key.function = None
    return function if found is None else twin.instance(found, function)


@functools.lru_cache(1024)
def _may_loop(code: types.CodeType) -> bool:
    """Do a function's lines contain the word ``for`` or ``while``? This saves parsing most files."""
    lines = [line for _, _, line in code.co_lines() if line is not None]
    text = (linecache.getline(code.co_filename, line) for line in range(min(lines), max(lines) + 1))
    return any(map(_LOOP.search, text))


class _Function:
    """A function as part of a cache key, compared by the identity of its global variables.

    It refers to the function only while the template is made. The key stays in the cache, and must not keep
    the objects in the function's closure alive.
    """

    def __init__(self, function: types.FunctionType) -> None:
        self.function: types.FunctionType | None = function
        self._variables = function.__globals__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Function) and self._variables is other._variables

    def __hash__(self) -> int:
        return id(self._variables)


@functools.lru_cache(256)
def _template(code: types.CodeType, key: _Function) -> twin.Template | None:
    found = None if key.function is None else twin.template(key.function, is_requested=False)
    if found is not None:
        reporting.add_units(code, found.hidden[UNITS])
    return found
