"""What the instructions of a Python function do with each other's results.

The bytecode of CPython 3.11 and 3.12 is read once, from front to end, with the stack as the instructions
before have left it; `_escape` follows scalars by what is found here.

In: a code object. Out: for each instruction that pushes a result, the uses of it.
"""

from __future__ import annotations

import dis
import functools
import sys
from bisect import bisect_right
from types import CodeType
from typing import Any

__all__ = ["Expr", "Uses", "block_reads_its_target", "instruction", "is_in_place", "uses_of"]

Expr = tuple[Any, ...] | None
"""How a callable is found: ("name", n), ("local", n), ("attribute", expr, n), ("self", expr), or unknown."""

_PRECALL = dis.opmap.get("PRECALL")
_METHODS_OF_ARRAYS = sys.version_info >= (3, 12)


class Uses:
    """What the instructions of a code object do with each other's results."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.of: dict[int, list[tuple[Any, ...]]] = {}
        self.loads: dict[str, list[int]] = {}


_Item = tuple[int, Expr]
_UNKNOWN: _Item = (-1, None)
_NULL: _Item = (-1, ("null",))


class _Reader:
    """Reads a code object once, from front to end, with the stack as the instructions before have left it."""

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.uses = Uses()
        self.stack: list[_Item] = []
        self.keywords: tuple[str, ...] = ()
        self.waiting: dict[int, list[_Item]] = {}
        self.locals = (
            code.co_varnames
            + tuple(n for n in code.co_cellvars if n not in code.co_varnames)
            + code.co_freevars
        )

    def read(self) -> Uses:
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

    def load(self, at: int, name: str, expr: Expr) -> None:
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
            self.use(self.pop()[0], "global", code.co_names[arg])
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
_READ: dict[CodeType, Uses] = {}


def uses_of(code: CodeType) -> Uses:
    found = _READ.get(code)
    if found is None:
        if len(_READ) > 1000:
            _READ.clear()
        found = _READ[code] = _Reader(code).read()
    return found


# operators of BINARY_OP that work in place
_IN_PLACE = range(13, 26)


def is_in_place(code: CodeType, at: int) -> bool:
    """Say whether the instruction at an offset is an operator in place."""
    if not 0 <= at < len(code.co_code) - 1:
        return False
    name = dis.opname[code.co_code[at]]
    return name.startswith("INPLACE_") or (name == "BINARY_OP" and code.co_code[at + 1] in _IN_PLACE)


@functools.lru_cache(maxsize=256)
def block_reads_its_target(code: CodeType, at: int) -> bool | None:
    """Say whether a ``with`` statement's block may read the variable that its ``as`` binds.

    None where the instruction at the offset does not enter such a block.
    """
    read = dis.Bytecode(code)
    steps = [step for step in read if step.offset >= at]
    if not steps or steps[0].opname != "BEFORE_WITH":
        return None
    store = steps[1]
    if store.opname == "POP_TOP":
        return False
    if store.opname not in ("STORE_FAST", "STORE_NAME"):
        return True
    handled: Any = getattr(read, "exception_entries", ())
    targets = [entry.target for entry in handled if entry.start <= store.offset < entry.end]
    end = max((entry.end for entry in handled if entry.target in targets), default=sys.maxsize)
    if any(
        step.argval == store.argval and step.opname.startswith("LOAD_")
        for step in steps
        if store.offset < step.offset < end
    ):
        return True
    return store.opname == "STORE_NAME" and _names_it(code, store.argval)


def _names_it(code: CodeType, name: str) -> bool:
    """Does a function that is defined in a code object read a global name?"""
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    return any(name in part.co_names or _names_it(part, name) for part in inner)


def instruction(code: CodeType, at: int) -> int:
    """Return the offset of the instruction that pushes what the one at an offset is computing."""
    starts = uses_of(code).starts
    index = bisect_right(starts, at) - 1
    # 3.11 carries a call that it has specialized out before the instruction CALL
    if starts and code.co_code[starts[index]] == _PRECALL:
        index += 1
    return starts[index] if starts else 0
