"""Polynomials by their coefficients.

Evaluation, sums and derivatives are NumPy's own functions over our arrays; products, fits and roots are
library calls.
"""

from __future__ import annotations

from typing import Any

import numpy

from numelt._dispatch import fall_back, native
from numelt._rebind import composed, library, rebound, understood

__all__ = [
    "poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval", "roots",
    "vander",
]  # fmt: skip


@library
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


@library
def polydiv(u: Any, v: Any) -> Any:
    """Quotient and remainder of two polynomials.

    Examples
    --------
    >>> import numelt as np
    >>> np.polydiv([1.0, 2.0, 1.0], [1.0, 1.0])[0]
    array([1., 1.])
    """


@library
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


@library
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


@library
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
