"""The numbers of a loop's statements. A compiled loop returns one of them to tell where it stopped.

The statements of a loop are numbered from 1, in the order of the program text. The loop itself has the number
1, and a second number after those of its body, which means that an iteration is over. An inner loop has two
numbers, too. The statements in the branches of an ``if`` statement are numbered; all other statements have
one number, whatever they contain.

As a unit of its own, an inner loop has the same numbers less a constant, so that it begins with 1, too.
`lower` and `twin` both use this module, so that they agree.
"""

from __future__ import annotations

import ast
from typing import NamedTuple, TypeGuard

from numelt._jit.scopes import LOOPS
from numelt._jit.trees import is_loop_target

__all__ = ["Loop", "Span", "is_numbered_loop", "spans"]

Loop = ast.For | ast.While


class Span(NamedTuple):
    """The numbers of a statement."""

    first: int
    last: int
    """The last number of the statements in it; for a loop, the number of the end of an iteration."""
    last_of_body: int
    """For an ``if`` statement, the last number of its first branch."""


def is_numbered_loop(node: ast.AST) -> TypeGuard[Loop]:
    """Is this a loop whose statements are numbered?

    Loops with ``else``, and loops whose variable is an attribute or has a star, count as simple statements.
    """
    if not isinstance(node, LOOPS) or node.orelse:
        return False
    return isinstance(node, ast.While) or is_loop_target(node.target)


def spans(loop: Loop) -> dict[ast.stmt, Span]:
    """Return the numbers of a loop and of all numbered statements in it."""
    found: dict[ast.stmt, Span] = {}
    _number(loop, 0, found)
    return found


def _number(node: ast.stmt, last: int, found: dict[ast.stmt, Span]) -> int:
    """Number a statement after the number `last`, and return its own last number."""
    first = last = last + 1
    of_body = first
    if is_numbered_loop(node):
        last = _number_block(node.body, last, found) + 1
    elif isinstance(node, ast.If):
        of_body = _number_block(node.body, last, found)
        last = _number_block(node.orelse, of_body, found)
    found[node] = Span(first, last, of_body)
    return last


def _number_block(body: list[ast.stmt], last: int, found: dict[ast.stmt, Span]) -> int:
    for statement in body:
        last = _number(statement, last, found)
    return last
