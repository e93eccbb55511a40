"""Building matrices: triangles."""

from __future__ import annotations

from typing import Any

from numelt import _core
from numelt._dispatch import fall_back, foreign_first, native, recordable, short_first
from numelt._routines.creation import arange

__all__ = ["tri", "tril", "triu"]


@native
@short_first
def tri(N: Any, M: Any = None, k: int = 0, dtype: Any = float, *, like: Any = None) -> Any:
    """Return a matrix with ones on and below a diagonal.

    Examples
    --------
    >>> import numelt as np
    >>> np.tri(3, dtype=int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]])
    """
    columns = N if M is None else M
    if like is not None or not type(N) is type(columns) is type(k) is int or N < 0 or columns < 0:
        return fall_back("tri", N, M, k, dtype, like=like)
    return _lower(N, columns, k).astype(dtype, copy=False)


def _lower(rows: int, columns: int, k: int) -> Any:
    return arange(rows)[:, None] >= arange(-k, columns - k)[None, :]


def _triangle(name: str, m: Any, k: int, lower: bool) -> Any:
    array_ = recordable(m)
    if array_ is None or array_.ndim < 2 or type(k) is not int:
        return fall_back(name, m, k)
    rows, columns = array_.shape[-2:]
    mask = _lower(rows, columns, k if lower else k - 1)
    zero = _core.full((), 0, array_.dtype, "C")
    ins = (mask, array_, zero) if lower else (mask, zero, array_)
    result = _core.elementwise("where", ins) if zero is not NotImplemented else NotImplemented
    return fall_back(name, m, k) if result is NotImplemented else result


@native
@foreign_first
def tril(m: Any, k: int = 0) -> Any:
    """Return a copy with the elements above a diagonal set to zero.

    Examples
    --------
    >>> import numelt as np
    >>> np.tril(np.ones((2, 2)))
    array([[1., 0.],
           [1., 1.]])
    """
    return _triangle("tril", m, k, lower=True)


@native
@foreign_first
def triu(m: Any, k: int = 0) -> Any:
    """Return a copy with the elements below a diagonal set to zero.

    Examples
    --------
    >>> import numelt as np
    >>> np.triu(np.ones((2, 2)))
    array([[1., 1.],
           [0., 1.]])
    """
    return _triangle("triu", m, k, lower=False)
