"""`numpy.vectorize` and `numpy.apply_along_axis`, with the function compiled into a driver (see `drivers`).

In: the function and the arrays. Out: NumPy's result, or None if NumPy's own loop has to compute it, which is
the case for non-native dtypes and for some functions that cannot be compiled.

`numpy.vectorize` passes Python's numbers to the function, collects the results as objects, and converts these
to the dtype of the first result. Here each result is converted when it is stored.
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from numelt import _core
from numelt._jit.drivers import ENOUGH, PART, call_text, driver, names, pays

__all__ = ["along_axis", "vectorized"]

_SCALARS = (bool, int, float, complex, numpy.bool_, numpy.number)
_NATIVE = frozenset("?bBhHiIlLqQfdFD")
_FIRST_PART = 256
# a list of numbers of one of these types is converted to an array
_LISTED = (bool, int, float, complex)


class _Declined(Exception):
    """An argument that only NumPy's own loop supports."""


def vectorized(function: Any, otypes: Any, args: Sequence[Any]) -> Any:
    """Return the result of `numpy.vectorize` of a function for these arguments.

    Parameters
    ----------
    function : callable
        The function.
    otypes : str, sequence of dtype, or None
        The dtypes of the results. With None, they are taken from the results for the first elements.
    args : sequence
        The arguments, which are broadcast.

    Returns
    -------
    ndarray, tuple of ndarray, or None
        The results; None if NumPy's loop has to compute them.
    """
    if not isinstance(function, types.FunctionType) or not args:
        return None
    try:
        operands = [_operand(arg) for arg in args]
        arrays = [operand for operand in operands if isinstance(operand, _core.ndarray)]
        shape = _broadcast_shape(arrays)
    except (_Declined, ValueError):
        return None
    count = math.prod(shape)
    if count == 0:
        return None
    kinds = _result_kinds(function, operands) if otypes is None else [numpy.dtype(kind) for kind in otypes]
    if any(kind.char not in _NATIVE or not kind.isnative for kind in kinds):
        return None if otypes is not None else numpy.vectorize(function, otypes=kinds)(*args)
    are_arrays = tuple([isinstance(operand, _core.ndarray) for operand in operands])
    run = driver(_driver_text(are_arrays, len(kinds)), function, ENOUGH)
    if not pays(run):
        return None if otypes is not None else numpy.vectorize(function, otypes=kinds)(*args)
    return _filled(function, run, kinds, operands, shape, count)


def _broadcast_shape(arrays: list[Any]) -> tuple[int, ...]:
    """Return the shape to which arrays are broadcast."""
    shapes = {array.shape for array in arrays}
    if len(shapes) <= 1:
        return shapes.pop() if shapes else ()
    return numpy.broadcast_shapes(*shapes)


def _operand(arg: Any) -> Any:
    """Return an argument as a native array or as a scalar.

    Raises
    ------
    _Declined
        If it is neither.
    """
    import numelt as np

    if isinstance(arg, numpy.ndarray | _core.ndarray):
        if type(arg) not in (numpy.ndarray, _core.ndarray) or arg.dtype.char not in _NATIVE:
            raise _Declined
        # NumPy passes the element of a 0-d array as a NumPy scalar, and other elements as Python's numbers
        return np.asarray(arg) if arg.ndim else arg[()]
    if isinstance(arg, _SCALARS):
        return arg
    if type(arg) is list and arg and type(arg[0]) in _LISTED and all(type(x) is type(arg[0]) for x in arg):
        made = np.array(arg)
        if made.dtype.char in _NATIVE:
            return made
    raise _Declined


def _result_kinds(function: Callable[..., Any], operands: list[Any]) -> list[numpy.dtype[Any]]:
    """Return the dtypes of the results for the first elements, which are passed as NumPy scalars."""
    first = [operand.flat[0] if isinstance(operand, _core.ndarray) else operand for operand in operands]
    first = [numpy.asarray(value)[()] for value in first]
    outputs = function(*first)
    results = outputs if isinstance(outputs, tuple) else (outputs,)
    return [numpy.asarray(result).dtype for result in results]


def _filled(
    function: types.FunctionType,
    run: Callable[..., Any],
    kinds: list[numpy.dtype[Any]],
    operands: list[Any],
    shape: tuple[int, ...],
    count: int,
) -> Any:
    import numelt as np

    arrays = [operand for operand in operands if isinstance(operand, _core.ndarray)]
    # if all operands are in Fortran order, so are the results
    is_fortran = len(shape) > 1 and all(
        array.shape == shape and array.flags.f_contiguous and not array.flags.c_contiguous for array in arrays
    )
    values: list[Any] = []
    for operand in operands:
        if isinstance(operand, _core.ndarray):
            whole = operand if operand.shape == shape else np.broadcast_to(operand, shape)
            values.append((operand.T if is_fortran else whole).reshape(-1))
        else:
            values.append(operand)
    outs = [np.empty(count, kind) for kind in kinds]
    done = 0
    while done < count and pays(run):
        # the first part is short, because only running it shows whether the function can be compiled
        stop = min(count, done + (PART if done else _FIRST_PART))
        try:
            run(function, *outs, *values, done, stop)
        except Exception as error:
            if _comes_from(error, function):
                raise
            # a result cannot be converted; NumPy calls the function for all elements before it raises this
            break
        done = stop
    if done < count:
        _fill_as_objects(function, outs, values, done)
    made = [out.reshape(shape[::-1]).T if is_fortran else out.reshape(shape) for out in outs]
    return made[0] if len(made) == 1 else tuple(made)


@functools.lru_cache(64)
def _driver_text(are_arrays: tuple[bool, ...], results: int) -> str:
    """Return the text of a driver for operands that are vectors or numbers, and for `results` results."""
    operands, outs = names("x", len(are_arrays)), names("out", results)
    inputs = [f"{x}.item(i)" if is_array else x for x, is_array in zip(operands, are_arrays, strict=True)]
    return f"""
def run({", ".join(["f", *outs, *operands, "start", "stop"])}):
    for i in range(start, stop):
        {", ".join(f"{out}[i]" for out in outs)} = {call_text(inputs, 0)}
"""


def _comes_from(error: Exception, function: types.FunctionType) -> bool:
    """Was an exception raised while a function ran, by itself or by a function that it called?"""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code is not function.__code__:
        trace = trace.tb_next
    return trace is not None


def _fill_as_objects(function: Callable[..., Any], outs: list[Any], values: list[Any], start: int) -> None:
    """Compute the results of all elements from `start` on as NumPy does, with a ufunc of objects."""
    objects = [
        numpy.asarray(value[start:]) if isinstance(value, _core.ndarray) else value for value in values
    ]
    objects = [numpy.asarray(value, dtype=object) for value in objects]
    results = numpy.frompyfunc(function, len(objects), len(outs))(*objects)
    for out, result in zip(outs, results if len(outs) > 1 else (results,), strict=True):
        out[start:] = numpy.asarray(result, dtype=numpy.asarray(out).dtype)


def along_axis(function: Any, axis: Any, array: Any, args: tuple[Any, ...]) -> Any:
    """Return the result of `numpy.apply_along_axis`, compiled if the function returns a number.

    Parameters
    ----------
    function : callable
        The function. It is called with each line of the array along `axis`, and with `args`.
    axis : int
        The axis of the lines.
    array : ndarray
        The array.
    args : tuple
        Further arguments of the function.

    Returns
    -------
    ndarray or None
        The results; None if NumPy's loop has to compute them.
    """
    import numelt as np

    is_plain = isinstance(function, types.FunctionType) and type(array) in (numpy.ndarray, _core.ndarray)
    if not is_plain or not isinstance(axis, int) or array.dtype.char not in _NATIVE or array.ndim < 2:
        return None
    if not -array.ndim <= axis < array.ndim:
        return None
    lines = np.moveaxis(np.asarray(array), axis, -1)
    shape = lines.shape[:-1]
    count = math.prod(shape)
    if count == 0:
        return None
    lines = lines.reshape(count, lines.shape[-1])
    text = f"""
def run({", ".join(["f", "out", "kind", "as_array", "x", *names("c", len(args)), "start", "stop"])}):
    for i in range(start, stop):
        r = {call_text(["x[i]"], len(args))}
        if type(r) is not kind:
            r = as_array(r)
        out[i] = r
"""
    run = driver(text, function, ENOUGH)
    if not pays(run):
        return None
    first = function(lines[0], *args)
    if not isinstance(first, _SCALARS):
        return np.apply_along_axis(_WithFirst(function, first), axis, array, *args)
    out = np.empty(count, numpy.asarray(first).dtype)
    out[0] = first
    for start in range(1, count, PART):
        run(function, out, type(first), np.asanyarray, lines, *args, start, min(count, start + PART))
    return out.reshape(shape)


class _WithFirst:
    """A function whose first result is already known, so that it is called only once for each line.

    `along_axis` compiles Python functions only, and therefore leaves calls with this object to NumPy.
    """

    def __init__(self, function: Callable[..., Any], first: Any) -> None:
        self._function = function
        self._known = [first]

    def __call__(self, *args: Any) -> Any:
        return self._known.pop() if self._known else self._function(*args)
