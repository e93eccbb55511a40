"""Find loops for which compiled code would stop at the beginning of each iteration.

In: a loop of a syntax tree. Out: the statement that CPython has to run in each iteration, if little happens
before it. Calling the unit of such a loop takes longer than the few operations that its code would run, and
its twin would be code that takes time to make. So files are loaded without units for such loops
(`loading`). Examples are loops whose bodies are a ``with`` or ``try`` statement, or print a formatted text.
"""

from __future__ import annotations

import ast

from numelt._jit.lower import reason_to_leave
from numelt._jit.numbering import Loop
from numelt._jit.scopes import LOOPS, Scope, children
from numelt._jit.trees import can_be_written

__all__ = ["blocking_statement"]

# compiled code runs this many operations in less time than calling it takes
_FEW_OPERATIONS = 40


def blocking_statement(loop: Loop, scope: Scope) -> ast.stmt | None:
    """Return the statement at which compiled code would stop in each iteration, almost at once, or None."""
    if isinstance(loop, ast.While) and _contains_unsupported(loop.test):
        return loop
    operations = 0
    for statement in loop.body:
        if _is_left(statement, scope):
            return statement
        # a loop or a call may take long, and a branch may end the iteration before it gets to the statement
        if isinstance(statement, ast.If | ast.Continue | ast.Break | LOOPS[0] | LOOPS[1]):
            return None
        for node in ast.walk(statement):
            operations += 1
            if isinstance(node, ast.Call):
                return None
        if operations > _FEW_OPERATIONS:
            return None
    return None


def _is_left(statement: ast.stmt, scope: Scope) -> bool:
    """Does CPython run this statement whenever it is reached, whatever the types of the variables are?"""
    if reason_to_leave(statement, scope) is not None:
        return True
    if isinstance(statement, ast.For):
        return _contains_unsupported(statement.iter)
    if isinstance(statement, ast.If | ast.While | ast.Assert):
        return _contains_unsupported(statement.test)
    if isinstance(statement, ast.AnnAssign):
        return any(map(_contains_unsupported, filter(None, (statement.target, statement.value))))
    if isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr):
        return any(map(_contains_unsupported, children(statement)))
    return False


def _contains_unsupported(node: ast.AST) -> bool:
    """Does computing an expression certainly get to a part that has no compiled form?"""
    if isinstance(node, ast.expr) and not can_be_written(node):
        return True
    parts = children(node)
    if isinstance(node, ast.BoolOp | ast.IfExp | ast.Compare):
        # the other parts are not always computed
        parts = parts[: 2 if isinstance(node, ast.Compare) else 1]
    return any(map(_contains_unsupported, parts))
