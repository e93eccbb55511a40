"""`numpy.ctypeslib.ndpointer`: C functions with declared array arguments take our arrays.

In: an argument of such a function. Out: the address of its memory, after the checks that NumPy makes.
"""

from __future__ import annotations

from typing import Any

import numpy.ctypeslib

from numelt._dispatch import fallback

__all__: list[str] = []

# the base of all types that `ndpointer` makes
_pointer: Any = getattr(numpy.ctypeslib.ndpointer, "__globals__", {}).get("_ndptr")
if _pointer is not None:
    _original = vars(_pointer)["from_param"].__func__

    def _from_param(cls: Any, obj: Any) -> Any:
        """Accept an array; ours is passed as NumPy's view of it."""
        return _original(cls, fallback.unwrap(obj))

    _pointer.from_param = classmethod(_from_param)
