"""The units of twins, and twins that were kept on disk: what a program needs whose twins are there already.

In: the texts of loops, and the namespace of their module. Out: units (`_core.JitUnit`) and the other names
that a twin uses. Nothing is imported here that looks at syntax trees.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Iterable
from typing import Any

from numelt import _core
from numelt._jit import resuming

__all__ = ["AGAIN", "ALL", "BEGUN", "LOADED", "NAME_ERROR", "PENDING", "UNBOUND", "UNITS", "hidden"]

UNITS, UNBOUND = "__numelt_units__", "__numelt_unbound__"
PENDING, NAME_ERROR = "__numelt_pending__", "__numelt_NameError__"
AGAIN, BEGUN = "__numelt_again__", "__numelt_begun__"

ALL: weakref.WeakSet[Any] = weakref.WeakSet()
"""All units whose twin exists."""

LOADED: dict[str, list[tuple[types.CodeType, bytes | str]]] = {}
"""By name of the file: twins of modules that were kept on disk, and the file's text, until it is parsed."""


def hidden(
    loops: Iterable[tuple[str, str, bool]],
    namespace: dict[str, Any],
    filename: str,
    is_asked: bool = False,
    is_strict: bool = False,
) -> dict[str, Any]:
    """Return the names that a twin uses, with their values.

    Parameters
    ----------
    loops : iterable of (str, str, bool)
        For each unit its text, the name of the function, and whether it takes over where CPython has gone on.
    namespace : dict
        Global variables of the loops.
    filename : str
        The file that they stand in.
    is_asked, is_strict : bool
        See `twin.function_twin`.
    """
    made = tuple(
        _core.JitUnit(text, namespace, name, filename, is_asked, is_strict, is_resumed)
        for text, name, is_resumed in loops
    )
    ALL.update(made)
    return {
        UNITS: made,
        UNBOUND: _core.jit_unbound,
        PENDING: _core.jit_pending,
        NAME_ERROR: NameError,
        AGAIN: resuming.again,
        BEGUN: resuming.begun,
    }
