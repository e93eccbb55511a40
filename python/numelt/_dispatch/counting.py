"""`unique` and `sort` of integers in a narrow range, by counting instead of comparing.

In: NumPy's arrays of integers or truth values, and the arguments of `numpy.unique` and `numpy.sort`. Out:
NumPy's results in linear time, or `NotImplemented` if the range is too wide. Years, labels, categories and
codes are such integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

__all__ = ["sort", "sort_in_place", "unique"]

# size of the sample from which the range is estimated
_SAMPLE = 256
# NumPy's vectorized sort is as fast for up to this many elements of four or eight bytes
_FAST = 65536
# number of elements whose offsets are in memory at a time
_PIECE = 1 << 18


def _lowest(flat: Any) -> tuple[int, int] | None:
    """Return the least element and the width of the range, or None if the range is too wide."""
    most = flat.size // 2
    ends = [int(flat[place]) for place in (0, most, -1)]
    if max(ends) - min(ends) >= most:
        return None
    for part in (flat[:: flat.size // _SAMPLE], flat):
        low, high = int(part.min()), int(part.max())
        if high - low >= most:
            return None
    return low, high - low + 1


def _distances(flat: Any, low: int) -> Any:
    """Return the offsets of the elements from the least one."""
    if flat.dtype.kind == "b":
        flat = flat.view(numpy.uint8)
    if flat.dtype.itemsize == 8:
        return (flat - flat.dtype.type(low)).astype(numpy.intp, copy=False)
    return numpy.subtract(flat, low, dtype=numpy.intp)


def _pieces(flat: Any, low: int, span: int) -> Iterator[tuple[int, Any]]:
    """Yield the start and the offsets of each piece, the last piece first.

    A piece is small enough to stay in cache, and longer than the table of counts.
    """
    piece = max(_PIECE, 4 * span)
    for start in reversed(range(0, flat.size, piece)):
        yield start, _distances(flat[start : start + piece], low)


def _counted(flat: Any, low: int, span: int) -> Any:
    """Return how often each offset occurs."""
    counts = numpy.zeros(span, numpy.intp)
    for _, distances in _pieces(flat, low, span):
        counts += numpy.bincount(distances, minlength=span)
    return counts


def _values(distances: Any, low: int, dtype: Any) -> Any:
    """Return the elements with the given offsets."""
    return (distances + low).astype(dtype) if dtype.kind == "b" else distances.astype(dtype) + dtype.type(low)


def unique(
    ar: Any,
    return_index: Any = False,
    return_inverse: Any = False,
    return_counts: Any = False,
    axis: Any = None,
    *,
    equal_nan: Any = True,
    sorted: Any = True,
) -> Any:
    """Return what `numpy.unique` returns."""
    if ar.dtype.kind not in "iub" or axis is not None or not sorted or not ar.dtype.isnative:
        return NotImplemented
    flat = ar.ravel()
    found = _lowest(flat)
    if found is None:
        return NotImplemented
    low, span = found
    counts = _counted(flat, low, span)
    present = counts.nonzero()[0]
    results = [_values(present, low, ar.dtype)]
    if return_index:
        first = numpy.empty(span, numpy.intp)
        for start, distances in _pieces(flat, low, span):
            places = numpy.arange(start, start + distances.size)
            # Stored backwards, so that the first one of equal values is stored last and remains.
            first[distances[::-1]] = places[::-1]
        results.append(first[present])
    if return_inverse:
        place, inverse = numpy.empty(span, numpy.intp), numpy.empty(flat.size, numpy.intp)
        place[present] = numpy.arange(present.size)
        for start, distances in _pieces(flat, low, span):
            place.take(distances, out=inverse[start : start + distances.size], mode="clip")
        results.append(inverse.reshape(ar.shape))
    if return_counts:
        results.append(counts[present])
    return results[0] if len(results) == 1 else tuple(results)


def sort(array: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Return what `numpy.sort` returns for a vector. For integers, the result does not depend on `kind`."""
    vector = array.ndim == 1 and array.dtype.kind in "iub" and axis in (0, -1) and array.dtype.isnative
    known = order is None and kind in (None, "stable", "quicksort") and (kind is None or stable is None)
    if not vector or not known or (array.itemsize >= 4 and array.size < _FAST):
        return NotImplemented
    found = _lowest(array)
    if found is None:
        return NotImplemented
    low, span = found
    counts = _counted(array, low, span)
    return numpy.repeat(_values(numpy.arange(span), low, array.dtype), counts)


def sort_in_place(array: Any, *args: Any, **kwargs: Any) -> Any:
    """Sort in place, as `numpy.ndarray.sort` does."""
    made = sort(array, *args, **kwargs) if array.flags.writeable else NotImplemented
    if made is NotImplemented:
        return made
    array[...] = made
    return None
