"""The units of loops, and the hidden names through which a twin uses them.

In: the texts of loops, and the namespace of their module. Out: units (`_core.JitUnit`), and a dictionary with
all hidden names. This module imports nothing that deals with syntax trees: a program whose twins are read
from the disk starts without parsing anything.
"""

from __future__ import annotations

import contextlib
import gc
import types
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

from numelt import _core
from numelt._jit import resuming

__all__ = [
    "AGAIN",
    "ALL",
    "BEGUN",
    "DUE",
    "IDLE",
    "LOADED",
    "NAME_ERROR",
    "PENDING",
    "UNBOUND",
    "UNITS",
    "hidden",
    "without_collector",
]

# for each unit, whether the twin asks it; a unit writes False when it leaves its loop to CPython for good
DUE = "__numelt_due__"
UNITS, UNBOUND = "__numelt_units__", "__numelt_unbound__"
PENDING, NAME_ERROR = "__numelt_pending__", "__numelt_NameError__"
AGAIN, BEGUN = "__numelt_again__", "__numelt_begun__"

ALL: weakref.WeakSet[Any] = weakref.WeakSet()
"""All units that are alive."""

LOADED: dict[str, list[tuple[types.CodeType, bytes | str]]] = {}
"""By file name: the code of module twins that were read from the disk, each with the text of its file.
`source` parses the text, and removes the entry, when it needs the syntax tree."""


IDLE: dict[str, list[tuple[str, int, str]]] = {}
"""By file name: the loops that have no units because compiled code would stop at once in each iteration, each
with the name of the function, and the line and the reason of the stop."""


def hidden(
    loops: Iterable[tuple[str, str, bool]],
    namespace: dict[str, Any],
    filename: str,
    is_requested: bool = False,
    is_strict: bool = False,
) -> dict[str, Any]:
    """Make the units of a twin, and return all hidden names that the twin uses, with their values.

    Parameters
    ----------
    loops : iterable of (str, str, bool)
        For each unit the text of its loop, the name of the function, and whether the unit resumes the loop.
    namespace : dict
        The global variables of the function or module.
    filename : str
        The file with the loops.
    is_requested, is_strict : bool
        See `twin.function_twin`.
    """
    loops = tuple(loops)
    due = [True] * len(loops)
    made = tuple(
        _core.JitUnit(
            text, namespace, name, filename, is_requested, is_strict, is_resumed, due=(due, position)
        )
        for position, (text, name, is_resumed) in enumerate(loops)
    )
    ALL.update(made)
    return {
        UNITS: made,
        DUE: due,
        UNBOUND: _core.jit_unbound,
        PENDING: _core.jit_pending,
        NAME_ERROR: NameError,
        AGAIN: resuming.again,
        BEGUN: resuming.begun,
    }


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """Parse a file in this context.

    The thousands of objects of a syntax tree are all in use, and looking for garbage among them takes a third
    of the time.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
