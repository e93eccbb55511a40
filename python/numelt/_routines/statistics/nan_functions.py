"""The nan family: reductions that ignore NaN.

The functions are NumPy's, run over our arrays (`composed`): NaN is replaced by the identity of the reduction,
and the other elements are counted. Order statistics are library calls (`table.LIBRARY`).
"""

from __future__ import annotations

from typing import Any

from numelt._dispatch.composed import composed
from numelt._dispatch.native import NO_VALUE

__all__ = [
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd",
    "nansum", "nanvar",
]  # fmt: skip


@composed
def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO_VALUE) -> Any:
    """Position of the largest element that is not NaN.

    Examples
    --------
    >>> import numelt as np
    >>> int(np.nanargmax([np.nan, 3.0, 2.0]))
    1
    """


@composed
def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO_VALUE) -> Any:
    """Position of the smallest element that is not NaN.

    Examples
    --------
    >>> import numelt as np
    >>> int(np.nanargmin([np.nan, 3.0, 2.0]))
    2
    """


@composed
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running product along an axis, NaN counted as one.

    Examples
    --------
    >>> import numelt as np
    >>> np.nancumprod([2.0, np.nan, 3.0])
    array([2., 2., 6.])
    """


@composed
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running sum along an axis, NaN counted as zero.

    Examples
    --------
    >>> import numelt as np
    >>> np.nancumsum([1.0, np.nan, 2.0])
    array([1., 1., 3.])
    """


@composed
def nanmax(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Any:
    """Largest element over axes that is not NaN.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.nanmax([3.0, np.nan, 2.0]))
    3.0
    """


@composed
def nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    *,
    where: Any = NO_VALUE,
) -> Any:
    """Arithmetic mean over axes of what is not NaN.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.nanmean([1.0, np.nan, 2.0]))
    1.5
    """


@composed
def nanmin(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Any:
    """Smallest element over axes that is not NaN.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.nanmin([3.0, np.nan, 2.0]))
    2.0
    """


@composed
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Any:
    """Product of the elements over axes, NaN counted as one.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.nanprod([2.0, np.nan]))
    2.0
    """


@composed
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NO_VALUE,
    *,
    where: Any = NO_VALUE,
    mean: Any = NO_VALUE,
    correction: Any = NO_VALUE,
) -> Any:
    """Standard deviation over axes of what is not NaN.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.nanstd([1.0, np.nan, 3.0]))
    1.0
    """


@composed
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Any:
    """Sum of the elements over axes, NaN counted as zero.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.nansum([1.0, np.nan]))
    1.0
    """


@composed
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NO_VALUE,
    *,
    where: Any = NO_VALUE,
    mean: Any = NO_VALUE,
    correction: Any = NO_VALUE,
) -> Any:
    """Variance over axes of what is not NaN.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.nanvar([1.0, np.nan, 3.0]))
    1.0
    """
