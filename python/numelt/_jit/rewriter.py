"""The statements of twins, in which loops run compiled where possible (see `twin`).

In: the syntax tree of a function, class or module. Out: the statements of its twin. In a twin each loop
first calls its unit (`_core.JitUnit`). The unit returns the number of the statement where it stopped (see
`numbering`), an iterator for each ``for`` loop, and the new values of the variables. The twin goes on from
there. L and R are the positions of two units, one that runs the loop from the beginning and one that resumes
it::

    k = -1
    if due[L] and units[L]:               # false while calling the unit would gain nothing
        made = units[L](i, s, a)          # None: the loop is not compiled
        if made is not None:
            k, rest, i, s = made          # k = 0: the loop is over
    if k == -1:
        for i in range(n):                # the loop as written
            s += a[i]
    elif k != 0:
        if k == -2:                       # begin a loop whose code is being compiled
            rest = begun(range(n))
        else:                             # finish the current iteration from statement k on, then go on
            pending()                     # raise the exception of a signal handler, if there is one
            rest = again(rest, i)
        for i in rest:
            here, k = k, -1
            if here < 0 and due[R] and units[R]:  # from time to time: can compiled code take over?
                made = units[R](rest, i, s, a)
                if made is not None:
                    here, more, i, s = made
                    if here == 0: break
                    if here > 0: pending(); rest.follow(more)
            if here <= 2: s += a[i]

A ``while`` loop whose unit R has answered ``here = -3`` ends before the next iteration, and goes on as
written.

All names that a twin adds begin with ``__numelt_``. The name of a variable that belongs to one loop contains
the line and the column of the loop: ``k`` is the number of the statement where to go on, ``h`` the same
within one iteration (``here``), ``i`` the iterator, ``m`` the iterator that a resumed run returns (``more``),
``s`` the iterable (source), ``r`` the result of the unit, and ``d`` whether compiled code may take over in a
``while`` loop (due).
"""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Iterable
from typing import Any

from numelt._jit.flow import bound_at_loops
from numelt._jit.idling import blocking_statement
from numelt._jit.lower import REST, Lowered, WrittenLoop, reason_to_leave
from numelt._jit.numbering import Loop, Span, is_numbered_loop, spans
from numelt._jit.scopes import (
    Function,
    Scope,
    argument_names,
    children,
    statements,
)
from numelt._jit.units import AGAIN, BEGUN, DUE, NAME_ERROR, PENDING, UNBOUND, UNITS, hidden

__all__ = ["LoopUnits", "Rewriter", "placed"]

# loops nested more deeply than this have no units of their own, because each level adds to the code
_DEEPEST = 4
# the answer of a unit that means that compiled code will not take over in this run of a ``while`` loop
_LEAVE = -3
# calling a unit does not pay for an inner loop with at most this many iterations
_SHORT = 16
# nor for any loop whose iterations have at most this many operations in all
_FEW_OPERATIONS = 20


class LoopUnits:
    """The loops of a function or module that get units, in order."""

    def __init__(
        self, filename: str, is_requested: bool, is_strict: bool = False, has_idle: bool = True
    ) -> None:
        self._filename = filename
        self._flags = is_requested, is_strict
        # do loops for which compiled code stops at once get units, too?
        self.has_idle = has_idle
        self.texts: list[tuple[str, str, bool]] = []
        # the loops without units: function, line and reason
        self.idle: list[tuple[str, int, str]] = []

    def is_tiny(self, loop: Loop) -> bool:
        """Does CPython run all iterations of a short loop in less time than calling its unit takes?"""
        nodes = (node for statement in loop.body for node in ast.walk(statement))
        operations = sum(isinstance(node, ast.expr | ast.stmt) for node in nodes)
        is_few = isinstance(loop, ast.For) and _trip_count(loop.iter) * operations <= _FEW_OPERATIONS
        return not self._flags[0] and is_few

    def add(self, text: str, name: str, is_resumed: bool) -> int:
        """Add a loop, and return the position of its unit. Loops with the same text share a unit."""
        key = text, name, is_resumed
        if key not in self.texts:
            self.texts.append(key)
        return self.texts.index(key)

    def hidden(self, namespace: dict[str, Any]) -> dict[str, Any]:
        """Make the units, and return the names that the twin uses, with their values."""
        return hidden(self.texts, namespace, self._filename, *self._flags)


def _name(name: str, context: ast.expr_context | None = None) -> ast.Name:
    return ast.Name(name, context or ast.Load())


def _store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def _number(value: int) -> ast.expr:
    return ast.UnaryOp(ast.USub(), ast.Constant(-value)) if value < 0 else ast.Constant(value)


def _is(name: str, operator: ast.cmpop, value: int) -> ast.Compare:
    return ast.Compare(_name(name), [operator], [_number(value)])


def _if(test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt] | None = None) -> ast.If:
    return ast.If(test, body or [ast.Pass()], orelse or [])


class Rewriter:
    """Writes the statements of a function, class or module of a twin."""

    def __init__(self, units: LoopUnits, node: ast.AST, scope: Scope, holding: set[ast.AST]) -> None:
        self._units = units
        # the nodes that are loops or contain one; all other statements stay as they are
        self._holding = holding
        self._scope = scope
        parameters = argument_names(node.args) if isinstance(node, Function) else []
        self._bound, self._bound_inside = bound_at_loops(scope, parameters)
        # how many of the loops around the current statement have units, and how many there are in all
        self._depth = 0
        self._loops_around = 0
        # a loop occurs several times in the twin; these cache what is known of it
        self._written_loops: dict[Loop, WrittenLoop] = {}
        self._lowered: dict[tuple[Loop, bool], Lowered] = {}
        self._forgets: dict[tuple[Loop, str], ast.stmt] = {}
        self._looks: dict[tuple[Loop, str], ast.stmt] = {}
        self._spans: dict[Loop, dict[ast.stmt, Span]] = {}
        self._suitable: dict[Loop, bool] = {}
        self._shared = self._shared_names()

    def made(self) -> list[ast.stmt]:
        """Return the statements."""
        return self._plain(self._scope.body)

    def _plain(self, body: Iterable[ast.stmt]) -> list[ast.stmt]:
        return [made for node in body for made in self._statement(node)]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        """Return a statement with the loops in it replaced."""
        if node not in self._holding:
            return [node]
        if self._is_unit(node):
            return self._unit(node)  # type: ignore[arg-type]
        made = copy.copy(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = Scope(node, self._scope)
            made.body = Rewriter(self._units, node, inner, self._holding).made()  # type: ignore[attr-defined]
            return [made]
        is_loop = isinstance(node, ast.For | ast.AsyncFor | ast.While)
        self._loops_around += is_loop
        for field in ("body", "orelse", "finalbody"):
            if getattr(node, field, None):
                setattr(made, field, self._plain(getattr(node, field)))
        self._loops_around -= is_loop
        for field in ("handlers", "cases"):
            parts = [copy.copy(part) for part in getattr(node, field, ())]
            for part in parts:
                part.body = self._plain(part.body)
            if parts:
                setattr(made, field, parts)
        return [made]

    def _is_unit(self, node: ast.stmt) -> bool:
        if not is_numbered_loop(node) or self._depth >= _DEEPEST or self._scope.is_watched:
            return False
        if node not in self._suitable:
            is_left = self._scope.is_class or self._scope.survey.loops[node].suspends
            does_something = any(not isinstance(n, ast.Pass) for n in node.body)
            self._suitable[node] = not is_left and does_something and not self._is_idle(node)
        # calling the unit takes as long as a few iterations, and the enclosing loop has a unit
        return self._suitable[node] and not (
            self._is_short(node) and (self._loops_around or self._units.is_tiny(node))
        )

    def _is_idle(self, loop: Loop) -> bool:
        """Does a loop get no unit because compiled code would stop at once in each iteration?"""
        found = None if self._units.has_idle else blocking_statement(loop, self._scope)
        if found is not None:
            why = reason_to_leave(found, self._scope) or "an expression that has no compiled form"
            self._units.idle.append((self._scope.name, found.lineno, why))
        return found is not None

    def _is_short(self, loop: Loop) -> bool:
        """Does a loop certainly have few iterations, and contain no other loops?"""
        return isinstance(loop, ast.For) and not self._nested(loop) and _trip_count(loop.iter) <= _SHORT

    def _lower(self, loop: Loop, is_resumed: bool) -> Lowered:
        key = loop, is_resumed
        if key not in self._lowered:
            if loop not in self._written_loops:
                self._written_loops[loop] = WrittenLoop(loop, self._scope)
            self._lowered[key] = self._written_loops[loop].lowered(is_resumed)
        return self._lowered[key]

    def _unit(self, loop: Loop) -> list[ast.stmt]:
        """Return the statements that replace a loop."""
        k = self._k(loop)
        statements: list[ast.stmt] = [*self._hoist(loop), ast.Assign([_store(k)], _number(-1))]
        ask = self._ask(loop)
        if loop not in self._spans:
            self._spans[loop] = spans(loop)
        go_on = self._go_on(loop, self._spans[loop], k, 0, self._is_hoisted(loop))
        if isinstance(loop, ast.While):
            # the first statement concerns only loops whose unit has been called
            ask[0].body.append(go_on.pop(0))
        statements += [*ask, *go_on]
        return placed(statements, loop)

    def _k(self, loop: ast.stmt) -> str:
        return f"__numelt_k{loop.lineno}_{loop.col_offset}__"

    def _rest(self, loop: ast.stmt) -> str:
        return f"__numelt_i{loop.lineno}_{loop.col_offset}__"

    def _due(self, loop: ast.stmt) -> str:
        return f"__numelt_d{loop.lineno}_{loop.col_offset}__"

    def _source(self, loop: ast.stmt) -> str:
        return f"__numelt_s{loop.lineno}_{loop.col_offset}__"

    def _is_hoisted(self, loop: Loop) -> bool:
        """Does the twin compute the iterable of a loop before it calls the unit?

        Compiled code can iterate over calls of ``range``, ``enumerate`` and ``zip``; it cannot evaluate most
        other iterables.
        """
        if not isinstance(loop, ast.For) or isinstance(loop.iter, ast.Name | ast.Tuple | ast.List):
            return False
        called = loop.iter.func if isinstance(loop.iter, ast.Call) else None
        return not (isinstance(called, ast.Name) and called.id in ("range", "enumerate", "zip"))

    def _hoist(self, loop: Loop) -> list[ast.stmt]:
        """Return the statement that computes the iterable, if the twin has to do so."""
        if not self._is_hoisted(loop):
            return []
        assert isinstance(loop, ast.For)
        return [ast.Assign([_store(self._source(loop))], loop.iter)]

    def _ask(self, loop: Loop) -> list[ast.If]:
        """Return the statement that calls the unit of a loop that begins."""
        made = self._lower(loop, self._is_hoisted(loop))
        bound = self._bound.get(loop, frozenset())
        # variables of enclosing functions are not checked, because an assignment would make them local
        new = self._new_in(loop)
        own = [name for name in made.slots if name != REST]
        unsure = [n for n in own if n not in bound and n not in new and not self._scope.is_free(n)]
        number = self._units.add(made.text, self._scope.name, False)
        unit = self._of_unit(number)
        values = [_name(UNBOUND if name in new else name) for name in made.slots]
        values = [_name(self._source(loop)) if value.id == REST else value for value in values]
        taken = [self._k(loop), *(self._rest(inner) for inner in made.loops), *made.assigned]
        is_due = ast.BoolOp(ast.And(), [self._of_unit(number, DUE), unit])
        return [_if(is_due, self._call(loop, unit, values, taken, made.assigned, unsure, [], bound))]

    def _ask_again(self, loop: Loop, here: str, shift: int, can_leave: bool) -> list[ast.stmt]:
        """Return the statement that calls the unit that resumes a loop, at the start of an iteration."""
        made = self._lower(loop, True)
        is_for = isinstance(loop, ast.For)
        bound = self._bound_inside.get(loop, frozenset())
        own = [name for name in made.slots if name != REST]
        unsure = [n for n in own if n not in bound and not self._scope.is_free(n)]
        number = self._units.add(made.text, self._scope.name, True)
        unit = self._of_unit(number)
        values = [_name(self._rest(loop) if name == REST else name) for name in made.slots]
        rests = [self._more(loop) if inner is loop else self._rest(inner) for inner in made.loops]
        follow = ast.Attribute(_name(self._rest(loop)), "follow", ast.Load())
        go_on: list[ast.stmt] = [ast.Expr(ast.Call(_name(PENDING), [], []))]
        if is_for:
            go_on.append(ast.Expr(ast.Call(follow, [_name(self._more(loop))], [])))
        if shift:
            # the unit of an inner loop numbers statements from its own first statement
            go_on.append(ast.AugAssign(_store(here), ast.Add(), ast.Constant(shift)))
        then: list[ast.stmt] = [
            _if(_is(here, ast.Eq(), 0), [ast.Break()]),
            _if(_is(here, ast.Gt(), 0), go_on),
        ]
        if can_leave:
            then.append(
                _if(_is(here, ast.Eq(), _LEAVE), [ast.Assign([_store(self._due(loop))], ast.Constant(False))])
            )
        call = self._call(
            loop, unit, values, [here, *rests, *made.assigned], made.assigned, unsure, then, bound
        )
        is_due = ast.BoolOp(ast.And(), [_is(here, ast.Lt(), 0), self._of_unit(number, DUE), unit])
        return [_if(is_due, call)]

    def _of_unit(self, number: int, names: str = UNITS) -> ast.expr:
        return ast.Subscript(_name(names), ast.Constant(number), ast.Load())

    def _more(self, loop: ast.stmt) -> str:
        return f"__numelt_m{loop.lineno}_{loop.col_offset}__"

    def _call(
        self,
        loop: Loop,
        unit: ast.expr,
        values: list[ast.Name],
        taken: list[str],
        assigned: tuple[str, ...],
        unsure: list[str],
        then: list[ast.stmt],
        bound: frozenset[str],
    ) -> list[ast.stmt]:
        """Return the statements that call a unit and assign its results, followed by `then`.

        Compiled code never unbinds a variable, so those `bound` before the call are not checked after it.
        """
        answer = f"__numelt_r{loop.lineno}_{loop.col_offset}__"
        statements: list[ast.stmt] = [self._look(loop, name) for name in unsure]
        statements.append(ast.Assign([_store(answer)], ast.Call(unit, list(values), [])))
        target = ast.Tuple([_store(name) for name in taken], ast.Store())
        something = ast.Compare(_name(answer), [ast.IsNot()], [ast.Constant(None)])
        taken_over: list[ast.stmt] = [ast.Assign([target], _name(answer))]
        taken_over += [
            self._forget(loop, name) for name in assigned if name not in unsure and name not in bound
        ]
        statements.append(_if(something, taken_over))
        statements += [self._forget(loop, name) for name in unsure]
        # if the unit has returned None, `then` does nothing: the variable that it tests has not changed
        return statements + then

    def _new_in(self, loop: ast.stmt) -> frozenset[str]:
        """Return the variables that certainly have no value before a loop: nothing before it assigns them.

        What stands before a statement that is in no loop has run before it, and nothing else has.
        """
        if self._loops_around or not isinstance(self._scope.node, Function):
            return frozenset()
        inside, first = self._scope.survey.loops[loop].counts, self._scope.survey.first
        begin = loop.lineno, loop.col_offset
        return frozenset(n for n in inside if first[n] >= begin and n not in self._shared)

    def _shared_names(self) -> frozenset[str]:
        """Return the variables that may have a value before the statements of this function assign them."""
        node = self._scope.node
        if not isinstance(node, Function):
            return frozenset()
        shared = {*argument_names(node.args), *self._scope.outer, *self._scope.shared}
        for inner in statements(self._scope.survey.definitions):
            if isinstance(inner, ast.Nonlocal):
                shared.update(inner.names)
        return frozenset(shared)

    def _forget(self, loop: Loop, name: str) -> ast.stmt:
        """Return the statement that unbinds a variable if it holds the marker for "no value"."""
        if (loop, name) not in self._forgets:
            is_unbound = ast.Compare(_name(name), [ast.Is()], [_name(UNBOUND)])
            self._forgets[loop, name] = _if(is_unbound, [ast.Delete([_name(name, ast.Del())])])
        return self._forgets[loop, name]

    def _look(self, loop: Loop, name: str) -> ast.stmt:
        """Return the statement that stores the marker for "no value" in a variable that is not bound."""
        if (loop, name) not in self._looks:
            marked = ast.Assign([_store(name)], _name(UNBOUND))
            handler = ast.ExceptHandler(_name(NAME_ERROR), None, [marked])
            self._looks[loop, name] = ast.Try([ast.Expr(_name(name))], [handler], [], [])
        return self._looks[loop, name]

    def _go_on(
        self,
        loop: Loop,
        numbers: dict[ast.stmt, Span],
        k: str,
        shift: int,
        is_hoisted: bool,
        is_inner: bool = False,
    ) -> list[ast.stmt]:
        """Return the statements that run a loop as written if `k` = -1, and continue at `k` if `k` > 0.

        Usually these are two copies of the loop. With `k` = -2, the second one begins. A loop that is part of
        a resumed loop (`is_inner`) and contains loops itself is written once for all cases, because the code
        would double with each level.
        """
        self._depth += 1
        self._loops_around += 1
        here = f"__numelt_h{loop.lineno}_{loop.col_offset}__"
        begin: list[ast.stmt] = [
            ast.Assign([_store(here)], _name(k)),
            ast.Assign([_store(k)], _number(-1)),
        ]
        is_written_once = is_inner and self._nested(loop)
        if not (is_inner and self._is_short(loop)):
            begin += self._ask_again(loop, here, shift, isinstance(loop, ast.While) and not is_written_once)
        rest, source = self._rest(loop), self._source(loop)
        going_on: list[ast.stmt] = [ast.Expr(ast.Call(_name(PENDING), [], []))]
        resumed: ast.For | ast.While
        entering: list[ast.stmt] = []
        leaving: list[ast.stmt] = []
        if isinstance(loop, ast.For):
            again = ast.Call(_name(AGAIN), [_name(rest), _loaded(loop.target)], [])
            # if the iteration is over, the loop continues with the next one; the first may not have begun
            is_within = _is(k, ast.Lt(), numbers[loop].last)
            begin_again: list[ast.stmt] = [ast.Assign([_store(rest)], again)]
            going_on.append(_if(is_within, begin_again, [ast.Assign([_store(k)], _number(-1))]))
            resumed = ast.For(loop.target, _name(rest), [], [])
        elif is_written_once:
            resumed = ast.While(ast.BoolOp(ast.Or(), [_is(k, ast.Gt(), 0), loop.test]), [], [])
        else:
            resumed, entering, leaving = self._resumed_while(loop, k)
        resumed.body = begin + self._partial(loop.body, numbers, here)
        begin_anew: list[ast.stmt] = []
        going: list[ast.stmt] = [resumed]
        if isinstance(loop, ast.For):
            iterable = ast.Call(_name(BEGUN), [_name(source) if is_hoisted else loop.iter], [])
            begin_anew = [ast.Assign([_store(rest)], iterable)]
            # the twin must not keep the iterable alive after the loop
            going.append(ast.Assign([_store(rest)], ast.Constant(None)))
        made: list[ast.stmt]
        if is_written_once:
            made = [_if(_is(k, ast.Lt(), 0), begin_anew, [_if(_is(k, ast.Gt(), 0), going_on)])]
            made.append(_if(_is(k, ast.NotEq(), 0), going))
        else:
            written = self._written(loop, is_hoisted)
            going = [_if(_is(k, ast.Lt(), 0), begin_anew, going_on), *going]
            if isinstance(loop, ast.While):
                going = [*entering, *going, *leaving]
                made = [_if(_is(k, ast.NotEq(), -1), [_if(_is(k, ast.NotEq(), 0), going)])]
                made.append(_if(_is(k, ast.Eq(), -1), [written]))
            else:
                made = [_if(_is(k, ast.Eq(), -1), [written], [_if(_is(k, ast.NotEq(), 0), going)])]
        self._depth -= 1
        self._loops_around -= 1
        return [*made, *([ast.Assign([_store(source)], ast.Constant(None))] if is_hoisted else [])]

    def _resumed_while(self, loop: ast.While, k: str) -> tuple[ast.While, list[ast.stmt], list[ast.stmt]]:
        """Return a ``while`` statement that continues a loop, without its body, and what stands around it.

        It ends before an iteration if the unit has answered that compiled code will not take over in this
        run. `k` is -1 then, so that the loop goes on as written, which takes less time. The loop's test is
        not computed in that case, because the loop as written computes it.
        """
        due = self._due(loop)
        number = self._units.add(self._lower(loop, True).text, self._scope.name, True)
        before: list[ast.stmt] = [ast.Assign([_store(due)], self._of_unit(number, DUE))]
        goes_on = ast.BoolOp(ast.And(), [_name(due), loop.test])
        is_left = ast.UnaryOp(ast.Not(), _name(due))
        leave = _if(is_left, [ast.Assign([_store(k)], _number(_LEAVE))])
        resumed = ast.While(ast.BoolOp(ast.Or(), [_is(k, ast.Gt(), 0), goes_on]), [], [leave])
        as_written: list[ast.stmt] = [ast.Assign([_store(k)], _number(-1))]
        after = [_if(_is(k, ast.Eq(), _LEAVE), as_written, [ast.Assign([_store(k)], _number(0))])]
        return resumed, before, list(after)

    def _written(self, loop: Loop, is_hoisted: bool) -> ast.stmt:
        """Return a loop as written, in which inner loops call their units."""
        if isinstance(loop, ast.While):
            return ast.While(loop.test, self._plain(loop.body), [])
        iterable = _name(self._source(loop)) if is_hoisted else loop.iter
        return ast.For(loop.target, iterable, self._plain(loop.body), [])

    def _nested(self, loop: Loop) -> bool:
        """Does a loop contain other loops?"""
        return any(node in self._holding for node in loop.body)

    def _partial(self, body: list[ast.stmt], numbers: dict[ast.stmt, Span], k: str) -> list[ast.stmt]:
        """Return the statements of a body, each under the condition that its number is not below `k`."""
        made: list[ast.stmt] = []
        for node in body:
            span = numbers[node]
            here = _is(k, ast.LtE(), span.first)
            if is_numbered_loop(node):
                made.append(_if(_is(k, ast.LtE(), span.last), self._inner(node, numbers, k)))
            elif isinstance(node, ast.If):
                # if the statement has not begun, its test decides, and otherwise the branch that contains `k`
                test = ast.IfExp(here, node.test, _is(k, ast.LtE(), span.last_of_body))
                within = self._partial(node.body, numbers, k)
                branches = _if(test, within, self._partial(node.orelse, numbers, k))
                made.append(_if(_is(k, ast.LtE(), span.last), [branches]))
            else:
                made.append(_if(here, self._statement(node)))
            placed(made[-1:], node)
        return made

    def _inner(self, loop: Loop, numbers: dict[ast.stmt, Span], k: str) -> list[ast.stmt]:
        """Return the statements that begin an inner loop, or continue within it."""
        own, shift = self._k(loop), numbers[loop].first - 1
        ask: list[ast.stmt] = [ast.Assign([_store(own)], _number(-1))]
        if self._is_unit(loop):
            ask = [*self._hoist(loop), *ask, *self._ask(loop)]
            # the unit of the inner loop numbers statements from its own first statement
            moved_on = ast.AugAssign(_store(own), ast.Add(), ast.Constant(shift))
            ask.append(_if(_is(own, ast.Gt(), 0), [moved_on]))
        moved: list[ast.stmt] = [ast.Assign([_store(own)], _name(k))]
        begin = _if(_is(k, ast.LtE(), numbers[loop].first), ask, moved)
        is_hoisted = self._is_unit(loop) and self._is_hoisted(loop)
        made: list[ast.stmt] = [begin, *self._go_on(loop, numbers, own, shift, is_hoisted, True)]
        return placed(made, loop)


def _trip_count(iterable: ast.expr) -> float:
    """Return the number of items of an iterable if the program shows it, and infinity for others."""
    if isinstance(iterable, ast.Tuple | ast.List):
        return len(iterable.elts)
    if not (isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name)):
        return math.inf
    if iterable.func.id == "range" and 1 <= len(iterable.args) <= 2:
        (start, first), (stop, last) = map(_sum, [ast.Constant(0), *iterable.args][-2:])
        if start == stop:
            return max(last - first, 0)
    return math.inf


def _sum(expression: ast.expr) -> tuple[str, int]:
    """Split an expression into a part, as text, and a constant that is added to it."""
    if isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.USub):
        part, constant = _sum(expression.operand)
        if not part:
            return "", -constant
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Add | ast.Sub):
        part, constant = _sum(expression.left)
        other, added = _sum(expression.right)
        if not other:
            return part, constant + (added if isinstance(expression.op, ast.Add) else -added)
    if isinstance(expression, ast.Constant) and type(expression.value) is int:
        return "", expression.value
    return ast.dump(expression), 0


def _loaded(target: ast.expr) -> ast.expr:
    """Return the expression that reads an assignment target."""
    if isinstance(target, ast.Tuple | ast.List):
        return ast.Tuple([_loaded(item) for item in target.elts], ast.Load())
    made = copy.copy(target)
    made.ctx = ast.Load()  # type: ignore[attr-defined]
    return made


def placed(statements: list[ast.stmt], at: ast.stmt) -> list[ast.stmt]:
    """Give nodes without a position that of a statement of the program, and return them.

    A node that has a position comes from the program, or has been here before, so that all its parts have
    positions, too.
    """
    position = {name: getattr(at, name) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")}
    open_nodes: list[ast.AST] = list(statements)
    while open_nodes:
        node = open_nodes.pop()
        if node._attributes:
            own = vars(node)
            if "lineno" in own:
                continue
            own.update(position)
        open_nodes += children(node)
    return statements
