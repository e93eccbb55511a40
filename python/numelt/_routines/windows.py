"""Window functions, and ranges spaced evenly on a logarithmic scale.

Library calls: the arrays are short, and their values have to be NumPy's to the bit.
"""

from __future__ import annotations

from typing import Any

from numelt._dispatch.composed import library_call

__all__ = ["bartlett", "blackman", "geomspace", "hamming", "hanning", "kaiser", "logspace"]


@library_call
def bartlett(M: Any) -> Any:
    """Return the Bartlett window: a triangle.

    Examples
    --------
    >>> import numelt as np
    >>> np.bartlett(5)
    array([0. , 0.5, 1. , 0.5, 0. ])
    """


@library_call
def blackman(M: Any) -> Any:
    """Return the Blackman window: three terms of a sum of cosines.

    Examples
    --------
    >>> import numelt as np
    >>> np.blackman(5).round(2)
    array([-0.  ,  0.34,  1.  ,  0.34, -0.  ])
    """


@library_call
def geomspace(
    start: Any, stop: Any, num: Any = 50, endpoint: Any = True, dtype: Any = None, axis: Any = 0
) -> Any:
    """Return numbers with a constant ratio between neighbours.

    Examples
    --------
    >>> import numelt as np
    >>> np.geomspace(1, 8, 4)
    array([1., 2., 4., 8.])
    """


@library_call
def hamming(M: Any) -> Any:
    """Return the Hamming window: a raised cosine that does not end at zero.

    Examples
    --------
    >>> import numelt as np
    >>> np.hamming(5)
    array([0.08, 0.54, 1.  , 0.54, 0.08])
    """


@library_call
def hanning(M: Any) -> Any:
    """Return the Hann window: a raised cosine.

    Examples
    --------
    >>> import numelt as np
    >>> np.hanning(5)
    array([0. , 0.5, 1. , 0.5, 0. ])
    """


@library_call
def kaiser(M: Any, beta: Any) -> Any:
    """Return the Kaiser window of a given shape.

    Examples
    --------
    >>> import numelt as np
    >>> np.kaiser(3, 0.0)
    array([1., 1., 1.])
    """


@library_call
def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: Any = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: Any = 0,
) -> Any:
    """Return powers of a base whose exponents are evenly spaced.

    Examples
    --------
    >>> import numelt as np
    >>> np.logspace(0, 2, 3)
    array([  1.,  10., 100.])
    """
