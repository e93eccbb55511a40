"""``__array_function__`` and ``__array_ufunc__`` of classes of the program.

In: a call that is about to run in NumPy. Out: the result of the class. NumPy would pass its own function to
the class, but a program that imports numelt compares it with numelt's. So ``__array_function__`` is
implemented here. Ufuncs are called in NumPy, which gets stand-ins for the objects of such classes; a stand-in
passes numelt's ufunc on. Classes of installed libraries compare with NumPy's functions, and NumPy calls them.
"""

from __future__ import annotations

import inspect
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from numelt import _core
from numelt._dispatch.files import is_installed

__all__ = [
    "as_called",
    "asked",
    "calls_ufunc",
    "dispatch",
    "find_ufuncs_by",
    "knows_ours",
    "overriding",
    "stand_ins",
]

_PLAIN: frozenset[type] = frozenset(
    {
        _core.ndarray, numpy.ndarray, int, float, complex, bool, str, bytes, type(None), slice,
        numpy.float64, numpy.int64, numpy.bool, type, dict, set, type(numpy._NoValue),
    }
)  # fmt: skip

# the method of classes that leave functions to NumPy
_NUMPYS_METHOD = numpy.ndarray.__array_function__


def _participates(value: Any) -> bool:
    return type(value) not in _PLAIN and hasattr(type(value), "__array_function__")


def _arguments(args: Any, kwargs: Any) -> Iterator[Any]:
    for value in (*args, *(kwargs.values() if type(kwargs) is dict else ())):
        kind = type(value)
        if kind is list or kind is tuple:
            # only the first items are examined: a long list usually holds numbers
            yield from value[:64]
        else:
            yield value


def _is_installed(value: Any) -> bool:
    """Return whether this argument's class is a library's, which compares with NumPy's functions."""
    return _is_librarys(type(value).__array_function__)


def _is_librarys(method: Any) -> bool:
    home = sys.modules.get(getattr(method, "__module__", None) or "")
    return is_installed(str(getattr(home, "__file__", None)))


def asked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return the arguments whose classes have an ``__array_function__`` of their own."""
    return [
        value
        for value in _arguments(args, kwargs)
        if _participates(value) and type(value).__array_function__ is not _NUMPYS_METHOD
    ]


def overriding(asked: list[Any]) -> bool:
    """Return whether one of these arguments has to be called with our function instead of NumPy's."""
    return not all(map(_is_installed, asked))


def _in_order(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return one argument of each class with ``__array_function__``, subclasses before their bases."""
    found: list[Any] = []
    ours = (_core.ndarray, numpy.ndarray)
    for value in _arguments(args, kwargs):
        kind = type(value)
        if (kind not in ours and not _participates(value)) or any(type(other) is kind for other in found):
            continue
        at = next((i for i, other in enumerate(found) if _derives(kind, type(other))), len(found))
        found.insert(at, value)
    return found


def _derives(kind: type, other: type) -> bool:
    base = numpy.ndarray if other is _core.ndarray else other
    return kind is not base and base in kind.__mro__


def dispatch(
    ours: Any, numpys: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], relevant: Any = None
) -> Any:
    """Call ``__array_function__`` of the arguments; NotImplemented if they all behave as arrays.

    Parameters
    ----------
    ours, numpys : callable
        The function as the program knows it, and NumPy's.
    relevant : list, optional
        The arguments whose method is called, if not all of them.

    Raises
    ------
    TypeError
        When no class has an implementation.
    """
    order = _in_order(args, kwargs) if relevant is None else relevant
    kinds = tuple(type(value) for value in order)
    arrays = (_core.ndarray, numpy.ndarray)
    for value in order:
        if type(value) in arrays or type(value).__array_function__ is _NUMPYS_METHOD:
            if all(kind in arrays or issubclass(kind, numpy.ndarray) for kind in kinds):
                return NotImplemented
            continue
        result = value.__array_function__(ours, kinds, *as_called(numpys, args, kwargs))
        if result is not NotImplemented:
            return result
    name = f"{numpys.__module__}.{numpys.__name__}"
    raise TypeError(
        f"no implementation found for {name!r} on types that implement __array_function__: {list(kinds)}"
    )


def as_called(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments without defaults, and with optional ones by keyword, as NumPy passes them on."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return args, kwargs
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return args, kwargs
    kept = dict(zip((p.name for p in parameters), args, strict=False)) | kwargs
    for parameter in parameters:
        if _is_default(kept.get(parameter.name, inspect.Parameter.empty), parameter.default):
            kept.pop(parameter.name, None)
    leading: list[Any] = []
    for at, parameter in enumerate(parameters):
        # parameters whose default means "no value", such as the bounds of `clip`, are passed by position
        valueless = parameter.default is numpy._NoValue
        given = at < len(args) and parameter.default is parameter.empty
        leads = given or valueless or parameter.kind is parameter.POSITIONAL_ONLY
        if not leads or parameter.name not in kept:
            break
        leading.append(kept.pop(parameter.name))
    return tuple(leading), kept


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (
        type(value) is type(default) and type(value) in (str, int, float) and value == default
    )


# ---- ufuncs -------------------------------------------------------------------------------------

# ``__array_ufunc__`` methods that are called with our ufunc whoever calls them (`numelt.tools.importing`)
_knowing: weakref.WeakSet[Any] = weakref.WeakSet()


_ufunc_for: Callable[[numpy.ufunc], Any]


def find_ufuncs_by(function: Callable[[numpy.ufunc], Any]) -> None:
    """Set the function that finds our ufunc for one of NumPy's, in a module that imports this one."""
    global _ufunc_for
    _ufunc_for = function


def knows_ours(method: Any) -> Any:
    """Mark an ``__array_ufunc__`` that replaces NumPy's ufunc by ours itself."""
    _knowing.add(method)
    return method


def calls_ufunc(function: Any) -> bool:
    """Return whether this is a ufunc of NumPy, one of its methods, or an operator."""
    owner = getattr(function, "__self__", None)
    return type(function) is numpy.ufunc or type(owner) is numpy.ufunc or owner is sys.modules["_operator"]


def _claims_ufuncs(kind: type) -> bool:
    """Return whether this class has an ``__array_ufunc__`` that has to be called with our ufunc."""
    if kind in _PLAIN or issubclass(kind, numpy.ndarray):
        return False  # derived classes: `numelt._array.classes`
    method = getattr(kind, "__array_ufunc__", None)
    return type(method) is types.FunctionType and method not in _knowing and not _is_librarys(method)


class _StandIn:
    """An object whose ``__array_ufunc__`` calls that of an object of the program with our ufunc."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        kwargs = {key: _meant(value) for key, value in kwargs.items()}
        own = type(self._value).__array_ufunc__
        return own(self._value, _ufunc_for(ufunc), method, *map(_meant, inputs), **kwargs)

    def __repr__(self) -> str:
        return repr(self._value)


# by class of the program. NumPy asks objects of subclasses first, so the stand-ins of a subclass are derived
# from those of its bases.
_stand_in_classes: weakref.WeakKeyDictionary[type, type[_StandIn]] = weakref.WeakKeyDictionary()


def _stand_in_class(kind: type) -> type[_StandIn]:
    made = _stand_in_classes.get(kind)
    if made is None:
        bases = tuple(_stand_in_class(base) for base in kind.__mro__[1:] if _claims_ufuncs(base))
        made = type(kind.__name__, bases or (_StandIn,), {"__module__": kind.__module__})
        _stand_in_classes[kind] = made
    return made


def _meant(value: Any) -> Any:
    """Return the object that a stand-in stands for, also in the tuple of outputs; other values unchanged."""
    if type(value) is tuple:
        return tuple(map(_meant, value))
    return value._value if isinstance(value, _StandIn) else value


def stand_ins(value: Any) -> Any:
    """Replace objects of the program that claim ufuncs, also in tuples and dictionaries of arguments."""
    kind = type(value)
    if kind is tuple:
        return tuple(map(stand_ins, value))
    if kind is dict:
        return {key: stand_ins(item) for key, item in value.items()}
    return _stand_in_class(kind)(value) if _claims_ufuncs(kind) else value
