"""Compile the loop of a generator expression that is passed to `numpy.fromiter`.

In: a generator over a range or an array, which has not started, and the dtype of the result. Out: the array,
or None if NumPy has to collect the elements.

The generator expression is rewritten as a ``for`` loop that stores its elements in the result and changes
nothing else. Where compiled code stops, the generator's own iterator is moved to that element, and NumPy
collects the rest from the generator.
"""

from __future__ import annotations

import ast
import functools
import inspect
import types
from typing import Any, NamedTuple, cast

import numpy

from numelt import _core
from numelt._jit import reporting, source
from numelt._jit.lower import REST, Lowered, lowered
from numelt._jit.scopes import Scope, own_nodes
from numelt._jit.units import ALL

__all__ = ["collected", "length"]

_NATIVE = frozenset("?bBhHiIlLqQfdFD")
# variables of the loop: the array that it iterates over, or the first item and the step of the range; the
# result; the number of iterations that are done; the number of elements in the result, and its limit
_ITEMS, _FIRST, _STEP, _OUT = "__numelt_items__", "__numelt_first__", "__numelt_step__", "__numelt_out__"
_ITERATIONS, _KEPT, _MOST = "__numelt_iterations__", "__numelt_kept__", "__numelt_most__"
_ALL = f"""
for {_ITERATIONS} in {REST}:
    target = {_ITEMS}[{_ITERATIONS}]
    {_OUT}[{_ITERATIONS}] = element
"""
_ALL_OF_RANGE = _ALL.replace(f"{_ITEMS}[{_ITERATIONS}]", f"{_FIRST} + {_ITERATIONS} * {_STEP}")
_SOME = f"""
for target in {REST}:
    if test:
        {_OUT}[{_KEPT}] = element
        {_KEPT} += 1
    {_ITERATIONS} += 1
    if {_KEPT} == {_MOST}:
        break
"""


class _Loop(NamedTuple):
    """The loop that was made of a generator expression."""

    unit: Any
    lowered: Lowered
    is_filtered: bool
    """Does the expression have an ``if`` clause?"""


def length(generator: Any) -> int:
    """Return the length of the range or array that a generator expression iterates over.

    Returns
    -------
    int
        The length; 0 for all other generators, and for those that have started.
    """
    found = _iterated(generator)
    return 0 if found is None else len(found[0]) - found[1]


def collected(generator: Any, dtype: Any, count: int) -> Any:
    """Return what `numpy.fromiter` makes of a generator, or None if NumPy has to do it.

    Parameters
    ----------
    generator : generator
        The generator. If the result is an array, the generator is then in the state in which NumPy leaves it.
    dtype : dtype
        The dtype of the result.
    count : int
        The number of elements to collect; -1 for all.
    """
    import numelt as np

    found, kind = _iterated(generator), numpy.dtype(dtype)
    if found is None or kind.char not in _NATIVE or not kind.isnative:
        return None
    items, position = found
    loop = _loop(generator.gi_code, _Same(generator.gi_frame.f_globals), type(items) is range)
    if loop is None:
        return None
    items = items[position:]
    is_short = 0 <= count <= len(items)
    if not loop.is_filtered and is_short:
        items = items[:count]
    out = np.empty(count if is_short else len(items), kind)
    answer = _answer(loop, generator, items, out, count)
    if answer is None or answer[0] < 0:
        return None
    made = dict(zip(loop.lowered.assigned, answer[1 + len(loop.lowered.loops) :], strict=True))
    is_stopped = answer[0] > 0
    iterations = made[_ITERATIONS] if loop.is_filtered or is_stopped else len(items)
    kept = made[_KEPT] if loop.is_filtered else iterations
    if is_stopped:
        return _finished(generator, out[:kept], position + iterations, count)
    if kept < count:
        return None  # NumPy's error
    generator.gi_frame.f_locals[".0"].__setstate__(position + iterations)
    if count < 0:
        generator.close()
    return out if kept == len(out) else out[:kept].copy()


def _answer(loop: _Loop, generator: Any, items: Any, out: Any, count: int) -> Any:
    """Call the unit of a loop, and return what it returns: see `twin`."""
    values = {REST: items, _OUT: out, _ITERATIONS: 0, _KEPT: 0, _MOST: count}
    if not loop.is_filtered:
        values |= {REST: range(len(items)), _ITEMS: items}
        if type(items) is range:
            values |= {_FIRST: items.start, _STEP: items.step}
    free = generator.gi_frame.f_locals
    slots = loop.lowered.slots
    return loop.unit(*(values[n] if n in values else free.get(n, _core.jit_unbound) for n in slots))


def _finished(generator: Any, begun: Any, position: int, count: int) -> Any:
    """Collect the remaining elements, from the position where compiled code has stopped, with NumPy."""
    import numelt as np

    try:
        _core.jit_pending()
    except BaseException:
        generator.close()
        raise
    if count >= 0:
        # NumPy starts again, because its error may say how many elements there are; nothing has been changed
        return None
    generator.gi_frame.f_locals[".0"].__setstate__(position)
    return np.concatenate([begun, numpy.fromiter(generator, begun.dtype)])


def _iterated(generator: Any) -> tuple[Any, int] | None:
    """Return the range or array that a generator expression iterates over, and the position in it.

    The result is None for other generators, and for those that have started.
    """
    if type(generator) is not types.GeneratorType or generator.gi_code.co_name != "<genexpr>":
        return None
    if inspect.getgeneratorstate(generator) != inspect.GEN_CREATED:
        return None
    frame: Any = generator.gi_frame
    iterator: Any = frame.f_locals.get(".0")
    if type(iterator) not in _ITERATORS:
        return None
    _, (items,), *positions = iterator.__reduce__()
    is_array = type(items) in (numpy.ndarray, _core.ndarray) and items.ndim
    return (items, positions[0] or 0) if (is_array or type(items) is range) and positions else None


# the iterator classes of ranges, of NumPy's arrays (and all other sequences), and of numelt's arrays
_ITERATORS = [type(iter(items)) for items in (range(0), numpy.empty(1), _core.asarray(numpy.empty(1)))]


class _Same:
    """A namespace as part of a cache key, compared by identity."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.namespace is other.namespace

    def __hash__(self) -> int:
        return id(self.namespace)


@functools.lru_cache(256)
def _loop(code: types.CodeType, key: _Same, is_range: bool) -> _Loop | None:
    """Return the loop of a generator expression.

    The result is None if the source is not available, and if the expression has several loops or assigns
    variables.
    """
    found = source.locate_code(code, key.namespace)
    if found is None or not isinstance(found.node, ast.GeneratorExp) or found.scope.is_watched:
        return None
    node = found.node
    if len(node.generators) != 1 or any(isinstance(inner, ast.NamedExpr) for inner in own_nodes([node])):
        return None
    loop = _written(node, is_range)
    # the scope of the loop is a function, as CPython makes one of the expression
    parameters = [ast.arg(name) for name in (REST, _ITEMS, _FIRST, _STEP, _OUT, _ITERATIONS, _KEPT, _MOST)]
    arguments = ast.arguments([], parameters, None, [], [], None, [])
    around = ast.FunctionDef("<genexpr>", arguments, [loop], [])
    low = lowered(loop, Scope(around, found.scope), is_resumed=True)
    name, filename = code.co_qualname, code.co_filename
    unit = _core.JitUnit(
        low.text, key.namespace, name, filename, is_requested=False, is_awaited=True, is_pure=True
    )
    ALL.add(unit)
    reporting.add_units(code, [unit])
    return _Loop(unit, low, bool(node.generators[0].ifs))


def _written(node: ast.GeneratorExp, is_range: bool) -> ast.For:
    """Write a generator expression as a loop, from one of the templates above."""
    part: Any = node.generators[0]
    loop: Any = ast.parse(_SOME if part.ifs else _ALL_OF_RANGE if is_range else _ALL).body[0]
    if part.ifs:
        loop.target = part.target
        loop.body[0].test = part.ifs[0] if len(part.ifs) == 1 else ast.BoolOp(ast.And(), part.ifs)
        loop.body[0].body[0].value = node.elt
    else:
        loop.body[0].targets = [part.target]
        loop.body[1].value = node.elt
    for statement in ast.walk(loop):
        if isinstance(statement, ast.stmt):
            ast.copy_location(statement, node.elt)
    return cast(ast.For, loop)
