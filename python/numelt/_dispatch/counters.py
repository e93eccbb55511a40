"""Counters of the calls that fell back to NumPy, by function and by line of the program.

In: one `record` per fallback. Out: the counts, which `numelt.coverage` reports, and a call of the listener,
if there is one. Native operations are counted by the runtime.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numelt import _core

__all__ = ["COUNTS", "is_heard", "listen", "record", "reset"]

COUNTS: dict[tuple[str, str, int], list[Any]] = {}
_core.set_counts(COUNTS)


_listener: Callable[[str, str, int, str], None] | None = None


def listen(listener: Callable[[str, str, int, str], None] | None) -> None:
    """Call a function for each fallback, with function, file, line and reason; ``None`` removes it."""
    global _listener
    _listener = listener


def is_heard() -> bool:
    """Is there a listener?"""
    return _listener is not None


def record(name: str, filename: str, lineno: int, reason: str) -> None:
    """Count one fallback of `name` at the user's line."""
    if _listener is not None:
        _listener(name, filename, lineno, reason)
    entry = COUNTS.get((name, filename, lineno))
    if entry is None:
        COUNTS[name, filename, lineno] = [1, reason]
    else:
        entry[0] += 1


def reset() -> None:
    """Forget all fallbacks counted so far."""
    COUNTS.clear()
    _core.forget_counts()
