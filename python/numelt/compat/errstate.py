"""Floating-point errors: the core knows NumPy's error state, and its conditions become warnings.

In: NumPy's context variable of the error state, and the conditions that finished work has met. Out: the
core reads the variable, and a `RuntimeWarning` appears at the line of the operation. The error state at
the recording of an operation decides. The warning is given when values are needed, and before filters
change or the list of `warnings.catch_warnings` is read. If filters make warnings errors, operations run
one at a time. If a kernel has overwritten its input, it is not known which of its operations met the
condition, and the likeliest one is named.
"""

from __future__ import annotations

import contextvars
import sys
import warnings
from types import CodeType

import numpy
from numpy._core.umath import _extobj_contextvar

from numelt import _core
from numelt._dispatch.mirror import replace
from numelt.compat import warning

__all__ = ["install"]


def _warn_at(text: str, code: CodeType, offset: int, module: str) -> None:
    """Warn at the line of an instruction of the program."""
    lines = (line for start, end, line in code.co_lines() if start <= offset < end and line)
    found = sys.modules.get(module)
    registry = None if found is None else vars(found).setdefault("__warningregistry__", {})
    line = next(lines, code.co_firstlineno)
    warnings.warn_explicit(text, RuntimeWarning, code.co_filename, line, module, registry)


def warn(told: list[tuple[str, tuple[CodeType, int, str] | None]]) -> None:
    """Warn at the line of each operation, or of the innermost frame outside of numelt and NumPy."""
    level = 2
    frame = sys._getframe(1)
    while frame.f_globals.get("__name__", "").partition(".")[0] in ("numelt", "numpy"):
        if frame.f_back is None:
            break
        frame = frame.f_back
        level += 1
    for text, place in told:
        if place is None:
            warnings.warn(text, RuntimeWarning, stacklevel=level)
        else:
            _warn_at(text, *place)


def install() -> None:
    """Watch NumPy's error state and the filters of warnings, once per process."""
    for setting in (numpy.errstate, numpy.seterr, numpy.geterr, numpy.seterrcall, numpy.geterrcall):
        replace(setting, setting)
    _core.set_hooks(warn=warn)
    # in a new context, the variable has the value with which NumPy has made it
    _core.watch_error_state(_extobj_contextvar, contextvars.Context().run(_extobj_contextvar.get))
    warning.watch()
