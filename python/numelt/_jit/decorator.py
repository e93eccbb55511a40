"""The decorator `numelt.jit`."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, TypeVar, overload

from numelt._jit.twin import function_twin

__all__ = ["jit"]

F = TypeVar("F", bound=Callable[..., Any])


@overload
def jit(function: F) -> F: ...
@overload
def jit(function: None = None, *, strict: bool = False) -> Callable[[F], F]: ...
def jit(function: Any = None, *, strict: bool = False) -> Any:
    """Compile the loops of a function.

    The function as written is the specification: results, their types, and exceptions with their messages
    and lines are those of CPython. A loop is compiled when it first runs, for the types that its variables
    then have. CPython runs the statements that compiled code cannot run.

    Parameters
    ----------
    function : callable
        A function whose source is available. Without it, a decorator is returned.
    strict : bool
        Raise an error if there is no loop to compile, and where CPython has to run a statement of a loop
        because compiled code cannot.

    Returns
    -------
    callable
        The function with compiled loops. Its attribute ``__wrapped__`` is the function as written.

    Raises
    ------
    TypeError
        With `strict`, if the source of the function is not available or it has no loops.
    FallbackError
        With `strict`, when the function is called and reaches a statement that compiled code cannot run.

    Examples
    --------
    >>> import numelt as np
    >>> @np.jit
    ... def norm(a):
    ...     s = 0.0
    ...     for x in a:
    ...         s += x * x
    ...     return s**0.5
    >>> norm(np.array([3.0, 4.0]))
    np.float64(5.0)
    """
    if function is None:
        return lambda function: jit(function, strict=strict)
    twin = function_twin(function, strict) if isinstance(function, types.FunctionType) else None
    if twin is None and strict:
        name = getattr(function, "__qualname__", repr(function))
        raise TypeError(f"{name} has no loops that can be compiled, or its source is not available")
    return function if twin is None else twin
