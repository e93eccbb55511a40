"""Views with chosen shapes and strides, and polynomials of numpy.polynomial evaluated on arrays."""

from __future__ import annotations

import operator
from typing import Any

import numpy
import numpy.polynomial

from numelt import _core, _fallback
from numelt._dispatch import native, ndarray, recordable
from numelt._rebind import composed_in

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
        # what leaves the array's memory is NumPy's to do
        fits = extents is not None and steps is not None and len(extents) == len(steps)
        if fits and min(extents or (0,)) >= 0:
            view = _core.as_strided(array, extents, steps, 0)
            if type(view) is ndarray:
                return view if writeable else _core.broadcast_to(view, view.shape)
    return _fallback.call(
        "lib.stride_tricks.as_strided", _as_strided, (x, shape, strides, subok, writeable), {}
    )


def _numbers(default: tuple[int, ...], given: Any) -> tuple[int, ...] | None:
    """Return what was given as integers, the default where nothing was."""
    try:
        return default if given is None else tuple(map(operator.index, given))
    except TypeError:
        return None


_as_strided = numpy.lib.stride_tricks.as_strided
native(as_strided, numpy.lib.stride_tricks)


@composed_in(numpy.lib.stride_tricks)
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


@composed_in(numpy.polynomial.polynomial)
def polyval(x: Any, c: Any, tensor: Any = True) -> Any:
    """Values of a polynomial whose coefficients come lowest degree first.

    Examples
    --------
    >>> import numelt as np
    >>> np.polynomial.polynomial.polyval(np.array([1.0, 2.0]), [1, 0, 1])
    array([2., 5.])
    """


@composed_in(numpy.polynomial.chebyshev)
def chebval(x: Any, c: Any, tensor: Any = True) -> Any:
    """Values of a Chebyshev series.

    Examples
    --------
    >>> import numelt as np
    >>> np.polynomial.chebyshev.chebval(np.array([1.0, 2.0]), [0, 0, 1])
    array([1., 7.])
    """


@composed_in(numpy.polynomial.legendre)
def legval(x: Any, c: Any, tensor: Any = True) -> Any:
    """Values of a Legendre series.

    Examples
    --------
    >>> import numelt as np
    >>> np.polynomial.legendre.legval(np.array([1.0, 2.0]), [0, 1])
    array([1., 2.])
    """


@composed_in(numpy.polynomial.hermite)
def hermval(x: Any, c: Any, tensor: Any = True) -> Any:
    """Values of a Hermite series.

    Examples
    --------
    >>> import numelt as np
    >>> np.polynomial.hermite.hermval(np.array([1.0, 2.0]), [0, 1])
    array([2., 4.])
    """
