"""Scopes: which names of a function or module are its local variables.

In: syntax trees. Out: `Scope` objects. A `Scope` tells for a name whether it is a local variable, a variable
of an enclosing function, or a global, by the rules of CPython's compiler.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

__all__ = [
    "LOOPS",
    "Function",
    "Scope",
    "argument_names",
    "bound_names",
    "children",
    "own_nodes",
    "statements",
    "unbound_by",
    "with_loops",
]

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
LOOPS = (ast.For, ast.While)

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
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
    {"ctx", "op", "ops", "id", "attr", "name", "names", "kind", "type_comment", "level", "module"}
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
        if isinstance(value, list):
            found.extend(item for item in value if isinstance(item, ast.AST))
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


def bound_names(nodes: Iterable[ast.AST], inside: bool = False) -> Iterator[str]:
    """Yield the names that nodes bind in the frame in which they run.

    Within a comprehension (`inside`), only ``:=`` binds names of the function.
    """
    open_nodes = [(node, inside) for node in nodes]
    open_nodes.reverse()
    while open_nodes:
        node, inside = open_nodes.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            if not isinstance(node, ast.Lambda):
                yield node.name
            open_nodes.extend((part, inside) for part in reversed(_outer_parts(node)))
        elif isinstance(node, ast.NamedExpr):
            yield node.target.id
            open_nodes.append((node.value, inside))
        else:
            if not inside:
                yield from _bound_by(node)
            inside = inside or isinstance(node, _COMPREHENSIONS)
            open_nodes.extend((child, inside) for child in reversed(children(node)))


def _bound_by(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds, without those that its children bind."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
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


class Scope:
    """The names of a module, a class or a function.

    Attributes
    ----------
    counts : Counter of str
        How many times the statements of this scope bind each name.
    names : set of str
        The names that belong to this scope.
    outer : set of str
        The names that it declares ``nonlocal``.
    shared : set of str
        The global names that it may assign: those declared ``global``; in a module, all that it binds.
    unbinds : bool
        Whether one of its statements may unbind a name.
    is_watched : bool
        Whether the code may read all local variables at once, as ``locals()`` does. It would see the
        variables that a twin adds, so such a scope has no compiled loops.
    """

    def __init__(self, node: ast.AST, parent: Scope | None = None) -> None:
        self.node = node
        self.parent = parent
        self.is_class = isinstance(node, ast.ClassDef)
        self.is_module = not isinstance(node, Function | ast.ClassDef)
        body = node.body if isinstance(node, ast.Module | ast.ClassDef) else []
        if isinstance(node, Function):
            body = [ast.Expr(node.body)] if isinstance(node, ast.Lambda) else node.body
        self.body: list[ast.stmt] = list(body)
        own = list(own_nodes(self.body))
        declared = {n for node in own if isinstance(node, ast.Global) for n in node.names}
        self.outer = {n for node in own if isinstance(node, ast.Nonlocal) for n in node.names}
        self.unbinds = any(map(unbound_by, own))
        self.counts = Counter(bound_names(self.body))
        self.names = set(self.counts) - declared - self.outer
        if isinstance(node, Function):
            self.names |= set(argument_names(node.args))
        self.parameters = {parameter.name for parameter in getattr(node, "type_params", ())}
        self.shared = self.names if self.is_module else declared
        loaded = {node.id for node in own if isinstance(node, ast.Name)}
        looking = _LOOKING | {"globals"} if self.shared else _LOOKING
        self.is_watched = any(not self.is_local(name) for name in loaded & looking)

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


def globals_of_functions(tree: ast.AST, parent: Scope | None = None) -> set[str]:
    """Return the global names that the functions below a node use."""
    found: set[str] = set()
    scope = Scope(tree, parent)
    for node in own_nodes(scope.body):
        if isinstance(node, ast.Name) and isinstance(tree, Function) and not scope.is_local(node.id):
            found.add(scope.mangled(node.id))
        if isinstance(node, Function | ast.ClassDef):
            found |= globals_of_functions(node, scope)
    return found
