"""Definite assignment analysis: which variables certainly have a value where a loop begins.

In: the scope of a function or module, and the names of its parameters. Out: for each loop the set of names
that are bound whenever the loop is reached. Other names may be bound or not; the twin checks them when it
runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from numelt._jit.scopes import Scope, own_nodes, unbound_by

__all__ = ["bound_at_loops"]

# the names bound at a point of the program, or None if that point is never reached
Bound = frozenset[str] | None
Names = dict[ast.stmt, frozenset[str]]


def bound_at_loops(scope: Scope, bound: Iterable[str]) -> tuple[Names, Names]:
    """Return the names that are certainly bound before each loop of a scope, and those bound in its body."""
    flow = _Flow(scope.survey.unbinds)
    flow.block(scope.body, frozenset(bound))
    return flow.before, flow.inside


def _deleted(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Return the names that statements may unbind."""
    return frozenset(name for node in own_nodes(nodes) if (name := unbound_by(node)))


def _stored(targets: Iterable[ast.AST]) -> frozenset[str]:
    """Return the names that are bound when all targets have been assigned."""
    names = set()
    for target in targets:
        if isinstance(target, ast.Name):
            names.add(target.id)
        elif isinstance(target, ast.Tuple | ast.List):
            names |= _stored(target.elts)
        elif isinstance(target, ast.Starred):
            names |= _stored([target.value])
    return frozenset(names)


def _both(a: Bound, b: Bound) -> Bound:
    if a is None or b is None:
        return b if a is None else a
    return a & b


class _Flow:
    """Walks statements in order, and records the names that are bound before each loop and in its body."""

    def __init__(self, deletes: bool) -> None:
        # may any of the statements unbind a name?
        self._deletes = deletes
        self.before: Names = {}
        self.inside: Names = {}

    def block(self, body: Iterable[ast.stmt], bound: Bound) -> Bound:
        for statement in body:
            # unreachable statements may contain loops, too: these get the empty set
            after = self.statement(statement, bound or frozenset())
            bound = None if bound is None else after
        return bound

    def statement(self, node: ast.stmt, bound: frozenset[str]) -> Bound:
        if isinstance(node, ast.Return | ast.Raise | ast.Break | ast.Continue):
            return None
        if isinstance(node, ast.Assign):
            return bound | _stored(node.targets)
        if isinstance(node, ast.AnnAssign | ast.AugAssign):
            return bound | _stored([node.target]) if node.value is not None else bound
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return bound | {node.name}
        if isinstance(node, ast.Import | ast.ImportFrom):
            return bound | {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        if isinstance(node, ast.If):
            return _both(self.block(node.body, bound), self.block(node.orelse, bound))
        return self._other(node, bound)

    def _other(self, node: ast.stmt, bound: frozenset[str]) -> Bound:
        """Handle loops and other statements; afterwards, names that they cannot unbind are still bound."""
        kept = bound - _deleted([node]) if self._deletes else bound
        if isinstance(node, ast.For | ast.AsyncFor | ast.While):
            self.before[node] = bound
            target = _stored([node.target]) if isinstance(node, ast.For | ast.AsyncFor) else frozenset()
            self.inside[node] = kept | target
            self.block(node.body, kept | target)
            self.block(node.orelse, kept)
        elif isinstance(node, ast.With | ast.AsyncWith):
            self.block(node.body, kept | _stored(i.optional_vars for i in node.items if i.optional_vars))
        elif isinstance(node, ast.Match):
            for case in node.cases:
                self.block(case.body, kept)
        elif isinstance(node, ast.Try | ast.TryStar):
            body = self.block(node.body, bound)
            self.block(node.orelse, body or kept)
            for handler in node.handlers:
                self.block(handler.body, kept | ({handler.name} if handler.name else set()))
            return self.block(node.finalbody, kept)
        return kept
