"""Views with chosen shapes and strides."""

from __future__ import annotations

import operator
from typing import Any

import numpy

from numelt import _core
from numelt._dispatch import fallback
from numelt._dispatch.composed import composed_in
from numelt._dispatch.native import native, ndarray, recordable

__all__: list[str] = []


def as_strided(
    x: Any, shape: Any = None, strides: Any = None, subok: Any = False, writeable: Any = True
) -> Any:
    """Return a view with the given shape and strides.

    Examples
    --------
    >>> import numelt as np
    >>> np.lib.stride_tricks.as_strided(np.arange(4), (3, 2), (8, 8))
    array([[0, 1],
           [1, 2],
           [2, 3]])
    """
    array = recordable(x)
    if array is not None:
        extents, steps = _numbers(array.shape, shape), _numbers(array.strides, strides)
        # a view that reaches beyond the memory of the array is left to NumPy
        fits = extents is not None and steps is not None and len(extents) == len(steps)
        if fits and min(extents or (0,)) >= 0:
            view = _core.as_strided(array, extents, steps, 0)
            if type(view) is ndarray:
                return view if writeable else _core.broadcast_to(view, view.shape)
    return fallback.call(
        "lib.stride_tricks.as_strided", _as_strided, (x, shape, strides, subok, writeable), {}
    )


def _numbers(default: tuple[int, ...], given: Any) -> tuple[int, ...] | None:
    """Return the argument as integers, or the default if it was not given."""
    try:
        return default if given is None else tuple(map(operator.index, given))
    except TypeError:
        return None


_as_strided = numpy.lib.stride_tricks.as_strided
native(as_strided, numpy.lib.stride_tricks)


@composed_in(numpy.lib.stride_tricks, few=False)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: Any = False, writeable: Any = False
) -> Any:
    """Return a view of all windows of a shape.

    Examples
    --------
    >>> import numelt as np
    >>> np.lib.stride_tricks.sliding_window_view(np.arange(4), 3)
    array([[0, 1, 2],
           [1, 2, 3]])
    """
