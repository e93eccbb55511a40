"""Loops of Python programs, compiled: results, types, messages and lines are CPython's.

`decorator` has `numelt.jit`, `loading` loads whole files. `source` finds the tree of a function; `scopes`,
`flow` and `numbering` say what is in it; `lower` and `trees` write it for the compiled core; `twin` makes the
function that asks the core; `units` has what that function uses; `resuming` continues iterations.
"""

import os
from typing import Any

from numelt import _core
from numelt._jit import resuming


def _callee(function: Any) -> tuple[str, dict[str, Any]] | None:
    from numelt._jit import lower  # only loops that call functions of the program need syntax trees

    return lower.callee(function)


_core.jit_setup(_callee, resuming.rest)
if os.environ.get("NUMELT_JIT_AHEAD", "1") in ("0", "off"):
    _core.jit_iterations_ahead(0)
