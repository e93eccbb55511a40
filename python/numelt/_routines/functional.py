"""Functional programming: functions that call a function of the user, along axes or over indices.

The functions are NumPy's, run over our arrays (`composed`). The function of the user gets our arrays.
If that is a Python function and the arrays are large enough, it is compiled: together with `vectorize` and
`apply_along_axis`, which call it in a loop (`numelt._jit.vectorizing`), and so is a generator expression that
`fromiter` collects (`numelt._jit.collecting`). The others call it with whole arrays; its own loops are
compiled (`numelt._jit.calling`).
"""

from __future__ import annotations

import math
import types
from typing import Any

import numpy

from numelt import _core
from numelt._dispatch import fallback
from numelt._dispatch.composed import applying, applying_compiled, applying_prepared
from numelt._dispatch.mirror import replace
from numelt._dispatch.native import present
from numelt._dispatch.pickling import Named
from numelt._dispatch.routine import routine

__all__ = ["apply_along_axis", "apply_over_axes", "fromfunction", "mask_indices", "piecewise"]


# fewer elements than this, over all calls of a function, do not repay the milliseconds that compiling takes
_FEW = 2000
# the same for the elements of an expression, which CPython computes sooner than it calls a function
_FEW_GIVEN = 10000
# by code of a function or expression: the number of elements for which it has run
_elements: dict[types.CodeType, int] = {}


def _is_worthwhile(function: Any, count: int) -> bool:
    """Return whether a Python function has been called for enough elements to be worth compiling."""
    return type(function) is types.FunctionType and _count(function.__code__, count) >= _FEW


def _count(code: types.CodeType, count: int) -> int:
    """Add to the number of elements for which code has run, and return the sum."""
    if len(_elements) > 1000:
        _elements.clear()
    total = _elements[code] = _elements.get(code, 0) + count
    return total


def _compiled_along_axis(func1d: Any, axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    if kwargs or not isinstance(arr, numpy.ndarray | _core.ndarray) or not _is_worthwhile(func1d, arr.size):
        return None
    from numelt._jit.vectorizing import along_axis  # few programs need it

    return along_axis(func1d, axis, arr, args)


@applying_compiled(_compiled_along_axis)
def apply_along_axis(func1d: Any, axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """Apply a function to each line along an axis.

    Examples
    --------
    >>> import numelt as np
    >>> np.apply_along_axis(np.sum, 0, np.array([[1, 2], [3, 4]]))
    array([4, 6])
    """


def _looping(function: Any, count: int) -> Any:
    """Return a Python function whose loops run compiled, if it has been called for enough elements."""
    if not _is_worthwhile(function, count):
        return function
    from numelt._jit.calling import with_compiled_loops  # few programs need it

    return with_compiled_loops(function)


def _with_function(*args: Any, **kwargs: Any) -> Any:
    """Return the arguments of `apply_over_axes` with a compiled function."""
    if len(args) >= 2:
        args = _looping(args[0], _size(args[1])), *args[1:]
    return args, kwargs


def _with_function_of_indices(*args: Any, **kwargs: Any) -> Any:
    """Return the arguments of `fromfunction` with a compiled function."""
    if len(args) >= 2:
        extents = args[1] if isinstance(args[1], tuple | list) else (args[1],)
        count = math.prod(extents) if all(type(extent) is int for extent in extents) else 0
        args = _looping(args[0], count), *args[1:]
    return args, kwargs


def _with_functions(*args: Any, **kwargs: Any) -> Any:
    """Return the arguments of `piecewise` with compiled functions."""
    if len(args) >= 3 and type(args[2]) in (list, tuple):
        args = *args[:2], [_looping(function, _size(args[0])) for function in args[2]], *args[3:]
    return args, kwargs


@applying_prepared(_with_function)
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    """Apply a function over one axis after the other, keeping them.

    Examples
    --------
    >>> import numelt as np
    >>> np.apply_over_axes(np.sum, np.ones((2, 3)), [0, 1])
    array([[6.]])
    """


@applying_prepared(_with_function_of_indices)
def fromfunction(function: Any, shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any) -> Any:
    """Return the results of a function of the indices of an array.

    Examples
    --------
    >>> import numelt as np
    >>> np.fromfunction(lambda i, j: i + j, (2, 2), dtype=int)
    array([[0, 1],
           [1, 2]])
    """


@applying
def mask_indices(n: Any, mask_func: Any, k: Any = 0) -> Any:
    """Return the positions that a function keeps of a square matrix.

    Examples
    --------
    >>> import numelt as np
    >>> np.mask_indices(2, np.triu)
    (array([0, 0, 1]), array([0, 1, 1]))
    """


@applying_prepared(_with_functions)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Evaluate one function or value where each of several conditions holds.

    Examples
    --------
    >>> import numelt as np
    >>> np.piecewise(np.array([-1.0, 2.0]), [np.array([True, False])], [0, lambda x: 2 * x])
    array([0., 4.])
    """


class Vectorize(numpy.vectorize, metaclass=Named):
    """A Python function applied element by element; results are numelt arrays."""

    __doc__ = numpy.vectorize.__doc__

    def _general(self, *args: Any, **kwargs: Any) -> Any:
        return fallback.call("vectorize", super().__call__, args, kwargs)

    _by_numpy = _core.method("vectorize", numpy.vectorize.__call__, _general, "method")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the results for broadcast arguments; see `numpy.vectorize`."""
        is_simple = not (kwargs or self.excluded or self.signature or self.cache)
        if is_simple and _is_worthwhile(self.pyfunc, max(map(_size, args), default=0)):
            from numelt._jit.vectorizing import vectorized  # few programs need it

            made = vectorized(self.pyfunc, self.otypes, args)
            if made is not None:
                return made
        return self._by_numpy(*args, **kwargs)


def _size(arg: Any) -> int:
    """Return the number of elements of an argument of `vectorize`."""
    return int(getattr(arg, "size", 1)) if not isinstance(arg, list) else len(arg)


def frompyfunc(func: Any, /, nin: int, nout: int, **kwargs: Any) -> Any:
    """Make a ufunc of a Python function; it runs in NumPy on object arrays.

    Examples
    --------
    >>> import numelt as np
    >>> np.frompyfunc(abs, 1, 1)(np.array([-1, 2])).tolist()
    [1, 2]
    """
    return _core.ufunc(numpy.frompyfunc(func, nin, nout, **kwargs), None)


def fromiter(iter: Any, dtype: Any, count: Any = -1, *, like: Any = None) -> Any:
    """Return an array of what an iterator gives.

    Examples
    --------
    >>> import numelt as np
    >>> np.fromiter((x * x for x in range(4)), dtype=int)
    array([0, 1, 4, 9])
    """
    if type(iter) is types.GeneratorType and like is None and type(count) is int:
        from numelt._jit import collecting  # few programs need it

        if _count(iter.gi_code, collecting.length(iter)) >= _FEW_GIVEN:
            made = collecting.collected(iter, dtype, count)
            if made is not None:
                return made
        return fallback.wrap(fallback.at_user_line(numpy.fromiter, (iter, dtype, count), {}))
    kwargs = {} if like is None else {"like": like}
    return fallback.uncounted(numpy.fromiter, (iter, dtype, count), kwargs)


Vectorize.__name__ = Vectorize.__qualname__ = "vectorize"
Vectorize.__module__ = "numpy"
replace(numpy.vectorize, Vectorize)
replace(numpy.frompyfunc, present(routine("frompyfunc", numpy.frompyfunc, frompyfunc), numpy.frompyfunc))
replace(numpy.fromiter, present(routine("fromiter", numpy.fromiter, fromiter), numpy.fromiter))
