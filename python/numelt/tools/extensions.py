"""`numelt.extension`: functions of the user whose calls are recorded like operations.

In: a function that fills an array, and one that returns the shape and dtype of that array. Out: a function of
arrays that returns at once. The core runs the call in its order among the recorded operations; see
docs/extending.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import numelt
from numelt import _core

__all__ = ["extension"]


def extension(
    name: str,
    *,
    result: Callable[..., tuple[Any, Any]],
    run: Callable[..., object],
) -> Callable[..., Any]:
    """Make a function of arrays whose calls are recorded, to run when the result is needed.

    A call keeps its position among the operations around it: it sees its inputs as they were when it was
    recorded, whatever the program does with them afterwards.

    Parameters
    ----------
    name : str
        The name of the function, for error messages.
    result : callable
        ``result(*inputs)`` returns the shape and the dtype of the result. It should use the shapes and dtypes
        of the inputs only: if it reads values, everything recorded so far runs.
    run : callable
        ``run(out, *inputs)`` fills `out`, all of it. It gets NumPy arrays on numelt's memory, the inputs
        read-only. It may use numelt. It must not wait for another thread that does.

    Returns
    -------
    callable
        A function of arrays, or of arguments that `numpy.asarray` converts. It returns an array in C order.

    Raises
    ------
    TypeError
        If `result` or `run` cannot be called.

    Notes
    -----
    An exception in `run` is raised by the statement that needs the result. After that, the result has no
    values, and reading it raises RuntimeError. `run` is called at once for arrays with dtypes that numelt
    does not compute with (objects, strings, times, structures), for inputs that share memory with a NumPy
    array, and for calls inside `run`.

    Examples
    --------
    >>> import numelt as np
    >>> import numpy
    >>> def fill(out, x, weights):
    ...     out[:] = numpy.convolve(x, weights, "same")
    >>> smooth = np.extension("smooth", result=lambda x, weights: (x.shape, x.dtype), run=fill)
    >>> x = np.arange(6.0) ** 2
    >>> y = smooth(x, np.array([0.25, 0.5, 0.25])) + 1  # recorded
    >>> x[:] = 0  # comes after it
    >>> print(y)
    [ 1.25  2.5   5.5  10.5  17.5  17.5 ]
    """
    for function in (result, run):
        if not callable(function):
            raise TypeError(f"{function!r} is no function")

    def call(*inputs: Any) -> Any:
        arrays = tuple(numelt.asarray(value) for value in inputs)
        shape, dtype = result(*arrays)
        out = numelt.empty(shape, dtype)
        if not _core.call_extension(name, run, out, arrays):
            run(*(numpy.asarray(array) for array in (out, *arrays)))
        return out

    call.__name__ = call.__qualname__ = name
    call.__doc__ = run.__doc__
    return call
