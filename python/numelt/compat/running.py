"""What numelt changes in Python's modules that run a program's files, start its processes or import for it.

In: the replacements. Out: `replace_exec`, `tell_children` and `redirect_import`, for
`numelt.tools.importing` and `numelt.tools.starting`. Nothing is changed before `numelt.install` or
``python -m numelt`` asks for it.
"""

from __future__ import annotations

import atexit
import builtins
import functools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["RUNNERS", "SPAWNERS", "redirect_import", "replace_exec", "tell_children"]

# modules that run source files themselves, with `exec`: test files, scripts, measured programs
RUNNERS = frozenset({"_pytest.assertion.rewrite", "bdb", "coverage.execfile", "runpy"})
# modules that start processes and send them data with which they prepare themselves
SPAWNERS = frozenset({"multiprocessing.spawn", "joblib.externals.loky.backend.spawn", "loky.backend.spawn"})


def replace_exec(module: types.ModuleType, exec_: Callable[..., Any]) -> None:
    """Let a module of `RUNNERS` call another function for ``exec``, by a global name of that module."""
    vars(module)["exec"] = exec_


def tell_children(module: types.ModuleType, first: object) -> None:
    """Let a module of `SPAWNERS` send an object before all other data: unpickling it prepares the process."""
    original = vars(module)["get_preparation_data"]

    @functools.wraps(original)
    def get_preparation_data(name: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
        data: dict[str, Any] = original(name, *args, **kwargs)
        if name == "ignore":  # for a fork server: its children are prepared before they load the program
            data.pop("init_main_from_path", None)
            return data
        return {"numelt": first, **data}

    vars(module)["get_preparation_data"] = get_preparation_data


def redirect_import(import_: Callable[..., Any], frame: types.FrameType) -> None:
    """Let the ``import`` statements of code that is already running call another function.

    A frame takes its builtins when it starts. The script that calls `numelt.install` therefore runs with
    Python's own, and its next ``import numpy`` calls `builtins.__import__`: neither a finder nor other
    builtins in its module can change that. So the function is replaced, for the frame's module and the main
    module, until their frames have ended or the process ends. All other imports are Python's. Python's manual
    documents this way of changing the statement (``__import__`` in "Built-in Functions").
    """
    original = builtins.__import__
    namespaces = [vars(sys.modules["__main__"]), frame.f_globals]
    *_, first = (caller for caller in _stack(frame) if _is_any(caller.f_globals, namespaces))

    @functools.wraps(original)
    def redirected(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> types.ModuleType:
        concerned = _is_any(globals, namespaces)
        if not concerned and not _is_running(first):
            restore()
        module: types.ModuleType = (import_ if concerned else original)(
            name, globals, locals, fromlist, level
        )
        return module

    def restore() -> None:
        if builtins.__import__ is redirected:
            builtins.__import__ = original

    builtins.__import__ = redirected
    atexit.register(restore)


def _stack(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    """Yield a frame and those that have called it, the innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_any(value: object, of: list[dict[str, Any]]) -> bool:
    return any(value is other for other in of)


def _is_running(frame: types.FrameType) -> bool:
    """Return whether a frame is on the stack of a thread."""
    return any(frame is other for inner in sys._current_frames().values() for other in _stack(inner))
