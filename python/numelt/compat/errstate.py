"""Floating-point errors: NumPy's error state reaches the core, and the core's warnings reach the user.

In: changes of NumPy's error state by anybody, warnings of finished work. Out: a note to the core, and
`RuntimeWarning` at the line where the operation stands. Operations report what held when they were written;
the warning appears when their values are needed, and no later than somebody looks: at the next change of
filters, or at the list that `warnings.catch_warnings` records. Where warnings are errors, operations run one
at a time. Where a statement overwrote its own input, the operation named is the likeliest one of the fused
kernel.
"""

from __future__ import annotations

import sys
import warnings
from types import CodeType

import numpy

from numelt import _core
from numelt._dispatch.mirror import replace
from numelt.compat import numpy_, warning

__all__ = ["install"]


def _warn_at(text: str, code: CodeType, offset: int, module: str) -> None:
    """Give a warning at the line of an instruction."""
    lines = (line for start, end, line in code.co_lines() if start <= offset < end and line)
    found = sys.modules.get(module)
    registry = None if found is None else vars(found).setdefault("__warningregistry__", {})
    line = next(lines, code.co_firstlineno)
    warnings.warn_explicit(text, RuntimeWarning, code.co_filename, line, module, registry)


def warn(told: list[tuple[str, tuple[CodeType, int, str] | None]]) -> None:
    """Give warnings where the operations stand, or at the innermost line neither numelt's nor NumPy's."""
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
    numpy_.watch_errors()
    warning.watch()
