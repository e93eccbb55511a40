"""What numelt changes in joblib: our arrays are read back as ours."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from numelt import _core
from numelt._dispatch import fallback
from numelt.compat.wrapping import Name

TESTED = ">=1.6,<1.7"


def _reading(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that reads an array and returns it as ours if it was ours when it was written."""

    @functools.wraps(function)
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = function(self, *args, **kwargs)
        return fallback.wrap(made) if self.subclass is _core.ndarray else made

    return read


WRAPPED = (
    Name("joblib.numpy_pickle", "NumpyArrayWrapper.read", _reading, "it makes arrays of NumPy's class"),
)
