"""Results without axes that are computed later, for programs that ask for them.

NumPy gives a scalar where a result has no axes, as for ``x.sum()``. A scalar has its value from the start:
what it depends on runs when it is made. In a block of `lazy` such results are arrays without axes. These are
recorded as all arrays are, so that several of them can be computed in one pass over memory, and with what
comes after.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from numelt import _core

__all__ = ["lazy"]

_is_lazy: ContextVar[bool] = ContextVar("numelt.lazy", default=False)
_core.set_lazy(_is_lazy)


@contextmanager
def lazy() -> Iterator[None]:
    """Let results without axes be arrays in a ``with`` block, so that they are computed when looked at.

    Full reductions, such as ``x.sum()``, and operations on arrays without axes give arrays of shape ``()``.
    Only the block is concerned, in its own thread and its own asynchronous task. Blocks may be nested.

    Examples
    --------
    >>> import numelt as np
    >>> x = np.arange(1_000_000.0)
    >>> with np.lazy():
    ...     mean, largest = x.mean(), x.max()  # computed together, when `print` looks at the first
    >>> type(mean) is np.ndarray, mean.shape
    (True, ())
    >>> print(mean, largest)
    499999.5 999999.0
    """
    _core.lazy_is_asked_for()
    token = _is_lazy.set(True)
    try:
        yield
    finally:
        _is_lazy.reset(token)
