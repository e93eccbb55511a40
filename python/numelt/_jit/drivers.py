"""Drivers: loops of numelt's own that call a function of the user, and are compiled together with it.

In: the text of a Python function that contains the loop, and the user's function. Out: the compiled driver.
It has a twin like functions of the program: where compiled code stops, CPython continues. Callers run a
driver in parts of at most `PART` iterations, so that after an exit compiled code soon takes over again.
"""

from __future__ import annotations

import ast
import functools
import linecache
import types
from collections.abc import Callable, Sequence
from typing import Any

from numelt._jit import reporting, source
from numelt._jit.twin import function_twin

__all__ = ["ENOUGH", "PART", "call_text", "driver", "in_parts", "names", "pays"]

ENOUGH = 2000
"""For at least this many elements a loop is compiled at its first run, which takes some milliseconds."""
PART = 4096
"""The largest number of iterations in one call of a driver."""


def names(prefix: str, count: int) -> list[str]:
    """Return `count` names of arguments: ``x0``, ``x1``, …"""
    return [f"{prefix}{k}" for k in range(count)]


def driver(text: str, function: Any, work: int) -> Callable[..., Any]:
    """Return the driver with this text for one function of the user.

    Parameters
    ----------
    text : str
        The definition of a Python function ``run``, whose first argument is the user's function.
    function : callable
        The user's function. Functions with the same code share a driver.
    work : int
        The number of elements that the loop processes. With fewer than `ENOUGH`, the loop is compiled only
        when it has run for some time.
    """
    return _driver(text, getattr(function, "__code__", None), work >= ENOUGH)


@functools.lru_cache(256)
def _driver(text: str, code: Any, is_requested: bool) -> Callable[..., Any]:
    written = _written(text)
    twin = function_twin(written, is_requested=is_requested)
    if twin is None:
        return written
    if code is not None:
        reporting.add_driver(code, twin)
    return twin


@functools.lru_cache(256)
def _written(text: str) -> types.FunctionType:
    """Define the function ``run`` with this text. Tracebacks can show its lines."""
    filename = f"<numelt loop {_written.cache_info().misses}>"
    tree = ast.parse(text, filename)
    code = compile(tree, filename, "exec", dont_inherit=True)
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    source.register(code, source.Source(filename, text, tree))
    namespace: dict[str, Any] = {"__name__": "numelt"}
    exec(code, namespace)
    made = namespace["run"]
    assert isinstance(made, types.FunctionType)
    return made


def in_parts(run: Callable[..., Any], count: int, *args: Any) -> Any:
    """Call a driver for ranges of iterations, until it returns something or all `count` are done.

    Each call gets two more arguments: the first iteration, and the one before which to stop.

    Returns
    -------
    object
        The result of the last call; None if all iterations are done.
    """
    for start in range(0, count, PART):
        result = run(*args, start, min(start + PART, count))
        if result is not None:
            return result
    return None


def pays(run: Callable[..., Any]) -> bool:
    """Is a driver worth calling: is it not refused by the compiler, and does it mostly run without exits?"""
    return not isinstance(run, types.FunctionType) or all(unit.pays() for unit in reporting.units(run))


def call_text(inputs: Sequence[str], fixed: int) -> str:
    """Return the text of a call of the user's function, with input expressions and the fixed arguments."""
    return f"f({', '.join([*inputs, *names('c', fixed)])})"
