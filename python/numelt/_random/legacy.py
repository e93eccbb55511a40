"""Native draws of the legacy generator: `numpy.random.RandomState` and the functions of `numpy.random`.

In: one of NumPy's RandomState objects and the arguments of a draw. Out: NumPy's numbers, which the core makes
from the state of the object, or NotImplemented if NumPy has to draw.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from numelt import _core

__all__ = ["DRAWS", "INTEGERS", "Legacy", "span"]

# Shorter draws run in NumPy: reading the state, to see whether a normal number is kept back, costs more.
_LONG = 4096

# by integer type whose numbers use half a word or a word of the stream each: its limits
INTEGERS: dict[Any, tuple[int, int]] = {
    kind: (int(numpy.iinfo(kind).min), int(numpy.iinfo(kind).max))
    for kind in (numpy.int64, numpy.uint64, numpy.int32, numpy.uint32)
}
INTEGERS[int] = INTEGERS[numpy.int64]


def span(low: float, high: float) -> float:
    """Return ``high - low``, or a negative number if the call has to run in NumPy."""
    try:
        width = float(high) - float(low)
    except OverflowError:
        return -1.0
    return width if math.isfinite(width) and math.copysign(1.0, width) > 0.0 else -1.0


class Legacy:
    """A RandomState of NumPy and the stream of its bit generator."""

    def __init__(self, plain: Any) -> None:
        self.plain = plain
        self._bits: Any = None
        self._stream: Any = False

    def stream(self) -> Any:
        """Return the core's stream of the present bit generator, or False if it has none."""
        bits = self.plain._bit_generator
        if bits is not self._bits:
            self._bits, self._stream = bits, _core.bit_stream(bits) or False
        return self._stream

    def sequential(self) -> Any:
        """Return the stream if it is sequential (MT19937, SFC64), or False."""
        stream = self.stream()
        return stream if type(stream) is _core.SequentialStream else False


def _random_sample(state: Legacy, size: Any = None) -> Any:
    stream = state.stream()
    return stream.uniform(size) if stream and size is not None else NotImplemented


def _rand(state: Legacy, *args: Any) -> Any:
    return _random_sample(state, args)


def _uniform(state: Legacy, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    if size is None or type(low) not in (float, int) or type(high) not in (float, int):
        return NotImplemented
    stream = state.stream()
    width = span(low, high) if stream else -1.0
    return stream.uniform(size, False, None, float(low), width) if width >= 0.0 else NotImplemented


def _randint(state: Legacy, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
    if size is None or type(low) is not int or not (high is None or type(high) is int):
        return NotImplemented
    limits = INTEGERS.get(dtype) if type(dtype) is type else None
    first, last = (0, low - 1) if high is None else (low, high - 1)
    if limits is None or not (limits[0] <= first < last <= limits[1]) or last - first > 0xFFFFFFFF:
        return NotImplemented
    stream = state.sequential()
    return stream.masked(size, first, last - first, dtype) if stream else NotImplemented


def _normals(state: Legacy, size: Any, mean: Any, scale: float) -> Any:
    if type(size) not in (int, tuple) or (math.prod(size) if type(size) is tuple else size) < _LONG:
        return NotImplemented
    stream = state.sequential()
    if not stream:
        return NotImplemented
    kept = bool(state.plain.get_state(legacy=False)["has_gauss"])
    return stream.normal(size, kept, state.plain.standard_normal, mean, scale)


def _standard_normal(state: Legacy, size: Any = None) -> Any:
    return _normals(state, size, None, 1.0)


def _randn(state: Legacy, *args: Any) -> Any:
    return _normals(state, args, None, 1.0)


def _normal(state: Legacy, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    if type(loc) not in (float, int) or type(scale) not in (float, int):
        return NotImplemented
    if not (math.isfinite(loc) and math.isfinite(scale)) or math.copysign(1.0, scale) < 0.0:
        return NotImplemented
    return _normals(state, size, float(loc), float(scale))


# native draws by the name of the method of RandomState and of the function of numpy.random
DRAWS: dict[str, Callable[..., Any]] = {
    "normal": _normal,
    "rand": _rand,
    "randint": _randint,
    "randn": _randn,
    "random": _random_sample,
    "random_sample": _random_sample,
    "ranf": _random_sample,
    "sample": _random_sample,
    "standard_normal": _standard_normal,
    "uniform": _uniform,
}
