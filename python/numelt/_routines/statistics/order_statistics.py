"""Order statistics: medians, percentiles, quantiles.

Library calls of NumPy's partition, on our memory without a copy.
"""

from __future__ import annotations

from typing import Any

from numelt._dispatch.composed import library_call
from numelt._dispatch.native import NO_VALUE

__all__ = [
    "median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile",
]  # fmt: skip


@library_call
def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, keepdims: Any = False
) -> Any:
    """Median over axes: the middle element, or the mean of the two in the middle.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.median([3.0, 1.0, 2.0]))
    2.0
    """


@library_call
def nanmedian(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, keepdims: Any = NO_VALUE
) -> Any:
    """Median over axes of what is not NaN.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.nanmedian([3.0, np.nan, 1.0]))
    2.0
    """


@library_call
def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = False,
    method: Any = "linear",
    keepdims: Any = NO_VALUE,
    *,
    weights: Any = None,
) -> Any:
    """Value below which `q` percent of what is not NaN lie.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.nanpercentile([1.0, np.nan, 3.0], 50))
    2.0
    """


@library_call
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = False,
    method: Any = "linear",
    keepdims: Any = NO_VALUE,
    *,
    weights: Any = None,
) -> Any:
    """Value below which the fraction `q` of what is not NaN lies.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.nanquantile([1.0, np.nan, 3.0], 0.25))
    1.5
    """


@library_call
def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = False,
    method: Any = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    """Value below which `q` percent of the elements lie.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.percentile([1.0, 2.0, 3.0], 50))
    2.0
    """


@library_call
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = False,
    method: Any = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    """Value below which the fraction `q` of the elements lies.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.quantile([1.0, 2.0, 3.0], 0.25))
    1.5
    """
