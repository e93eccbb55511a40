"""Twins: copies of functions and modules in which loops run compiled where possible.

In: a function, or the text of a module. Out: the code of its twin, in which each loop first calls its unit
(`_core.JitUnit`), and goes on where the unit has stopped. `rewriter` writes the statements.
"""

from __future__ import annotations

import ast
import copy
import types
from typing import Any, NamedTuple

from numelt._jit import source
from numelt._jit.rewriter import LoopUnits, Rewriter, placed
from numelt._jit.scopes import Scope, with_loops

__all__ = ["ModuleTwin", "Template", "function_twin", "instance", "module_twin", "template"]


def _idle(*_: Any) -> None:
    """Leave a loop to CPython."""


def idle_unit() -> Any:
    """Return the replacement of a unit that was pickled: in another process, CPython runs its loop."""
    return _idle


class Template(NamedTuple):
    """The code of a twin, for all functions that share one code object."""

    code: types.CodeType
    hidden: dict[str, Any]
    """The names that the twin uses, with their values."""


def template(
    function: types.FunctionType, is_strict: bool = False, is_requested: bool = True
) -> Template | None:
    """Return the code of a function's twin.

    The result is None if the function's source is not available or it has no loops.
    """
    found = source.locate(function)
    if found is None or not isinstance(found.node, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    if _has_private_names(found.node, found.scope):
        return None
    units = LoopUnits(function.__code__.co_filename, is_requested, is_strict)
    node = copy.copy(found.node)
    node.body = Rewriter(units, found.node, found.scope, with_loops(found.node)).made()
    # not evaluated: the code of a decorated function begins at the line of its first decorator
    node.decorator_list = [ast.copy_location(ast.Constant(None), d) for d in found.node.decorator_list[:1]]
    if not units.texts:
        return None
    hidden = units.hidden(function.__globals__)
    code = _compiled(node, function, [*hidden, *function.__code__.co_freevars])
    if code is None:
        return None
    source.register(code, found.source)
    return Template(code, hidden)


def function_twin(
    function: types.FunctionType, is_strict: bool = False, is_requested: bool = True
) -> types.FunctionType | None:
    """Return the twin of a function, or None if its source is not available or it has no loops.

    Parameters
    ----------
    function : function
        The function.
    is_strict : bool
        Whether it is an error if CPython has to run a statement of a loop.
    is_requested : bool
        Whether the program asks for compiled loops. They are then compiled when they first run, and otherwise
        once compiling takes less time than CPython is expected to take.
    """
    found = template(function, is_strict, is_requested)
    return None if found is None else instance(found, function)


def instance(template: Template, function: types.FunctionType) -> types.FunctionType:
    """Return the twin of a function, made from the template of its code."""
    code, hidden = template
    cells = {name: types.CellType(value) for name, value in hidden.items()}
    cells |= dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    twin = source.with_code(function, code, cells)
    twin.__wrapped__ = function  # type: ignore[attr-defined]
    return twin


def _has_private_names(node: ast.AST, scope: Scope) -> bool:
    """Does a function use names that CPython mangles because the function is in a class?"""
    names = (getattr(inner, "id", None) or getattr(inner, "attr", None) for inner in ast.walk(node))
    return any(isinstance(name, str) and scope.mangled(name) != name for name in names)


def _compiled(
    node: ast.FunctionDef | ast.AsyncFunctionDef, function: types.FunctionType, around: list[str]
) -> types.CodeType | None:
    """Compile the twin of a function, with `around` as the names of enclosing variables.

    The result has the position and the qualified name of the function's own code. It is None if the twin is
    nested too deeply for CPython's compiler.
    """
    parameters = ast.arguments([], [ast.arg(name) for name in around], None, [], [], None, [])
    # a function that calls itself by a global name does not mean a variable of the factory
    own: list[ast.stmt] = [] if node.name in around else [ast.Global([node.name])]
    factory = ast.FunctionDef("__numelt_factory__", parameters, [*own, node], [], None, None)
    if hasattr(factory, "type_params"):
        factory.type_params = []
    module = ast.Module(placed([factory], node), [])
    flags = function.__code__.co_flags & source.FUTURE
    try:
        made = compile(module, function.__code__.co_filename, "exec", flags=flags, dont_inherit=True)
    except (SyntaxError, RecursionError):
        return None
    outer = next(code for code in made.co_consts if isinstance(code, types.CodeType))
    code = next(c for c in outer.co_consts if isinstance(c, types.CodeType) and c.co_name == node.name)
    return _renamed(code, code.co_qualname, function.__qualname__)


def _renamed(code: types.CodeType, old: str, new: str) -> types.CodeType:
    """Replace the beginning of the qualified name of a code object, and of all functions in it."""
    constants = tuple(
        _renamed(constant, old, new) if isinstance(constant, types.CodeType) else constant
        for constant in code.co_consts
    )
    return code.replace(co_qualname=new + code.co_qualname[len(old) :], co_consts=constants)


class ModuleTwin(NamedTuple):
    """The code of a module's twin."""

    code: types.CodeType
    loops: list[tuple[str, str, bool]]
    """The loops that have units, in the form that `units.hidden` takes."""
    idle: list[tuple[str, int, str]]
    """Loops that have none because compiled code would stop at once: function, line and reason."""


def module_twin(
    text: bytes | str,
    filename: str,
    namespace: dict[str, Any],
    is_requested: bool = False,
    has_idle: bool = True,
) -> ModuleTwin:
    """Return the code of a module's twin.

    The names that the twin uses are added to the namespace. For `is_requested` see `function_twin`. Without
    `has_idle`, loops for which compiled code would stop at once in each iteration (see `idling`) have no
    units.
    """
    tree = ast.parse(text, filename)
    units = LoopUnits(filename, is_requested, has_idle=has_idle)
    holding = with_loops(tree)
    made = ast.Module(
        Rewriter(units, tree, Scope(tree), holding).made() if holding else tree.body, tree.type_ignores
    )
    code = compile(made, filename, "exec", dont_inherit=True)
    source.register(code, source.Source(filename, text, tree))
    if units.texts:
        namespace.update(units.hidden(namespace))
    return ModuleTwin(code, units.texts, units.idle)
