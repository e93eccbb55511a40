"""NumPy's library functions on large arrays: many small problems on all cores, integers by counting.

In: NumPy's functions on stacks: a transform of each row, the inverse of each matrix, the order of each line.
Out: what NumPy returns. Every problem is solved by NumPy's compiled code, which does not hold the
interpreter's lock, so the numbers do not depend on how the stack is shared. Where a share meets an error or
would warn, NumPy is asked again for the whole: it says so in its own words.
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

# elements up to which sharing a call costs more than it saves (some 0.2 ms), and counting integers does
_MOST, _FEW = 16384, 4096
# how much longer than a copy of it the work on an element takes
_WEIGHT = 16
# Nanoseconds that work on an element takes on one thread, and the least that a thread is started for:
# starting one takes 30 to 100 microseconds, and each of several is started after the one before it.
_ORDERED, _TRANSFORMED, _SELECTED, _SOLVED = 1.5, 5.0, 10.0, 20.0
_SHARE = 250_000
# elements of a problem that LAPACK shares among threads by itself, or computes faster than it gets at memory
_LARGE, _SMALL = 1024, 64
# those of its routines that do little but get at memory where problems are smaller
_LIGHT = frozenset({"cholesky_lo", "cholesky_up", "det", "slogdet", "solve", "solve1"})
# elements of the shorter of two vectors whose product BLAS computes on one thread
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

    import threading  # few programs get here

    context = contextvars.copy_context()
    threads = [threading.Thread(target=context.copy().run, args=(run, k)) for k in range(1, parts)]
    try:
        for thread in threads:
            thread.start()
        # what a signal's handler raises here goes on by itself
        work(cuts[0], cuts[1])
    finally:
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    if failures:
        raise failures[0]


def shares(elements: int, problems: int, cost: float) -> int:
    """Return how many threads share so many problems, whose elements take `cost` nanoseconds each."""
    worth = max(1, int(elements * cost) // _SHARE)
    return min(int(_core.threads_for(elements * _WEIGHT)), problems, worth)


def _strict() -> numpy.errstate:
    """Return an error state that raises where the present one would do anything."""
    modes = numpy.geterr().items()
    raising: dict[str, Any] = {kind: "ignore" if mode == "ignore" else "raise" for kind, mode in modes}
    return numpy.errstate(**raising)


class _Cut:
    """The axis of a stack of problems that is cut, for operands whose problems have so many axes."""

    def __init__(self, views: list[Any], inner: list[int]) -> None:
        stacks = [
            v.shape[: v.ndim - n] for v, n in zip(views, inner, strict=True) if isinstance(v, numpy.ndarray)
        ]
        self.stack = numpy.broadcast_shapes(*stacks)
        axis = max(range(len(self.stack)), key=self.stack.__getitem__, default=0)
        self.problems = self.stack[axis] if self.stack else 1
        self._from_end = axis - len(self.stack)

    def of(self, views: list[Any], inner: list[int], start: int, stop: int) -> list[Any]:
        """Return the share of each operand."""
        return [self._part(view, n, start, stop) for view, n in zip(views, inner, strict=True)]

    def _part(self, view: Any, inner: int, start: int, stop: int) -> Any:
        at = view.ndim - inner + self._from_end if isinstance(view, numpy.ndarray) else -1
        if at < 0 or view.shape[at] == 1 != self.problems:
            return view  # the same for all
        return view[(slice(None),) * at + (slice(start, stop),)]


class _Loops:
    """A generalized ufunc of NumPy's whose loops are shared."""

    def __init__(self, function: Any) -> None:
        self._function = function
        cores = [re.findall(r"\((.*?)\)", side) for side in function.signature.split("->")]
        self._inner, self._made = [[len(re.findall(r"\w+", core)) for core in side] for side in cores]

    def __call__(self, *operands: Any, **named: Any) -> Any:
        done = self._shared(operands, **named)
        return self._function(*operands, **named) if done is None else done

    def _pays(self, elements: int) -> bool:
        """Are LAPACK's problems of so many elements solved faster side by side?"""
        return elements < _LARGE and (elements >= _SMALL or self._function.__name__ not in _LIGHT)

    def _shared(self, operands: tuple[Any, ...], out: Any = None, axes: Any = None, **named: Any) -> Any:
        """Return the results, None where NumPy does it better."""
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
            # what NumPy makes of none of the problems tells dtypes and the other extents
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
    """Will NumPy make results in the order of the extents of such an operand?"""
    return isinstance(operand, numpy.ndarray) and (operand.flags.c_contiguous or operand.ndim - inner < 2)


def _inner_last(operand: Any, axes: Any) -> Any:
    return numpy.moveaxis(operand, axes, range(-len(axes), 0)) if axes else operand


class _Gufuncs:
    """The compiled module of a module of NumPy's, with its generalized ufuncs shared."""

    def __init__(self, original: types.ModuleType) -> None:
        self._original = original

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._original, name)
        made = _Loops(value) if isinstance(value, numpy.ufunc) and value.signature else value
        setattr(self, name, made)
        return made


# the names under which the modules know their compiled ones, and what functions on sets call
_COMPILED = ("pfu", "_umath_linalg")
_CALLED = (*_COMPILED, "_unique1d")
_copies: dict[str, types.ModuleType] = {}


def _bound(implementation: types.FunctionType) -> Callable[..., Any]:
    """Return a function of NumPy's that calls the shared loops."""
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
                names[name] = value  # results are of NumPy's classes
    return cast(Callable[..., Any], getattr(copy, implementation.__name__))


def _of_stacks(implementation: types.FunctionType) -> Callable[..., Any]:
    """Return a function of `numpy.linalg` or `numpy.fft` with its loops shared; it is made when needed."""
    made: list[Callable[..., Any]] = []

    def run(*args: Any, **kwargs: Any) -> Any:
        if "out" in kwargs:
            return NotImplemented
        if not made:
            made.append(_bound(implementation))
        return made[0](*args, **kwargs)

    return run


def lines(array: Any, axis: Any, cost: float) -> Callable[[Callable[[Any], None]], int] | None:
    """Return what shares the lines along an axis among threads; None where one thread does it as well.

    `cost` is what an element takes, in nanoseconds.
    It calls its argument with indices, each of which selects a share of the array and of all that has its
    shape, and returns the axis that was cut. Exceptions of the work are raised, as are conditions that would
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
    """Return what makes a number, or one for each of ``q``, of each line as `original` does.

    `position` is that of ``axis`` among the arguments; ``q`` stands before it.
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
    """Return the axis that a call of the array's method of that name gives."""
    position = {"sort": 0, "argsort": 0, "partition": 1, "argpartition": 1}[name]
    return args[position] if len(args) > position else kwargs.get("axis", -1)


def _cost(name: str) -> float:
    """Return the nanoseconds that an element takes in the method of that name."""
    return _ORDERED if name in ("sort", "partition") else _TRANSFORMED


def _in_place(name: str, array: Any, *args: Any, **kwargs: Any) -> Any:
    """Reorder each line of a dense array as its method of that name does."""
    share = lines(array, _axis(name, args, kwargs), _cost(name)) if array.flags.forc else None
    if share is None:
        return NotImplemented
    method = getattr(numpy.ndarray, name)
    share(lambda at: method(array[at], *args, **kwargs))
    return None


def _copied(name: str, array: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a copy with each line reordered as the array's method of that name does."""
    share = lines(array, _axis(name, args, kwargs), _cost(name))
    if share is None:
        return NotImplemented
    method, copy = getattr(numpy.ndarray, name), array.copy(order="K")
    share(lambda at: method(copy[at], *args, **kwargs))
    return copy


def _positions(name: str, array: Any, *args: Any, **kwargs: Any) -> Any:
    """Return an order of each line, as the array's method of that name finds it."""
    share = lines(array, _axis(name, args, kwargs), _cost(name))
    if share is None:
        return NotImplemented
    method, order = getattr(numpy.ndarray, name), numpy.empty(array.shape, numpy.intp)

    def work(at: Any) -> None:
        order[at] = method(array[at], *args, **kwargs)

    share(work)
    return order


def _sliding(mode: str, original: Any) -> Callable[..., Any]:
    """Return what slides the shorter of two vectors along the longer; every place is a sum of its own."""

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
    """Return what asks one way after the other."""

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
    """Return how many elements a call of NumPy's own function may have; `shared` is for others."""
    return _FEW if name == "unique" else _MOST


def shared(name: str, original: Any) -> Any:
    """Return a function that does on all cores what NumPy's `original`, known as `name`, does; or None."""
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
                made = NotImplemented  # NumPy's own function says what it is
            if made is not NotImplemented:
                return made
        return original(*args, **kwargs)

    return ask
