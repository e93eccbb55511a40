"""Library calls: functions that are meant to be implemented by NumPy's compiled code.

In: the names in `table.LIBRARY` (sorting, searching, sets, histograms, ...). Out: functions that run NumPy's
code on our memory and take over its results, both without a copy, and on all cores where `stacks` allows it.
They are counted apart from fallbacks (`calls`, `numelt.profile`, ``NUMELT_TRACE``) and never raise under
``NUMELT_FALLBACK=error``. Other modules add names with `extend` before the namespace is filled.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

from numelt import _core
from numelt._dispatch import fallback, stacks, table

__all__ = ["call", "calls", "extend", "handle", "is_library", "most", "on_devices", "reset"]

# dotted names below ``numpy``: those of the table, and those that `extend` has added
NAMES: set[str] = set(table.LIBRARY)

_handles: dict[str, Any] = {}
_shared: set[str] = set()
_seen: dict[str, int] = {}
# by name: the module for calls on devices
_on_devices: dict[str, str] = {}


def extend(names: Iterable[str]) -> None:
    """Make the functions with these dotted names library calls."""
    NAMES.update(names)


def is_library(name: str) -> bool:
    """Return whether the function of NumPy with this dotted name is a library call."""
    return name in NAMES or name.startswith("fft.")


def on_devices(names: Iterable[str], module: str) -> None:
    """Let these library calls be done on a device that has the values of the first argument.

    `module` is loaded for the first such call; its function `rebound` returns what to call for a function of
    NumPy. This has to be known before the functions are called for the first time.
    """
    _on_devices.update(dict.fromkeys(names, module))


def _on_device(name: str, original: Callable[..., Any]) -> Callable[..., Any] | None:
    module = _on_devices.get(name)
    if module is None:
        return None

    def run(*args: Any, **kwargs: Any) -> Any:
        return importlib.import_module(module).rebound(original)(*args, **kwargs)

    return run


def handle(name: str, original: Callable[..., Any], method: bool = False) -> Any:
    """Return the compiled object that calls `original` and counts the calls; there is one for each name.

    If `original` is a `method`, its first argument is passed on as it is.
    """
    made = _handles.get(name)
    if made is None:
        shared = stacks.shared(name, original)
        if shared is not None:
            _shared.add(name)
        made = _handles[name] = _core.library(
            name, shared or original, fallback.uncounted, method, _on_device(name, original)
        )
    return made


def most(name: str) -> int | None:
    """Return from how many elements on the handle uses several threads, or None if it never does."""
    return stacks.most(name) if name in _shared else None


def call(name: str, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run ``original(*args, **kwargs)`` as the library call `name`."""
    return handle(name, original)(*args, **kwargs)


def calls() -> dict[str, int]:
    """Return how often each library function was called since the last `reset`.

    Examples
    --------
    >>> import numelt as np
    >>> from numelt._dispatch import library
    >>> library.reset()
    >>> _ = np.sort([3, 1, 2])
    >>> library.calls()
    {'sort': 1}
    """
    counts = {name: made.calls - _seen.get(name, 0) for name, made in _handles.items()}
    return {name: count for name, count in counts.items() if count}


def reset() -> None:
    """Set the counters to zero."""
    for name, made in _handles.items():
        _seen[name] = made.calls
