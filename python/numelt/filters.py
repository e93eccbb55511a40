"""Filters: functions of the user that get the program of each batch before it is planned, and may change it.

In: functions. Out: the classes of their arguments. The core calls the filters; see docs/extending.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from numelt import _core
from numelt._core import Base, FilterError, Instruction, Literal, Program, View

__all__ = [
    "Base",
    "FilterError",
    "Instruction",
    "Literal",
    "Program",
    "View",
    "register",
    "registered",
    "remove",
]

Filter = Callable[[Program], Program | None]
_F = TypeVar("_F", bound=Filter)


def register(f: _F) -> _F:
    """Register a function that gets the program of each batch that runs from now on.

    Parameters
    ----------
    f : callable
        Called with a `Program` before a batch is planned. It returns the program to run instead, which may
        be the same object, changed, or None to leave the program as it is. Filters are called in the order
        in which they were registered, each with the result of the one before.

    Returns
    -------
    callable
        The function itself, so that `register` can be a decorator.

    Raises
    ------
    TypeError
        If it cannot be called.
    ValueError
        If it is registered already.

    Notes
    -----
    If the function raises, returns anything else, or makes a program that must not run, the batch runs
    without it, and the statement that caused the batch to run raises `FilterError`.

    Examples
    --------
    >>> import numelt as np
    >>> @np.filters.register
    ... def show(program):
    ...     print([instruction.op for instruction in program.instructions])
    >>> x = np.sqrt(np.arange(4.0)) + 1
    >>> float(x[0])
    ['range', 'sqrt', 'add']
    1.0
    >>> np.filters.remove(show)
    """
    _core.filters_register(f)
    return f


def remove(f: Filter) -> None:
    """Remove a filter, which is then no longer called.

    Parameters
    ----------
    f : callable
        A function that was given to `register`.

    Raises
    ------
    ValueError
        If it is not registered.
    """
    _core.filters_remove(f)


def registered() -> tuple[Filter, ...]:
    """Return the filters in the order in which they are called.

    Examples
    --------
    >>> import numelt as np
    >>> np.filters.registered()
    ()
    """
    return _core.filters_registered()
