"""Drivers: loops of numelt's own that call a function of the user, compiled together with it.

In: what the loop does with the results (the text of a `Loop`), and a function. Out: a function that runs the
loop. The loop is a Python function like any other: where compiled code cannot go on, CPython does. It is run
in parts, so that after such a place compiled code soon has another chance.
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
"""For so many elements it pays to compile a loop at once, which takes some milliseconds."""
PART = 4096
"""How many iterations of a driver run at once, at most."""


def names(prefix: str, count: int) -> list[str]:
    """Return so many names of arguments: ``x0``, ``x1``, …"""
    return [f"{prefix}{k}" for k in range(count)]


def driver(text: str, function: Any, work: int) -> Callable[..., Any]:
    """Return the loop with this text, compiled for one function of the user.

    Parameters
    ----------
    text : str
        The definition of a Python function ``run``, whose first argument is the function of the user.
    function : callable
        The function that the loop will get. Functions with the same code share a driver.
    work : int
        How many elements the loop has to do with. Few of them do not repay compiling.
    """
    return _driver(text, getattr(function, "__code__", None), work >= ENOUGH)


@functools.lru_cache(256)
def _driver(text: str, code: Any, is_asked: bool) -> Callable[..., Any]:
    written = _written(text)
    twin = function_twin(written, is_asked=is_asked)
    if twin is None:
        return written
    if code is not None:
        reporting.add_driver(code, twin)
    return twin


@functools.lru_cache(256)
def _written(text: str) -> types.FunctionType:
    """Return the function with this text; tracebacks show its lines."""
    filename = f"<numelt loop {_written.cache_info().misses}>"
    tree = ast.parse(text, filename)
    code = compile(tree, filename, "exec", dont_inherit=True)
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    source.register(code, tree)
    namespace: dict[str, Any] = {"__name__": "numelt"}
    exec(code, namespace)
    made = namespace["run"]
    assert isinstance(made, types.FunctionType)
    return made


def in_parts(run: Callable[..., Any], count: int, *args: Any) -> Any:
    """Run a driver with two arguments more, the first and the last iteration, until it returns something.

    Returns
    -------
    object
        What it returned, or None if all iterations are done.
    """
    for start in range(0, count, PART):
        result = run(*args, start, min(start + PART, count))
        if result is not None:
            return result
    return None


def pays(run: Callable[..., Any]) -> bool:
    """Is a driver compiled, or not yet tried, and does compiled code mostly get to the end?"""
    for unit in reporting.units(run) if isinstance(run, types.FunctionType) else ():
        report = unit.report()
        variants = report["variants"]
        left = sum(taken for one in variants for _, _, is_gap, taken in one["exits"] if is_gap)
        if (report["refused"] and not variants) or 2 * left > sum(one["runs"] for one in variants):
            return False
    return True


def call_text(inputs: Sequence[str], fixed: int) -> str:
    """Return the text of a call of the user's function with these expressions and the fixed arguments."""
    return f"f({', '.join([*inputs, *names('c', fixed)])})"
