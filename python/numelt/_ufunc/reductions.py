"""Reductions with every argument that NumPy has: `initial`, `where`, `dtype`, `out`.

In: the name of a reduction of the op table, an array and NumPy's arguments. Out: a recorded reduction with
NumPy's bits, or NotImplemented if the call has to run in NumPy. A mask is recorded as a `where` that puts the
identity of the operation into the masked elements, and an initial value as one more element.
"""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any

import numpy

from numelt import _core
from numelt._dispatch.native import NO_VALUE, ndarray, normalize_axes, operand

__all__ = ["dtype_with_out", "extreme_of", "is_first", "keeps_axes", "reduce"]

# identities of the operations that have one
_NEUTRAL = {"sum": 0, "prod": 1, "any": False, "all": True, "reduce_or": 0, "reduce_xor": 0, "reduce_and": ~0}
_COMBINE = {
    "sum": "add",
    "prod": "multiply",
    "min": "minimum",
    "max": "maximum",
    "reduce_fmax": "fmax",
    "reduce_fmin": "fmin",
    "reduce_and": "bitwise_and",
    "reduce_or": "bitwise_or",
    "reduce_xor": "bitwise_xor",
}
# operations without an identity: a mask needs an initial value, as in NumPy
_EXTREMES = ("min", "max", "reduce_fmax", "reduce_fmin")


def reduce(
    op: str,
    array: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = NO_VALUE,
    where: Any = True,
) -> Any:
    """Record a reduction, or return NotImplemented; a hook of the compiled core.

    Parameters
    ----------
    op : str
        A reduction of the op table.
    array : ndarray
        A native numelt array.
    """
    keepdims = keeps_axes(keepdims)
    if type(out) is tuple and len(out) == 1:
        out = out[0]
    if out is not None:
        if type(out) is not ndarray:
            return NotImplemented
        if op not in ("any", "all"):
            dtype = dtype_with_out(array, dtype, out)
            if dtype is NotImplemented:
                return dtype
    if initial is None and op in _EXTREMES:
        initial = NO_VALUE
    if where is NO_VALUE:
        where = True
    if initial is NO_VALUE and where is True:
        return _core.reduce(op, array, axis, keepdims, dtype, out)
    return _general(op, array, axis, dtype, out, keepdims, initial, where)


def keeps_axes(keepdims: Any) -> bool:
    """Return the value of ``keepdims=``, which may be omitted."""
    return keepdims is not NO_VALUE and (
        keepdims if type(keepdims) is bool else bool(operator.index(keepdims))
    )


def is_first(axis: Any) -> bool:
    """Return whether this is the first axis."""
    return type(axis) is int and axis == 0


def extreme_of(name: str, arrays: Any) -> Any:
    """Record the extreme of the arrays of a list, element by element, without stacking them.

    NumPy computes the same along the first axis of the stacked arrays, in the same order. NotImplemented if
    they are not native arrays of one shape and dtype.
    """
    if type(arrays) is not list or len(arrays) < 2 or any(type(array) is not ndarray for array in arrays):
        return NotImplemented
    result, *rest = arrays
    alike = all(array.shape == result.shape and array.dtype == result.dtype for array in rest)
    if not alike or not result.ndim or not _core.is_native(result) or result.dtype.kind not in "iuf":
        return NotImplemented
    for array in rest:
        result = _core.elementwise(name, (result, array))
        if result is NotImplemented:
            return result
    return result


def dtype_with_out(array: Any, dtype: Any, out: Any) -> Any:
    """Return the dtype of the reduction, which also depends on the dtype of the output."""
    if not _core.is_native(out) or not _core.is_native(array):
        return NotImplemented
    wanted = numpy.result_type(out.dtype, array.dtype) if dtype is None else numpy.dtype(dtype)
    return wanted if wanted == out.dtype else NotImplemented


def _general(
    op: str, array: Any, axis: Any, dtype: Any, out: Any, keepdims: bool, initial: Any, where: Any
) -> Any:
    if not _core.is_native(array) or array.size == 0 or (array.ndim == 0 and axis is not None):
        return NotImplemented
    loop = _loop_dtype(op, array, dtype)
    if loop is None or (array.dtype.kind == "c" and op in _EXTREMES):
        return NotImplemented
    axes = range(array.ndim) if axis is None else normalize_axes(axis, array.ndim)
    start = _initial(op, loop, initial)
    if op == "sum" and where is not True and start is not None and loop.kind == "f" and array.dtype == loop:
        result = _masked_sum(array, axes, where, start, out, keepdims)
        if result is not None:
            return result
    if start is None or not _exact(op, array, axes, loop, where, start, out):
        return NotImplemented
    if where is not True:
        if op in _EXTREMES and start is NO_VALUE:
            return NotImplemented  # NumPy raises: it needs an initial value
        neutral = start if op in _EXTREMES else numpy.asarray(_NEUTRAL[op]).astype(loop)[()]
        array = _masked(array, where, neutral)
        if array is None:
            return NotImplemented
    if start is NO_VALUE:
        return _core.reduce(op, array, axis, keepdims, dtype, out)
    result = _core.reduce(op, array, axis, keepdims, dtype)
    if result is NotImplemented or (out is not None and out.shape != result.shape):
        return NotImplemented
    return _core.elementwise(_COMBINE[op], (start, result), out)


def _loop_dtype(op: str, array: Any, dtype: Any) -> numpy.dtype[Any] | None:
    """Return the dtype in which the reduction runs."""
    if op in ("any", "all"):
        return array.dtype if dtype is None or numpy.dtype(dtype) == numpy.bool_ else None
    if dtype is not None:
        wanted = numpy.dtype(dtype)
        return wanted if wanted.kind in "biufc" and (op in _COMBINE) else None
    if op not in ("sum", "prod") or array.dtype.kind in "fc":
        return array.dtype  # type: ignore[no-any-return]
    return numpy.dtype(numpy.uint64 if array.dtype.kind == "u" else numpy.int64)


def _initial(op: str, loop: numpy.dtype[Any], initial: Any) -> Any:
    """Return the initial value as a scalar of the loop dtype, or None if it may not fit."""
    if initial is NO_VALUE:
        return initial
    if op not in _COMBINE or loop.kind == "b":
        return None
    if type(initial) not in (bool, int, float) and not isinstance(initial, (numpy.number, numpy.bool_)):
        return None
    given = numpy.asarray(initial)
    if (type(initial) is int or isinstance(initial, numpy.integer)) and loop.kind in "iu":
        limits = numpy.iinfo(loop)
        return loop.type(initial) if limits.min <= int(initial) <= limits.max else None
    return loop.type(initial) if numpy.can_cast(given.dtype, loop, "same_kind") else None


def _exact(op: str, array: Any, axes: Any, loop: numpy.dtype[Any], where: Any, start: Any, out: Any) -> bool:
    """Return whether applying the mask and the initial value as recorded operations gives NumPy's bits.

    The order does not matter for integers and extremes. For the others, NumPy starts each result from the
    initial value. That is the same only if all elements are one run and nothing is rounded within it: half
    precision is rounded at the end of each run. Under a mask, NumPy sums each unmasked stretch of a run
    separately, and the strides of the mask influence the order of the loops.
    """
    if loop.kind not in "fc" or op in _EXTREMES:
        return True
    if start is not NO_VALUE:
        negative_zero = loop.kind != "c" and start == 0 and numpy.signbit(start)
        plain = (
            op == "sum" and where is True and loop.kind == "f" and loop.itemsize > 2 and array.dtype == loop
        )
        return plain and not negative_zero and _one_run(array, axes)
    if where is True:
        return True
    if not _walked_alike(array, operand(where), out, axes):
        return False
    if op == "prod" and loop.itemsize > 2:
        # one times a complex number can have other infinities and signs of zeros than the number
        return loop.kind == "f"
    strides = [(abs(array.strides[i]), -i, i) for i in range(array.ndim) if array.shape[i] != 1]
    return bool(strides) and min(strides)[2] not in axes and array.dtype == loop


def _walked_alike(array: Any, mask: Any, out: Any, axes: Any) -> bool:
    """Return whether mask and output have the memory order of the array.

    If operands disagree about which of two axes is the outer one, NumPy's iterator keeps them in C order.
    """
    long = [i for i in range(array.ndim) if array.shape[i] != 1]
    if mask is None or mask.ndim > array.ndim or any(array.strides[i] == 0 for i in long):
        return False
    missing = array.ndim - mask.ndim
    own = [0 if extent == 1 else stride for extent, stride in zip(mask.shape, mask.strides, strict=True)]
    operands = [[0] * missing + own]
    if out is not None:
        kept = iter(out.strides)
        full = out.ndim == array.ndim
        operands.append([0 if i in axes and not full else next(kept, 0) for i in range(array.ndim)])

    def order(strides: Any, i: int, j: int) -> int:
        outer, inner = abs(strides[i]), abs(strides[j])
        return int(outer > inner) - int(outer < inner)

    return all(
        order(strides, i, j) == order(array.strides, i, j)
        for strides in operands
        for i, j in itertools.combinations(long, 2)
        if strides[i] and strides[j]
    )


def _masked_sum(array: Any, axes: Any, where: Any, start: Any, out: Any, keepdims: bool) -> Any:
    """Sum the last axes of dense arrays under a dense mask, or return None."""
    mask = operand(where)
    kept = array.ndim - len(axes)
    if (
        mask is None
        or mask.dtype != numpy.bool_
        or mask.shape != array.shape
        or sorted(axes) != list(range(kept, array.ndim))
    ):
        return None
    if kept == 0 and array.flags.f_contiguous and mask.flags.f_contiguous:
        array, mask = array.T, mask.T
    rows = math.prod(array.shape[:kept])
    sums = _core.masked_sum(array, mask, rows, 0.0 if start is NO_VALUE else float(start))
    if sums is NotImplemented:
        return None
    sums = sums.reshape(array.shape[:kept] + ((1,) * len(axes) if keepdims else ()))
    if out is not None:
        if out.shape != sums.shape or out.dtype != sums.dtype:
            return None
        out[...] = sums
        return out
    return sums if sums.ndim else sums[()]


def _one_run(array: Any, axes: Any) -> bool:
    """Return whether the elements of each result are contiguous in memory."""
    steps = sorted((array.strides[i], i) for i in range(array.ndim) if array.shape[i] != 1)
    expected = array.itemsize
    for step, axis in steps[: sum(array.shape[axis] != 1 for axis in axes)]:
        if axis not in axes or step != expected:
            return False
        expected *= array.shape[axis]
    return True


def _masked(array: Any, where: Any, value: Any) -> Any:
    """Return a copy of the array with `value` where the mask is false, or None."""
    mask = operand(where)
    if mask is None or mask.dtype != numpy.bool_:
        return None
    try:
        if numpy.broadcast_shapes(mask.shape, array.shape) != array.shape:
            return None
    except ValueError:
        return None
    if value.dtype != array.dtype:
        array = array.astype(value.dtype)
    result = _core.elementwise("where", (mask, array, value))
    return None if result is NotImplemented or type(result) is not ndarray else result
