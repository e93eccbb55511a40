"""Systems of equations and decompositions on devices: NumPy's functions, with a library for the device.

In: a matrix whose values a device has. NumPy's Python code checks the operands and chooses the dtype
(`composed`), and calls a compiled loop, which calls LAPACK. Here, a library of the device computes the
result instead, from copies that recorded operations make. LAPACK stores matrices by columns, so what is an
array `a` in C order here is the matrix ``a.T`` there. NumPy's loop runs if there is no library, for stacks of
matrices, and if the values have no result, which it reports. Loaded when a device is first asked for one of
these functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
from numpy.linalg import _umath_linalg

from numelt import _core
from numelt._dispatch import fallback
from numelt._dispatch.composed import rebound, replace_gufunc
from numelt._dispatch.native import NATIVE

__all__ = ["rebound"]

_DTYPES = {"d": "float64", "D": "complex128", "f": "float32", "F": "complex64"}
_NO_VECTORS, _THIN, _FULL = range(3)


def _copy(matrix: Any, dtype: str) -> Any:
    """Return a copy in C order."""
    made = _core.empty(matrix.shape, dtype)
    _core.copy_into(made, matrix, "same_kind")
    return made


def _real(dtype: str) -> str:
    return {"complex128": "float64", "complex64": "float32"}.get(dtype, dtype)


def _solve(dtype: str, a: Any, b: Any) -> Any:
    if a.shape[0] != b.shape[0]:
        return None
    # the library solves with the transpose of what it sees
    found = _copy(b.T, dtype)
    return _copy(found.T, dtype) if _core.run_routine("solve", (), (_copy(a, dtype), found)) else None


def _inverse(dtype: str, a: Any) -> Any:
    return _solve(dtype, a, NATIVE[numpy.eye](a.shape[0], dtype=dtype))


def _cholesky(dtype: str, a: Any) -> Any:
    factor = _copy(a, dtype)
    return NATIVE[numpy.tril](factor) if _core.run_routine("cholesky", (), (factor,)) else None


def _eigen(is_upper: bool, has_vectors: bool) -> Callable[[str, Any], Any]:
    def compute(dtype: str, a: Any) -> Any:
        # the upper triangle is the lower one of what the library sees, which is the conjugate
        vectors, values = _copy(a, dtype), _core.empty((a.shape[0],), _real(dtype))
        if not _core.run_routine("eigen", (is_upper, has_vectors), (vectors, values)):
            return None
        return (values, _copy(vectors.conj().T, dtype)) if has_vectors else values

    return compute


def _singular(vectors: int) -> Callable[[str, Any], Any]:
    def compute(dtype: str, a: Any) -> Any:
        # the library decomposes tall matrices only; the transpose of a broad one is one
        is_tall = a.shape[0] >= a.shape[1]
        matrix = _copy(a.T if is_tall else a, dtype)
        columns, rows = matrix.shape
        values = _core.empty((columns,), _real(dtype))
        arrays = [matrix, values]
        if vectors != _NO_VECTORS:
            left = _core.empty((rows if vectors == _FULL else columns, rows), dtype)
            right = _core.empty((columns, columns), dtype)
            arrays += [left, right]
        if not _core.run_routine("singular", (vectors,), arrays):
            return None
        if vectors == _NO_VECTORS:
            return values
        return (_copy(left.T, dtype), values, _copy(right.T, dtype)) if is_tall else (right, values, left)

    return compute


class _Loop:
    """A loop of NumPy's linear algebra, which a library for a device does if it can."""

    def __init__(self, name: str, compute: Callable[..., Any]) -> None:
        self._original, self._compute = getattr(_umath_linalg, name), compute

    def __call__(self, *operands: Any, **named: Any) -> Any:
        done = self._on_device(operands, **named)
        return fallback.uncounted(self._original, operands, named) if done is None else done

    def _on_device(self, operands: Any, signature: str = "", **others: Any) -> Any:
        is_matrix = all(type(operand) is _core.ndarray and 0 < operand.ndim <= 2 for operand in operands)
        if (
            others
            or not is_matrix
            or operands[0].ndim != 2
            or 0 in operands[0].shape
            or not operands[-1].size
        ):
            return None
        dtype = _DTYPES.get(signature[:1])
        return None if dtype is None else self._compute(dtype, *operands)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "solve": _solve,
    "solve1": _solve,
    "inv": _inverse,
    "cholesky_lo": _cholesky,
    "eigh_lo": _eigen(is_upper=False, has_vectors=True),
    "eigh_up": _eigen(is_upper=True, has_vectors=True),
    "eigvalsh_lo": _eigen(is_upper=False, has_vectors=False),
    "eigvalsh_up": _eigen(is_upper=True, has_vectors=False),
    "svd": _singular(_NO_VECTORS),
    "svd_s": _singular(_THIN),
    "svd_f": _singular(_FULL),
}
for _name, _function in _FUNCTIONS.items():
    replace_gufunc(getattr(_umath_linalg, _name), _Loop(_name, _function))
