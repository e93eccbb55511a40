"""Series of numpy.polynomial, evaluated by NumPy's functions, which run over our arrays (`composed`).

Loaded at the first use of `numelt.polynomial`.
"""

from __future__ import annotations

from typing import Any

import numpy.polynomial
from numpy.polynomial import _polybase, polyutils

from numelt._dispatch.composed import composed_in
from numelt._routines import polynomials

__all__: list[str] = []

polynomials.teach_series(_polybase.ABCPolyBase, polyutils.mapdomain)


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
