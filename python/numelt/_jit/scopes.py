"""Scopes: which names of a function or module are its local variables.

In: syntax trees. Out: `Scope` objects, which say for a name whether it is a variable of the function (its
own, or one of an enclosing function) or a global. They repeat the rules of CPython's compiler.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

__all__ = ["LOOPS", "Function", "Scope", "argument_names", "bound_names", "own_nodes"]

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
LOOPS = (ast.For, ast.While)

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# functions through which a program sees the local variables of the function that calls them
_LOOKING = frozenset({"locals", "vars", "dir", "eval", "exec"})


def own_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes that run in the frame of these nodes: nothing of the functions and classes in them."""
    for node in nodes:
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from own_nodes(_outer_parts(node))
        else:
            yield from own_nodes(ast.iter_child_nodes(node))


def _outer_parts(node: ast.AST) -> list[ast.AST]:
    """Return the parts of a definition that run where it stands: decorators, defaults, bases."""
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
    """Yield the names that nodes bind in the frame that they run in.

    `inside` a comprehension only ``:=`` binds names of the function.
    """
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from bound_names(_outer_parts(node), inside)
        elif isinstance(node, ast.NamedExpr):
            yield node.target.id
            yield from bound_names([node.value], inside)
        else:
            if not inside:
                yield from _bound_by(node)
            inner = inside or isinstance(node, _COMPREHENSIONS)
            yield from bound_names(ast.iter_child_nodes(node), inner)


def _bound_by(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node itself binds."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest


class Scope:
    """The names of a module, a class or a function.

    Attributes
    ----------
    names : set of str
        What it binds itself.
    shared : set of str
        What it declares ``global``; in a module, what it binds.
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
        self.names = set(bound_names(self.body)) - declared - self.outer
        if isinstance(node, Function):
            self.names |= set(argument_names(node.args))
        self.parameters = {parameter.name for parameter in getattr(node, "type_params", ())}
        self.shared = self.names if self.is_module else declared
        loaded = {node.id for node in own if isinstance(node, ast.Name)}
        looking = _LOOKING | {"globals"} if self.shared else _LOOKING
        # the program may look at all variables at once, and would see those of the twin
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
    """Return the global names that the functions of a module use."""
    found: set[str] = set()
    scope = Scope(tree, parent)
    for node in own_nodes(scope.body):
        if isinstance(node, ast.Name) and isinstance(tree, Function) and not scope.is_local(node.id):
            found.add(scope.mangled(node.id))
        if isinstance(node, Function | ast.ClassDef):
            found |= globals_of_functions(node, scope)
    return found
