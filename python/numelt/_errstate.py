"""Floating-point error handling: tells the core when a mode that acts inside an operation is in force.

In: NumPy's `errstate` and `seterr`. Out: the same, and a count of open strict contexts in the core. In a
strict context (`raise`, `call`, `print`, `log`) the core runs elementwise operations one at a time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

import numpy

from numelt import _core

__all__ = ["errstate", "seterr"]

_STRICT = frozenset({"raise", "call", "print", "log"})

# does the state set by `seterr` outside any context count as open?
_standing = False


def _is_strict() -> bool:
    return not _STRICT.isdisjoint(numpy.geterr().values())


class errstate(numpy.errstate):
    """Context manager for floating-point error handling.

    Parameters
    ----------
    all, divide, over, under, invalid : {'ignore', 'warn', 'raise', 'call', 'print', 'log'}, optional
        Treatment of each kind of error, as in `numpy.errstate`.

    Examples
    --------
    >>> import numelt as np
    >>> with np.errstate(divide="raise"):
    ...     np.ones(1) / 0
    Traceback (most recent call last):
        ...
    FloatingPointError: divide by zero encountered in divide
    """

    __slots__ = ("_given", "_watching")

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._given = kwargs
        self._watching = False

    def __enter__(self) -> None:
        super().__enter__()
        if _is_strict():
            self._watching = True
            _core.watch_errstate(1)

    def __exit__(self, *exception: Any) -> None:
        if self._watching:
            self._watching = False
            _core.watch_errstate(-1)
        super().__exit__(*exception)

    def __call__(self, function: Callable[..., Any]) -> Any:
        given = self._given

        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            with errstate(**given):
                return function(*args, **kwargs)

        return inner


def seterr(**kwargs: Any) -> dict[str, str]:
    """Set how floating-point errors are handled, and return the old settings.

    Parameters
    ----------
    all, divide, over, under, invalid : {'ignore', 'warn', 'raise', 'call', 'print', 'log'}, optional
        Treatment of each kind of error, as in `numpy.seterr`.

    Examples
    --------
    >>> import numelt as np
    >>> old = np.seterr(divide="ignore")
    >>> np.seterr(**old)["divide"]
    'ignore'
    """
    global _standing
    old = numpy.seterr(**kwargs)
    strict = _is_strict()
    if strict != _standing:
        _standing = strict
        _core.watch_errstate(1 if strict else -1)
    return cast(dict[str, str], old)
