"""Sorting, searching and counting; large arrays use all cores.

In: NumPy's arguments. Out: NumPy's result. If the result does not depend on the algorithm (sorted values, a
stable order, an order of distinct values, positions of queries, counts), threads work on parts of a large
array: NumPy's compiled code, which releases the interpreter's lock, or the core's. All other calls are
library calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from numelt import _core
from numelt._dispatch import library
from numelt._dispatch.composed import rebound, understood
from numelt._dispatch.native import (
    fall_back,
    native,
    ndarray,
    operand,
    recordable,
)
from numelt._dispatch.stacks import in_parts

__all__ = [
    "argsort", "bincount", "count_nonzero", "digitize", "histogram", "histogram2d", "histogramdd",
    "interp", "searchsorted", "sort",
]  # fmt: skip

# NumPy orders shorter vectors faster
_STABLE = 4096
# size of the sample that shows whether equal values are likely
_SAMPLE = 512
# with fewer threads, merging runs or adding up counts takes longer than it saves
_MANY = 4
# time of the work on an element, as a multiple of the time for copying it
_WEIGHT = 4
_SORTED = frozenset(map(numpy.dtype, ("i4", "u4", "i8", "u8", "f4", "f8")))


def _parts(value: Any) -> int:
    """Return how many threads share the work on an argument's elements: one if it is not a large array."""
    if type(value) is not ndarray or value.dtype.kind not in "iuf" or not _core.is_native(value):
        return 1
    whole = value.ndim == 1 or value.flags.c_contiguous
    return int(_core.threads_for(value.size * _WEIGHT)) if whole else 1


def _sorted(array: Any) -> bool:
    """Sort a dense numelt vector in place with all cores, or leave it as it was and return False."""
    parts = _parts(array)
    if parts < _MANY or array.ndim != 1 or array.dtype not in _SORTED or not array.flags.c_contiguous:
        return False
    before = array.copy() if array.dtype.kind == "f" else None
    view = _core.to_numpy(array)
    n = array.size
    part = -(-n // parts)
    in_parts(parts, parts, lambda k, _: view[k * part : (k + 1) * part].sort())
    if _core.merge_sorted(array, part) or before is None:
        return True
    # the order of zeros of both signs, and of NaN with different bits, depends on the algorithm
    array[...] = before
    return False


@native
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Return a sorted copy.

    Examples
    --------
    >>> import numelt as np
    >>> np.sort([3, 1, 2])
    array([1, 2, 3])
    """
    if type(a) is not ndarray or a.size < _STABLE:
        return _sort_call(a, axis, kind, order, stable=stable)
    if _parts(a) >= _MANY and a.ndim == 1 and axis in (-1, 0) and (kind, order, stable) == (None, None, None):
        copy = a.copy()
        if _sorted(copy):
            return copy
    return _sort_call(a, axis, kind, order, stable=stable)


def sort_in_place(
    self: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> None:
    """Sort the elements in place."""
    plain = self.ndim == 1 and self.size > _STABLE and axis in (-1, 0) and self.flags.writeable
    if plain and (kind, order, stable) == (None, None, None) and _sorted(self):
        return
    _sort_method(self, axis, kind, order, stable=stable)


def _order(array: Any, axis: Any, kind: Any, order: Any, stable: Any) -> Any:
    """Return the order of a dense vector if it is sure to be NumPy's, else None."""
    if type(array) is not ndarray or array.ndim != 1 or array.size < _STABLE or axis not in (-1, 0):
        return None
    if array.dtype not in _SORTED or order is not None or not _core.is_native(array):
        return None
    if not array.flags.c_contiguous:
        return None
    asked = (kind in ("stable", "mergesort") and stable is None) or (kind is None and stable is True)
    if not asked:
        if kind is not None or stable is not None or _parts(array) < 2:
            return None
        sample = numpy.sort(_core.to_numpy(array)[:: array.size // _SAMPLE])
        if (sample[1:] == sample[:-1]).any():
            return None  # the order of equal values depends on the algorithm
    result = _core.stable_order(array)
    if result is NotImplemented:
        return None
    return result[0] if asked or result[1] else None


@native
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Return the positions that sort an array.

    Examples
    --------
    >>> import numelt as np
    >>> np.argsort([3, 1, 2])
    array([1, 2, 0])
    """
    result = _order(a, axis, kind, order, stable)
    return _argsort_call(a, axis, kind, order, stable=stable) if result is None else result


def argsort_method(
    self: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    """Return the positions that sort the array."""
    result = _order(self, axis, kind, order, stable)
    return _argsort_method(self, axis, kind, order, stable=stable) if result is None else result


def _queried(v: Any, dtype: Any, search: Callable[[Any], Any]) -> Any:
    """Answer the queries of a large array in parts."""
    queries = _core.to_numpy(v).reshape(-1)
    answers = numpy.empty(queries.size, dtype)

    def work(start: int, stop: int) -> None:
        answers[start:stop] = search(queries[start:stop])

    in_parts(queries.size, _parts(v), work)
    return _core.from_numpy(answers, True).reshape(v.shape)


@native
def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    """Return where values would go into a sorted array to keep it sorted.

    Examples
    --------
    >>> import numelt as np
    >>> np.searchsorted([1, 3, 5], [2, 3])
    array([1, 1])
    """
    if _parts(v) > 1 and sorter is None and side in ("left", "right"):
        keys = recordable(a)
        if keys is not None and keys.ndim == 1 and keys.dtype.kind in "iuf":
            # one conversion instead of one for each part
            kind = numpy.result_type(keys.dtype, v.dtype)
            known = numpy.asarray(_core.to_numpy(keys), kind)
            return _queried(v, numpy.intp, lambda part: known.searchsorted(part, side))
    return _searchsorted_call(a, v, side, sorter)


@native
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Return the number of the bin that each value lies in.

    Examples
    --------
    >>> import numelt as np
    >>> np.digitize([0.5, 1.5], [0.0, 1.0, 2.0])
    array([1, 2])
    """
    if _parts(x) > 1 and understood(bins):
        return rebound(numpy.digitize)(x, numpy.asarray(bins), right)
    return _digitize_call(x, bins, right)


@native
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Return values between given points, on straight lines.

    Examples
    --------
    >>> import numelt as np
    >>> float(np.interp(0.5, [0.0, 1.0], [2.0, 4.0]))
    3.0
    """
    if _parts(x) > 1 and period is None:
        places, values = recordable(xp), recordable(fp)
        plain = all(end is None or type(end) in (int, float) for end in (left, right))
        if places is not None and values is not None and values.dtype.kind in "iuf" and plain:
            places, values = _core.to_numpy(places), _core.to_numpy(values)
            return _queried(x, numpy.float64, lambda part: numpy.interp(part, places, values, left, right))
    return _interp_call(x, xp, fp, left, right, period)


@native
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    """Count how often each non-negative integer occurs, or sum weights by integer.

    Examples
    --------
    >>> import numelt as np
    >>> np.bincount([0, 2, 2])
    array([1, 0, 2])
    """
    if type(x) is not ndarray or x.size < _STABLE:
        return _bincount_call(x, weights, minlength)
    parts = _parts(x)
    if parts >= _MANY and weights is None and x.ndim == 1 and x.dtype == numpy.int64:
        numbers = _core.to_numpy(x)
        if 0 <= int(numbers.max()) < x.size // 8 and numbers.min() >= 0:
            counts: list[Any] = []
            in_parts(
                x.size, parts, lambda a, b: counts.append(numpy.bincount(numbers[a:b], minlength=minlength))
            )
            total = numpy.zeros(max(map(len, counts)), numpy.intp)
            for count in counts:
                total[: len(count)] += count
            return _core.from_numpy(total, True)
    return _bincount_call(x, weights, minlength)


@native
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """Count the values in bins.

    Examples
    --------
    >>> import numelt as np
    >>> np.histogram([0.5, 1.5, 1.6], bins=[0, 1, 2])[0]
    array([1, 2])
    """
    if _parts(a) > 1 and type(bins) is int and bins > 0 and weights is None and understood(density):
        result = _counted(a, bins, range)
        if result is not None:
            counts, edges = result
            if density:
                counts = counts / numpy.array(numpy.diff(edges), float) / counts.sum()
            return _core.from_numpy(counts, True), _core.from_numpy(edges, True)
    return _histogram_call(a, bins, range, density, weights)


def _counted(a: Any, bins: int, limits: Any) -> tuple[Any, Any] | None:
    """Return counts and edges of bins of equal width, or None if NumPy may raise or warn about the limits."""
    numbers = _core.to_numpy(a).reshape(-1)
    if limits is None:
        limits = numbers.min(), numbers.max()
    elif not (
        type(limits) is tuple and len(limits) == 2 and all(type(end) in (int, float) for end in limits)
    ):
        return None
    if not (numpy.isfinite(limits[0]) and numpy.isfinite(limits[1]) and limits[0] <= limits[1]):
        return None
    found: list[Any] = []
    in_parts(numbers.size, _parts(a), lambda x, y: found.append(numpy.histogram(numbers[x:y], bins, limits)))
    counts, edges = found.pop()
    for more, _ in found:
        counts += more
    return counts, edges


def _columns(values: Any) -> bool:
    """Return whether these are large numelt vectors, whose search is shared among threads."""
    return all(type(value) is ndarray and value.ndim == 1 and _parts(value) > 1 for value in values)


@native
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """Count pairs of values in the cells of a grid.

    Examples
    --------
    >>> import numelt as np
    >>> np.histogram2d([0.5, 1.5], [0.5, 0.5], bins=[[0, 1, 2], [0, 1]])[0]
    array([[1.],
           [1.]])
    """
    one_each = type(bins) is int or (type(bins) in (list, tuple) and len(bins) == 2)
    if one_each and _columns((x, y)) and x.size == y.size and all(map(understood, (range, density, weights))):
        counts, edges = rebound(numpy.histogramdd)([x, y], bins, range, density, weights)
        return counts, edges[0], edges[1]
    return _histogram2d_call(x, y, bins, range, density, weights)


@native
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """Count points in the cells of a grid of any number of dimensions.

    Examples
    --------
    >>> import numelt as np
    >>> np.histogramdd(np.array([[0.5, 0.5], [1.5, 0.5]]), bins=[[0, 1, 2], [0, 1]])[0]
    array([[1.],
           [1.]])
    """
    points = type(sample) is ndarray and sample.ndim == 2 and _columns((sample[:, 0],))
    if points and all(map(understood, (bins, range, density, weights))):
        return rebound(numpy.histogramdd)(sample, bins, range, density, weights)
    return _histogramdd_call(sample, bins, range, density, weights)


_sort_call = library.handle("sort", numpy.sort)
_argsort_call = library.handle("argsort", numpy.argsort)
_searchsorted_call = library.handle("searchsorted", numpy.searchsorted)
_digitize_call = library.handle("digitize", numpy.digitize)
_interp_call = library.handle("interp", numpy.interp)
_bincount_call = library.handle("bincount", numpy.bincount)
_histogram2d_call = library.handle("histogram2d", numpy.histogram2d)
_histogramdd_call = library.handle("histogramdd", numpy.histogramdd)
_histogram_call = library.handle("histogram", numpy.histogram)
_sort_method = library.handle("ndarray.sort", numpy.ndarray.sort)
_argsort_method = library.handle("ndarray.argsort", numpy.ndarray.argsort)


@native
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Count the elements that are not zero.

    Examples
    --------
    >>> import numelt as np
    >>> int(np.count_nonzero([0, 3, 4]))
    2
    """
    if axis is None and not keepdims:
        count = _core.count_true(a)
        if count is not None:
            return numpy.intp(count)
    array = operand(a)
    if array is not None and array.dtype.kind in "biufc":
        truth = array if array.dtype.kind == "b" else operand(_core.elementwise("not_equal", (array, 0)))
        if truth is not None:
            result = _core.reduce("sum", truth, axis, bool(keepdims), numpy.intp)
            if result is not NotImplemented:
                return result
    return fall_back("count_nonzero", a, axis, keepdims=keepdims)
