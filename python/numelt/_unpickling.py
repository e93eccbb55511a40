"""What the program's own files unpickle: NumPy's arrays become ours, but not those inside libraries' objects.

A pickle names a class before what an object of it holds. So arrays that come after the name of an installed
library's stay NumPy's: they may be that object's, whose compiled code wants NumPy's class.

In: the module `pickle`, when it has been loaded. Out: its `Unpickler`, `load` and `loads`; `has_met_library`.
"""

from __future__ import annotations

import functools
import io
import sys
import threading
import types
from typing import Any

__all__ = ["adapt", "has_met_library"]

# modules whose names say nothing about what follows: they pickle what others hold
_NEUTRAL = sys.stdlib_module_names | {"__main__", "cloudpickle", "dill", "joblib", "numelt", "numpy"}
# the reader at work
_reading = threading.local()


def has_met_library() -> bool:
    """Has the pickle that is being read named anything of an installed library's?"""
    reader = getattr(_reading, "reader", None)
    return reader is not None and reader.has_met_library


def _is_library(name: str) -> bool:
    from numelt._import import MARK

    if name.partition(".")[0] in _NEUTRAL:
        return False
    builtins = getattr(sys.modules.get(name), "__builtins__", ())
    return MARK not in (builtins if isinstance(builtins, dict) else ())


def _reader(base: Any) -> Any:
    """Return an unpickler that tells whose names it has met."""

    class Unpickler(base):  # type: ignore[misc]
        has_met_library = False

        def find_class(self, module_name: str, global_name: str, /) -> Any:
            found = super().find_class(module_name, global_name)
            self.has_met_library = self.has_met_library or _is_library(module_name)
            return found

        def load(self) -> Any:
            outer = getattr(_reading, "reader", None)
            _reading.reader = self
            try:
                return super().load()
            finally:
                _reading.reader = outer

    Unpickler.__module__, Unpickler.__qualname__, Unpickler.__doc__ = (
        base.__module__,
        "Unpickler",
        base.__doc__,
    )
    return Unpickler


def adapt(pickle: types.ModuleType) -> None:
    """Give the module `pickle` readers that tell whose names they have met."""
    space = vars(pickle)
    reader = space["Unpickler"] = _reader(space["Unpickler"])

    @functools.wraps(space["load"])
    def load(file: Any, /, **options: Any) -> Any:
        return reader(file, **options).load()

    @functools.wraps(space["loads"])
    def loads(data: Any, /, **options: Any) -> Any:
        return reader(io.BytesIO(data), **options).load()

    for made in (reader, load, loads):
        made.__module__ = pickle.__name__  # by which they are pickled
    space.update(load=load, loads=loads)
