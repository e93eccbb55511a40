"""Compiled loops of Python programs. Results, types, messages and lines are those of CPython.

This package deals with Python's syntax. The compiler and the code that runs compiled loops are in Rust
(``crates/jit``, ``crates/python/src/jit``). Words that all modules use:

- A *unit* (`_core.JitUnit`) stands for one loop of the program. It is called with the values of the loop's
  variables, compiles the loop for their types, and runs it.
- A *twin* is a copy of a function or module in which each loop first calls its unit.
- An *exit* is a place where compiled code stops and CPython goes on: the end of the loop, or a statement that
  compiled code cannot run.
- A loop is *resumed* if compiled code takes over again, at the beginning of an iteration, after an exit.

Modules: `decorator` has `numelt.jit`, and `loading` loads whole files. `source` finds the syntax tree of a
function, and `scopes`, `flow` and `numbering` analyse it. `lower` and `trees` write loops as text for the
compiler. `idling` finds loops that are left out, `twin` makes twins, `units` has the names that they use,
and `resuming` makes the iterators with which CPython or compiled code continues a loop. `vectorizing`,
`operators`, `collecting` and `calling` run functions that the program passes to NumPy. `reporting` tells what
became of a loop.
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
