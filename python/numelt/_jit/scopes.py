"""Scopes: which names of a function or module are its local variables.

In: syntax trees. Out: `Scope` objects. A `Scope` tells for a name whether it is a local variable, a variable
of an enclosing function, or a global, by the rules of CPython's compiler.
"""

from __future__ import annotations

import ast
import functools
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = [
    "LOOPS",
    "Function",
    "Scope",
    "Survey",
    "argument_names",
    "children",
    "own_nodes",
    "statements",
    "unbound_by",
    "with_loops",
]

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
LOOPS = (ast.For, ast.While)

_COMPREHENSIONS = frozenset({ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp})
_DEFINITIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda})
# expressions and statements that suspend the frame, which compiled code cannot do
_SUSPENDING = frozenset({ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith})
# builtin functions that read the local variables of their caller
_LOOKING = frozenset({"locals", "vars", "dir", "eval", "exec"})


def own_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield these nodes and all below them that run in the same frame, leaving out bodies of functions."""
    open_nodes = list(nodes)
    open_nodes.reverse()
    while open_nodes:
        node = open_nodes.pop()
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            open_nodes.extend(reversed(_outer_parts(node)))
        else:
            open_nodes.extend(reversed(children(node)))


# fields that hold neither statements nor expressions
_BARE = frozenset(
    {
        "ctx",
        "op",
        "ops",
        "id",
        "attr",
        "name",
        "names",
        "kind",
        "type_comment",
        "level",
        "module",
        "kwd_attrs",
    }
)
_parts: dict[type[ast.AST], tuple[str, ...]] = {ast.Constant: ()}


def children(node: ast.AST) -> list[ast.AST]:
    """Return the direct child nodes of a node, in order, without operators and contexts."""
    kind = type(node)
    fields = _parts.get(kind)
    if fields is None:
        fields = _parts[kind] = tuple(name for name in kind._fields if name not in _BARE)
    found: list[ast.AST] = []
    for name in fields:
        value = getattr(node, name, None)
        if type(value) is list:
            found += [item for item in value if item is not None] if None in value else value
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def with_loops(tree: ast.AST) -> set[ast.AST]:
    """Return the nodes below a node that are loops or contain one, also in nested functions and classes."""
    found: set[ast.AST] = set()
    open_nodes: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(tree, ())]
    while open_nodes:
        node, around = open_nodes.pop()
        if isinstance(node, LOOPS):
            found.add(node)
            found.update(around)
        around = (*around, node)
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, field, None)
            if isinstance(inner, list):
                open_nodes.extend((child, around) for child in inner)
    return found


def _outer_parts(node: ast.AST) -> list[ast.AST]:
    """Return the parts of a definition that the enclosing frame evaluates: decorators, defaults, bases."""
    parts: list[ast.AST] = list(getattr(node, "decorator_list", ()))
    arguments = getattr(node, "args", None)
    if arguments is not None:
        parts += [*arguments.defaults, *(default for default in arguments.kw_defaults if default)]
    parts += [*getattr(node, "bases", ()), *getattr(node, "keywords", ())]
    return parts


def argument_names(arguments: ast.arguments) -> list[str]:
    """Return the names of all parameters."""
    found = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    found += [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    return [argument.arg for argument in found]


def _names_of_statement(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node other than an `ast.Name` binds, without those that its children bind."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest


def unbound_by(node: ast.AST) -> str | None:
    """Return the name that a node may unbind, or None. Its children are not considered."""
    if isinstance(node, ast.Name):
        return node.id if isinstance(node.ctx, ast.Del) else None
    return node.name if isinstance(node, ast.ExceptHandler) else None


def statements(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield statements and all statements below them, also in nested functions and classes."""
    for node in body:
        yield node
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, field, None)
            if isinstance(inner, list):
                yield from statements(inner)


class Survey:
    """What the statements of a scope bind, declare and contain, without the bodies of functions in them.

    Attributes
    ----------
    counts : Counter of str
        How many times the statements bind each name.
    first : dict of str to (int, int)
        The line and the column where each name is first bound.
    declared, outer : set of str
        The names declared ``global`` and ``nonlocal``.
    loaded : set of str
        The names that occur in expressions and targets.
    unbinds : bool
        Whether one of the statements may unbind a name.
    suspends : bool
        Whether one of them may suspend the frame, as ``yield`` and ``await`` do.
    definitions : list of nodes
        The functions and classes that the statements define.
    loops : dict of ast.stmt to Survey
        The same for each loop.
    """

    def __init__(self, body: Iterable[ast.AST]) -> None:
        self.counts: Counter[str] = Counter()
        self.first: dict[str, tuple[int, int]] = {}
        self.declared: set[str] = set()
        self.outer: set[str] = set()
        self.loaded: set[str] = set()
        self.unbinds = self.suspends = False
        self.definitions: list[ast.AST] = []
        self.loops: dict[ast.stmt, Survey] = {}
        self._add(list(body), False)

    def _add(self, open_nodes: list[ast.AST], is_inside: bool) -> None:
        """Add nodes. Within a comprehension (`is_inside`), only ``:=`` binds names of the frame."""
        loaded = self.loaded
        while open_nodes:
            node = open_nodes.pop()
            kind = type(node)
            if isinstance(node, ast.Name):
                loaded.add(node.id)
                if type(node.ctx) is not ast.Load:
                    self.unbinds = self.unbinds or type(node.ctx) is ast.Del
                    if not is_inside:
                        self._binds(node.id, node)
            elif kind in _PLAIN:
                open_nodes += children(node)
            elif isinstance(node, LOOPS):
                self._add_loop(node)
            else:
                self._add_other(node, kind, open_nodes, is_inside)

    def _binds(self, name: str, node: Any) -> None:
        self.counts[name] += 1
        self._is_bound_at(name, (node.lineno, node.col_offset))

    def _is_bound_at(self, name: str, place: tuple[int, int]) -> None:
        self.first[name] = min(self.first.get(name, place), place)

    def _add_loop(self, loop: ast.For | ast.While) -> None:
        inner = Survey(children(loop))
        self.counts.update(inner.counts)
        for name, place in inner.first.items():
            self._is_bound_at(name, place)
        self.declared |= inner.declared
        self.outer |= inner.outer
        self.loaded |= inner.loaded
        self.unbinds = self.unbinds or inner.unbinds
        self.suspends = self.suspends or inner.suspends
        self.definitions += inner.definitions
        self.loops.update(inner.loops)
        self.loops[loop] = inner

    def _add_other(
        self, node: ast.AST, kind: type[ast.AST], open_nodes: list[ast.AST], is_inside: bool
    ) -> None:
        if kind in _DEFINITIONS:
            open_nodes += _outer_parts(node)
            self.definitions.append(node)
        elif kind in _COMPREHENSIONS:
            self._add(children(node), True)
        elif isinstance(node, ast.NamedExpr):
            self.loaded.add(node.target.id)
            self._binds(node.target.id, node)
            open_nodes.append(node.value)
        else:
            if isinstance(node, ast.Global):
                self.declared.update(node.names)
            elif isinstance(node, ast.Nonlocal):
                self.outer.update(node.names)
            self.unbinds = self.unbinds or unbound_by(node) is not None
            self.suspends = self.suspends or kind in _SUSPENDING
            open_nodes += children(node)
        if not is_inside:
            for name in _names_of_statement(node):
                self._binds(name, node)


# nodes that bind, declare and unbind nothing themselves
_PLAIN = frozenset(
    {
        ast.Constant, ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.Call, ast.keyword,
        ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Expr, ast.Assign, ast.AugAssign,
        ast.AnnAssign, ast.Return, ast.If, ast.With, ast.Raise, ast.Assert, ast.Pass, ast.Break,
        ast.Continue, ast.Delete, ast.withitem, ast.JoinedStr, ast.FormattedValue, ast.Starred, ast.Dict,
    }
)  # fmt: skip


class Scope:
    """The names of a module, a class or a function. Its statements are examined at the first question."""

    def __init__(self, node: ast.AST, parent: Scope | None = None) -> None:
        self.node = node
        self.parent = parent
        self.is_class = isinstance(node, ast.ClassDef)
        self.is_module = not isinstance(node, Function | ast.ClassDef)
        body = node.body if isinstance(node, ast.Module | ast.ClassDef) else []
        if isinstance(node, Function):
            body = [ast.Expr(node.body)] if isinstance(node, ast.Lambda) else node.body
        self.body: list[ast.stmt] = list(body)
        self.parameters = {parameter.name for parameter in getattr(node, "type_params", ())}

    @functools.cached_property
    def survey(self) -> Survey:
        """What its statements bind, declare and contain."""
        return Survey(self.body)

    @functools.cached_property
    def names(self) -> set[str]:
        """The names that belong to this scope."""
        names = set(self.survey.counts) - self.survey.declared - self.survey.outer
        return names | set(argument_names(self.node.args)) if isinstance(self.node, Function) else names

    @property
    def outer(self) -> set[str]:
        """The names that it declares ``nonlocal``."""
        return self.survey.outer

    @property
    def shared(self) -> set[str]:
        """The global names that it may assign: those declared ``global``; in a module, all that it binds."""
        return self.names if self.is_module else self.survey.declared

    @functools.cached_property
    def is_watched(self) -> bool:
        """Whether the code may read all local variables at once, as ``locals()`` does.

        It would see the variables that a twin adds, so such a scope has no compiled loops.
        """
        looking = _LOOKING | {"globals"} if self.shared else _LOOKING
        return any(not self.is_local(name) for name in self.survey.loaded & looking)

    @property
    def name(self) -> str:
        """The qualified name, as in ``function.__qualname__``."""
        if self.is_module:
            return "<module>"
        own: str = getattr(self.node, "name", "<lambda>")
        if self.parent is None or self.parent.is_module:
            return own
        return f"{self.parent.name}.{own}" if self.parent.is_class else f"{self.parent.name}.<locals>.{own}"

    def is_local(self, name: str) -> bool:
        """Is this a variable of the function or of one that encloses it (and no global)?"""
        if self.is_module or name in self.shared:
            return False
        return name in self.names or name in self.outer or name in self.parameters or self.is_free(name)

    def is_free(self, name: str) -> bool:
        """Is this a variable of an enclosing function?"""
        if name in self.names or name in self.shared or name in self.parameters:
            return False
        scope = self.parent
        while scope is not None and not scope.is_module:
            if name in scope.parameters or (not scope.is_class and name in scope.names):
                return True
            if not scope.is_class and name in scope.shared:
                return False
            scope = scope.parent
        return False

    def mangled(self, name: str) -> str:
        """Return the name under which CPython stores one that begins with two underscores in a class."""
        scope: Scope | None = self
        while scope is not None and not scope.is_class:
            scope = scope.parent
        if scope is None or not name.startswith("__") or name.endswith("__") or "." in name:
            return name
        owner = getattr(scope.node, "name", "").lstrip("_")
        return f"_{owner}{name}" if owner else name
