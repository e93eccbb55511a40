"""Calls and methods of ufuncs that the compiled ufunc objects do not record themselves.

In: a ufunc of NumPy and the arguments of a call. Out: a composition of recorded operations if one gives
NumPy's bits, and NumPy's result otherwise.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy

from numelt import _core
from numelt._dispatch import fallback, library
from numelt._dispatch.mirror import ufunc_for
from numelt._dispatch.native import NO_VALUE, ndarray, normalize_axis, operand, recordable
from numelt._ufunc import reductions

__all__ = ["call", "method"]

# values of keyword arguments that have the same effect as omitting them
_DEFAULTS: dict[str, tuple[Any, ...]] = {
    "where": (True, NO_VALUE),
    "casting": ("same_kind",),
    "order": ("K",),
    "dtype": (None,),
    "subok": (True,),
    "signature": (None,),
    "sig": (None,),
    "out": (None, (None,)),
}

_REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
    "logical_xor": "reduce_xor",
    "fmax": "reduce_fmax",
    "fmin": "reduce_fmin",
    "bitwise_and": "reduce_and",
    "bitwise_or": "reduce_or",
    "bitwise_xor": "reduce_xor",
}
_SCANS = {
    "add": "cumsum",
    "multiply": "cumprod",
    "subtract": "cumsubtract",
    "divide": "cumdivide",
    "maximum": "cummax",
    "minimum": "cummin",
    "fmax": "cumfmax",
    "fmin": "cumfmin",
    "bitwise_and": "cumand",
    "bitwise_or": "cumor",
    "bitwise_xor": "cumxor",
    "logical_and": "cumand",
    "logical_or": "cumor",
    "logical_xor": "cumxor",
}
# reductions by these are library calls: each step is a loop of divisions, which fusion would not speed up
_IN_LIBRARY = frozenset({"gcd", "lcm"})
# these use only the truth value of each element
_LOGICAL = frozenset({"logical_and", "logical_or", "logical_xor"})

# a docstring of the class would hide that of each ufunc
type.__setattr__(_core.ufunc, "__doc__", property(lambda ufunc: ufunc.numpy.__doc__))


def _pair(first: str, second: str) -> Callable[..., Any]:
    """Return a function that records two operations on the same operands."""

    def both(*values: Any) -> Any:
        arrays = [operand(value) for value in values]
        if any(array is None for array in arrays) or all(array.ndim == 0 for array in arrays):
            return NotImplemented
        one = _core.elementwise_part(first, values)
        return one if one is NotImplemented else (one, _core.elementwise_part(second, values))

    return both


def _clip(x: Any, low: Any, high: Any) -> Any:
    if all(array is None or array.ndim == 0 for array in (operand(x), operand(low), operand(high))):
        return NotImplemented
    above = _core.elementwise("maximum", (x, low))
    return above if above is NotImplemented else _core.elementwise("minimum", (above, high))


def _product(name: str) -> Callable[..., Any]:
    """Return a function that records a product."""

    def of(x: Any, y: Any) -> Any:
        a, b = operand(x), operand(y)
        if a is None or b is None:
            return NotImplemented
        return _core.product(name, a, b)

    return of


# compositions that have the bits of NumPy's own loop
_COMPOSED: dict[str, Callable[..., Any]] = {
    "divmod": _pair("floor_divide", "remainder"),
    "modf": _pair("modf_fraction", "modf_integral"),
    "frexp": _pair("frexp_mantissa", "frexp_exponent"),
    "clip": _clip,
    **{name: _product(name) for name in ("matmul", "matvec", "vecmat", "vecdot")},
}


_KEYWORDS = frozenset(
    {"out", "where", "casting", "order", "dtype", "subok", "signature", "sig", "axes", "axis", "keepdims"}
)


def call(original: numpy.ufunc, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a ufunc whose call has not been recorded as one operation."""
    if not _KEYWORDS.issuperset(kwargs):
        return fallback.raising(original.__name__, original, args, kwargs)
    rest = {
        key: value for key, value in kwargs.items() if not any(value is d for d in _DEFAULTS.get(key, ()))
    }
    if "where" in rest and "out" in kwargs:
        rest["out"] = kwargs["out"]  # NumPy warns if `out` is missing
    if "signature" in rest or "sig" in rest:
        rest = _with_dtype(original, rest)
    asked = rest.get("dtype")
    if isinstance(asked, type) and issubclass(asked, numpy.dtype):
        rest["dtype"] = _instance(asked)
    if original.__name__ == "vecdot" and rest.get("axis") == -1:
        del rest["axis"]
    result: Any = NotImplemented
    if not rest:
        result = _plain(original, args, kwargs)
    elif original.__name__ == "matmul" and set(rest) == {"out"} and len(args) == 2:
        result = _matmul_into(args, rest["out"])
    elif original.nout > 1:
        result = _several(original, args, rest)
    elif rest != kwargs or rest.get("dtype") is not asked:
        return ufunc_for(original)(*args, **rest)
    if result is NotImplemented:
        inputs, outputs = args[: original.nin], args[original.nin :]
        if _numbers_only(inputs) and all(o is None for o in outputs) and "out" not in rest:
            # there is no array for NumPy, but perhaps a mask
            return fallback.uncounted(original, args, kwargs) if kwargs else original(*args)
        return fallback.call(original.__name__, original, args, kwargs)
    return result


def _numbers_only(args: tuple[Any, ...]) -> bool:
    return all(
        type(value) in (bool, int, float, complex) or isinstance(value, numpy.generic) for value in args
    )


def _instance(kind: Any) -> Any:
    """Return the dtype of a class of dtypes, or the class itself if it has several."""
    try:
        made = kind()
    except TypeError:
        return kind
    return made if made.kind in "biufc" else kind


def _with_dtype(original: numpy.ufunc, rest: dict[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments with ``dtype`` in place of a signature that repeats one dtype."""
    given = rest.get("signature", rest.get("sig"))
    if "dtype" in rest or original.nout != 1:
        return rest
    if isinstance(given, str):
        before, _, after = given.partition("->")
        given = (*before, *after) if len(before) == original.nin else ()
    if not isinstance(given, tuple) or len(given) != original.nargs:
        return rest
    kinds = given
    try:
        asked = {numpy.dtype(kind) for kind in kinds if kind is not None}
    except TypeError:
        return rest
    if len(asked) != 1 or kinds[-1] is None or original.types[0].endswith("?"):
        return rest
    others = {key: value for key, value in rest.items() if key not in ("signature", "sig")}
    return {**others, "dtype": asked.pop()}


def _plain(original: numpy.ufunc, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    composed = _COMPOSED.get(original.__name__)
    if composed is not None and len(args) == original.nin:
        return composed(*args)
    if kwargs and ufunc_for(original).op is not None:
        return ufunc_for(original)(*args)
    return NotImplemented


def _several(original: numpy.ufunc, args: tuple[Any, ...], rest: dict[str, Any]) -> Any:
    """Write several results into their outputs."""
    targets = rest.get("out")
    composed = _COMPOSED.get(original.__name__)
    if set(rest) != {"out"} or type(targets) is not tuple or len(targets) != original.nout:
        return NotImplemented
    if composed is None or len(args) != original.nin:
        return NotImplemented
    if not all(target is None or type(target) is ndarray for target in targets):
        return NotImplemented
    results = composed(*args)
    if results is NotImplemented or not all(
        target is None
        or (target.shape == value.shape and numpy.can_cast(value.dtype, target.dtype, "same_kind"))
        for target, value in zip(targets, results, strict=True)
    ):
        return NotImplemented
    for target, value in zip(targets, results, strict=True):
        if target is not None and _core.copy_into(target, value, "same_kind") is NotImplemented:
            return NotImplemented
    return tuple(value if target is None else target for target, value in zip(targets, results, strict=True))


def _matmul_into(args: tuple[Any, ...], out: Any) -> Any:
    target = out[0] if type(out) is tuple else out
    a, b = operand(args[0]), operand(args[1])
    if type(target) is not ndarray or a is None or b is None:
        return NotImplemented
    if target.dtype != numpy.result_type(a.dtype, b.dtype):
        return NotImplemented
    return _core.product("matmul", a, b, target)


def method(ufunc: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run ``ufunc.reduce``, ``accumulate``, ``outer``, ``reduceat`` or ``at``."""
    original = ufunc.numpy if type(ufunc) is _core.ufunc else ufunc
    handlers: dict[str, Callable[..., Any]] = {
        "reduce": _reduce,
        "accumulate": _accumulate,
        "outer": _outer,
        "at": _at,
        "reduceat": _reduceat,
    }
    handler = handlers.get(name)
    result: Any = NotImplemented
    if handler is not None:
        try:
            result = handler(original, *args, **kwargs)
        except TypeError:  # a signature that only NumPy knows, or arguments that it rejects
            result = NotImplemented
    if name == "at" and result is not NotImplemented:
        return None
    if result is NotImplemented:
        label, function = f"{original.__name__}.{name}", getattr(original, name)
        if original.__name__ in _IN_LIBRARY and args and recordable(args[0]) is not None:
            return library.call(label, function, *args, **kwargs)
        return fallback.call(label, function, args, kwargs)
    return result


def _reduce(
    original: numpy.ufunc,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NO_VALUE,
    where: Any = True,
) -> Any:
    op = _REDUCTIONS.get(original.__name__)
    plain = dtype is None and out is None and not keepdims and initial is NO_VALUE and where is True
    if plain and reductions.is_first(axis) and op in ("max", "min"):
        result = reductions.extreme_of(original.__name__, array)
        if result is not NotImplemented:
            return result
    source = operand(array)
    if op is None or source is None or (source.ndim == 0 and axis is not None):
        return NotImplemented
    if original.__name__ == "logical_xor":
        if dtype is not None and numpy.dtype(dtype) != numpy.bool_:
            return NotImplemented
        source, dtype = _truth(source), None
        if source is None:
            return NotImplemented
    return reductions.reduce(op, source, axis, dtype, out, bool(operator.index(keepdims)), initial, where)


def _truth(array: Any) -> Any:
    """Return an array as truth values, or None."""
    if array.dtype == numpy.bool_:
        return array
    result = _core.elementwise("not_equal", (array, 0)) if array.dtype.kind in "iufc" else NotImplemented
    return operand(result) if result is not NotImplemented else None


def _accumulate(original: numpy.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    op = _SCANS.get(original.__name__)
    target = out[0] if type(out) is tuple and len(out) == 1 else out
    source = operand(array)
    if op is None or source is None or source.ndim == 0 or type(axis) is bool:
        return NotImplemented
    if target is not None:
        if type(target) is not ndarray:
            return NotImplemented
        if dtype is None:
            dtype = reductions.dtype_with_out(source, dtype, target)
            if dtype is NotImplemented:
                return NotImplemented
    if original.__name__ in _LOGICAL:
        if dtype is not None and numpy.dtype(dtype) != numpy.bool_:
            return NotImplemented
        source, dtype = _truth(source), None
        if source is None:
            return NotImplemented
    return _core.scan(op, source, normalize_axis(axis, source.ndim), dtype, target)


# segments up to which each is recorded as a reduction of its own
_MANY_SEGMENTS = 64


def _reduceat(
    original: numpy.ufunc, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """Reduce a few segments, from each index to the next one; at least one element each."""
    import numelt

    op = _REDUCTIONS.get(original.__name__)
    source = operand(array)
    if op is None or original.__name__ == "logical_xor" or dtype is not None or out is not None:
        return NotImplemented
    if source is None or not _core.is_native(source) or source.ndim == 0:
        return NotImplemented
    # NumPy adds the first element of a segment before it rounds to half precision, and results have its order
    if source.dtype.char == "e" or not source.flags.c_contiguous:
        return NotImplemented
    axis = normalize_axis(axis, source.ndim)
    starts = operand(indices)
    if starts is None or starts.ndim != 1 or starts.dtype.kind not in "iu":
        return NotImplemented
    if not 0 < starts.size <= _MANY_SEGMENTS:
        return NotImplemented
    edges = starts.tolist()
    if min(edges) < 0 or max(edges) >= source.shape[axis]:
        return NotImplemented
    # NumPy sums pairwise along the axis in any layout, and starts from the first element
    rounded = op == "sum" and source.dtype.kind in "fc"
    if rounded and source.ndim > 1:
        lines = numelt.ascontiguousarray(numelt.moveaxis(source, axis, -1))
        sums = [_line_sums(lines, start, stop) for start, stop in _segments(edges, source.shape[axis])]
        return numelt.moveaxis(numelt.stack(sums, axis=-1), -1, axis).copy()
    lead = (slice(None),) * axis
    parts = []
    for start, stop in _segments(edges, source.shape[axis]):
        segment = source[(*lead, slice(start, stop))]
        if rounded and segment.size > 1:
            rest = _core.reduce(op, segment[1:], axis, True)
            parts.append(_core.elementwise("add", (segment[:1], rest)))
        else:
            parts.append(_core.reduce(op, segment, axis, True))
    if any(part is NotImplemented for part in parts):
        return NotImplemented
    return numelt.concatenate(parts, axis)


def _segments(edges: list[int], extent: int) -> list[tuple[int, int]]:
    """Return start and stop of each segment of `reduceat`; each has at least one element."""
    stops = [*edges[1:], extent]
    return [(start, max(stop, start + 1)) for start, stop in zip(edges, stops, strict=True)]


def _line_sums(lines: Any, start: int, stop: int) -> Any:
    """Return the sum of a segment of each line, starting from the first element of the segment."""
    first = lines[..., start]
    if stop - start == 1:
        return first
    return first + _core.reduce("sum", lines[..., start + 1 : stop], lines.ndim - 1, False)


# axes that an array may have
_MANY_AXES = 64


def _outer(original: numpy.ufunc, a: Any, b: Any, /, **kwargs: Any) -> Any:
    x, y = operand(a), operand(b)
    if (
        x is None
        or y is None
        or original.nin != 2
        or original.signature is not None
        or x.ndim + y.ndim > _MANY_AXES
    ):
        return NotImplemented
    return ufunc_for(original)(x[(...,) + (None,) * y.ndim] if y.ndim else x, y, **kwargs)


# operations that `at` records; subtracting has the same bits as adding the negative
_COMBINED = {
    "add": "add",
    "subtract": "add",
    "multiply": "multiply",
    "maximum": "maximum",
    "minimum": "minimum",
}


def _at(original: numpy.ufunc, a: Any, indices: Any, b: Any = NO_VALUE, /) -> Any:
    """Combine values with elements at positions; equal positions are combined one after the other."""
    op = _COMBINED.get(original.__name__)
    if op is None or type(a) is not ndarray or not _core.is_native(a) or a.ndim == 0 or b is NO_VALUE:
        return NotImplemented
    if original.__name__ == "subtract" and a.dtype.kind == "b":
        return NotImplemented
    place = _place(indices, a)
    if place is None:
        return NotImplemented
    view, positions, lead = place
    values = _values_for(a, b)
    if values is None:
        return NotImplemented
    if original.__name__ == "subtract":
        values = _core.elementwise("negative", (values,))
    # values have the shape of ``a[indices]``; the scatter takes the axes of the positions first
    rank = positions.ndim
    shape = view.shape[1 : 1 + lead] + positions.shape + view.shape[1 + lead :]
    try:
        if numpy.broadcast_shapes(values.shape, shape) != shape:
            return NotImplemented
    except ValueError:
        return NotImplemented
    spread = _core.broadcast_to(operand(values), shape)
    if lead:
        spread = spread.transpose(*range(lead, lead + rank), *range(lead), *range(lead + rank, spread.ndim))
    return _core.scatter(original.__name__, view, positions, spread)


def _place(indices: Any, a: Any) -> tuple[Any, Any, int] | None:
    """Return a view whose first axis joins the indexed axes, positions on it, and the number of axes before.

    None if the indices are not arrays or numbers, or if their axes are not neighbours or cannot be joined.
    """
    keys = list(indices) if type(indices) is tuple else [indices]
    lead = 0
    while keys and _is_whole(keys[0]):
        lead += 1
        del keys[0]
    while keys and (_is_whole(keys[-1]) or keys[-1] is Ellipsis):
        del keys[-1]
    count = len(keys)
    if not keys or lead + count > a.ndim:
        return None
    along = range(lead, lead + count)
    places = [_positions(key, a.shape[axis]) for key, axis in zip(keys, along, strict=True)]
    if any(place is None for place in places):
        return None
    view = a.transpose(*along, *range(lead), *range(lead + count, a.ndim)) if lead else a
    if count == 1:
        return view, places[0], lead
    shape, strides = view.shape, view.strides
    if any(strides[i] != strides[i + 1] * shape[i + 1] for i in range(count - 1)):
        return None
    flat = places[0]
    for place, extent in zip(places[1:], shape[1:count], strict=True):
        try:
            flat = operand(flat * extent + place)
        except ValueError:
            return None
    size = math.prod(shape[:count])
    return _core.as_strided(view, (size, *shape[count:]), strides[count - 1 :], 0), flat, lead


def _is_whole(key: Any) -> bool:
    return type(key) is slice and key == slice(None)


def _positions(indices: Any, extent: int) -> Any:
    """Return positions on the first axis as int64 without negative ones, or None."""
    positions = operand(indices)
    if positions is None or not _core.is_native(positions) or positions.dtype.kind not in "iu":
        return None
    if positions.size == 0:
        return None
    inside = _core.within(positions, extent)
    positions = positions if positions.dtype == numpy.int64 else positions.astype(numpy.int64)
    if inside:
        return positions
    lowest, highest = _core.reduce("min", positions), _core.reduce("max", positions)
    if int(lowest) < -extent or int(highest) >= extent:
        return None  # NumPy raises the IndexError
    if int(lowest) < 0:
        positions = operand(
            _core.elementwise(
                "where", (_core.elementwise("less", (positions, 0)), positions + extent, positions)
            )
        )
    return positions


def _values_for(a: Any, b: Any) -> Any:
    """Return the operand of `at` in the dtype of the array, or None if NumPy computes in another dtype."""
    # `at` treats a Python number as an array; for integers, only the lower bits matter
    if type(b) is int and a.dtype.kind in "iu" and a.dtype != numpy.uint64:
        limits = numpy.iinfo(a.dtype)
        if limits.min <= b <= limits.max:
            return _core.asarray(numpy.asarray(b, a.dtype))
    values = operand(numpy.asarray(b)) if type(b) in (int, float) else operand(b)
    if values is None or not _core.is_native(values) or numpy.result_type(a.dtype, values.dtype) != a.dtype:
        return None
    return values if values.dtype == a.dtype else values.astype(a.dtype)
