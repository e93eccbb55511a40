"""Parakeet's data-parallel operators on functions of the user: `map`, `reduce`, `scan` and others.

Each operator but `do_while` runs a Python loop that is compiled together with the user's function (see
`drivers`). CPython runs what compiled code cannot, and collects the results again in a list if one of them
has another type than the first. The operators are those of Rubinsteyn, Hielscher, Weinman and Shasha,
"Parakeet: A Just-In-Time Parallel Accelerator for Python", HotPar 2012, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from numelt._jit.drivers import call_text, driver, in_parts, names

__all__ = ["allpairs", "do_while", "filter", "imap", "map", "reduce", "scan", "stencil"]

Axis = int | None

# results of these types are stored in an array of the first result's dtype
_NUMBERS = (bool, int, float, complex, numpy.bool_, numpy.number)


def map(f: Callable[..., Any], *xs: Any, fixed: Sequence[Any] = (), axis: Axis = None) -> Any:
    """Apply a function to the elements of arrays, or to their parts along an axis.

    Parameters
    ----------
    f : callable
        Is called as ``f(x, y, …, *fixed)`` with an element or part of each array.
    *xs : array_like
        Arrays; they are broadcast against each other, or have the same extent along `axis`.
    fixed : sequence, optional
        Further arguments, the same in each call.
    axis : int, optional
        The axis along which parts are taken. By default `f` gets scalars.

    Returns
    -------
    ndarray
        The results: with the shape of the arrays, or one after the other along the first axis.

    Examples
    --------
    >>> import numelt as np
    >>> np.map(lambda x, y: x * y + 1, np.array([1, 2, 3]), 10)
    array([11, 21, 31])
    >>> np.map(lambda row, k: row[0] * k, np.array([[1, 2], [3, 4]]), fixed=[10], axis=0)
    array([10, 30])
    """
    import numelt as np

    parts, shape = _parts(xs, axis)
    results = _mapped(f, parts, tuple(fixed))
    return np.reshape(results, shape + np.shape(results)[1:]) if axis is None else results


def allpairs(f: Callable[..., Any], x: Any, y: Any, fixed: Sequence[Any] = (), axis: int = 0) -> Any:
    """Apply a function to each pair of parts of two arrays.

    Parameters
    ----------
    f : callable
        Is called as ``f(a, b, *fixed)`` with a part of each array.
    x, y : array_like
        Arrays of extents m and n along `axis`.
    fixed : sequence, optional
        Further arguments, the same in each call.
    axis : int, optional
        The axis along which parts are taken.

    Returns
    -------
    ndarray
        The results, of shape (m, n, …).

    Examples
    --------
    >>> import numelt as np
    >>> np.allpairs(lambda a, b: a - b, np.array([1, 2]), np.array([10, 20, 30]))
    array([[ -9, -19, -29],
           [ -8, -18, -28]])
    """
    import numelt as np

    (x,), (y,) = _parts((x,), axis)[0], _parts((y,), axis)[0]
    fixed = tuple(fixed)
    if len(x) == 0 or len(y) == 0:
        return np.empty((len(x), len(y)))
    first = f(x[0], y[0], *fixed)
    if isinstance(first, _NUMBERS):
        out = np.empty((len(x), len(y)), numpy.asarray(first).dtype)
        call = call_text(["x[i]", "y[j]"], len(fixed))
        text = f"""
def run({", ".join(["f", "out", "kind", "x", "y", "n", *names("c", len(fixed)), "start", "stop"])}):
    for i in range(start, stop):
        for j in range(n):
            r = {call}
            if type(r) is not kind:
                return False
            out[i, j] = r
"""
        if _is_filled(text, f, x.size * len(y), len(x), out, type(first), x, y, len(y), *fixed):
            return out
    return np.array([[f(a, b, *fixed) for b in y] for a in x])


def reduce(
    f: Callable[..., Any], *xs: Any, fixed: Sequence[Any] = (), axis: Axis = None, init: Any = None
) -> Any:
    """Combine the elements of arrays, or their parts along an axis, from the first to the last.

    Parameters
    ----------
    f : callable
        Is called as ``f(so_far, x, y, …, *fixed)``, where ``so_far`` is the result of the previous call.
    *xs : array_like
        Arrays, as for `map`.
    fixed : sequence, optional
        Further arguments, the same in each call.
    axis : int, optional
        The axis along which parts are taken. By default `f` gets scalars, in C order.
    init : object, optional
        The first argument of the first call. By default it is the first element of the array, of which there
        must then be only one.

    Returns
    -------
    object
        The result of the last call.

    Raises
    ------
    TypeError
        Without `init`, if there are several arrays, or there is nothing to combine.

    Examples
    --------
    >>> import numelt as np
    >>> np.reduce(lambda a, b: a * 10 + b, np.array([1, 2, 3]))
    np.int64(123)
    >>> np.reduce(lambda s, x, y: s + x * y, np.array([1.0, 2.0]), np.array([3.0, 4.0]), init=0.0)
    np.float64(11.0)
    """
    parts, _ = _parts(xs, axis)
    fixed = tuple(fixed)
    so_far, parts = _start(parts, init)
    xs_names, cs = names("x", len(parts)), names("c", len(fixed))
    text = f"""
def run({", ".join(["f", "a", *xs_names, *cs, "start", "stop"])}):
    for i in range(start, stop):
        a = {call_text(["a", *(f"{x}[i]" for x in xs_names)], len(fixed))}
    return a
"""
    run = driver(text, f, parts[0].size)
    count = len(parts[0])
    return run(f, so_far, *parts, *fixed, 0, count)


def scan(
    f: Callable[..., Any], *xs: Any, fixed: Sequence[Any] = (), axis: Axis = None, init: Any = None
) -> Any:
    """Combine the elements of arrays like `reduce`, and return all intermediate results.

    Parameters
    ----------
    f, *xs, fixed, axis, init
        As for `reduce`.

    Returns
    -------
    ndarray
        All results in order, as many as there are elements. Without `init`, the first one is the first
        element.

    Examples
    --------
    >>> import numelt as np
    >>> np.scan(lambda a, b: a + b, np.array([1, 2, 3]))
    array([1, 3, 6])
    """
    import numelt as np

    parts, _ = _parts(xs, axis)
    fixed = tuple(fixed)
    so_far, rest = _start(parts, init)
    head = [] if init is not None else [so_far]
    first = head[0] if head else (f(so_far, *(x[0] for x in rest), *fixed) if len(rest[0]) else so_far)
    count = len(rest[0])
    if isinstance(first, _NUMBERS):
        out = np.empty(count, numpy.asarray(first).dtype)
        xs_names, cs = names("x", len(rest)), names("c", len(fixed))
        text = f"""
def run({", ".join(["f", "out", "kind", "a", *xs_names, *cs, "start", "stop"])}):
    for i in range(start, stop):
        a = {call_text(["a", *(f"{x}[i]" for x in xs_names)], len(fixed))}
        if type(a) is not kind:
            return None
        out[i] = a
    return a
"""
        # not run in parts, because each iteration needs the result of the previous one
        if driver(text, f, rest[0].size)(f, out, type(first), so_far, *rest, *fixed, 0, count) is not None:
            return np.concatenate([np.array(head, out.dtype), out]) if head else out
    results = head
    for k in range(count):
        so_far = f(so_far, *(x[k] for x in rest), *fixed)
        results.append(so_far)
    return np.array(results)


def imap(f: Callable[..., Any], shape: int | Sequence[int], fixed: Sequence[Any] = ()) -> Any:
    """Return the results of a function of the indices of an array.

    Unlike `fromfunction`, which calls the function once with arrays, this calls it for each element.

    Parameters
    ----------
    f : callable
        Is called as ``f(i, j, …, *fixed)`` with one integer per axis.
    shape : int or sequence of int
        Extents of the result.
    fixed : sequence, optional
        Further arguments, the same in each call.

    Returns
    -------
    ndarray
        The results.

    Examples
    --------
    >>> import numelt as np
    >>> np.imap(lambda i, j: i * 10 + j, (2, 3))
    array([[ 0,  1,  2],
           [10, 11, 12]])
    """
    import numelt as np

    extents = (int(shape),) if isinstance(shape, int | numpy.integer) else tuple(int(n) for n in shape)
    fixed = tuple(fixed)
    if not all(extents):
        return np.empty(extents)
    first = f(*(0 for _ in extents), *fixed)
    if isinstance(first, _NUMBERS) and extents:
        out = np.empty(extents, numpy.asarray(first).dtype)
        indices = names("i", len(extents))
        stops = names("n", len(extents))
        head = ["f", "out", "kind", *stops, *names("c", len(fixed)), "start", "stop"]
        text = f"""
def run({", ".join(head)}):
{_nest(indices, stops)}{_store(indices, call_text(indices, len(fixed)))}"""
        if _is_filled(text, f, out.size, extents[0], out, type(first), *extents, *fixed):
            return out
    results = [f(*index, *fixed) for index in numpy.ndindex(*extents)]
    made = np.array(results)
    return made.reshape(extents + made.shape[1:])


def filter(f: Callable[..., Any], x: Any, fixed: Sequence[Any] = ()) -> Any:
    """Return the elements of an array for which a function is true.

    Parameters
    ----------
    f : callable
        Is called as ``f(x, *fixed)`` with each element, or with each part along the first axis.
    x : array_like
        The array.
    fixed : sequence, optional
        Further arguments, the same in each call.

    Returns
    -------
    ndarray
        The elements or parts for which the function is true.

    Examples
    --------
    >>> import numelt as np
    >>> np.filter(lambda x: x % 3 == 1, np.arange(10))
    array([1, 4, 7])
    """
    import numelt as np

    x = np.asarray(x)
    fixed = tuple(fixed)
    keep = np.zeros(len(x), bool)
    text = f"""
def run({", ".join(["f", "keep", "x", *names("c", len(fixed)), "start", "stop"])}):
    for i in range(start, stop):
        if {call_text(["x[i]"], len(fixed))}:
            keep[i] = True
"""
    in_parts(driver(text, f, x.size), len(x), f, keep, x, *fixed)
    return x[keep]


_MODES = {"constant": "constant", "wrap": "wrap", "reflect": "reflect", "nearest": "edge"}


def stencil(
    f: Callable[..., Any],
    x: Any,
    size: int | Sequence[int] = 3,
    mode: str = "constant",
    cval: Any = 0,
    fixed: Sequence[Any] = (),
) -> Any:
    """Apply a function to the neighbourhood of each element.

    Parameters
    ----------
    f : callable
        Is called as ``f(window, *fixed)``. The window is an array of shape `size`; its middle is the element.
    x : array_like
        The array.
    size : int or sequence of int, optional
        Extents of the window, odd numbers.
    mode : {"constant", "wrap", "reflect", "nearest"}, optional
        What lies beyond the border: `cval`, the other end, the elements in reverse order (without the border
        itself), or the element at the border. In `numpy.pad` the last one is called "edge".
    cval : scalar, optional
        The value beyond the border, if that is constant.
    fixed : sequence, optional
        Further arguments, the same in each call.

    Returns
    -------
    ndarray
        The results, with the shape of the array.

    Raises
    ------
    ValueError
        If the size is even, or the mode is not known.

    Examples
    --------
    >>> import numelt as np
    >>> np.stencil(lambda w: w[0] + 10 * w[2], np.array([1, 2, 3]), mode="wrap")
    array([23, 31, 12])
    """
    import numelt as np

    x = np.asarray(x)
    sizes = (size,) * x.ndim if isinstance(size, int | numpy.integer) else tuple(size)
    if len(sizes) != x.ndim or any(n < 1 or n % 2 == 0 for n in sizes):
        raise ValueError(f"the window needs one odd extent for each of the {x.ndim} axes, not {size!r}")
    if mode not in _MODES:
        raise ValueError(f"mode must be one of {', '.join(_MODES)}, not {mode!r}")
    fixed = tuple(fixed)
    if x.size == 0 or x.ndim == 0:
        return x.copy()
    settings: dict[str, Any] = {"constant_values": cval} if mode == "constant" else {}
    widths: Any = [(int(n) // 2, int(n) // 2) for n in sizes]
    pad: Any = np.pad
    padded = pad(x, widths, mode=_MODES[mode], **settings)
    first = f(padded[tuple(slice(0, n) for n in sizes)], *fixed)
    if isinstance(first, _NUMBERS):
        out = np.empty(x.shape, numpy.asarray(first).dtype)
        indices, stops = names("i", x.ndim), names("n", x.ndim)
        window = ", ".join(f"{i}:{i} + {n}" for i, n in zip(indices, sizes, strict=True))
        head = ["f", "out", "kind", "p", *stops, *names("c", len(fixed)), "start", "stop"]
        text = f"""
def run({", ".join(head)}):
{_nest(indices, stops)}{_store(indices, call_text([f"p[{window}]"], len(fixed)))}"""
        if _is_filled(
            text, f, x.size * math.prod(sizes), x.shape[0], out, type(first), padded, *x.shape, *fixed
        ):
            return out
    windows = (
        padded[tuple(slice(i, i + n) for i, n in zip(index, sizes, strict=True))]
        for index in numpy.ndindex(*x.shape)
    )
    made = np.array([f(window, *fixed) for window in windows])
    return made.reshape(x.shape + made.shape[1:])


def do_while(f: Callable[..., Any], most: int | None, *args: Any) -> int:
    """Call a function until its result is false.

    Parameters
    ----------
    f : callable
        Is called as ``f(*args)``. It changes arrays in place, and returns whether to continue.
    most : int or None
        The largest number of calls; None sets no limit.
    *args
        The arguments of the function.

    Returns
    -------
    int
        The number of calls.

    Examples
    --------
    >>> import numelt as np
    >>> x = np.array([1.0, 2.0])
    >>> def double(x):
    ...     x *= 2
    ...     return x.max() < 10
    >>> np.do_while(double, None, x), x
    (3, array([ 8., 16.]))
    """
    iterations = 0
    while most is None or iterations < most:
        iterations += 1
        if not f(*args):
            break
    return iterations


def _is_filled(text: str, f: Callable[..., Any], work: int, count: int, *args: Any) -> bool:
    """Run a driver that fills an array. Return False if a result has another type than the first one."""
    try:
        return in_parts(driver(text, f, work), count, f, *args) is None
    except OverflowError:
        # a result does not fit the array, or the function itself has failed, and will fail again
        return False


def _nest(indices: list[str], stops: list[str]) -> str:
    """Return the text of the heads of nested loops. The outermost one runs from `start` to `stop`."""
    lines = [f"    for {indices[0]} in range(start, stop):\n"]
    for depth, (index, stop) in enumerate(zip(indices[1:], stops[1:], strict=True), 2):
        lines.append(f"{'    ' * depth}for {index} in range({stop}):\n")
    return "".join(lines)


def _store(indices: list[str], call: str) -> str:
    """Return the text of a loop body that stores a result, or returns False if its type is another one."""
    space = "    " * (len(indices) + 1)
    return f"""{space}r = {call}
{space}if type(r) is not kind:
{space}    return False
{space}out[{", ".join(indices)}] = r
"""


def _parts(xs: Sequence[Any], axis: Axis) -> tuple[list[Any], tuple[int, ...]]:
    """Return arrays whose parts along the first axis are the arguments of the calls, and the calls' shape."""
    import numelt as np

    if not xs:
        raise TypeError("there are no arrays to apply the function to")
    arrays = [np.asarray(x) for x in xs]
    if axis is None:
        shape = np.broadcast_shapes(*(x.shape for x in arrays))
        return [np.broadcast_to(x, shape).reshape(-1) for x in arrays], shape
    parts = [np.moveaxis(x, axis, 0) for x in arrays]
    if len({len(x) for x in parts}) > 1:
        raise ValueError(f"the arrays have different extents along axis {axis}: {[len(x) for x in parts]}")
    return parts, (len(parts[0]),)


def _mapped(f: Callable[..., Any], parts: list[Any], fixed: tuple[Any, ...]) -> Any:
    """Return the results of a function for the parts of arrays along their first axis."""
    import numelt as np

    count = len(parts[0])
    if count == 0:
        return np.empty(0)
    first = f(*(x[0] for x in parts), *fixed)
    if isinstance(first, _NUMBERS):
        out = np.empty(count, numpy.asarray(first).dtype)
        xs = names("x", len(parts))
        head = ["f", "out", "kind", *xs, *names("c", len(fixed)), "start", "stop"]
        text = f"""
def run({", ".join(head)}):
    for i in range(start, stop):
{_store(["i"], call_text([f"{x}[i]" for x in xs], len(fixed)))}"""
        if _is_filled(text, f, parts[0].size, count, out, type(first), *parts, *fixed):
            return out
    return np.array([f(*(x[k] for x in parts), *fixed) for k in range(count)])


def _start(parts: list[Any], init: Any) -> tuple[Any, list[Any]]:
    """Return the initial value of a reduction, and the arrays that are combined with it."""
    if init is not None:
        return init, parts
    if len(parts) != 1:
        raise TypeError("a reduction of several arrays needs init")
    if len(parts[0]) == 0:
        raise TypeError("a reduction of nothing needs init")
    return parts[0][0], [parts[0][1:]]
