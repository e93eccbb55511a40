"""Elements by position or condition: reading (`compress`, `choose`) and writing them (`put`, `place`)."""

from __future__ import annotations

from typing import Any

import numpy

from numelt import _core
from numelt._dispatch import fallback
from numelt._dispatch.composed import composed, understood
from numelt._dispatch.native import (
    COMPILED,
    fall_back,
    native,
    ndarray,
    recordable,
    reject,
)

__all__ = [
    "argwhere", "choose", "compress", "extract", "place", "put", "put_along_axis", "putmask", "select",
    "take_along_axis",
]  # fmt: skip

_MODES = ("raise", "wrap", "clip")
# with more choices, a gather is faster than comparisons
_MOST_CHOICES = 32


def _index(value: Any) -> Any:
    """Return `value` as an array of integers, or None."""
    array = recordable(value)
    if array is None:
        return None
    if array.dtype.kind in "iub":
        return array
    if array.size == 0 and isinstance(value, (list, tuple)):
        return array.astype(numpy.intp)
    return None


@native
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """Take the slices along an axis where a condition holds.

    Examples
    --------
    >>> import numelt as np
    >>> np.compress([False, True, True], np.arange(6).reshape(3, 2), axis=0)
    array([[2, 3],
           [4, 5]])
    """
    truth = recordable(condition)
    if truth is None or truth.ndim != 1 or recordable(a) is None or not understood(out):
        return fall_back("compress", condition, a, axis, out)
    return COMPILED["take"](a, COMPILED["nonzero"](truth)[0], axis, out)


@native
def argwhere(a: Any) -> Any:
    """Return the indices of the elements that are not zero, one row per element.

    Examples
    --------
    >>> import numelt as np
    >>> np.argwhere([[3, 0], [0, 4]])
    array([[0, 0],
           [1, 1]])
    """
    array = recordable(a)
    if array is None or array.ndim == 0:
        return fall_back("argwhere", a)
    columns = COMPILED["nonzero"](array)
    result = _core.empty((array.ndim, columns[0].shape[0]), numpy.intp, "C")
    for axis, column in enumerate(columns):
        result[axis] = column
    return result.T


@composed
def extract(condition: Any, arr: Any) -> Any:
    """Return the elements where a condition holds.

    Examples
    --------
    >>> import numelt as np
    >>> np.extract([True, False, True], [1, 2, 3])
    array([1, 3])
    """


@composed
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """Take one element per position along an axis, as `argsort` and `argmax` give positions.

    Examples
    --------
    >>> import numelt as np
    >>> np.take_along_axis(np.array([[9, 4], [1, 7]]), np.array([[1], [0]]), axis=1)
    array([[4],
           [1]])
    """


@composed
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> Any:
    """Write one element per position along an axis.

    Examples
    --------
    >>> import numelt as np
    >>> a = np.array([[9, 4], [1, 7]])
    >>> np.put_along_axis(a, np.array([[1], [0]]), 0, axis=1)
    >>> a
    array([[9, 0],
           [0, 7]])
    """


@composed
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """Choose from several arrays by the first condition that holds.

    Examples
    --------
    >>> import numelt as np
    >>> x = np.arange(5)
    >>> np.select([x < 2, x > 3], [x, x**2], 42)
    array([ 0,  1, 42, 42, 16])
    """


def _within(index: Any, n: int, mode: str) -> Any:
    """Return indices brought into ``0..n`` as `mode` says; None if one is outside and that is an error."""
    if mode == "wrap":
        return index % n
    if mode == "clip":
        return _core.elementwise("minimum", (_core.elementwise("maximum", (index, 0)), n - 1))
    return index if _core.within(index, n) else None


@native
def choose(a: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    """Build an array by choosing, for each element, from one of several arrays.

    Examples
    --------
    >>> import numelt as np
    >>> np.choose([1, 0, 1], [[1, 2, 3], [10, 20, 30]])
    array([10,  2, 30])
    """
    index = recordable(a)
    arrays, dtype = _choices(choices)
    wrong = index is None or index.dtype.kind not in "iu" or not numpy.can_cast(index.dtype, numpy.intp)
    if wrong or arrays is None or mode not in _MODES:
        return fall_back("choose", a, choices, out, mode)
    index = _within(index.astype(numpy.intp), len(arrays), mode)
    if index is None:
        return reject("choose", a, choices, out, mode)
    try:
        shape = numpy.broadcast_shapes(index.shape, *[array.shape for array in arrays])
    except ValueError:
        return reject("choose", a, choices, out, mode)
    result = _core.broadcast_to(arrays[-1].astype(dtype), shape)
    for k in range(len(arrays) - 2, -1, -1):
        chosen = _core.elementwise("equal", (index, k))
        result = _core.elementwise("where", (chosen, arrays[k].astype(dtype), result))
    if len(arrays) == 1:
        result = result.copy()
    if out is None:
        return _core.asarray(result)[()] if not shape else result
    if type(out) is not ndarray or out.shape != shape or out.dtype != dtype:
        return fall_back("choose", a, choices, out, mode)
    out[...] = result
    return out


def _choices(choices: Any) -> Any:
    """Return the choices as a list of arrays, and their common dtype; or None twice.

    Python's numbers adapt to the dtype of the others, and must fit.
    """
    if type(choices) is ndarray and choices.ndim and len(choices) <= _MOST_CHOICES:
        choices = list(choices)
    if type(choices) not in (list, tuple) or not 0 < len(choices) <= _MOST_CHOICES:
        return None, None
    arrays = [recordable(choice) for choice in choices]
    if any(array is None for array in arrays):
        return None, None
    weak = [type(choice) in (int, float, complex) for choice in choices]
    if not any(weak):
        return arrays, numpy.result_type(*[array.dtype for array in arrays])
    known = [choice if w else a.dtype for choice, a, w in zip(choices, arrays, weak, strict=True)]
    try:
        dtype = numpy.result_type(*known)
        for k, choice in enumerate(choices):
            if weak[k]:
                arrays[k] = _core.asarray(numpy.asarray(choice, dtype))
    except (OverflowError, ValueError, TypeError):
        return None, None
    return arrays, dtype


def choose_method(self: Any, *choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    """Build an array by choosing from several arrays, given as one sequence or one by one."""
    if not choices or self.dtype.kind not in "biu":  # NumPy raises the error
        args = (self, *choices)
        return fallback.raising(
            "ndarray.choose", numpy.ndarray.choose, args, {"out": out, "mode": mode} if choices else {}
        )
    return choose(self, choices[0] if len(choices) == 1 else choices, out, mode)


def _values(v: Any, dtype: Any, casting: Any) -> Any:
    """Return `v` flattened and cast to a dtype; None if NumPy refuses the cast, or warns."""
    if type(v) in (bool, int, float, complex, list, tuple):
        # element by element, with NumPy's own exceptions
        given = fallback.at_user_line(numpy.asarray, (fallback.unwrap(v), dtype), {})
        return _core.asarray(given).reshape(-1)
    array = recordable(v)
    if array is None or (array.dtype.kind == "c" and dtype.kind != "c"):
        return None
    return array.reshape(-1).astype(dtype) if numpy.can_cast(array.dtype, dtype, casting) else None


def _repeated(values: Any, n: int) -> Any:
    """Return the first `n` of the values repeated for ever."""
    if values.shape[0] >= n:
        return values[:n]
    if values.shape[0] == 1:
        return _core.broadcast_to(values, (n,))
    return values[_core.arange(0, 1, n, numpy.dtype(numpy.intp)) % values.shape[0]]


@native
def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> Any:
    """Write values to positions of the flattened array.

    Examples
    --------
    >>> import numelt as np
    >>> a = np.arange(5)
    >>> np.put(a, [0, 2], [-44, -55])
    >>> a
    array([-44,   1, -55,   3,   4])
    """
    index = _index(ind)
    values = _values(v, a.dtype, "unsafe") if _core.is_recordable_target(a) else None
    if index is not None and not numpy.can_cast(index.dtype, numpy.intp):
        index = None  # positions of type uint64, which NumPy refuses
    if index is None or values is None or mode not in _MODES or (a.size == 0 and index.size):
        return reject("put", a, ind, v, mode)
    if index.size == 0 or values.size == 0:
        return None
    index = index.reshape(-1).astype(numpy.intp)
    if mode != "raise":
        index = _within(index, a.size, mode)
    flat = a.reshape(-1)
    try:
        flat[index] = _repeated(values, index.shape[0])
    except IndexError:  # NumPy writes the elements before the position that is out of bounds
        reject("put", a, ind, v, mode)
        return None
    if not _is_view(a):
        a[...] = flat.reshape(a.shape)
    return None


def _is_view(a: Any) -> bool:
    """Return whether the flattened array is a view."""
    return bool(a.flags.c_contiguous)


@native
def place(arr: Any, mask: Any, vals: Any) -> None:
    """Write values, one after the other, where a mask is true.

    Examples
    --------
    >>> import numelt as np
    >>> a = np.arange(6)
    >>> np.place(a, a > 2, [44, 55])
    >>> a
    array([ 0,  1,  2, 44, 55, 44])
    """
    truth = recordable(mask)
    values = _values(vals, arr.dtype, "safe") if _core.is_recordable_target(arr) else None
    if truth is None or values is None or truth.size != arr.size or values.size == 0:
        return reject("place", arr, mask, vals)  # type: ignore[no-any-return]
    index = COMPILED["flatnonzero"](truth)
    put(arr, index, _repeated(values, index.shape[0]))
    return None


@native
def putmask(a: Any, /, mask: Any, values: Any) -> None:
    """Write values where a mask is true, each from its own position among the values.

    Examples
    --------
    >>> import numelt as np
    >>> a = np.arange(4)
    >>> np.putmask(a, a > 1, [9, 8, 7, 6])
    >>> a
    array([0, 1, 7, 6])
    """
    truth = recordable(mask)
    given = _values(values, a.dtype, "safe") if _core.is_recordable_target(a) else None
    if truth is None or given is None or truth.size != a.size or given.size == 0:
        return reject("putmask", a, mask, values)  # type: ignore[no-any-return]
    whole = given[0] if given.shape[0] == 1 else _repeated(given, a.size).reshape(a.shape)
    cell = _core.elementwise("where", (truth.reshape(a.shape).astype(bool), whole, a))
    a[...] = cell
    return None


def put_method(self: Any, indices: Any, values: Any, mode: Any = "raise") -> None:
    """Write values to positions of the flattened array."""
    put(self, indices, values, mode)


def compress_method(self: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    """Take the slices along an axis where a condition holds."""
    return compress(condition, self, axis, out)
