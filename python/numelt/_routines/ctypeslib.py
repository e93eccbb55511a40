"""`numpy.ctypeslib.ndpointer`: functions in C that are declared to take arrays take ours.

In: an argument of such a function. Out: the address of its memory, checked as NumPy checks its own arrays.
"""

from __future__ import annotations

from typing import Any

import numpy.ctypeslib

from numelt._dispatch import fallback

__all__: list[str] = []

# every type that `ndpointer` makes derives from this one
_pointer: Any = getattr(numpy.ctypeslib.ndpointer, "__globals__", {}).get("_ndptr")
if _pointer is not None:
    _original = vars(_pointer)["from_param"].__func__

    def _from_param(cls: Any, obj: Any) -> Any:
        """Take an array, ours as NumPy's view of it."""
        return _original(cls, fallback.unwrap(obj))

    _pointer.from_param = classmethod(_from_param)
