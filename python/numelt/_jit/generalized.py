"""`numelt.guvectorize`: apply a function of parts of arrays along all other axes.

In: a function that writes its results into arrays, and a signature such as ``(n),()->(n)``. Out: a function
of whole arrays. The loops of the given function are compiled as by `numelt.jit`; the loop over the other axes
runs in CPython.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy

from numelt._jit.decorator import jit

__all__ = ["guvectorize"]

_CORE = re.compile(r"\(([^()]*)\)")


def guvectorize(signature: str, *, dtype: Any = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Apply a function to parts of arrays, in a loop over all other axes.

    Parameters
    ----------
    signature : str
        The axes of each part, as in NumPy's generalized ufuncs: ``(n),()->(n)``. An argument without axes is
        a scalar; a result without axes is an array of one element. Each axis of a result is one of an
        argument.
    dtype : dtype, optional
        The dtype of the results. By default, the common dtype of the arguments.

    Returns
    -------
    callable
        A decorator. The decorated function takes the arguments as whole arrays, with the parts in the last
        axes and the others broadcast, and returns the results.

    Raises
    ------
    ValueError
        If the signature cannot be read, or the arrays do not fit it.

    Examples
    --------
    >>> import numelt as np
    >>> @np.guvectorize("(n),()->(n)")
    ... def shifted(x, by, out):
    ...     for i in range(len(x)):
    ...         out[i] = x[i] + by
    >>> shifted(np.array([[1, 2], [3, 4]]), np.array([10, 20]))
    array([[11, 12],
           [23, 24]])
    """
    sides = signature.replace(" ", "").split("->")
    if len(sides) != 2 or not all(re.fullmatch(r"\([^()]*\)(,\([^()]*\))*", side) for side in sides):
        raise ValueError(f"not a valid gufunc signature: {signature}")
    inputs, outputs = ([_axes(core) for core in _CORE.findall(side)] for side in sides)
    known = {axis for core in inputs for axis in core}
    if any(axis not in known for core in outputs for axis in core):
        raise ValueError(f"each axis of a result must be one of an argument: {signature}")

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        compiled = jit(function)

        @functools.wraps(function)
        def applied(*args: Any) -> Any:
            return _applied(compiled, inputs, outputs, dtype, args)

        return applied

    return decorate


def _axes(core: str) -> list[str]:
    return [axis for axis in core.split(",") if axis]


def _applied(
    function: Callable[..., Any], inputs: list[list[str]], outputs: list[list[str]], dtype: Any, args: Any
) -> Any:
    import numelt as np

    if len(args) != len(inputs):
        raise ValueError(f"the signature has {len(inputs)} arguments, not {len(args)}")
    arrays = [np.asarray(arg) for arg in args]
    extents: dict[str, int] = {}
    loops = []
    for array, core in zip(arrays, inputs, strict=True):
        if array.ndim < len(core):
            raise ValueError(f"an argument needs at least {len(core)} axes, not {array.ndim}")
        split = array.ndim - len(core)
        loops.append(array.shape[:split])
        for axis, extent in zip(core, array.shape[split:], strict=True):
            if extents.setdefault(axis, extent) != extent:
                raise ValueError(f"axis {axis} has extents {extents[axis]} and {extent}")
    shape = np.broadcast_shapes(*loops)
    parts = [
        np.broadcast_to(array, shape + array.shape[array.ndim - len(core) :])
        for array, core in zip(arrays, inputs, strict=True)
    ]
    kind = numpy.result_type(*(array.dtype for array in arrays)) if dtype is None else dtype
    results = [np.empty(shape + tuple(extents[axis] for axis in core), kind) for core in outputs]
    for index in numpy.ndindex(*shape):
        # a result without axes is written as the only element of an array
        written = [
            out[index]
            if core
            else out[(*index[:-1], slice(index[-1], index[-1] + 1))]
            if index
            else out[None]
            for out, core in zip(results, outputs, strict=True)
        ]
        function(*(part[index] for part in parts), *written)
    return results[0] if len(results) == 1 else tuple(results)
