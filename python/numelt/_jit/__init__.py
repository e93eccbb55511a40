"""Loops of Python programs, compiled: results, types, messages and lines are CPython's.

`decorator` has `numelt.jit`, `loading` loads whole files. `source` finds the tree of a function; `scopes`,
`flow` and `numbering` say what is in it; `lower` and `trees` write it for the compiled core; `twin` makes the
function that asks the core; `resuming` continues iterations.
"""

import os

from numelt import _core
from numelt._jit import lower, resuming

_core.jit_setup(lower.callee, resuming.rest)
if os.environ.get("NUMELT_JIT_AHEAD", "1") in ("0", "off"):
    _core.jit_turns_ahead(0)
