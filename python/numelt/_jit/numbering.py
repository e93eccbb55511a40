"""The numbers of a loop's statements, by which a compiled loop says where it stopped.

The statements of a loop are numbered in the order in which they are written, from 1, which is the loop
itself. A loop takes one number where it is entered and one after its body, which means "the iteration is
over". The branches of an ``if`` statement are numbered, too. All other statements have one number, whatever
they contain.

A loop within a loop has numbers of its own as well: those that the outer loop gives to its statements, less a
constant. `lower` and `twin` both take the numbers from here.
"""

from __future__ import annotations

import ast
from typing import NamedTuple, TypeGuard

from numelt._jit.scopes import LOOPS

__all__ = ["Loop", "Span", "is_numbered_loop", "spans"]

Loop = ast.For | ast.While


class Span(NamedTuple):
    """The numbers of a statement."""

    first: int
    last: int
    last_of_body: int
    """Of an ``if`` statement: the last number of its first branch."""


def is_numbered_loop(node: ast.AST) -> TypeGuard[Loop]:
    """Is this a loop whose statements have numbers of their own?"""
    return isinstance(node, LOOPS) and not node.orelse


def spans(loop: Loop) -> dict[ast.stmt, Span]:
    """Return the numbers of a loop and of the statements in it."""
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
