"""What the instructions of a Python function do with each other's results.

The bytecode of CPython 3.11 to 3.14 is read once, from front to end, with the stack as the instructions
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

__all__ = [
    "READABLE",
    "Expr",
    "Uses",
    "block_reads_its_target",
    "instruction",
    "is_in_place",
    "uses_of",
]

Expr = tuple[Any, ...] | None
"""How a callable is found: ("name", n), ("local", n), ("attribute", expr, n), ("self", expr), or unknown."""

_VERSION = sys.version_info[:2]

READABLE = _VERSION <= (3, 14)
"""Is this interpreter's bytecode known?"""

_PRECALL = dis.opmap.get("PRECALL")
_CACHES: Any = getattr(dis, "_inline_cache_entries", {})
_FROM_3_12, _FROM_3_13, _FROM_3_14 = ((3, minor) <= _VERSION for minor in (12, 13, 14))
# operators of BINARY_OP that work in place
_IN_PLACE = range(13, 26)
_SUBSCRIPT = 26
# what CALL_INTRINSIC_1 does
_LIST_TO_TUPLE = 6


class Uses:
    """What the instructions of a code object do with each other's results."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.of: dict[int, list[tuple[Any, ...]]] = {}
        self.loads: dict[str, list[int]] = {}


_Item = tuple[int, Expr]
_UNKNOWN: _Item = (-1, None)
_NULL: _Item = (-1, ("null",))
_SELF: _Item = (-1, ("self",))


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
                caches = _CACHES.get(name, 0) if isinstance(_CACHES, dict) else _CACHES[op]
                self.waiting.setdefault(at + 2 * (1 + caches) + 2 * arg, self.left_by_jump(name))
            self.step(at, name, arg)
            open_end = name not in _LEAVING
        return self.uses

    def left_by_jump(self, name: str) -> list[_Item]:
        """Return the stack where a jump leads."""
        if name == "FOR_ITER" and _FROM_3_12:
            return [*self.stack, _NULL]  # which END_FOR and what follows it pop
        kept = "OR_POP" in name or name == "JUMP_FORWARD"
        return list(self.stack if kept else self.stack[:-1])

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

    def push(self, at: int, expr: Expr = None) -> None:
        self.stack.append((at, expr))

    def below(self, depth: int) -> _Item:
        """Return what lies so deep on the stack; 1 is its top."""
        return self.stack[-depth] if len(self.stack) >= depth else _UNKNOWN

    def use(self, item: _Item, *how: Any) -> None:
        if item[0] >= 0:
            self.uses.of.setdefault(item[0], []).append(how)

    def load(self, at: int, name: str, expr: Expr) -> None:
        self.uses.loads.setdefault(name, []).append(at)
        self.push(at, expr)

    def step(self, at: int, name: str, arg: int) -> None:
        """Do to the stack what an instruction does."""
        if name in _STEPS:
            _STEPS[name](self, at, arg)
        elif name in _POPS:
            pops, pushes = _POPS[name](arg)
            self.pop(pops)
            for _ in range(pushes):
                self.push(at)
        elif name.startswith("POP_JUMP"):
            self.pop()
        else:
            self.stack.clear()

    def load_local(self, at: int, index: int) -> None:
        self.load(at, self.locals[index], ("local", self.locals[index]))

    def load_locals(self, at: int, arg: int) -> None:
        self.load_local(at, arg >> 4)
        self.load_local(at + 1, arg & 15)  # no instruction is at an odd offset

    def load_name(self, at: int, arg: int) -> None:
        self.load(at, self.code.co_names[arg], ("name", self.code.co_names[arg]))

    def load_global(self, at: int, arg: int) -> None:
        nulls = [_NULL] * (arg & 1)
        self.stack += [] if _FROM_3_13 else nulls
        self.load_name(at, arg >> 1)
        self.stack += nulls if _FROM_3_13 else []

    def load_from_dict(self, at: int, arg: int) -> None:
        self.pop()
        self.load_name(at, arg)

    def store_local(self, at: int, arg: int) -> None:
        self.use(self.pop()[0], "store", self.locals[arg])

    def store_locals(self, at: int, arg: int) -> None:
        self.store_local(at, arg >> 4)
        self.store_local(at, arg & 15)

    def store_and_load(self, at: int, arg: int) -> None:
        self.store_local(at, arg >> 4)
        self.load_local(at, arg & 15)

    def store_name(self, at: int, arg: int) -> None:
        self.use(self.pop()[0], "global", self.code.co_names[arg])

    def load_attribute(self, at: int, arg: int) -> None:
        if _FROM_3_12 and arg & 1:
            self.load_method(at, arg >> 1)
            return
        attribute = self.code.co_names[arg >> 1 if _FROM_3_12 else arg]
        owner = self.pop()[0]
        self.use(owner, "asked")
        self.load(at, "." + attribute, ("attribute", owner[1], attribute))

    def load_method(self, at: int, arg: int) -> None:
        owner = self.pop()[0]
        self.use(owner, "asked")
        self.push(at, ("attribute", owner[1], self.code.co_names[arg]))
        self.stack.append(_SELF)

    def load_inherited(self, at: int, arg: int) -> None:
        self.pop(3)
        self.push(at)
        self.stack += [_SELF] * (arg & 1)

    def load_special(self, at: int, arg: int) -> None:
        self.use(self.pop()[0], "asked")
        self.push(at)
        self.stack.append(_SELF)

    def store_attribute(self, at: int, arg: int) -> None:
        value, owner = self.pop(2)
        self.use(value, "attribute", self.code.co_names[arg], owner[1])

    def keyword_names(self, at: int, arg: int) -> None:
        self.keywords = self.code.co_consts[arg]

    def call_with_keywords(self, at: int, arg: int) -> None:
        names = self.pop()[0][1]
        self.keywords = names[1] if names is not None and names[0] == "constant" else ()
        self.call(at, arg)

    def call(self, at: int, count: int) -> None:
        callee, own, *args = self.pop(count + 2)
        if callee[1] == ("null",):
            callee = own
        elif own[1] not in (("self",), ("null",)):
            args, count = [own, *args], count + 1
        names: list[Any] = list(range(count - len(self.keywords))) + list(self.keywords)
        for item, name in zip(args, names, strict=True):
            self.use(item, "call", callee[1], name, at)
        self.keywords = ()
        self.push(at)

    def call_unpacked(self, at: int, arg: int) -> None:
        first, second, *given = self.pop(3 + (1 if _FROM_3_14 else arg & 1))
        callee = second if first == _NULL else first
        for item in given:
            self.use(item, "call", callee[1], None, at)
        self.push(at)

    def build_sequence(self, at: int, arg: int) -> None:
        for item in self.pop(arg):
            self.use(item, "same", at)
        self.push(at, ("built",))

    def build_map(self, at: int, arg: int) -> None:
        given = self.pop(2 * arg)
        for key, value in zip(given[::2], given[1::2], strict=True):
            self.use(key, "key")
            self.use(value, "same", at)
        self.push(at)

    def build_map_of_constant_keys(self, at: int, arg: int) -> None:
        for value in self.pop(arg + 1)[:-1]:
            self.use(value, "same", at)
        self.push(at)

    def build_interpolation(self, at: int, arg: int) -> None:
        self.use(self.pop(2 + (arg & 1))[0], "same", at)
        self.push(at)

    def load_constant(self, at: int, arg: int) -> None:
        self.push(at, ("constant", self.code.co_consts[arg]))

    def operator(self, at: int, arg: int) -> None:
        if arg == _SUBSCRIPT:
            self.subscript(at, arg)
            return
        left, right = self.pop(2)
        if right[1] == ("built",):
            self.use(right, "put", left[1])
        if left[1] is not None and left[1][0] == "constant" and isinstance(left[1][1], str):
            self.use(right, "key")  # formats it
        self.push(at)

    def hand_on(self, at: int, arg: int) -> None:
        self.use(self.pop()[0], "same", at)
        self.push(at)

    def intrinsic(self, at: int, arg: int) -> None:
        if arg == _LIST_TO_TUPLE:
            self.hand_on(at, arg)
        else:
            self.pop()
            self.push(at)

    def next_item(self, at: int, arg: int) -> None:
        self.use(self.below(1), "item", at)
        self.push(at)

    def subscript(self, at: int, arg: int) -> None:
        owner = self.pop(2)[0]
        self.use(owner, "item", at)
        self.push(at, ("item", owner[1]))

    def slice(self, at: int, arg: int) -> None:
        self.pop()
        self.subscript(at, arg)

    def store_item(self, at: int, arg: int) -> None:
        value, owner, _ = self.pop(3)
        self.use(value, "put", owner[1])

    def store_slice(self, at: int, arg: int) -> None:
        self.pop()
        self.store_item(at, arg)

    def collect(self, at: int, arg: int) -> None:
        self.use(self.pop()[0], "collected", self.below(arg)[0])

    def collect_pair(self, at: int, arg: int) -> None:
        self.use(self.pop(2)[1], "collected", self.below(arg)[0])

    def merge(self, at: int, arg: int) -> None:
        merged = self.pop()[0]
        if len(self.stack) >= arg:
            self.use(merged, "same", self.below(arg)[0])

    def unpack(self, at: int, arg: int) -> None:
        self.use(self.pop()[0], "item", at)
        self.stack += [(at, None)] * arg

    def give_out(self, at: int, arg: int) -> None:
        self.use(self.pop()[0], "return")
        self.push(at)

    def leave(self, at: int, arg: int) -> None:
        self.use(self.pop()[0], "return")

    def make_function(self, at: int, arg: int) -> None:
        made = self.pop(1 + (0 if _FROM_3_13 else arg.bit_count()))[-1][1]
        self.push(at, ("code", made[1]) if made is not None and made[0] == "constant" else None)

    def complete_function(self, at: int, arg: int) -> None:
        self.stack.append(self.pop(2)[1])

    def push_null(self, at: int, arg: int) -> None:
        self.stack.append(_NULL)

    def copy(self, at: int, arg: int) -> None:
        self.stack.append(self.below(arg))

    def swap(self, at: int, arg: int) -> None:
        if len(self.stack) >= arg:
            self.stack[-arg], self.stack[-1] = self.stack[-1], self.stack[-arg]


def _all(names: str, what: Any) -> dict[str, Any]:
    return dict.fromkeys(names.split(), what)


_LEAVING = _all("JUMP_FORWARD JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT", True) | _all(
    "RETURN_VALUE RETURN_CONST RAISE_VARARGS RERAISE", True
)

_STEPS: dict[str, Any] = {
    **_all("LOAD_FAST LOAD_FAST_BORROW LOAD_FAST_CHECK LOAD_DEREF LOAD_CLASSDEREF", _Reader.load_local),
    **_all("LOAD_FAST_LOAD_FAST LOAD_FAST_BORROW_LOAD_FAST_BORROW", _Reader.load_locals),
    **_all("STORE_FAST STORE_DEREF", _Reader.store_local),
    **_all("STORE_NAME STORE_GLOBAL", _Reader.store_name),
    **_all("BUILD_TUPLE BUILD_LIST", _Reader.build_sequence),
    **_all("GET_ITER LIST_TO_TUPLE", _Reader.hand_on),
    **_all("LIST_APPEND SET_ADD", _Reader.collect),
    **_all("LIST_EXTEND SET_UPDATE DICT_UPDATE DICT_MERGE", _Reader.merge),
    "STORE_FAST_STORE_FAST": _Reader.store_locals,
    "STORE_FAST_LOAD_FAST": _Reader.store_and_load,
    "LOAD_NAME": _Reader.load_name,
    "LOAD_GLOBAL": _Reader.load_global,
    "LOAD_FROM_DICT_OR_GLOBALS": _Reader.load_from_dict,
    "LOAD_METHOD": _Reader.load_method,
    "LOAD_ATTR": _Reader.load_attribute,
    "LOAD_SUPER_ATTR": _Reader.load_inherited,
    "LOAD_SPECIAL": _Reader.load_special,
    "STORE_ATTR": _Reader.store_attribute,
    "KW_NAMES": _Reader.keyword_names,
    "CALL": _Reader.call,
    "CALL_KW": _Reader.call_with_keywords,
    "CALL_FUNCTION_EX": _Reader.call_unpacked,
    "CALL_INTRINSIC_1": _Reader.intrinsic,
    "BUILD_MAP": _Reader.build_map,
    "BUILD_CONST_KEY_MAP": _Reader.build_map_of_constant_keys,
    "BUILD_INTERPOLATION": _Reader.build_interpolation,
    "LOAD_CONST": _Reader.load_constant,
    "BINARY_OP": _Reader.operator,
    "FOR_ITER": _Reader.next_item,
    "BINARY_SUBSCR": _Reader.subscript,
    "BINARY_SLICE": _Reader.slice,
    "STORE_SUBSCR": _Reader.store_item,
    "STORE_SLICE": _Reader.store_slice,
    "MAP_ADD": _Reader.collect_pair,
    "UNPACK_SEQUENCE": _Reader.unpack,
    "YIELD_VALUE": _Reader.give_out,
    "MAKE_FUNCTION": _Reader.make_function,
    "SET_FUNCTION_ATTRIBUTE": _Reader.complete_function,
    "PUSH_NULL": _Reader.push_null,
    "RETURN_VALUE": _Reader.leave,
    "COPY": _Reader.copy,
    "SWAP": _Reader.swap,
}


def _fixed(pops: int, pushes: int) -> Any:
    return lambda arg: (pops, pushes)


_POPS: dict[str, Any] = {
    **_all("NOP RESUME PRECALL COPY_FREE_VARS MAKE_CELL SETUP_ANNOTATIONS NOT_TAKEN", _fixed(0, 0)),
    **_all("JUMP_FORWARD JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT RETURN_CONST", _fixed(0, 0)),
    **_all("DELETE_FAST DELETE_NAME DELETE_GLOBAL", _fixed(0, 0)),
    **_all("RETURN_GENERATOR LOAD_CLOSURE LOAD_BUILD_CLASS IMPORT_FROM LOAD_LOCALS", _fixed(0, 1)),
    **_all("LOAD_SMALL_INT LOAD_COMMON_CONSTANT LOAD_ASSERTION_ERROR LOAD_FAST_AND_CLEAR", _fixed(0, 1)),
    **_all("POP_TOP POP_ITER", _fixed(1, 0)),
    **_all("JUMP_IF_TRUE_OR_POP JUMP_IF_FALSE_OR_POP", _fixed(1, 0)),
    **_all("UNARY_POSITIVE UNARY_NEGATIVE UNARY_NOT UNARY_INVERT TO_BOOL", _fixed(1, 1)),
    **_all("CONVERT_VALUE FORMAT_SIMPLE", _fixed(1, 1)),
    **_all("COMPARE_OP IS_OP CONTAINS_OP IMPORT_NAME", _fixed(2, 1)),
    **_all("FORMAT_WITH_SPEC BUILD_TEMPLATE CALL_INTRINSIC_2", _fixed(2, 1)),
    **_all("DELETE_SUBSCR", _fixed(2, 0)),
    **_all("BUILD_SET BUILD_STRING BUILD_SLICE", lambda arg: (arg, 1)),
    "END_FOR": _fixed(1 if _FROM_3_13 else 2, 0),
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
    # from 3.14 on, a call of what the instruction before has looked up
    special = [step.opname for step in read if step.offset < at][-1:] == ["LOAD_SPECIAL"]
    if not steps or not (steps[0].opname == "BEFORE_WITH" or special):
        return None
    store = steps[1]
    if store.opname == "POP_TOP":
        return False
    if store.opname not in ("STORE_FAST", "STORE_NAME"):
        return True
    handled: Any = getattr(read, "exception_entries", ())
    targets = [entry.target for entry in handled if entry.start <= store.offset < entry.end]
    end = max((entry.end for entry in handled if entry.target in targets), default=sys.maxsize)
    inside = [step for step in steps if store.offset < step.offset < end and "LOAD_" in step.opname]
    if any(step.argval == store.argval or store.argval in _pair(step.argval) for step in inside):
        return True
    return store.opname == "STORE_NAME" and _names_it(code, store.argval)


def _pair(names: Any) -> tuple[Any, ...]:
    """Return the variables of an instruction for two."""
    return names if isinstance(names, tuple) else ()


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
