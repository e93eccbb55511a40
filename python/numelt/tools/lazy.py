"""`numelt.lazy`: reductions that give 0-d arrays, which are computed later.

``x.sum()`` returns a scalar, as in NumPy. A scalar has a value, so the work on which it depends runs when it
is made. In a block of `lazy`, such results are 0-d arrays instead. They are recorded like all arrays, so that
several of them can be computed in one pass over memory, together with the operations that use them.
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
    """Make full reductions in a ``with`` block 0-d arrays, which are computed when they are read.

    Full reductions, such as ``x.sum()``, and operations on 0-d arrays give arrays of shape ``()``. That holds
    for the block, in its own thread and its own asynchronous task. Blocks may be nested.

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
