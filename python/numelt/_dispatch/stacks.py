"""Library calls on large arrays, on all cores: stacks of independent problems.

A stack is an array of which each row, line or matrix is a problem of its own: a Fourier transform, an
inverse, a sort. In: a function of NumPy and its arguments. Out: what NumPy returns. Each thread solves some
of the problems by NumPy's compiled code, which releases the interpreter's lock, so the numbers do not depend
on the number of threads. If a part raises or would warn, the whole call is done again by NumPy, which raises
or warns.
"""

from __future__ import annotations

import contextvars
import functools
import math
import re
import sys
import types
from collections.abc import Callable
from typing import Any, cast

import numpy

from numelt import _core
from numelt._dispatch import counting, fallback
from numelt._dispatch.copies import copy_of

__all__ = ["in_parts", "most", "shared"]

# Calls on fewer elements stay on one thread: starting threads would cost more than it saves (some 0.2 ms).
# The second limit is that of `counting`.
_MOST, _FEW = 16384, 4096
# time of the work on an element, as a multiple of the time for copying it
_WEIGHT = 16
# Nanoseconds of work on an element on one thread, and the least work for which a thread is started: starting
# one takes 30 to 100 microseconds, and threads are started one after the other.
_ORDERED, _TRANSFORMED, _SELECTED, _SOLVED = 1.5, 5.0, 10.0, 20.0
_SHARE = 250_000
# LAPACK itself uses several threads for problems of more elements; memory is the limit for smaller ones
_LARGE, _SMALL = 1024, 64
# routines of LAPACK that are limited by memory for problems below the second limit
_LIGHT = frozenset({"cholesky_lo", "cholesky_up", "det", "slogdet", "solve", "solve1"})
# length of a vector up to which BLAS computes dot products on one thread
_SHORT = 4096


def in_parts(n: int, parts: int, work: Callable[[int, int], None]) -> None:
    """Call ``work(start, stop)`` on parts of ``range(n)``, each in a thread of its own."""
    cuts = [n * k // parts for k in range(parts + 1)]
    failures: list[BaseException] = []

    def run(k: int) -> None:
        try:
            work(cuts[k], cuts[k + 1])
        except BaseException as failure:
            failures.append(failure)

    import threading  # few programs need it

    context = contextvars.copy_context()
    threads = [threading.Thread(target=context.copy().run, args=(run, k)) for k in range(1, parts)]
    try:
        for thread in threads:
            thread.start()
        # an exception of a signal's handler is raised here, and passes on
        work(cuts[0], cuts[1])
    finally:
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    if failures:
        raise failures[0]


def shares(elements: int, problems: int, cost: float) -> int:
    """Return how many threads to use for problems whose elements take `cost` nanoseconds each."""
    worth = max(1, int(elements * cost) // _SHARE)
    return min(int(_core.threads_for(elements * _WEIGHT)), problems, worth)


def _strict() -> numpy.errstate:
    """Return an error state that raises where the present one would warn, raise, print, log or call."""
    modes = numpy.geterr().items()
    raising: dict[str, Any] = {kind: "ignore" if mode == "ignore" else "raise" for kind, mode in modes}
    return numpy.errstate(**raising)


class _Cut:
    """The axis along which a stack is cut, for operands whose problems have a given number of axes."""

    def __init__(self, views: list[Any], inner: list[int]) -> None:
        stacks = [
            v.shape[: v.ndim - n] for v, n in zip(views, inner, strict=True) if isinstance(v, numpy.ndarray)
        ]
        self.stack = numpy.broadcast_shapes(*stacks)
        axis = max(range(len(self.stack)), key=self.stack.__getitem__, default=0)
        self.problems = self.stack[axis] if self.stack else 1
        self._from_end = axis - len(self.stack)

    def of(self, views: list[Any], inner: list[int], start: int, stop: int) -> list[Any]:
        """Return the part of each operand."""
        return [self._part(view, n, start, stop) for view, n in zip(views, inner, strict=True)]

    def _part(self, view: Any, inner: int, start: int, stop: int) -> Any:
        at = view.ndim - inner + self._from_end if isinstance(view, numpy.ndarray) else -1
        if at < 0 or view.shape[at] == 1 != self.problems:
            return view  # one matrix or vector for all problems
        return view[(slice(None),) * at + (slice(start, stop),)]


class _Loops:
    """A generalized ufunc of NumPy whose loop runs on several threads."""

    def __init__(self, function: Any) -> None:
        self._function = function
        cores = [re.findall(r"\((.*?)\)", side) for side in function.signature.split("->")]
        self._inner, self._made = [[len(re.findall(r"\w+", core)) for core in side] for side in cores]

    def __call__(self, *operands: Any, **named: Any) -> Any:
        done = self._shared(operands, **named)
        return self._function(*operands, **named) if done is None else done

    def _pays(self, elements: int) -> bool:
        """Return whether several threads solve problems of this many elements faster."""
        return elements < _LARGE and (elements >= _SMALL or self._function.__name__ not in _LIGHT)

    def _shared(self, operands: tuple[Any, ...], out: Any = None, axes: Any = None, **named: Any) -> Any:
        """Return the results, or None if the call is left to NumPy."""
        arrays = [operand for operand in operands if isinstance(operand, numpy.ndarray)]
        elements = max(array.size for array in arrays)
        if axes is None:
            views, results = list(operands), None
            plain = out is None and all(map(_is_stacked, operands, self._inner))
        else:
            *views, last = map(_inner_last, (*operands, out), axes)
            results, plain = [last], not any(numpy.may_share_memory(out, array) for array in arrays)
        if not plain:
            return None
        cut = _Cut(views, self._inner)
        parts = shares(elements, cut.problems, _SOLVED if axes is None else _TRANSFORMED)
        if parts < 2 or (axes is None and not self._pays(elements // math.prod(cut.stack))):
            return None
        if results is None:
            # NumPy's result for an empty stack has the dtypes and the extents of a problem's result
            none = self._function(*cut.of(views, self._inner, 0, 0), **named)
            made = zip(none if isinstance(none, tuple) else (none,), self._made, strict=True)
            results = [numpy.empty(cut.stack + x.shape[x.ndim - inner :], x.dtype) for x, inner in made]

        def work(start: int, stop: int) -> None:
            into = tuple(cut.of(results, self._made, start, stop))
            with _strict():
                self._function(*cut.of(views, self._inner, start, stop), out=into, **named)

        in_parts(cut.problems, parts, work)
        if out is not None:
            return out
        return tuple(results) if len(results) > 1 else results[0]


def _is_stacked(operand: Any, inner: int) -> bool:
    """Return whether NumPy makes results in C order for such an operand."""
    return isinstance(operand, numpy.ndarray) and (operand.flags.c_contiguous or operand.ndim - inner < 2)


def _inner_last(operand: Any, axes: Any) -> Any:
    return numpy.moveaxis(operand, axes, range(-len(axes), 0)) if axes else operand


class _Gufuncs:
    """Replaces a compiled module of NumPy; its generalized ufuncs run on several threads."""

    def __init__(self, original: types.ModuleType) -> None:
        self._original = original

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._original, name)
        made = _Loops(value) if isinstance(value, numpy.ufunc) and value.signature else value
        setattr(self, name, made)
        return made


# global names of the compiled modules in `numpy.fft` and `numpy.linalg`, and of those that set functions call
_COMPILED = ("pfu", "_umath_linalg")
_CALLED = (*_COMPILED, "_unique1d")
_copies: dict[str, types.ModuleType] = {}


def _bound(implementation: types.FunctionType) -> Callable[..., Any]:
    """Return NumPy's function from a copy of its module, in which loops run on several threads."""
    home = sys.modules[implementation.__globals__["__name__"]]
    copy = _copies.get(home.__name__)
    if copy is None:
        copy = _copies[home.__name__] = copy_of(home)
        names = vars(copy)
        for name, value in vars(home).items():
            if name == "unique":
                names[name] = shared(name, value)
            elif name in _COMPILED:
                names[name] = _Gufuncs(value)
            elif isinstance(value, type):
                names[name] = value  # results are instances of NumPy's classes
    return cast(Callable[..., Any], getattr(copy, implementation.__name__))


def _of_stacks(implementation: types.FunctionType) -> Callable[..., Any]:
    """Return a function of `numpy.linalg` or `numpy.fft` that uses threads; it is made at the first call."""
    made: list[Callable[..., Any]] = []

    def run(*args: Any, **kwargs: Any) -> Any:
        if "out" in kwargs:
            return NotImplemented
        if not made:
            try:
                made.append(_bound(implementation))
            except OSError:  # the module's file cannot be read: no file descriptor is left
                return NotImplemented
        return made[0](*args, **kwargs)

    return run


def lines(array: Any, axis: Any, cost: float) -> Callable[[Callable[[Any], None]], int] | None:
    """Return a function that works on the lines along an axis with several threads, or None.

    It is None if one thread is as fast; `cost` is the time that an element takes, in nanoseconds. The
    function calls its argument with indices, each of which selects a part of the array and of any array of
    its shape, and returns the axis that was cut. It raises exceptions of the work, and conditions that would
    warn.
    """
    if axis.__class__ is not int or not -array.ndim <= axis < array.ndim or array.ndim < 2:
        return None
    others = [other for other in range(array.ndim) if other != axis % array.ndim]
    cut = max(others, key=array.shape.__getitem__)
    parts = shares(array.size, array.shape[cut], cost)
    if parts < 2:
        return None

    def run(work: Callable[[Any], None]) -> int:
        def part(start: int, stop: int) -> None:
            with _strict():
                work((slice(None),) * cut + (slice(start, stop),))

        in_parts(array.shape[cut], parts, part)
        return cut

    return run


def _by_lines(position: int, original: Any) -> Callable[..., Any]:
    """Return a function that reduces each line as `original` does, to one number or to one for each of ``q``.

    `position` is the position of ``axis`` among the arguments; ``q`` stands before it.
    """

    def run(*args: Any, **kwargs: Any) -> Any:
        if not position <= len(args) <= position + 1 or not kwargs.keys() <= {"axis", "method"}:
            return NotImplemented
        array, axis = args[0], args[position] if len(args) > position else kwargs.get("axis")
        share = lines(array, axis, _SELECTED)
        if share is None:
            return NotImplemented
        pieces: dict[int, Any] = {}

        def work(at: Any) -> None:
            pieces[at[-1].start] = original(array[at], *args[1:], **kwargs)

        cut = share(work)
        cut += sum(map(numpy.ndim, args[1:position])) - (cut > axis % array.ndim)
        return numpy.concatenate([pieces[start] for start in sorted(pieces)], cut)

    return run


def _axis(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the argument ``axis`` of a call of this method."""
    position = {"sort": 0, "argsort": 0, "partition": 1, "argpartition": 1}[name]
    return args[position] if len(args) > position else kwargs.get("axis", -1)


def _cost(name: str) -> float:
    """Return the nanoseconds that an element takes in this method."""
    return _ORDERED if name in ("sort", "partition") else _TRANSFORMED


def _in_place(name: str, array: Any, *args: Any, **kwargs: Any) -> Any:
    """Reorder each line of a dense array in place, as this method does."""
    share = lines(array, _axis(name, args, kwargs), _cost(name)) if array.flags.forc else None
    if share is None:
        return NotImplemented
    method = getattr(numpy.ndarray, name)
    share(lambda at: method(array[at], *args, **kwargs))
    return None


def _copied(name: str, array: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a copy with each line reordered, as this method does."""
    share = lines(array, _axis(name, args, kwargs), _cost(name))
    if share is None:
        return NotImplemented
    method, copy = getattr(numpy.ndarray, name), array.copy(order="K")
    share(lambda at: method(copy[at], *args, **kwargs))
    return copy


def _positions(name: str, array: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the positions that reorder each line, as this method does."""
    share = lines(array, _axis(name, args, kwargs), _cost(name))
    if share is None:
        return NotImplemented
    method, order = getattr(numpy.ndarray, name), numpy.empty(array.shape, numpy.intp)

    def work(at: Any) -> None:
        order[at] = method(array[at], *args, **kwargs)

    share(work)
    return order


def _sliding(mode: str, original: Any) -> Callable[..., Any]:
    """Return a convolution or correlation of two vectors that computes parts of the result in threads."""

    def run(a: Any, v: Any, mode: Any = mode) -> Any:
        if (
            type(v) is not numpy.ndarray
            or a.ndim != 1
            or v.ndim != 1
            or mode not in ("valid", "same", "full")
        ):
            return NotImplemented
        n, m = a.size, v.size
        parts = shares(n * m // 64, n // max(4 * m, 1), _SELECTED)
        if m > _SHORT or parts < 2:
            return NotImplemented
        before = {"valid": 0, "same": m // 2, "full": m - 1}[mode]
        whole, pieces = n - m + 1, {}

        def work(start: int, stop: int) -> None:
            first, last = start == 0, stop == whole
            with _strict():
                made = original(a[start : stop + m - 1], v, mode if first or last else "valid")
            pieces[start] = made[before if last else 0 : before + stop if first else None]

        in_parts(whole, parts, work)
        return numpy.concatenate([pieces[start] for start in sorted(pieces)])

    return run


def _one_of(*ways: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that tries several functions until one does not return NotImplemented."""

    def run(*args: Any, **kwargs: Any) -> Any:
        made = NotImplemented
        for way in ways:
            made = way(*args, **kwargs)
            if made is not NotImplemented:
                break
        return made

    return run


_SHARED: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "convolve": functools.partial(_sliding, "full"),
    "correlate": functools.partial(_sliding, "valid"),
    "median": functools.partial(_by_lines, 1),
    "percentile": functools.partial(_by_lines, 2),
    "quantile": functools.partial(_by_lines, 2),
    "sort": lambda _: _one_of(functools.partial(_copied, "sort"), counting.sort),
    "partition": lambda _: functools.partial(_copied, "partition"),
    "argsort": lambda _: functools.partial(_positions, "argsort"),
    "argpartition": lambda _: functools.partial(_positions, "argpartition"),
    "ndarray.sort": lambda _: _one_of(functools.partial(_in_place, "sort"), counting.sort_in_place),
    "ndarray.partition": lambda _: functools.partial(_in_place, "partition"),
    "ndarray.argsort": lambda _: functools.partial(_positions, "argsort"),
    "ndarray.argpartition": lambda _: functools.partial(_positions, "argpartition"),
    "unique": lambda _: counting.unique,
}


def most(name: str) -> int:
    """Return up to how many elements NumPy's own function is called; above that, `shared` is."""
    return _FEW if name == "unique" else _MOST


def shared(name: str, original: Any) -> Any:
    """Return a function that does what `original`, known as `name`, does on all cores, or None."""
    implementation = getattr(original, "_implementation", original)
    if name in _SHARED:
        run = _SHARED[name](original)
    elif isinstance(implementation, types.FunctionType) and any(
        called in implementation.__globals__ for called in _CALLED
    ):
        run = _of_stacks(implementation)
    else:
        return None

    least = most(name)

    def ask(*args: Any, **kwargs: Any) -> Any:
        if any(type(arg) is numpy.ndarray and arg.size > least and arg.dtype.kind in "biufc" for arg in args):
            try:
                made = run(*args, **kwargs)
            except fallback.REFUSALS:
                made = NotImplemented  # NumPy's own function raises it
            if made is not NotImplemented:
                return made
        return original(*args, **kwargs)

    return ask
