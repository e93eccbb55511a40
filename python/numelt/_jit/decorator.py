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
    """Run the loops of a function compiled.

    The function as written is the specification: results, their types, exceptions with their messages and
    lines are those of CPython. Loops are compiled when they are first run, for the types of the variables
    that they find. What compiled code cannot do, CPython does in its place.

    Parameters
    ----------
    function : callable
        A function whose source is at hand. Without it, a decorator is returned.
    strict : bool
        Raise an error where CPython has to run something in the loops because compiled code cannot, and if
        there is nothing to compile.

    Returns
    -------
    callable
        The function with compiled loops; ``__wrapped__`` is the one as written.

    Raises
    ------
    TypeError
        With `strict`, if the source of the function is not known or it has no loops.
    FallbackError
        With `strict`, when the compiled function is called and cannot run some statement.

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
        raise TypeError(f"{name} has no loops that can be compiled, or its source is not known")
    return function if twin is None else twin
