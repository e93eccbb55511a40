"""Stacking, splitting, repeating and padding of arrays.

Results are made empty and filled by recorded copies, which fuse with the operations that compute the pieces.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy

from numelt import _core
from numelt._dispatch import library, table
from numelt._dispatch.composed import rebound, understood
from numelt._dispatch.native import (  # fmt: skip
    COMPILED,
    fall_back,
    native,
    ndarray,
    normalize_axis,
    operand,
    recordable,
)
from numelt._dispatch.routine import routine

__all__ = [
    "array_split", "dsplit", "dstack", "hsplit", "hstack",
    "pad", "repeat", "split", "tile", "unstack", "vsplit", "vstack",
]  # fmt: skip


_WEAK = (int, float, complex)
# Up to this many repetitions, one pass over the elements stores each several times, because the rows would
# not fill registers.
_FEW_REPEATS = 5
_LITTLE = 4096

_concatenate = COMPILED["concatenate"]
_stack = COMPILED["stack"]


def _operands(arrays: Any) -> list[Any] | None:
    """Return native arrays for a sequence of them, None where one is not numeric."""
    if type(arrays) is ndarray:
        arrays = list(arrays) if arrays.ndim else None
    if not isinstance(arrays, (list, tuple)) or not arrays:
        return None
    result = [recordable(array) for array in arrays]
    return None if any(array is None for array in result) else result


def _quick_rank(arrays: Any, dtype: Any, casting: Any) -> int:
    """Return the common rank of the pieces, or -1 if ranks differ.

    It is 0 if the pieces are not our arrays, if one is 0-d, or if other arguments are given.
    """
    if dtype is not None or casting != "same_kind" or type(arrays) not in (list, tuple) or not arrays:
        return 0
    if any(type(array) is not ndarray for array in arrays):
        return 0
    ranks = {array.ndim for array in arrays}
    return ranks.pop() if len(ranks) == 1 else -1 if 0 not in ranks else 0


def _stacked(name: str, arrays: Any, rank: int, axis: int, dtype: Any, casting: str) -> Any:
    pieces = _operands(arrays)
    if pieces is None:
        return fall_back(name, arrays, dtype=dtype, casting=casting)
    pieces = [COMPILED[f"atleast_{rank}d"](array) for array in pieces]
    # hstack joins vectors end to end and everything else along the second axis
    along = 0 if name == "hstack" and pieces[0].ndim == 1 else axis
    return _concatenate(pieces, along, dtype=dtype, casting=casting)


@native
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Stack arrays as rows.

    Examples
    --------
    >>> import numelt as np
    >>> np.vstack([[1, 2], [3, 4]])
    array([[1, 2],
           [3, 4]])
    """
    rank = _quick_rank(tup, dtype, casting)
    if rank >= 2 or (rank == 1 and len({array.shape for array in tup}) == 1):
        return _concatenate(tup) if rank >= 2 else _stack(tup)
    if rank < 0:
        return _concatenate([array[None] if array.ndim == 1 else array for array in tup])
    return _stacked("vstack", tup, 2, 0, dtype, casting)


@native
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Stack arrays side by side.

    Examples
    --------
    >>> import numelt as np
    >>> np.hstack([[1, 2], [3, 4]])
    array([1, 2, 3, 4])
    """
    rank = _quick_rank(tup, dtype, casting)
    if rank > 0:
        return _concatenate(tup, 0 if rank == 1 else 1)
    return _stacked("hstack", tup, 1, 1, dtype, casting)


@native
def dstack(tup: Any) -> Any:
    """Stack arrays along the third axis.

    Examples
    --------
    >>> import numelt as np
    >>> np.dstack([[1, 2], [3, 4]]).shape
    (1, 2, 2)
    """
    pieces = _operands(tup)
    if pieces is None:
        return fall_back("dstack", tup)
    return _concatenate([COMPILED["atleast_3d"](array) for array in pieces], 2)


def _edges(sections: Any, total: int) -> list[int] | None:
    """Return the cut positions for equal or given sections, None where NumPy has to word an error."""
    if type(sections) is int:
        if sections <= 0:
            return None
        each, extra = divmod(total, sections)
        sizes = [each + 1] * extra + [each] * (sections - extra)
        edges = [0]
        for size in sizes:
            edges.append(edges[-1] + size)
        return edges
    if isinstance(sections, (list, tuple)) and all(type(edge) is int for edge in sections):
        return [0, *sections, total]
    return None


def _split(name: str, ary: Any, sections: Any, axis: Any, even: bool, original: tuple[Any, ...]) -> Any:
    array = operand(ary)
    if array is None or type(axis) is not int or not -array.ndim <= axis < array.ndim:
        return fall_back(name, *original)
    axis %= array.ndim
    total = array.shape[axis]
    if even and type(sections) is int and (sections <= 0 or total % sections):
        return fall_back(name, *original)
    edges = _edges(sections, total)
    if edges is None:
        return fall_back(name, *original)
    lead = (slice(None),) * axis
    return [array[(*lead, slice(a, b))] for a, b in itertools.pairwise(edges)]


@native
def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    """Split an array into views that need not be equally long.

    Examples
    --------
    >>> import numelt as np
    >>> np.array_split(np.arange(3), 2)
    [array([0, 1]), array([2])]
    """
    return _split("array_split", ary, indices_or_sections, axis, False, (ary, indices_or_sections, axis))


@native
def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    """Split an array into views of equal length, or at given positions.

    Examples
    --------
    >>> import numelt as np
    >>> np.split(np.arange(4), 2)
    [array([0, 1]), array([2, 3])]
    """
    return _split("split", ary, indices_or_sections, axis, True, (ary, indices_or_sections, axis))


def _split_along(name: str, ary: Any, sections: Any, axis: int, least: int) -> Any:
    array = operand(ary)
    if array is None or array.ndim < least:
        return fall_back(name, ary, sections)
    return _split(name, array, sections, axis, True, (ary, sections))


@native
def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Split by columns.

    Examples
    --------
    >>> import numelt as np
    >>> [part.shape for part in np.hsplit(np.ones((2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
    axis = 1 if getattr(ary, "ndim", 0) > 1 else 0
    return _split_along("hsplit", ary, indices_or_sections, axis, 1)


@native
def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Split by rows.

    Examples
    --------
    >>> import numelt as np
    >>> [part.shape for part in np.vsplit(np.ones((4, 2)), 2)]
    [(2, 2), (2, 2)]
    """
    return _split_along("vsplit", ary, indices_or_sections, 0, 2)


@native
def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Split along the third axis.

    Examples
    --------
    >>> import numelt as np
    >>> [part.shape for part in np.dsplit(np.ones((1, 2, 4)), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """
    return _split_along("dsplit", ary, indices_or_sections, 2, 3)


@native
def unstack(x: Any, /, *, axis: int = 0) -> Any:
    """Return the subarrays along an axis as a tuple of views.

    Examples
    --------
    >>> import numelt as np
    >>> np.unstack(np.eye(2))
    (array([1., 0.]), array([0., 1.]))
    """
    array = operand(x) if hasattr(x, "ndim") else None
    if array is None or array.ndim == 0 or type(axis) is not int:
        return fall_back("unstack", x, axis=axis)
    axis = normalize_axis(axis, array.ndim)
    if array.ndim == 1:
        return tuple(array)
    return tuple(array[(slice(None),) * axis + (i, ...)] for i in range(array.shape[axis]))


@native
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """Repeat each element.

    Examples
    --------
    >>> import numelt as np
    >>> np.repeat([1, 2], 2)
    array([1, 1, 2, 2])
    """
    array = recordable(a) if type(axis) is not bool else None
    if array is not None and (axis is None or array.ndim == 0):
        array, axis = array.ravel(), 0 if axis is None else axis
    if array is not None and type(repeats) is int and repeats >= 0:
        axis = normalize_axis(axis, array.ndim)
        extents = array.shape
        result = _core.empty(
            (*extents[:axis], extents[axis] * repeats, *extents[axis + 1 :]), array.dtype, "C"
        )
        if result is not NotImplemented:
            parts = result.reshape((*extents[: axis + 1], repeats, *extents[axis + 1 :]))
            if axis + 1 == array.ndim and repeats <= _FEW_REPEATS and array.size > _LITTLE:
                for k in range(repeats):
                    _core.copy_into(parts[..., k], array, "no")
            else:
                _core.copy_into(parts, array[(slice(None),) * (axis + 1) + (None,)], "no")
            return result
    if array is None or recordable(repeats) is None:
        return fall_back("repeat", a, repeats, axis)
    return library.call("repeat", numpy.repeat, array, repeats, axis)


@native
def tile(A: Any, reps: Any) -> Any:
    """Repeat an array as a whole along its axes.

    Examples
    --------
    >>> import numelt as np
    >>> np.tile([1, 2], 2)
    array([1, 2, 1, 2])
    """
    array = recordable(A)
    counts = (reps,) if type(reps) is int else tuple(reps) if isinstance(reps, (tuple, list)) else None
    if array is None or counts is None or not all(type(n) is int and n >= 0 for n in counts):
        if array is None or not understood(reps):
            return fall_back("tile", A, reps)
        return rebound(numpy.tile)(array, reps)
    if array.ndim and all(n == 1 for n in counts):
        return rebound(numpy.tile)(array, reps)  # a copy in the array's own order
    rank = max(array.ndim, len(counts))
    counts = (1,) * (rank - len(counts)) + counts
    extents = (1,) * (rank - array.ndim) + array.shape
    result: Any = NotImplemented
    if extents:
        result = _core.empty(tuple(n * m for n, m in zip(counts, extents, strict=True)), array.dtype, "C")
    if result is NotImplemented:
        return rebound(numpy.tile)(array, reps)
    interleaved = tuple(x for pair in zip(counts, extents, strict=True) for x in pair)
    source = array.reshape(tuple(x for extent in extents for x in (1, extent)))
    _core.copy_into(result.reshape(interleaved), source, "no")
    return result.view()  # in the order of NumPy's


def _pad_pairs(pad_width: Any, rank: int) -> list[tuple[int, int]] | None:
    """Return (before, after) per axis for the plain forms of `pad_width`."""
    if type(pad_width) is int:
        pairs = [(pad_width, pad_width)] * rank
    elif (
        isinstance(pad_width, (tuple, list))
        and len(pad_width) == 2
        and all(type(n) is int for n in pad_width)
    ):
        pairs = [(pad_width[0], pad_width[1])] * rank
    elif isinstance(pad_width, (tuple, list)) and len(pad_width) == rank:
        if not all(
            isinstance(p, (tuple, list)) and len(p) == 2 and type(p[0]) is type(p[1]) is int
            for p in pad_width
        ):
            return None
        pairs = [(p[0], p[1]) for p in pad_width]
    else:
        return None
    return pairs if all(n >= 0 for pair in pairs for n in pair) else None


def _fits(value: Any, dtype: numpy.dtype[Any]) -> bool:
    """Is a value a Python number whose conversion to a dtype does not depend on the way of storing it?"""
    if type(value) not in (int, float) or abs(value) > _SURE:
        return False
    if dtype.kind in "iu":
        limits = numpy.iinfo(dtype)
        return type(value) is int and limits.min <= value <= limits.max
    return dtype.kind in "fc" or value in (0, 1)


_SURE = 1 << 15


@native
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """Extend an array at its edges.

    The steps are recorded: every border is an assignment to a slice.

    Examples
    --------
    >>> import numelt as np
    >>> np.pad([1, 2], 1)
    array([0, 1, 2, 0])
    """
    source = recordable(array)
    value = kwargs.get("constant_values", 0)
    if (
        mode == "constant"
        and source is not None
        and set(kwargs) <= {"constant_values"}
        and _fits(value, source.dtype)
    ):
        pairs = _pad_pairs(pad_width, source.ndim)
        if pairs is not None and source.ndim:
            extents = tuple(
                n + before + after for n, (before, after) in zip(source.shape, pairs, strict=True)
            )
            fortran = source.flags.f_contiguous and not source.flags.c_contiguous
            result = COMPILED["full"](extents, value, source.dtype, "F" if fortran else "C")
            inside = tuple(
                slice(before, before + n) for n, (before, _) in zip(source.shape, pairs, strict=True)
            )
            result[inside] = source
            return result
    return _pad_by_steps(array, pad_width, mode, **kwargs)


def _padded(array: Any, pad_width: Any, mode: Any, **kwargs: Any) -> Any:
    source = recordable(array)
    plain = type(pad_width) is dict or understood(pad_width)
    if source is not None and plain and (callable(mode) or all(map(understood, kwargs.values()))):
        return rebound(numpy.pad)(source, pad_width, mode, **kwargs)
    return fall_back("pad", array, pad_width, mode, **kwargs)


_pad_by_steps = routine("pad", numpy.pad, _padded, table.FEW)
