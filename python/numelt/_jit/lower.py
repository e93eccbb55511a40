"""Write loops, and functions that loops call, as text for the compiler.

In: a loop of a syntax tree and its scope, or a function that a loop calls. Out: the text (`Lowered.text`),
the variables whose values the twin passes to the unit, and those it gets back.

::

    (unit "NAME" (slots "i" "s") (assigned 0 1) (inputs "np" "range") STATEMENT)
    (callee "NAME" (slots ...) (params 0 1) (defaults EXPRESSION...) (rest 2) (keywords 3 DEFAULT...)
            (inputs ...) (STATEMENT ...))

The *slots* are the variables, and the *inputs* are the names that come from outside the loop. The text refers
to both by their positions in these lists. A statement begins with its kind, its number (see `numbering`;
loops and ``if`` statements have their last number, too) and its line. `trees` describes expressions. A
statement that is never compiled is written as ``(exit NUMBER LINE "reason")``: there CPython goes on.
"""

from __future__ import annotations

import ast
import inspect
import types
from typing import Any, NamedTuple, cast

from numelt._jit import numbering, source
from numelt._jit.numbering import Loop, Span
from numelt._jit.scopes import Function, Scope, Survey
from numelt._jit.trees import BINARY, Writer, constant, is_loop_target, is_target, quoted, unsupported

__all__ = ["REST", "Lowered", "WrittenLoop", "callee", "lowered", "reason_to_leave", "stored_globals", "unit"]

REST = "__numelt_rest__"
"""The slot that holds the iterable of the outermost loop, if the loop is resumed or its iterable was computed
before the unit is called."""

# a call of a function with one of these flags is more than "pass the arguments, get the value"
_OTHER_PROTOCOLS = (
    inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_VARKEYWORDS
)


class Lowered(NamedTuple):
    """A loop as text for the compiler, and what the caller of its unit has to know."""

    text: str
    slots: tuple[str, ...]
    """The variables whose values the unit takes, in this order."""
    assigned: tuple[str, ...]
    """The variables whose new values the unit returns."""
    loops: tuple[ast.For, ...]
    """The ``for`` loops whose remaining iterators the unit returns."""


def unit(loop: Loop, scope: Scope) -> str:
    """Return the text of a loop."""
    return lowered(loop, scope).text


def lowered(loop: Loop, scope: Scope, is_resumed: bool = False) -> Lowered:
    """Return a loop as text for the compiler; see `WrittenLoop.lowered`."""
    return WrittenLoop(loop, scope).lowered(is_resumed)


class WrittenLoop:
    """A loop whose statements have been written, but not its iterable, which has two forms."""

    def __init__(self, loop: Loop, scope: Scope) -> None:
        self._loop = loop
        self._name = scope.name
        self._writer = Writer(scope, stored_globals(loop, scope))
        self._statements = _Statements(self._writer, numbering.spans(loop))
        self._is_for = False
        if isinstance(loop, ast.For) and reason_to_leave(loop, scope) is None:
            self._is_for = True
            self._parts = self._statements.parts_of_for(loop)
        else:
            self._parts = self._statements.write(loop), ""

    def lowered(self, is_resumed: bool) -> Lowered:
        """Return the loop as text for the compiler.

        With `is_resumed`, a ``for`` loop iterates over the variable `REST`. A loop is written so if it is
        resumed, and also if the twin computes its iterable before it calls the unit.
        """
        writer, body = self._writer, self._parts[0]
        slots, inputs = writer.slots, writer.inputs
        if self._is_for:
            # what the iterable adds to the names belongs to this form only
            writer.slots, writer.inputs = dict(slots), dict(inputs)
            iterable = (
                f"(slot {writer.slot(REST)})"
                if is_resumed
                else writer.expression(cast(ast.For, self._loop).iter)
            )
            body = iterable.join(self._parts)
        names, assigned = tuple(writer.slots), sorted(writer.assigned)
        text = (
            f"(unit {quoted(self._name)} {_names('slots', names)} (assigned{_numbers(assigned)})"
            f" {_names('inputs', writer.inputs)} {body})"
        )
        writer.slots, writer.inputs = slots, inputs
        return Lowered(text, names, tuple(names[n] for n in assigned), tuple(self._statements.loops))


def callee(function: Any) -> tuple[str, dict[str, Any]] | None:
    """Return the text of a Python function that a loop calls, and the function's globals.

    The result is None for objects that are not Python functions, for functions whose source is not
    available, and for those that are never compiled into a loop: generators, coroutines, functions with
    a parameter of two stars, and functions that assign to global or enclosing variables.
    """
    if type(function) is not types.FunctionType:
        return None
    if function.__code__.co_flags & _OTHER_PROTOCOLS:
        return None
    found = source.locate(function)
    if found is None or isinstance(found.node, ast.AsyncFunctionDef):
        return None
    text = _callee_text(found.node, found.scope, function.__defaults__ or (), function.__kwdefaults__ or {})
    return None if text is None else (text, function.__globals__)


def _callee_text(
    node: Function, scope: Scope, defaults: tuple[Any, ...], of_keywords: dict[str, Any]
) -> str | None:
    if scope.shared or scope.outer or scope.is_watched:
        return None
    simple = (type(None), bool, int, float, complex, str)
    if any(type(value) not in simple for value in (*defaults, *of_keywords.values())):
        return None
    writer = Writer(scope, is_callee=True)
    params = [writer.slot(parameter.arg) for parameter in (*node.args.posonlyargs, *node.args.args)]
    rest = [writer.slot(node.args.vararg.arg)] if node.args.vararg else []
    keywords = ""
    for parameter in node.args.kwonlyargs:
        name = parameter.arg
        default = constant(of_keywords[name]) if name in of_keywords else unsupported("a missing argument")
        keywords += f" {writer.slot(name)} {default}"
    body: list[ast.stmt] = scope.body
    if isinstance(node, ast.Lambda):
        body = [ast.copy_location(ast.Return(node.body), node.body)]
    spans = _function_spans(body)
    statements = _Statements(writer, spans, in_function=True)
    texts = " ".join(statements.write(statement) for statement in body)
    values = "".join(" " + constant(value) for value in defaults)
    return (
        f"(callee {quoted(scope.name)} {_names('slots', writer.slots)} (params{_numbers(params)})"
        f" (defaults{values}) (rest{_numbers(rest)}) (keywords{keywords})"
        f" {_names('inputs', writer.inputs)} ({texts}))"
    )


def _function_spans(body: list[ast.stmt]) -> dict[ast.stmt, Span]:
    """Number the statements of a function from 1, as if they were the body of a loop."""
    loop = ast.While(test=ast.Constant(True), body=body, orelse=[])
    return {node: Span(*(n - 1 for n in span)) for node, span in numbering.spans(loop).items()}


def stored_globals(loop: Loop, scope: Scope) -> frozenset[str]:
    """Return the global variables to which a loop assigns."""
    if not scope.shared:
        return frozenset()
    survey = scope.survey.loops.get(loop)
    return frozenset((survey or Survey([loop])).counts.keys() & scope.shared)


def _names(tag: str, names: Any) -> str:
    return f"({tag}{''.join(' ' + quoted(name) for name in names)})"


def _numbers(numbers: list[int]) -> str:
    return "".join(f" {number}" for number in numbers)


def reason_to_leave(node: ast.stmt, scope: Scope, in_function: bool = False) -> str | None:
    """Return why CPython has to run a statement, whatever the types of the variables are, or None.

    The expressions in the statement are not considered.
    """
    if not hasattr(_Statements, _method_of(node)):
        return type(node).__name__.lower()
    if isinstance(node, ast.For | ast.While) and node.orelse:
        return "a loop with else"
    if isinstance(node, ast.For) and not is_loop_target(node.target):
        return "an attribute or a star as the loop's variable"
    if isinstance(node, ast.Assign) and not all(map(is_target, node.targets)):
        return "assignment with a star or to an attribute of a computed object"
    if isinstance(node, ast.AnnAssign) and (scope.is_module or not is_target(node.target)):
        return "an annotation"
    if isinstance(node, ast.AugAssign) and not is_target(node.target):
        return "assignment to an attribute of a computed object"
    return "return" if isinstance(node, ast.Return) and not in_function else None


def _method_of(node: ast.stmt) -> str:
    """Return the name of the method of `_Statements` that writes a statement."""
    return f"_{type(node).__name__.lower()}"


class _Statements:
    """Writes statements as text, if there is no reason to leave them to CPython."""

    def __init__(self, writer: Writer, spans: dict[ast.stmt, Span], in_function: bool = False) -> None:
        self._writer = writer
        self._spans = spans
        self._in_function = in_function
        self.loops: list[ast.For] = []

    def write(self, node: ast.stmt) -> str:
        """Return the text of a statement."""
        why = reason_to_leave(node, self._writer.scope, self._in_function)
        if why is not None:
            return f"(exit {self._at(node)} {quoted(why)})"
        return cast(str, getattr(self, _method_of(node))(node))

    def _block(self, body: list[ast.stmt]) -> str:
        return f"({' '.join(self.write(statement) for statement in body)})"

    def _at(self, node: ast.stmt) -> str:
        return f"{self._spans[node].first} {node.lineno}"

    def _head(self, node: ast.stmt) -> str:
        span = self._spans[node]
        return f"{span.first} {span.last} {node.lineno}"

    def parts_of_for(self, node: ast.For) -> tuple[str, str]:
        """Return the text before and after the iterable."""
        self.loops.append(node)
        target = self._writer.target(node.target)
        return f"(for {self._head(node)} {target} ", f" {self._block(node.body)})"

    def _for(self, node: ast.For) -> str:
        return self._writer.expression(node.iter).join(self.parts_of_for(node))

    def _while(self, node: ast.While) -> str:
        test = self._writer.expression(node.test)
        return f"(while {self._head(node)} {test} {self._block(node.body)})"

    def _if(self, node: ast.If) -> str:
        test = self._writer.expression(node.test)
        return f"(if {self._head(node)} {test} {self._block(node.body)} {self._block(node.orelse)})"

    def _assign(self, node: ast.Assign) -> str:
        value = self._writer.expression(node.value)
        targets = " ".join(self._writer.target(target) for target in node.targets)
        return f"(assign {self._at(node)} ({targets}) {value})"

    def _annassign(self, node: ast.AnnAssign) -> str:
        if node.value is None:
            return f"(pass {self._spans[node].first})"
        value = self._writer.expression(node.value)
        return f"(assign {self._at(node)} ({self._writer.target(node.target)}) {value})"

    def _augassign(self, node: ast.AugAssign) -> str:
        value = self._writer.expression(node.value)
        target = self._writer.target(node.target)
        return f"(aug {self._at(node)} {BINARY[type(node.op)]} {target} {value})"

    def _expr(self, node: ast.Expr) -> str:
        if isinstance(node.value, ast.Constant):
            return f"(pass {self._spans[node].first})"
        return f"(expr {self._at(node)} {self._writer.expression(node.value)})"

    def _assert(self, node: ast.Assert) -> str:
        if not __debug__:
            return f"(pass {self._spans[node].first})"
        return f"(assert {self._at(node)} {self._writer.expression(node.test)})"

    def _return(self, node: ast.Return) -> str:
        value = "(none)" if node.value is None else self._writer.expression(node.value)
        return f"(return {self._at(node)} {value})"

    def _pass(self, node: ast.Pass) -> str:
        return f"(pass {self._spans[node].first})"

    def _global(self, node: ast.Global | ast.Nonlocal) -> str:
        return f"(pass {self._spans[node].first})"

    _nonlocal = _global

    def _break(self, node: ast.Break) -> str:
        return f"(break {self._spans[node].first})"

    def _continue(self, node: ast.Continue) -> str:
        return f"(continue {self._spans[node].first})"
