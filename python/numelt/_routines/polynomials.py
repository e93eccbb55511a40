"""Polynomials by their coefficients.

Evaluation is NumPy's function, run over our arrays (`composed`). All other functions are library calls
(`_dispatch/table.py`), because the arrays of coefficients are short.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy

from numelt import _core
from numelt._dispatch.composed import rebound, understood
from numelt._dispatch.native import fall_back, native, ndarray

__all__ = ["polyval"]


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


def teach_series(base: Any, mapdomain: Any) -> None:
    """Let the classes of `numpy.polynomial` record their evaluation on our arrays.

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
