"""The ufunc objects: which are native, how the others are composed, and their methods.

In: calls that the compiled `ufunc` objects did not record themselves. Out: recorded operations where
an equal composition exists, NumPy's result otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from numelt import _core, _fallback, _reductions
from numelt._dispatch import NO_VALUE, ndarray, normalize_axis, operand

__all__ = ["call", "method", "ufunc_for"]

# NumPy's ufuncs whose operation has another name in the op table; the others have their own name
_OP_NAMES = {"matmul": None, "divmod": None}

# keyword arguments that say nothing: the recorded operation does just that
_DEFAULTS: dict[str, tuple[Any, ...]] = {
    "where": (True,),
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
}
_SCANS = {"add": "cumsum", "multiply": "cumprod"}

_by_numpy: dict[numpy.ufunc, Any] = {}


def ufunc_for(original: numpy.ufunc) -> Any:
    """Return our ufunc object for one of NumPy's, always the same one."""
    ours = _by_numpy.get(original)
    if ours is None:
        name = original.__name__
        op = _OP_NAMES.get(name, name)
        try:
            ours = _core.ufunc(original, op)
        except (ValueError, TypeError):  # not in the op table
            ours = _core.ufunc(original, None)
        _by_numpy[original] = ours
    return ours


def _number(array: Any, kinds: str) -> bool:
    return array is not None and array.dtype.kind in kinds and array.dtype.itemsize >= 4


def _absolute(x: Any) -> Any:
    array = operand(x)
    return _core.elementwise("absolute", (array,)) if _number(array, "f") and array.ndim else NotImplemented


def _scaled(x: Any, factor: Callable[[], float]) -> Any:
    # for float64 only: NumPy's float32 loop rounds the factor first
    array = operand(x)
    if array is None or array.dtype != numpy.float64 or array.ndim == 0:
        return NotImplemented
    return _core.elementwise("multiply", (array, factor()))


def _radians(x: Any) -> Any:
    return _scaled(x, lambda: math.pi / 180.0)


def _degrees(x: Any) -> Any:
    return _scaled(x, lambda: 180.0 / math.pi)


def _float_power(x: Any, y: Any) -> Any:
    a, b = operand(x), operand(y)
    if not (_number(a, "f") or _number(b, "f")) or a.dtype.kind not in "iuf" or b.dtype.kind not in "iuf":
        return NotImplemented
    if a.ndim + b.ndim == 0:
        return NotImplemented
    return _core.elementwise("power", (a.astype(numpy.float64), b.astype(numpy.float64)))


def _divmod(x: Any, y: Any) -> Any:
    a, b = operand(x), operand(y)
    if a is None or b is None or a.ndim + b.ndim == 0:
        return NotImplemented
    quotient = _core.elementwise("floor_divide", (x, y))
    if quotient is NotImplemented:
        return quotient
    return quotient, _core.elementwise("remainder", (x, y))


def _matmul(x: Any, y: Any) -> Any:
    a, b = operand(x), operand(y)
    if a is None or b is None:
        return NotImplemented
    return _core.matmul(a, b)


# compositions with the same bits as NumPy's own loop, for plain operands
_COMPOSED: dict[str, Callable[..., Any]] = {
    "fabs": _absolute,
    "deg2rad": _radians,
    "radians": _radians,
    "rad2deg": _degrees,
    "degrees": _degrees,
    "float_power": _float_power,
    "divmod": _divmod,
    "matmul": _matmul,
}


def call(original: numpy.ufunc, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a ufunc that was not recorded as it stood."""
    rest = {
        key: value for key, value in kwargs.items() if not any(value is d for d in _DEFAULTS.get(key, ()))
    }
    result: Any = NotImplemented
    if not rest:
        result = _plain(original, args, len(rest) < len(kwargs))
    elif original.__name__ == "matmul" and set(rest) == {"out"} and len(args) == 2:
        result = _matmul_into(args, rest["out"])
    elif set(rest) <= {"dtype", "out"} and len(args) == original.nin and original.nout == 1:
        result = _typed(original, args, rest)
    if result is NotImplemented:
        return _fallback.call(original.__name__, original, args, kwargs)
    return result


def _plain(original: numpy.ufunc, args: tuple[Any, ...], retry: bool) -> Any:
    composed = _COMPOSED.get(original.__name__)
    if composed is not None and len(args) == original.nin:
        return composed(*args)
    if retry and ufunc_for(original).op is not None:
        return ufunc_for(original)(*args)
    return NotImplemented


def _matmul_into(args: tuple[Any, ...], out: Any) -> Any:
    target = out[0] if type(out) is tuple else out
    a, b = operand(args[0]), operand(args[1])
    if type(target) is not ndarray or a is None or b is None:
        return NotImplemented
    if target.dtype != numpy.result_type(a.dtype, b.dtype):
        return NotImplemented
    return _core.matmul(a, b, target)


def _typed(original: numpy.ufunc, args: tuple[Any, ...], rest: dict[str, Any]) -> Any:
    """Record with a given loop dtype, where operands convert to it safely."""
    op = ufunc_for(original).op
    out = rest.get("out")
    target = out[0] if type(out) is tuple and len(out) == 1 else out
    if op is None or (target is not None and type(target) is not ndarray):
        return NotImplemented
    dtype = rest.get("dtype")
    if dtype is None:
        return NotImplemented
    kind = numpy.dtype(dtype)
    if kind.kind not in "fc" or original.__name__ in _PREDICATES:
        return NotImplemented
    arrays = [operand(value) for value in args]
    if any(a is None or not numpy.can_cast(a.dtype, kind, "same_kind") for a in arrays):
        return NotImplemented
    return _core.elementwise(op, tuple(arrays), target, kind)


_PREDICATES = frozenset(
    {
        "equal",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "isnan",
        "isinf",
        "isfinite",
        "signbit",
    }
    | {"logical_and", "logical_or", "logical_xor", "logical_not", "absolute"}
)


def method(ufunc: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run ``ufunc.reduce``, ``accumulate``, ``outer``, ``reduceat`` or ``at``."""
    original = ufunc.numpy if type(ufunc) is _core.ufunc else ufunc
    handlers: dict[str, Callable[..., Any]] = {"reduce": _reduce, "accumulate": _accumulate, "outer": _outer}
    handler = handlers.get(name)
    result: Any = NotImplemented
    if handler is not None:
        try:
            result = handler(original, *args, **kwargs)
        except TypeError:  # a signature that only NumPy knows, or a call that it will reject
            result = NotImplemented
    if result is NotImplemented:
        return _fallback.call(f"{original.__name__}.{name}", getattr(original, name), args, kwargs)
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
    source = operand(array)
    if op is None or source is None or (source.ndim == 0 and axis is not None):
        return NotImplemented
    return _reductions.reduce(op, source, axis, dtype, out, bool(keepdims), initial, where)


def _accumulate(original: numpy.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    op = _SCANS.get(original.__name__)
    target = out[0] if type(out) is tuple and len(out) == 1 else out
    source = operand(array)
    if (
        op is None
        or source is None
        or source.ndim == 0
        or (target is not None and type(target) is not ndarray)
    ):
        return NotImplemented
    return _core.scan(op, source, normalize_axis(axis, source.ndim), dtype, target)


def _outer(original: numpy.ufunc, a: Any, b: Any, /, **kwargs: Any) -> Any:
    x, y = operand(a), operand(b)
    if x is None or y is None or kwargs or ufunc_for(original).op is None or original.nin != 2:
        return NotImplemented
    return ufunc_for(original)(x[(...,) + (None,) * y.ndim] if y.ndim else x, y)
