"""Find the syntax tree of a function.

In: a function, or the code of a generator expression. Out: the node from which it was compiled, or None. The
whole file is parsed and compiled again, and a node is returned only if the file's new code contains a code
object equal to that of the function. This rejects files that were edited after the import, functions whose
``assert`` statements were rewritten, and generated functions.

The code of a twin is not that of its file. Twins are therefore registered with the sources that they were
made from. Only the trees of a few files are kept: a tree consists of thousands of objects, among which
CPython's garbage collector looks for garbage again and again.
"""

from __future__ import annotations
import __future__

import ast
import functools
import linecache
import types
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from numelt._jit import units
from numelt._jit.scopes import Function, Scope

__all__ = [
    "FUTURE",
    "Located",
    "Source",
    "as_written",
    "find",
    "locate",
    "locate_code",
    "register",
    "with_code",
]

FUTURE = functools.reduce(
    int.__or__, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)


class Located(NamedTuple):
    """A function or generator expression in the syntax tree of its module."""

    node: Any
    """A `Function` or an `ast.GeneratorExp`."""
    scope: Scope
    """The scope of the function; `Scope.parent` leads to the scopes that enclose it. For a generator
    expression it is the enclosing scope."""
    source: Source


class Source:
    """The text of a module, and its syntax tree as long as it is kept."""

    def __init__(self, filename: str, text: bytes | str, tree: ast.Module | None = None) -> None:
        self.filename = filename
        self._text = text
        if tree is not None:
            self._keep(tree)

    @property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return self.parsed[0]

    @property
    def parsed(self) -> tuple[ast.Module, Scope]:
        """The syntax tree and its scope."""
        found = _trees.pop(self, None)
        if found is not None:
            # the last one is the one that was used last
            _trees[self] = found
            return found
        with units.without_collector():
            return self._keep(ast.parse(self._text, self.filename))

    def _keep(self, tree: ast.Module) -> tuple[ast.Module, Scope]:
        _trees[self] = tree, Scope(tree)
        for oldest in list(_trees)[:-_MOST_TREES]:
            _trees.pop(oldest, None)
        return _trees[self]


_MOST_TREES = 4
# the trees that were used last
_trees: dict[Source, tuple[ast.Module, Scope]] = {}


class _Module:
    """The code objects of a module or function, and the source of the module."""

    def __init__(self, code: types.CodeType, source: Source) -> None:
        self.codes = frozenset(_codes(code))
        self.source = source

    @functools.cached_property
    def written(self) -> dict[tuple[str, int], types.CodeType | None]:
        """The code that CPython makes of the tree, by qualified name and first line, or None for two."""
        found: dict[tuple[str, int], types.CodeType | None] = {}
        name = next(iter(self.codes)).co_filename
        for code in _codes(compile(self.source.tree, name, "exec", dont_inherit=True)):
            key = code.co_qualname, code.co_firstlineno
            found[key] = None if key in found else code
        return found

    def locate(self, code: types.CodeType) -> Located | None:
        """Return the function or generator expression of a code object."""
        if code not in self.codes:
            return None
        tree, outermost = self.source.parsed
        begun = _beginning_at(code.co_firstlineno, tree, outermost)
        candidates = [
            Located(node, scope, self.source) for node, scope in begun if _code_name(node) == code.co_name
        ]
        if code.co_name in ("<lambda>", "<genexpr>") and len(candidates) > 1:
            return _by_columns(code, candidates)
        return candidates[0] if len(candidates) == 1 else None


# by file name: the modules and functions that have twins
_twins: dict[str, list[_Module]] = {}


def register(code: types.CodeType, source: Source) -> None:
    """Remember from which source the functions in the code of a twin come."""
    modules = _twins.setdefault(code.co_filename, [])
    if not any(code in module.codes for module in modules):
        modules.append(_Module(code, source))


def _twin(code: types.CodeType) -> _Module | None:
    for loaded, text in units.LOADED.pop(code.co_filename, ()):
        register(loaded, Source(code.co_filename, text))
    return next((m for m in _twins.get(code.co_filename, ()) if code in m.codes), None)


def as_written(function: Any) -> Any:
    """Return a function with the code that CPython makes of its source, for compilers that read code.

    Of a function that is no twin, this is the function itself. A twin whose own code is not known for certain
    is returned as well.
    """
    if type(function) is not types.FunctionType:
        return function
    module = _twin(function.__code__)
    if module is None:
        return function
    code = module.written.get((function.__code__.co_qualname, function.__code__.co_firstlineno))
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    if code is None or not cells.keys() >= set(code.co_freevars):
        return function
    return with_code(function, code, cells)


def with_code(
    function: types.FunctionType, code: types.CodeType, cells: dict[str, types.CellType]
) -> types.FunctionType:
    """Return a copy of a function with other code, whose free variables are the cells of these names."""
    closure = tuple(cells[name] for name in code.co_freevars)
    made = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__.update(function.__dict__)
    for name in ("__annotations__", "__doc__", "__module__", "__qualname__", "__type_params__"):
        if hasattr(function, name):
            setattr(made, name, getattr(function, name))
    return made


def find(function: Any) -> Function | None:
    """Return the syntax tree of a function, or None if it is not known for certain."""
    located = locate(function)
    return None if located is None else cast(Function, located.node)


def locate(function: Any) -> Located | None:
    """Return a function in the syntax tree of its module, or None if it is not known for certain."""
    if type(function) is not types.FunctionType:
        return None
    return locate_code(function.__code__, function.__globals__)


def locate_code(code: types.CodeType, namespace: dict[str, Any]) -> Located | None:
    """Return the function or generator expression of a code object, or None if it is not certain."""
    module = _twin(code) or _read(code, namespace)
    return None if module is None else module.locate(code)


def _read(code: types.CodeType, namespace: dict[str, Any]) -> _Module | None:
    """Compile the file of a code object again."""
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, namespace)
    return _compiled(code.co_filename, "".join(lines), code.co_flags & FUTURE) if lines else None


@functools.lru_cache(16)
def _compiled(filename: str, text: str, flags: int) -> _Module | None:
    try:
        with warnings.catch_warnings(), units.without_collector():
            warnings.simplefilter("ignore")  # the first compilation of the file has shown them
            tree = ast.parse(text, filename)
            code = compile(tree, filename, "exec", flags=flags, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return _Module(code, Source(filename, text, tree))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object and those of all functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _beginning_at(
    line: int, node: ast.AST, scope: Scope
) -> Iterator[tuple[Function | ast.GeneratorExp, Scope]]:
    """Yield the functions and generator expressions below a node whose code begins at a line.

    Each comes with its `Located.scope`. Only nodes that extend over this line are looked into.
    """
    for child in ast.iter_child_nodes(node):
        end = getattr(child, "end_lineno", None)
        if end is not None and not _first_line(child) <= line <= end:
            continue
        inner = Scope(child, scope) if isinstance(child, Function | ast.ClassDef) else scope
        if isinstance(child, Function | ast.GeneratorExp) and _first_line(child) == line:
            yield child, inner
        yield from _beginning_at(line, child, inner)


def _first_line(node: Any) -> int:
    """Return the line at which a node begins: for a decorated one, that of its first decorator."""
    lines: list[int] = [node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))]
    return min(lines)


def _code_name(node: Function | ast.GeneratorExp) -> str:
    """Return the name that CPython gives the code of a function or generator expression."""
    if isinstance(node, ast.GeneratorExp):
        return "<genexpr>"
    return "<lambda>" if isinstance(node, ast.Lambda) else node.name


def _span(node: ast.expr) -> tuple[int, int, int, int]:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


def _by_columns(code: types.CodeType, candidates: list[Located]) -> Located | None:
    """Choose among expressions on one line, by the source columns of the code object's instructions."""

    def innermost(line: int, column: int, end_line: int, end_column: int) -> Located | None:
        holding = []
        for candidate in candidates:
            body = _span(getattr(candidate.node, "body", candidate.node))
            if body[:2] <= (line, column) and (end_line, end_column) <= body[2:]:
                holding.append((body[:2], candidate))
        return max(holding, key=lambda pair: pair[0])[1] if holding else None

    votes: dict[int, int] = {}
    for line, end_line, column, end_column in code.co_positions():
        if line is None or end_line is None or column is None or end_column is None or column == end_column:
            continue
        found = innermost(line, column, end_line, end_column)
        if found is not None:
            number = next(n for n, candidate in enumerate(candidates) if candidate is found)
            votes[number] = votes.get(number, 0) + 1
    return candidates[max(votes, key=lambda number: votes[number])] if votes else None
