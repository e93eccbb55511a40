"""Adding and removing elements, resizing, assembling from blocks.

The functions are NumPy's, run over our arrays (`composed`).
"""

from __future__ import annotations

from typing import Any

from numelt._dispatch.composed import composed

__all__ = [
    "asarray_chkfinite", "astype", "block", "delete", "insert", "require", "resize", "row_stack",
    "trim_zeros",
]  # fmt: skip


@composed
def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """Return the argument as an array; raises ValueError where it holds NaN or an infinity.

    Examples
    --------
    >>> import numelt as np
    >>> np.asarray_chkfinite([1, 2])
    array([1, 2])
    """


@composed
def astype(x: Any, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Any:
    """Return an array converted to another dtype.

    Examples
    --------
    >>> import numelt as np
    >>> np.astype(np.array([1.5, 2.5]), int)
    array([1, 2])
    """


@composed
def block(arrays: Any) -> Any:
    """Assemble an array from nested lists of blocks.

    Examples
    --------
    >>> import numelt as np
    >>> np.block([[np.eye(2, dtype=int), np.zeros((2, 1), int)]])
    array([[1, 0, 0],
           [0, 1, 0]])
    """


@composed
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """Return an array without the subarrays at some positions.

    Examples
    --------
    >>> import numelt as np
    >>> np.delete([1, 2, 3], 1)
    array([1, 3])
    """


@composed
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """Return an array with values put in before some positions.

    Examples
    --------
    >>> import numelt as np
    >>> np.insert([1, 3], 1, 2)
    array([1, 2, 3])
    """


@composed
def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    """Return an array of a dtype that meets requirements of layout, the argument itself where it does.

    Examples
    --------
    >>> import numelt as np
    >>> np.require(np.ones((2, 3)), requirements="F").flags.f_contiguous
    True
    """


@composed
def resize(a: Any, new_shape: Any) -> Any:
    """Return an array of another shape, filled with repeated copies of the flattened argument.

    Examples
    --------
    >>> import numelt as np
    >>> np.resize([1, 2, 3], (2, 2))
    array([[1, 2],
           [3, 1]])
    """


@composed
def row_stack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """Stack arrays as rows; an old name of `vstack`.

    Examples
    --------
    >>> import warnings
    >>> import numelt as np
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     np.row_stack([[1, 2], [3, 4]])
    array([[1, 2],
           [3, 4]])
    """


@composed
def trim_zeros(filt: Any, trim: Any = "fb", axis: Any = None) -> Any:
    """Cut zeros off the ends.

    Examples
    --------
    >>> import numelt as np
    >>> np.trim_zeros(np.array([0, 1, 0, 2, 0]))
    array([1, 0, 2])
    """
