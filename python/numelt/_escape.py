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
import dis
import math
import operator
import os
import sys
from bisect import bisect_right
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

from numelt import _core

__all__ = ["CALLER", "DEFER", "OURS", "REAL", "verdict"]

DEFER, CALLER, REAL = range(3)
"""It may stay deferred; what the calling function does with it decides; it has to be NumPy's scalar."""

OURS = 4
"""Added to a verdict: the place is in a function of numelt's or NumPy's."""

_Expr = tuple[Any, ...] | None
"""How a callable is found: ("name", n), ("local", n), ("attribute", expr, n), ("self", expr), or unknown."""

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
_OWN_REFERENCES = 3
_ARRAYS = (_core.ndarray, _core.scalar, numpy.ndarray, numpy.generic)
_PRECALL = dis.opmap.get("PRECALL")
_METHODS_OF_ARRAYS = sys.version_info >= (3, 12)


class _Uses:
    """What the instructions of a code object do with each other's results."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.of: dict[int, list[tuple[Any, ...]]] = {}
        self.loads: dict[str, list[int]] = {}


_Item = tuple[int, _Expr]
_UNKNOWN: _Item = (-1, None)
_NULL: _Item = (-1, ("null",))


class _Reader:
    """Reads a code object once, from front to end, with the stack as the instructions before have left it."""

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.uses = _Uses()
        self.stack: list[_Item] = []
        self.keywords: tuple[str, ...] = ()
        self.waiting: dict[int, list[_Item]] = {}
        self.locals = (
            code.co_varnames
            + tuple(n for n in code.co_cellvars if n not in code.co_varnames)
            + code.co_freevars
        )

    def read(self) -> _Uses:
        raw, extended, open_end = self.code.co_code, 0, True
        caches = getattr(dis, "_inline_cache_entries", [0] * 256)
        for at in range(0, len(raw), 2):
            op, arg = raw[at], raw[at + 1] | extended
            if op == dis.opmap.get("CACHE", 0):
                continue
            if op == dis.EXTENDED_ARG:
                extended = arg << 8
                continue
            extended = 0
            if at in self.waiting:
                self.join(self.waiting.pop(at), open_end)
            elif not open_end:
                self.stack = []
            self.uses.starts.append(at)
            name = dis.opname[op]
            if op in dis.hasjrel and "BACKWARD" not in name:
                target = at + 2 * (1 + caches[op]) + 2 * arg
                kept = self.stack if "OR_POP" in name or name == "JUMP_FORWARD" else self.stack[:-1]
                self.waiting.setdefault(target, list(kept))
            self.step(at, name, arg)
            open_end = name not in (
                "JUMP_FORWARD",
                "JUMP_BACKWARD",
                "RETURN_VALUE",
                "RAISE_VARARGS",
                "RERAISE",
            )
        return self.uses

    def join(self, other: list[_Item], open_end: bool) -> None:
        """Continue where two ways meet: what either left on the stack is the same value."""
        if not open_end:
            self.stack = other
        elif len(other) == len(self.stack):
            for left, right in zip(other, self.stack, strict=True):
                if left[0] != right[0] and right[0] >= 0:
                    self.use(left, "same", right[0])

    def pop(self, count: int = 1) -> list[_Item]:
        missing = [_UNKNOWN] * (count - len(self.stack))
        popped = missing + self.stack[len(self.stack) - (count - len(missing)) :] if count else []
        del self.stack[len(self.stack) - (count - len(missing)) :]
        return popped

    def use(self, item: _Item, *how: Any) -> None:
        if item[0] >= 0:
            self.uses.of.setdefault(item[0], []).append(how)

    def load(self, at: int, name: str, expr: _Expr) -> None:
        self.uses.loads.setdefault(name, []).append(at)
        self.stack.append((at, expr))

    def step(self, at: int, name: str, arg: int) -> None:
        code, stack = self.code, self.stack
        if name in ("LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FAST_CHECK"):
            self.load(at, self.locals[arg], ("local", self.locals[arg]))
        elif name == "LOAD_NAME":
            self.load(at, code.co_names[arg], ("name", code.co_names[arg]))
        elif name == "LOAD_GLOBAL":
            stack += [_NULL] * (arg & 1)
            self.load(at, code.co_names[arg >> 1], ("name", code.co_names[arg >> 1]))
        elif name in ("STORE_FAST", "STORE_DEREF"):
            self.use(self.pop()[0], "store", self.locals[arg])
        elif name in ("STORE_NAME", "STORE_GLOBAL"):
            self.use(self.pop()[0], "store", code.co_names[arg])
        elif name == "LOAD_METHOD":
            self.method(at, self.pop()[0], code.co_names[arg])
        elif name == "LOAD_ATTR" and _METHODS_OF_ARRAYS and arg & 1:
            self.method(at, self.pop()[0], code.co_names[arg >> 1])
        elif name == "LOAD_ATTR":
            attribute = code.co_names[arg >> 1 if _METHODS_OF_ARRAYS else arg]
            owner = self.pop()[0]
            self.use(owner, "asked")
            self.load(at, "." + attribute, ("attribute", owner[1], attribute))
        elif name == "STORE_ATTR":
            value, owner = self.pop(2)
            self.use(value, "attribute", code.co_names[arg], owner[1])
        elif name == "KW_NAMES":
            self.keywords = code.co_consts[arg]
        elif name == "CALL":
            self.call(at, arg)
        elif name == "CALL_FUNCTION_EX":
            callee, *given = self.pop(2 + (arg & 1))
            self.pop()
            for item in given:
                self.use(item, "call", callee[1], None, at)
            stack.append((at, None))
        elif name in ("BUILD_TUPLE", "BUILD_LIST"):
            for item in self.pop(arg):
                self.use(item, "same", at)
            stack.append((at, ("built",)))
        elif name == "BUILD_MAP":
            given = self.pop(2 * arg)
            for key, value in zip(given[::2], given[1::2], strict=True):
                self.use(key, "key")
                self.use(value, "same", at)
            stack.append((at, None))
        elif name == "BUILD_CONST_KEY_MAP":
            for value in self.pop(arg + 1)[:-1]:
                self.use(value, "same", at)
            stack.append((at, None))
        elif name == "LOAD_CONST":
            stack.append((at, ("constant", code.co_consts[arg])))
        elif name == "BINARY_OP":
            left, right = self.pop(2)
            if right[1] == ("built",):
                self.use(right, "put", left[1])
            if left[1] is not None and left[1][0] == "constant" and isinstance(left[1][1], str):
                self.use(right, "key")  # formats it
            stack.append((at, None))
        elif name in ("GET_ITER", "LIST_TO_TUPLE"):
            self.use(self.pop()[0], "same", at)
            stack.append((at, None))
        elif name == "FOR_ITER":
            self.use(stack[-1] if stack else _UNKNOWN, "item", at)
            stack.append((at, None))
        elif name == "BINARY_SUBSCR":
            owner = self.pop(2)[0]
            self.use(owner, "item", at)
            stack.append((at, ("item", owner[1])))
        elif name == "STORE_SUBSCR":
            value, owner, _ = self.pop(3)
            self.use(value, "put", owner[1])
        elif name in ("LIST_APPEND", "SET_ADD"):
            self.use(self.pop()[0], "collected")
        elif name == "MAP_ADD":
            self.use(self.pop(2)[1], "collected")
        elif name in ("LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE"):
            merged = self.pop()[0]
            if len(stack) >= arg:
                self.use(merged, "same", stack[-arg][0])
        elif name == "UNPACK_SEQUENCE":
            self.use(self.pop()[0], "item", at)
            stack += [(at, None)] * arg
        elif name == "YIELD_VALUE":
            self.use(self.pop()[0], "return")
            stack.append((at, None))
        elif name == "MAKE_FUNCTION":
            made = self.pop(1 + arg.bit_count())[-1][1]
            stack.append((at, ("code", made[1]) if made is not None and made[0] == "constant" else None))
        elif name == "PUSH_NULL":
            stack.append(_NULL)
        elif name == "RETURN_VALUE":
            self.use(self.pop()[0], "return")
        elif name == "COPY":
            stack.append(stack[-arg] if len(stack) >= arg else _UNKNOWN)
        elif name == "SWAP":
            if len(stack) >= arg:
                stack[-arg], stack[-1] = stack[-1], stack[-arg]
        elif name in _POPS:
            pops, pushes = _POPS[name](arg)
            self.pop(pops)
            stack += [(at, None)] * pushes
        elif dis.hasjrel and name.startswith("POP_JUMP"):
            self.pop()
        else:
            stack.clear()

    def method(self, at: int, owner: _Item, name: str) -> None:
        self.use(owner, "asked")
        self.stack += [(at, ("attribute", owner[1], name)), (-1, ("self",))]

    def call(self, at: int, count: int) -> None:
        callee, own, *args = self.pop(count + 2)
        if callee[1] == ("null",):
            callee = own
        elif own[1] != ("self",):
            args, count = [own, *args], count + 1
        names: list[Any] = list(range(count - len(self.keywords))) + list(self.keywords)
        for item, name in zip(args, names, strict=True):
            self.use(item, "call", callee[1], name, at)
        self.keywords = ()
        self.stack.append((at, None))


_LEAVING = frozenset(["JUMP_FORWARD", "JUMP_BACKWARD", "RETURN_VALUE", "RAISE_VARARGS", "RERAISE"])


def _fixed(pops: int, pushes: int) -> Any:
    return lambda arg: (pops, pushes)


def _all(names: str, pops: int, pushes: int) -> dict[str, Any]:
    return dict.fromkeys(names.split(), _fixed(pops, pushes))


_POPS: dict[str, Any] = {
    **_all("NOP RESUME PRECALL COPY_FREE_VARS MAKE_CELL SETUP_ANNOTATIONS JUMP_FORWARD JUMP_BACKWARD", 0, 0),
    **_all("DELETE_FAST DELETE_NAME DELETE_GLOBAL", 0, 0),
    **_all("RETURN_GENERATOR LOAD_CLOSURE LOAD_BUILD_CLASS IMPORT_FROM", 0, 1),
    **_all("POP_TOP", 1, 0),
    **_all("JUMP_IF_TRUE_OR_POP JUMP_IF_FALSE_OR_POP", 1, 0),
    **_all("UNARY_POSITIVE UNARY_NEGATIVE UNARY_NOT UNARY_INVERT", 1, 1),
    **_all("COMPARE_OP IS_OP CONTAINS_OP IMPORT_NAME", 2, 1),
    **_all("DELETE_SUBSCR", 2, 0),
    "BUILD_SET": lambda arg: (arg, 1),
    "BUILD_STRING": lambda arg: (arg, 1),
    "BUILD_SLICE": lambda arg: (arg, 1),
    "FORMAT_VALUE": lambda arg: (2 if arg & 4 else 1, 1),
}
_READ: dict[CodeType, _Uses] = {}


def _uses(code: CodeType) -> _Uses:
    found = _READ.get(code)
    if found is None:
        if len(_READ) > 1000:
            _READ.clear()
        found = _READ[code] = _Reader(code).read()
    return found


class _Search:
    """The search from one place in one frame, or in a function that was given the scalar."""

    def __init__(self, code: CodeType, spaces: list[dict[str, Any]], depth: int) -> None:
        self.uses = _uses(code)
        self.spaces = spaces
        self.depth = depth
        self.seen: set[int] = set()
        self.contained = False
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
        names = [what[0] for kind, *what in uses if kind == "store"]
        loads = [load for name in names for load in self.uses.loads.get(name, ()) if load > at]
        joined = [what[0] for kind, *what in uses if kind == "same"]
        plain = all(kind in ("store", "return", "same") for kind, *_ in uses)
        return plain and all(self.is_only_returned(at) for at in loads + joined)

    def variable(self, name: str) -> int:
        return max((self.result(at) for at in self.uses.loads.get(name, ())), default=DEFER)

    def use(self, kind: str, *what: Any) -> int:
        if kind == "store":
            return self.variable(what[0])
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
        return REAL if kind == "key" and not self.contained else DEFER

    def kept(self, container: _Expr) -> int:
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

    def elements(self, at: int) -> int:
        """Follow the elements of the container that is the result of an instruction."""
        found = DEFER
        for kind, *what in self.uses.of.get(at, ()):
            if kind == "item":
                found = max(found, self.result(what[0]))
            elif kind == "same" and what[0] != at:
                found = max(found, self.elements(what[0]))
            elif kind == "store" and what[0] not in self.aliases:
                self.aliases.add(what[0])
                found = max(found, *map(self.elements, self.uses.loads.get(what[0], ())), DEFER)
        return found

    def elsewhere(self, attribute: str, expr: _Expr) -> int:
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

    def argument(self, expr: _Expr, name: int | str | None, at: int) -> int:
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

    def find(self, expr: _Expr) -> tuple[bool, Any]:
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
        own = getattr(owner, "__dict__", {}).get(expr[2]) if not hasattr(type(owner), "__getattr__") else None
        if own is not None:
            return True, own
        for base in type(owner).__mro__:
            if expr[2] in vars(base):
                value = vars(base)[expr[2]]
                return True, MethodType(value, owner) if type(value) is FunctionType else value
        return False, None


_PACKAGES = tuple(os.path.dirname(m.__file__) + os.sep for m in (_core, numpy) if m.__file__)


def _root(expr: _Expr) -> str:
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
    if sys.version_info >= (3, 13):
        return DEFER
    try:
        return _judge(frame, at)
    except Exception:  # a callable of the program's that does not like to be looked at
        return DEFER


def _instruction(code: CodeType, at: int) -> int:
    """Return the offset of the instruction that pushes what the one at an offset is computing."""
    starts = _uses(code).starts
    index = bisect_right(starts, at) - 1
    # 3.11 carries a call that it has specialized out before the instruction CALL
    if starts and code.co_code[starts[index]] == _PRECALL:
        index += 1
    return starts[index] if starts else 0


def _judge(frame: FrameType, at: int) -> int:
    ours = frame.f_code.co_filename.startswith(_PACKAGES)
    uses = _uses(frame.f_code)
    start = _instruction(frame.f_code, at)
    if ours:
        # only what it does nothing else with than returning it
        search = _Search(frame.f_code, [], _DEEPEST)
        returned = start in uses.of and search.is_only_returned(start)
        return OURS | (CALLER if returned else DEFER)
    local = frame.f_locals
    found = _Search(frame.f_code, [local, frame.f_globals, vars(builtins)], 0).result(start)
    if found == DEFER and frame.f_code.co_name in _COMPREHENSIONS and frame.f_back is not None:
        found = _collected(frame.f_back) if ("collected",) in uses.of.get(start, ()) else DEFER
    if frame.f_code.co_flags & CO_OPTIMIZED and sys.getrefcount(local) <= _OWN_REFERENCES:
        local.clear()  # a copy, which would keep the frame's arrays alive
    return found


_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>")


def _collected(frame: FrameType) -> int:
    """Judge what a comprehension collects by what its frame's caller does with the elements."""
    start = _instruction(frame.f_code, frame.f_lasti)
    search = _Search(frame.f_code, [frame.f_locals, frame.f_globals, vars(builtins)], 0)
    search.contained = True
    return REAL if search.elements(start) == REAL else DEFER
