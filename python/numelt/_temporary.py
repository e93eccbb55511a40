"""Arrays that only one call holds: ``np.array(library.compute())``.

NumPy copies what it is given; where nobody can ever look at the original again, taking it over is the same
without the copy and without the memory of both.

In: a frame and the offset of its current instruction. Out: whether that instruction calls `numpy.array`
itself with what an instruction before has just made, kept nowhere else. The core has seen that the array has
one reference; the bytecode says that it is the frame's own, on its stack, and not that of code in C which
passes an array of its own and goes on using it.
"""

from __future__ import annotations

import builtins
import dis
import sys
from types import CodeType, FrameType
from typing import Any

from numelt import _core, _fallback
from numelt._bytecode import READABLE, Expr, instruction, uses_of
from numelt._escape import _OWN_REFERENCES, _is_copy, _Search

__all__ = ["hands_over"]

# instructions that leave a new reference on the stack, which is the only one of theirs
_MAKERS = frozenset(["CALL", "CALL_KW", "BINARY_OP"])


def hands_over(frame: FrameType, at: int) -> bool:
    """Does the frame's instruction call `numpy.array` with an array that it alone holds?

    Examples
    --------
    >>> import numpy, numelt as np
    >>> x = np.array(numpy.ones(200_000) + 1)
    >>> y = np.array(x)
    >>> x[0] = 5
    >>> y[0]
    np.float64(2.0)
    """
    if not READABLE:
        return False
    try:
        callee = _callee(frame.f_code, at)
        return callee is not None and _is_array_function(frame, callee)
    except _fallback.REFUSALS:  # a callable of the program's that does not like to be looked at
        return False


def _callee(code: CodeType, at: int) -> Expr:
    """Return how the callable is found that gets a value just made as its first argument."""
    call, uses = instruction(code, at), uses_of(code)
    for made, ways in uses.of.items():
        if ways[0][0] != "call" or ways[0][2:] != (0, call):
            continue
        only = len(ways) == 1 and dis.opname[code.co_code[made]] in _MAKERS
        return ways[0][1] if only else None
    return None


def _is_array_function(frame: FrameType, callee: Expr) -> bool:
    root = callee
    while root is not None and root[0] == "attribute":
        root = root[1]
    if root is None or root[0] not in ("local", "name"):
        return False
    local: dict[str, Any] | None = None
    if root[0] == "local" or not _is_copy(frame):
        local = frame.f_locals
    spaces = [local] if root[0] == "local" else [local or {}, frame.f_globals, vars(builtins)]
    search = _Search(frame.f_code, [space for space in spaces if space is not None], 0)
    _, value = search.find(callee)
    del search, spaces
    if local is not None and _is_copy(frame) and sys.getrefcount(local) <= _OWN_REFERENCES:
        local.clear()  # it would keep the frame's arrays alive
    return getattr(value, "_implementation", None) is _core.front.array
