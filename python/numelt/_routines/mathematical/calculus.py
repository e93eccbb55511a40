"""Differences, slopes, integrals, and functions that are composed of others.

The functions are NumPy's, run over our arrays (`composed`).
"""

from __future__ import annotations

from typing import Any

from numelt._dispatch.composed import composed

__all__ = [
    "cross", "ediff1d", "gradient", "i0", "nan_to_num", "real_if_close", "sinc", "trapezoid", "unwrap",
]  # fmt: skip


@composed
def cross(a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None) -> Any:
    """Cross product of vectors of three elements.

    Examples
    --------
    >>> import numelt as np
    >>> np.cross([1, 0, 0], [0, 1, 0])
    array([0, 0, 1])
    """


@composed
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbours in the flattened array.

    Examples
    --------
    >>> import numelt as np
    >>> np.ediff1d([1, 4, 9], to_begin=0)
    array([0, 3, 5])
    """


@composed
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    """Slopes by central differences, one-sided at the ends.

    Examples
    --------
    >>> import numelt as np
    >>> np.gradient([1.0, 2.0, 4.0])
    array([1. , 1.5, 2. ])
    """


@composed
def i0(x: Any) -> Any:
    """Modified Bessel function of the first kind, order zero.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.i0(0.0))
    1.0
    """


@composed
def nan_to_num(x: Any, copy: Any = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Replace NaN and infinities by numbers.

    Examples
    --------
    >>> import numelt as np
    >>> np.nan_to_num([1.0, np.nan])
    array([1., 0.])
    """


@composed
def real_if_close(a: Any, tol: Any = 100) -> Any:
    """Drop imaginary parts that are all close to zero.

    Examples
    --------
    >>> import numelt as np
    >>> np.real_if_close([1 + 0j])
    array([1.])
    """


@composed
def sinc(x: Any) -> Any:
    """``sin(pi x) / (pi x)``, one at zero.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.sinc(0.0))
    1.0
    """


@composed
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    """Integral along an axis by the trapezoidal rule.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.trapezoid([1.0, 2.0, 3.0]))
    4.0
    """


@composed
def unwrap(p: Any, discont: Any = None, axis: Any = -1, *, period: Any = 6.283185307179586) -> Any:
    """Take out jumps of a period between neighbours.

    Examples
    --------
    >>> import numelt as np
    >>> np.unwrap([0, 1, 5, 6], period=4)
    array([0, 1, 1, 2])
    """
