"""Polynomials by their coefficients.

Evaluation, sums and derivatives are NumPy's functions, run over our arrays (`composed`). Products, fits and
roots are library calls.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy

from numelt import _core
from numelt._dispatch.composed import composed, library_call, rebound, understood
from numelt._dispatch.native import fall_back, native, ndarray

__all__ = [
    "poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval", "roots",
    "vander",
]  # fmt: skip


@library_call
def poly(seq_of_zeros: Any) -> Any:
    """Return the coefficients of the polynomial with given roots.

    Examples
    --------
    >>> import numelt as np
    >>> np.poly([1.0, 2.0])
    array([ 1., -3.,  2.])
    """


@composed
def polyadd(a1: Any, a2: Any) -> Any:
    """Sum of two polynomials.

    Examples
    --------
    >>> import numelt as np
    >>> np.polyadd([1, 2], [3, 4, 5])
    array([3, 5, 7])
    """


@composed
def polyder(p: Any, m: Any = 1) -> Any:
    """Derivative of a polynomial.

    Examples
    --------
    >>> import numelt as np
    >>> np.polyder([1, 2, 3])
    array([2, 2])
    """


@library_call
def polydiv(u: Any, v: Any) -> Any:
    """Quotient and remainder of two polynomials.

    Examples
    --------
    >>> import numelt as np
    >>> np.polydiv([1.0, 2.0, 1.0], [1.0, 1.0])[0]
    array([1., 1.])
    """


@library_call
def polyfit(
    x: Any, y: Any, deg: Any, rcond: Any = None, full: Any = False, w: Any = None, cov: Any = False
) -> Any:
    """Least-squares fit of a polynomial.

    Examples
    --------
    >>> import numelt as np
    >>> np.polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1).round(6)
    array([2., 1.])
    """


@composed
def polyint(p: Any, m: Any = 1, k: Any = None) -> Any:
    """Antiderivative of a polynomial.

    Examples
    --------
    >>> import numelt as np
    >>> np.polyint([2, 1])
    array([1., 1., 0.])
    """


@library_call
def polymul(a1: Any, a2: Any) -> Any:
    """Product of two polynomials.

    Examples
    --------
    >>> import numelt as np
    >>> np.polymul([1, 1], [1, -1])
    array([ 1,  0, -1])
    """


@composed
def polysub(a1: Any, a2: Any) -> Any:
    """Difference of two polynomials.

    Examples
    --------
    >>> import numelt as np
    >>> np.polysub([3, 5, 7], [1, 2])
    array([3, 4, 5])
    """


@native
def polyval(p: Any, x: Any) -> Any:
    """Values of a polynomial, by Horner's rule.

    Examples
    --------
    >>> import numelt as np
    >>> np.polyval([1, 0, 1], np.array([1, 2]))
    array([2, 5])
    """
    factors = p.coeffs if type(p) is numpy.poly1d else p
    if understood(factors) and understood(x):
        return rebound(numpy.polyval)(factors, x)
    return fall_back("polyval", p, x)


@library_call
def roots(p: Any) -> Any:
    """Roots of a polynomial.

    Examples
    --------
    >>> import numelt as np
    >>> np.roots([1.0, -3.0, 2.0])
    array([2., 1.])
    """


@composed
def vander(x: Any, N: Any = None, increasing: Any = False) -> Any:
    """Return the matrix of powers of a vector.

    Examples
    --------
    >>> import numelt as np
    >>> np.vander([1, 2], 3)
    array([[1, 1, 1],
           [4, 2, 1]])
    """


def teach_series(base: Any, mapdomain: Any) -> None:
    """Let the classes of `numpy.polynomial` record their evaluation at our arrays.

    Parameters
    ----------
    base : type
        The base of these classes.
    mapdomain : callable
        NumPy's function that maps arguments to a class's window.
    """
    original = base.__call__
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def __call__(self: Any, arg: Any) -> Any:
        if type(arg) is not ndarray or not _core.is_native(arg) or self.coef.dtype.kind not in "fc":
            return original(self, arg)
        arg = rebound(mapdomain)(arg, self.domain, self.window)
        return rebound(self._val)(arg, self.coef)

    base.__call__ = __call__
