"""Where the result of a full reduction goes: to code that needs NumPy's own scalar, or not.

A scalar that is not computed yet is none to C code that looks at an object's type: `time.sleep`, `timedelta`
or `Decimal` take NumPy's float64, which is a float, and refuse ours. So the bytecode after the operation that
makes a scalar is followed once: the variables and attributes it is kept in, the calls it is an argument of,
the functions that return it. Where it meets a function in C that is not known to ask by a protocol, or a
callable that cannot be named, the core computes it at once. Everything else, arithmetic above all, leaves it
deferred. What is put into a container is followed to the container's elements, where they are taken out one
by one: only a function in C that is known by name counts there, since a history that is plotted or printed at
the end should not cost a computation at each step.

In: a frame and the offset of its current instruction. Out: one of three verdicts, which the core remembers
for the place.
"""

from __future__ import annotations

import builtins
import math
import operator
import os
import sys
from inspect import CO_OPTIMIZED
from types import (
    BuiltinFunctionType,
    BuiltinMethodType,
    CodeType,
    FrameType,
    FunctionType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy

from numelt import _core, _fallback
from numelt._bytecode import READABLE, Expr, instruction, uses_of

__all__ = ["CALLER", "DEFER", "OURS", "REAL", "verdict"]

DEFER, CALLER, REAL = range(3)
"""It may stay deferred; what the calling function does with it decides; it has to be NumPy's scalar."""

OURS = 4
"""Added to a verdict: the place is in a function of numelt's or NumPy's."""

# functions in C that ask an argument by a protocol
_BY_PROTOCOL = frozenset(
    [
        float,
        int,
        complex,
        bool,
        str,
        repr,
        abs,
        round,
        print,
        format,
        max,
        min,
        sum,
        sorted,
        pow,
        divmod,
        len,
        id,
        hash,
        type,
    ]
    + [
        isinstance,
        issubclass,
        iter,
        enumerate,
        zip,
        tuple,
        list,
        hasattr,
        getattr,
        setattr,
        callable,
        all,
        any,
        object,
    ]
    + [f for module in (math, operator) for f in vars(module).values() if callable(f)]
)
_HANDING_ON = (max, min, sorted, zip, enumerate, iter, next, list, tuple, set, reversed)
_CONTAINERS = frozenset(
    ["append", "insert", "extend", "appendleft", "add", "update", "setdefault", "put", "send"]
)
# `sysconfig` knows these folders too, but takes milliseconds to import
_LIBRARIES = (os.path.dirname(os.__file__), os.path.dirname(os.path.dirname(numpy.__file__)), "<frozen")
_DEEPEST = 4
_METHODS = 100
_OUTERMOST = 2
_OWN_REFERENCES = 3
_ARRAYS = (_core.ndarray, _core.scalar, numpy.ndarray, numpy.generic)


class _Search:
    """The search from one place in one frame, or in a function that was given the scalar."""

    def __init__(self, code: CodeType, spaces: list[dict[str, Any]], depth: int) -> None:
        self.uses = uses_of(code)
        self.spaces = spaces
        self.depth = depth
        self.seen: set[int] = set()
        self.contained = False
        self.interactive = False
        self.aliases: set[str] = set()

    def result(self, at: int) -> int:
        """Follow the result of the instruction at an offset."""
        if at in self.seen:
            return DEFER
        self.seen.add(at)
        return max((self.use(*use) for use in self.uses.of.get(at, ())), default=DEFER)

    def is_only_returned(self, at: int) -> bool:
        """Does the function return the result of an instruction and do nothing else with it?"""
        if at in self.seen:
            return True
        self.seen.add(at)
        uses = self.uses.of.get(at, [])
        names = [what[0] for kind, *what in uses if kind in ("store", "global")]
        loads = [load for name in names for load in self.uses.loads.get(name, ()) if load > at]
        joined = [what[0] for kind, *what in uses if kind == "same"]
        plain = all(kind in ("store", "global", "return", "same") for kind, *_ in uses)
        return plain and all(self.is_only_returned(at) for at in loads + joined)

    def variable(self, name: str) -> int:
        return max((self.result(at) for at in self.uses.loads.get(name, ())), default=DEFER)

    def use(self, kind: str, *what: Any) -> int:
        if kind == "store":
            return self.variable(what[0])
        if kind == "global":
            return max(self.variable(what[0]), self.outside(what[0]))
        if kind in ("same", "item"):
            return self.result(what[0])
        if kind == "put":
            return self.kept(what[0])
        if kind == "attribute":
            return max(self.variable("." + what[0]), self.elsewhere(*what))
        if kind == "return":
            return CALLER
        if kind == "call":
            return self.argument(*what)
        if kind == "collected":
            return self.gathered(what[0])
        return REAL if kind == "key" and not self.contained else DEFER

    def kept(self, container: Expr) -> int:
        """Judge what is put into a container by what is done with the elements that are taken out of it."""
        while container is not None and container[0] == "item":
            container = container[1]
        if container is None or container[0] not in ("local", "name", "attribute"):
            return DEFER
        name = "." + container[2] if container[0] == "attribute" else container[1]
        before, self.contained = self.contained, True
        found = max((self.elements(at) for at in self.uses.loads.get(name, ())), default=DEFER)
        if container[0] == "attribute" and found == DEFER:
            found = self.elsewhere(container[2], container[1])
        self.contained = before
        return found if found == REAL else DEFER

    def gathered(self, at: int) -> int:
        """Judge what a comprehension puts into the container that this function makes for it."""
        before, self.contained = self.contained, True
        found = self.elements(at)
        self.contained = before
        return REAL if found == REAL else DEFER

    def elements(self, at: int) -> int:
        """Follow the elements of the container that is the result of an instruction."""
        found = DEFER
        for kind, *what in self.uses.of.get(at, ()):
            if kind == "item":
                found = max(found, self.result(what[0]))
            elif kind == "same" and what[0] != at:
                found = max(found, self.elements(what[0]))
            elif kind in ("store", "global") and what[0] not in self.aliases:
                self.aliases.add(what[0])
                found = max(found, *map(self.elements, self.uses.loads.get(what[0], ())), DEFER)
        return found

    def elsewhere(self, attribute: str, expr: Expr) -> int:
        """Judge an attribute by what the methods of its owner do with it."""
        found, owner = self.find(expr)
        if not found or self.depth >= _DEEPEST:
            return DEFER
        methods = [m for m in vars(type(owner)).values() if type(m) is FunctionType][:_METHODS]
        searches = [_Search(m.__code__, [m.__globals__, vars(builtins)], _DEEPEST) for m in methods]

        def follow(search: _Search) -> int:
            if self.contained:
                return search.kept(("attribute", None, attribute))
            return search.variable("." + attribute)

        return REAL if any(follow(search) == REAL for search in searches) else DEFER

    def outside(self, name: str) -> int:
        """Judge a global variable by what functions do with it, or the lines that are still to be typed."""
        if self.interactive and name not in self.uses.loads:
            return REAL
        if self.depth >= _DEEPEST or len(self.spaces) < _OUTERMOST:
            return DEFER
        names = self.spaces[-_OUTERMOST]
        functions = [f for f in list(names.values()) if type(f) is FunctionType]
        readers = [f for f in functions if name in f.__code__.co_names][:_METHODS]
        searches = [_Search(f.__code__, [_cells(f), names, vars(builtins)], _DEEPEST) for f in readers]
        return REAL if any(search.variable(name) == REAL for search in searches) else DEFER

    def argument(self, expr: Expr, name: int | str | None, at: int) -> int:
        """Judge being the argument of a callable, given by its position or name."""
        if expr is not None and expr[0] == "attribute" and expr[2] in _CONTAINERS:
            return self.kept(expr[1])
        if _root(expr).startswith("@"):
            return DEFER  # what a test's assertions are rewritten to, to show values
        if expr is not None and expr[0] == "code" and isinstance(name, int):
            inner = _Search(expr[1], self.spaces, self.depth)
            judged = inner.variable(expr[1].co_varnames[name])
        else:
            found, value = self.find(expr)
            if self.contained and not (found and _is_compiled(value)):
                return DEFER
            if found and _is_handing_on(value):
                return self.result(at)
            judged = _takes(value, name, self.depth) if found else REAL
        return self.result(at) if judged == CALLER else judged  # it returns the scalar

    def find(self, expr: Expr) -> tuple[bool, Any]:
        """Look a callable up, without running anything of the program's."""
        if expr is None or expr[0] in ("null", "self", "constant", "code", "built", "item"):
            return False, None
        if expr[0] in ("name", "local"):
            return next(((True, space[expr[1]]) for space in self.spaces if expr[1] in space), (False, None))
        found, owner = self.find(expr[1])
        if not found:
            return False, None
        if isinstance(owner, _ARRAYS) or type(owner) is _core.ufunc:
            return True, numpy.ndarray  # whose methods are ours
        if type(owner) is ModuleType or isinstance(owner, type):
            value = getattr(owner, expr[2], None)
            return value is not None, value
        late = isinstance(owner, ModuleType) or hasattr(type(owner), "__getattr__")
        own = getattr(owner, "__dict__", {}).get(expr[2]) if not late else None
        if own is not None:
            return True, own
        for base in type(owner).__mro__:
            if expr[2] in vars(base):
                value = vars(base)[expr[2]]
                return True, MethodType(value, owner) if type(value) is FunctionType else value
        return False, None


_PACKAGES = tuple(os.path.dirname(m.__file__) + os.sep for m in (_core, numpy) if m.__file__)


def _root(expr: Expr) -> str:
    """Return the variable that a callable is found by."""
    while expr is not None and expr[0] == "attribute":
        expr = expr[1]
    return str(expr[1]) if expr is not None and expr[0] in ("name", "local") else ""


def _is_compiled(value: Any) -> bool:
    return isinstance(value, (type, BuiltinFunctionType, BuiltinMethodType))


def _is_handing_on(value: Any) -> bool:
    """Does a function give back its arguments, or what they hold?"""
    return any(value is f for f in _HANDING_ON)


def _is_ours(value: Any) -> bool:
    module = getattr(value, "__module__", None) or ""
    return isinstance(module, str) and module.partition(".")[0] in ("numelt", "numpy")


def _takes(function: Any, name: int | str | None, depth: int) -> int:
    """Judge a callable that gets the scalar."""
    try:
        if function in _BY_PROTOCOL:
            return DEFER
    except TypeError:
        return REAL
    if _is_ours(function) or type(function) is _core.ufunc:
        return DEFER
    if isinstance(function, type):
        made = next((vars(base)["__init__"] for base in function.__mro__ if "__init__" in vars(base)), None)
        if type(made) is not FunctionType:
            return REAL
        function = MethodType(made, object())
    if isinstance(function, MethodType):
        name = name + 1 if isinstance(name, int) else name
        function = function.__func__
    if isinstance(function, (BuiltinFunctionType, BuiltinMethodType)) or type(function) is not FunctionType:
        return REAL
    code = function.__code__
    if code.co_filename.startswith(_LIBRARIES):
        return REAL
    if depth >= _DEEPEST or name is None:
        return DEFER
    if isinstance(name, int):
        if name >= code.co_argcount:
            return DEFER
        name = code.co_varnames[name]
    spaces = [_cells(function), function.__globals__, vars(builtins)]
    return _Search(code, spaces, depth + 1).variable(name)


def _cells(function: FunctionType) -> dict[str, Any]:
    values = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            values[name] = cell.cell_contents
        except ValueError:
            continue
    return values


def verdict(frame: FrameType, at: int) -> int:
    """Return what becomes of the scalar that the frame's instruction at this offset makes.

    Examples
    --------
    >>> import datetime
    >>> import numelt as np
    >>> seconds = np.arange(100_000.0).mean()
    >>> datetime.timedelta(seconds=seconds)
    datetime.timedelta(seconds=49999, microseconds=500000)
    """
    try:
        return _judge(frame, at) if READABLE else _unread(frame)
    except _fallback.REFUSALS:  # a callable of the program's that does not like to be looked at
        return DEFER


def _unread(frame: FrameType) -> int:
    """Judge where bytecode cannot be read: no result that a program's function makes stays deferred."""
    return OURS | CALLER if frame.f_code.co_filename.startswith(_PACKAGES) else REAL


def _judge(frame: FrameType, at: int) -> int:
    ours = frame.f_code.co_filename.startswith(_PACKAGES)
    uses = uses_of(frame.f_code)
    start = instruction(frame.f_code, at)
    if ours:
        # only what it does nothing else with than returning it
        search = _Search(frame.f_code, [], _DEEPEST)
        returned = start in uses.of and search.is_only_returned(start)
        return OURS | (CALLER if returned else DEFER)
    local = frame.f_locals
    search = _Search(frame.f_code, [local, frame.f_globals, vars(builtins)], 0)
    search.interactive = _is_interactive(frame)
    found = search.result(start)
    del search  # it holds `local`
    if found == DEFER and frame.f_code.co_name in _COMPREHENSIONS and frame.f_back is not None:
        collected = any(kind == "collected" for kind, *_ in uses.of.get(start, ()))
        found = _collected(frame.f_back) if collected else DEFER
    if _is_copy(frame) and sys.getrefcount(local) <= _OWN_REFERENCES:
        local.clear()  # it would keep the frame's arrays alive
    return found


def _is_copy(frame: FrameType) -> bool:
    """Is what `f_locals` gives a copy of the frame's variables?"""
    return sys.version_info < (3, 13) and bool(frame.f_code.co_flags & CO_OPTIMIZED)


def _is_interactive(frame: FrameType) -> bool:
    """Is the code a line of an interpreter's prompt or a cell of a notebook, with more to come?"""
    is_typed = frame.f_code.co_filename.startswith("<") or "__file__" not in frame.f_globals
    return is_typed and frame.f_code.co_name == "<module>"


_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>")


def _collected(frame: FrameType) -> int:
    """Judge what a comprehension collects by what its frame's caller does with the elements."""
    start = instruction(frame.f_code, frame.f_lasti)
    local = frame.f_locals
    search = _Search(frame.f_code, [local, frame.f_globals, vars(builtins)], 0)
    search.contained = True
    found = REAL if search.elements(start) == REAL else DEFER
    del search
    if _is_copy(frame) and sys.getrefcount(local) <= _OWN_REFERENCES:
        local.clear()
    return found
