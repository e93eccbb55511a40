"""Fourier transforms on devices: NumPy's functions, with a library for the device instead of their loops.

In: a transform of an array whose values a device has. NumPy's Python code finds out the length, the axis and
the factor (`composed`), and calls a compiled loop. Here, instead of that loop, recorded operations bring
the lines of the array into C order and to the length of the transform, a library of the device transforms
them, and a recorded operation applies the factor. NumPy's loop runs if there is no library, or if it does not
have that length. Loaded when a device is first asked for a transform.
"""

from __future__ import annotations

import importlib
from typing import Any

from numelt import _core
from numelt._dispatch import fallback
from numelt._dispatch.composed import rebound, replace_gufunc

__all__ = ["rebound"]

_pocketfft_umath = importlib.import_module("numpy.fft._pocketfft_umath")
_COMPLEX, _FROM_REAL, _TO_REAL = range(3)
# by name of NumPy's loop: the numbers on both sides, the direction, and whether the length is odd
_KINDS = {
    "fft": (_COMPLEX, True, False),
    "ifft": (_COMPLEX, False, False),
    "rfft_n_even": (_FROM_REAL, True, False),
    "rfft_n_odd": (_FROM_REAL, True, True),
    "irfft": (_TO_REAL, False, False),
}
_SINGLE, _DOUBLE = ("float32", "complex64"), ("float64", "complex128")


class _Loop:
    """A loop of NumPy's transforms, which a library for a device does if it can."""

    def __init__(self, name: str) -> None:
        self._original = getattr(_pocketfft_umath, name)
        self._domain, self._forward, self._is_odd = _KINDS[name]

    def __call__(self, array: Any, factor: Any, axes: Any, out: Any) -> Any:
        if self._on_device(array, factor, axes[0][0], out):
            return out
        return fallback.uncounted(self._original, (array, factor), {"axes": axes, "out": out})

    def _on_device(self, array: Any, factor: Any, axis: int, out: Any) -> bool:
        if type(array) is not _core.ndarray or type(out) is not _core.ndarray:
            return False
        dtypes = next((both for both in (_SINGLE, _DOUBLE) if out.dtype in both), None)
        if dtypes is None or (self._domain == _FROM_REAL and array.dtype.kind == "c"):
            return False
        n = out.shape[axis]
        points = 2 * (n - 1) + self._is_odd if self._domain == _FROM_REAL else n
        kept = points // 2 + 1 if self._domain == _TO_REAL else points
        lines = array.swapaxes(axis, -1)
        source = self._source(lines, kept, dtypes[self._domain != _FROM_REAL])
        if self._domain == _TO_REAL:
            # NumPy ignores these parts
            source.imag[..., 0] = 0
            if points % 2 == 0:
                source.imag[..., -1] = 0
        result = _core.empty((*lines.shape[:-1], n), out.dtype)
        if not _core.run_routine("transform", (self._domain, self._forward, points), (source, result)):
            return False
        _core.copy_into(out, result.swapaxes(axis, -1) * factor, "same_kind")
        return True

    def _source(self, lines: Any, kept: int, dtype: str) -> Any:
        """Return the first `kept` numbers of each line, or all and zeros, in an array of its own memory."""
        have = min(lines.shape[-1], kept)
        is_whole = lines.base is None and lines.flags.c_contiguous and lines.shape[-1] == kept
        if is_whole and lines.dtype == dtype and self._domain != _TO_REAL:
            return lines
        shape = (*lines.shape[:-1], kept)
        made = _core.empty(shape, dtype) if have == kept else _core.full(shape, 0, dtype)
        _core.copy_into(made[..., :have], lines[..., :have], "unsafe")
        return made


for _name in _KINDS:
    replace_gufunc(getattr(_pocketfft_umath, _name), _Loop(_name))
