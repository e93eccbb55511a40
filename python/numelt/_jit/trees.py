"""Write expressions and assignment targets as S-expressions, with names resolved.

In: nodes of a syntax tree. Out: text for the compiler. An expression that is never compiled becomes
``(unsupported "...")``; CPython runs a statement that contains one.
"""

from __future__ import annotations

import ast

from numelt._jit.scopes import Scope

__all__ = [
    "BINARY",
    "Writer",
    "can_be_written",
    "constant",
    "is_loop_target",
    "is_target",
    "quoted",
    "unsupported",
]

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mult", ast.Div: "div", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitOr: "bitor",
    ast.BitXor: "bitxor", ast.BitAnd: "bitand", ast.MatMult: "matmult",
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], str] = {
    ast.USub: "neg",
    ast.UAdd: "pos",
    ast.Invert: "invert",
    ast.Not: "not",
}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
    ast.Is: "is", ast.IsNot: "isnot", ast.In: "in", ast.NotIn: "notin",
}  # fmt: skip

# bits of an integer constant; compiled code has no longer ones, and CPython limits their conversion to text
_LONGEST_INTEGER = 4096


def quoted(text: str) -> str:
    """Return a text in double quotes, with the escapes that the parser of crate ``jit`` reads."""
    if text.isidentifier():
        return f'"{text}"'
    named = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}
    escaped = (named.get(c) or (f"\\u{ord(c):04x}" if ord(c) < 32 else c) for c in text)
    return '"' + "".join(escaped) + '"'


def unsupported(what: str) -> str:
    """Return the text of an expression that compiled code never computes."""
    return f"(unsupported {quoted(what)})"


def constant(value: object) -> str:
    """Return the text of a constant."""
    if value is None:
        return "(none)"
    if isinstance(value, bool):
        return f"(bool {int(value)})"
    if isinstance(value, int) and value.bit_length() <= _LONGEST_INTEGER:
        return f'(int "{value}")'
    if isinstance(value, float):
        return f'(float "{value!r}")'
    if isinstance(value, complex) and value.real == 0:
        return f'(complex "{value.imag!r}")'
    if isinstance(value, str) and value.isascii():
        return f"(str {quoted(value)})"
    if isinstance(value, str) and not any(0xD800 <= ord(c) < 0xE000 for c in value):
        return f"(str {quoted(value)})"
    return unsupported(f"a constant of type {type(value).__name__}")


def is_target(node: ast.expr) -> bool:
    """Can compiled code assign to this target: a name, a subscript, an attribute, or a tuple of targets?"""
    if isinstance(node, ast.Tuple | ast.List):
        return all(is_target(item) for item in node.elts)
    return isinstance(node, ast.Name | ast.Subscript) or _is_attribute_of_name(node)


def is_loop_target(node: ast.expr) -> bool:
    """Can compiled code assign items of an iterable to this target? That excludes attributes."""
    if isinstance(node, ast.Tuple | ast.List):
        return all(is_loop_target(item) for item in node.elts)
    return isinstance(node, ast.Name | ast.Subscript)


def _is_attribute_of_name(node: ast.expr) -> bool:
    """Is it an attribute such as ``self.x`` or ``self.state.x``? Evaluating the object has no effects."""
    while isinstance(node, ast.Attribute):
        node = node.value
        if isinstance(node, ast.Name):
            return True
    return False


def _elements(part: ast.expr) -> list[ast.expr]:
    """Return the indices between brackets. In ``a[i,]`` and ``a[()]`` the only index is a tuple."""
    if isinstance(part, ast.Tuple) and len(part.elts) > 1:
        return part.elts
    return [part]


class Writer:
    """Writes expressions, and collects the variables and the names from outside that they use.

    Attributes
    ----------
    slots : dict of str to int
        The variables in the order of their first use.
    assigned : set of int
        The numbers of the variables that are assigned.
    inputs : dict of str to int
        The names from outside, in the order of their first use: globals and builtins. For a called function
        (`is_callee`) also the variables of enclosing functions.
    """

    def __init__(
        self, scope: Scope, stored: frozenset[str] = frozenset(), *, is_callee: bool = False
    ) -> None:
        self.scope = scope
        self._is_callee = is_callee
        # globals that the loop assigns are treated as its variables
        self._stored = stored
        self.slots: dict[str, int] = {}
        self.assigned: set[int] = set()
        self.inputs: dict[str, int] = {}

    def slot(self, name: str) -> int:
        """Return the number of a variable."""
        return self.slots.setdefault(name, len(self.slots))

    def target(self, node: ast.expr) -> str:
        """Return the text of an assignment target for which `is_target` holds."""
        if isinstance(node, ast.Tuple | ast.List):
            return f"(tuple{''.join(' ' + self.target(item) for item in node.elts)})"
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        assert isinstance(node, ast.Name)
        number = self.slot(node.id)
        self.assigned.add(number)
        return f"(slot {number})"

    def expression(self, node: ast.expr) -> str:
        """Return the text of an expression."""
        write = getattr(self, f"_{type(node).__name__.lower()}", None)
        return write(node) if write is not None else unsupported(type(node).__name__)

    def _all(self, nodes: list[ast.expr]) -> str:
        return "".join(" " + self.expression(node) for node in nodes)

    def _constant(self, node: ast.Constant) -> str:
        return constant(node.value)

    def _name(self, node: ast.Name) -> str:
        name = node.id
        if name == "__debug__":
            return constant(__debug__)
        if name == "__class__":
            return unsupported("__class__")
        is_outside = self._is_callee and self.scope.is_free(name)
        if (self.scope.is_local(name) and not is_outside) or name in self._stored:
            return f"(slot {self.slot(name)})"
        number = self.inputs.setdefault(self.scope.mangled(name), len(self.inputs))
        return f"(input {number})"

    def _binop(self, node: ast.BinOp) -> str:
        return f"(binary {BINARY[type(node.op)]}{self._all([node.left, node.right])})"

    def _unaryop(self, node: ast.UnaryOp) -> str:
        return f"(unary {_UNARY[type(node.op)]} {self.expression(node.operand)})"

    def _compare(self, node: ast.Compare) -> str:
        pairs = zip(node.ops, node.comparators, strict=True)
        rest = "".join(f" {_COMPARE[type(op)]} {self.expression(value)}" for op, value in pairs)
        return f"(compare {self.expression(node.left)}{rest})"

    def _boolop(self, node: ast.BoolOp) -> str:
        return f"({'and' if isinstance(node.op, ast.And) else 'or'}{self._all(node.values)})"

    def _ifexp(self, node: ast.IfExp) -> str:
        return f"(ifexp{self._all([node.test, node.body, node.orelse])})"

    def _tuple(self, node: ast.Tuple) -> str:
        return f"(tuple{self._all(node.elts)})"

    def _list(self, node: ast.List) -> str:
        return f"(list{self._all(node.elts)})"

    def _attribute(self, node: ast.Attribute) -> str:
        return f"(attr {self.expression(node.value)} {quoted(self.scope.mangled(node.attr))})"

    def _subscript(self, node: ast.Subscript) -> str:
        items = "".join(" " + self._index(part) for part in _elements(node.slice))
        return f"(index {self.expression(node.value)}{items})"

    def _index(self, node: ast.expr) -> str:
        if not isinstance(node, ast.Slice):
            return self.expression(node)
        bounds = (node.lower, node.upper, node.step)
        texts = ["(none)" if bound is None else self.expression(bound) for bound in bounds]
        return f"(slice {' '.join(texts)})"

    def _call(self, node: ast.Call) -> str:
        if any(keyword.arg is None for keyword in node.keywords):
            return unsupported("double star")
        arguments = " ".join(map(self._argument, node.args))
        keywords = "".join(f" ({quoted(k.arg or '')} {self.expression(k.value)})" for k in node.keywords)
        return f"(call {self.expression(node.func)} ({arguments}){keywords})"

    def _argument(self, node: ast.expr) -> str:
        """Return the text of a positional argument, which may have a star."""
        if isinstance(node, ast.Starred):
            return f"(starred {self.expression(node.value)})"
        return self.expression(node)


def can_be_written(node: ast.expr) -> bool:
    """Have expressions of this kind a compiled form? Their parts are not considered."""
    return isinstance(node, ast.Slice | ast.Starred) or hasattr(Writer, f"_{type(node).__name__.lower()}")
