"""Fallbacks: calls that are not native run in NumPy, on views of our memory that copy nothing.

In: a NumPy callable and arguments that may hold numelt arrays and scalars at any depth of lists,
tuples and dicts. Out: the callable's result, or the exception that NumPy raised. Every plain NumPy array in
the result becomes a numelt array: a view if it shares our memory; without a copy if nothing else refers to
it. Every call is counted under the file and line of the program. Nothing in this file computes.
"""

from __future__ import annotations

import operator
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy

from numelt import _core
from numelt._dispatch import counters, overrides

__all__ = ["FallbackError", "FallbackWarning", "call", "policy", "raising", "set_policy", "unwrap", "wrap"]

ndarray = _core.ndarray

POLICIES = ("silent", "warn", "error")

# by id of our callable or class: that object, and the object of NumPy that replaces it in fallbacks
_numpy_of: dict[int, tuple[object, object]] = {}
# by id of an object of NumPy: that object, and ours
OURS: dict[int, tuple[object, Any]] = {}
# types of list elements that have to be searched; all others are passed unchanged
_containers: frozenset[type] = frozenset(
    {
        ndarray,
        list,
        tuple,
        dict,
        _core.ufunc,
        _core.routine,
        _core.method,
        types.FunctionType,
        types.BuiltinFunctionType,
        type,
        type(ndarray),
        type(_core.ufunc),
    }
)
_substituted_kinds = (
    _core.routine, _core.method, _core.ufunc, types.FunctionType, types.BuiltinFunctionType,
    type,
)  # fmt: skip

# our classes of generators, whose attribute `_plain` is NumPy's; filled by `numelt._random`
GENERATORS: set[type] = set()

# by the id of either of the two: a view of NumPy's, and the array for which it stands
Views = dict[int, tuple[Any, Any]]


class FallbackError(RuntimeError):
    """A call was to run in NumPy while the policy is ``error``.

    Attributes
    ----------
    function : str
        NumPy's name of what was called.
    reason : str
        Why it is not native.
    filename, lineno : str, int
        The user's line.
    """

    def __init__(self, function: str, reason: str, filename: str, lineno: int) -> None:
        super().__init__(f"{function} is not native here ({reason}); {filename}:{lineno}")
        self.function, self.reason, self.filename, self.lineno = function, reason, filename, lineno


class FallbackWarning(RuntimeWarning):
    """A call runs in NumPy while the policy is ``warn``. It is shown once per line."""


_policy = "silent"


def policy() -> str:
    """Return the fallback policy: ``silent``, ``warn`` or ``error``."""
    return _policy


def set_policy(value: str) -> None:
    """Set the fallback policy: what a fallback does besides being counted."""
    global _policy
    if value not in POLICIES:
        raise ValueError(f"fallback policy must be one of {', '.join(POLICIES)}, not {value!r}")
    _policy = value
    _core.set_silent(not counters.is_heard() and value == "silent")


def stands_for(ours: object, numpys: object) -> None:
    """Register the object of NumPy that replaces one of our callables or classes in fallbacks."""
    _numpy_of[id(ours)] = (ours, numpys)
    _core.stands_for(ours, numpys)
    OURS.setdefault(id(numpys), (numpys, ours))


def numpys_own(value: Any) -> Any:
    """Return NumPy's object for one of our functions, ufuncs or classes, and any other object itself."""
    if type(value) is _core.ufunc:
        return value.numpy
    pair = _numpy_of.get(id(value))
    return pair[1] if pair is not None else value


# NumPy's limit on dimensions: it refuses lists that are nested deeper, so these are passed on unchanged
_DEEPEST = 64


def unwrap(value: Any, views: Views | None = None, depth: int = 0) -> Any:
    """Return `value` with numelt arrays, scalars and functions replaced by NumPy's.

    Parameters
    ----------
    value : object
        Lists, tuples and dicts are searched; other containers pass as they are.
    views : dict, optional
        Collects which NumPy view stands for which array, for :func:`wrap`. An array that is given more than
        once, such as an operand that is also the output, becomes one view: functions may compare by `is`.
    """
    kind = type(value)
    if kind is ndarray:
        if views is None:
            return _core.to_numpy(value)
        pair = views.get(id(value))
        if pair is None:
            view = _core.to_numpy(value)
            pair = views[id(view)] = views[id(value)] = (view, value)
        return pair[0]
    if kind is list or kind is tuple:
        if _containers.isdisjoint(map(type, value)):
            return value
        if depth == 1:
            return _unwrap_argument(value, views)
        if depth > _DEEPEST:
            raise _TooDeep
        items = [unwrap(item, views, depth + 1) for item in value]
        # if nothing changed, return the same list, because the call may write into it
        return value if all(map(operator.is_, items, value)) else kind(items)
    if kind is dict:
        if depth > _DEEPEST:
            raise _TooDeep
        found = {key: unwrap(item, views, depth + 1) for key, item in value.items()}
        return value if all(map(operator.is_, found.values(), value.values())) else found
    if isinstance(value, _substituted_kinds):
        return numpys_own(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return _unwrap_fields(value, views)
    return value


def _unwrap_fields(value: Any, views: Views | None) -> Any:
    """Unwrap a named tuple. It becomes a tuple if its class cannot be called with its fields."""
    items = [unwrap(item, views) for item in value]
    if all(map(operator.is_, items, value)):
        return value
    try:
        return type(value)(*items)
    except TypeError:
        return tuple(items)


class _TooDeep(Exception):
    """A list is nested beyond NumPy's limit, or holds itself."""


def _unwrap_argument(value: Any, views: Views | None) -> Any:
    """Unwrap a list among the arguments. A list that is nested too deep stays as it is."""
    try:
        return unwrap(value, views, 2)
    except _TooDeep:
        return value


def _held_once(array: Any, references: int) -> bool:
    """Return whether only the `references` that the caller holds lead to the memory of `array`."""
    if sys.getrefcount(array) > references:
        return False
    base = array.base
    if base is None:
        return bool(array.flags.owndata)
    if type(base) is not numpy.ndarray or base.base is not None or not base.flags.owndata:
        return False
    return sys.getrefcount(base) <= _BASE_REFERENCES


def wrap(result: Any, views: Views | None = None) -> Any:
    """Return `result` with numelt arrays for plain NumPy arrays. Subclasses and scalars stay as they are."""
    kind = type(result)
    if kind is numpy.ndarray:
        return _adopt(result, views, _DIRECT_REFERENCES)
    if kind is tuple or kind is list:
        if numpy.ndarray not in set(map(type, result)) and not any(
            isinstance(x, (tuple, list)) for x in result
        ):
            return result
        return kind([_wrap_item(item, views) for item in result])
    if kind is dict:
        return {key: _wrap_item(item, views) for key, item in result.items()}
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return kind(*[_wrap_item(item, views) for item in result])
    return result


def _wrap_item(item: Any, views: Views | None) -> Any:
    if type(item) is numpy.ndarray:
        return _adopt(item, views, _ITEM_REFERENCES)
    return wrap(item, views) if isinstance(item, (tuple, list, dict)) else item


def _adopt(array: Any, views: Views | None, references: int) -> Any:
    if views:
        pair = views.get(id(array))
        if pair is not None:
            return pair[1]
    fresh = _held_once(array, references)
    return _core.from_numpy(array, fresh)


def _calibrate() -> tuple[int, int, int]:
    """Count the references that `call` itself holds to a result to which nothing else refers.

    Versions of the interpreter differ in how many references a call keeps, so it is measured once.
    """
    counts: list[int] = []

    def adopt(array: Any, _views: Any, _references: int) -> None:
        fresh = held(array, 0)
        assert not fresh

    def held(array: Any, _references: int) -> bool:
        counts.append(sys.getrefcount(array))
        if array.base is not None:
            base = array.base
            counts.append(sys.getrefcount(base))
        return False

    def wrap_like(result: Any, views: Any = None) -> Any:
        kind = type(result)
        if kind is numpy.ndarray:
            return adopt(result, views, 0)
        return kind([item_like(item, views) for item in result])

    def item_like(item: Any, views: Any) -> Any:
        return adopt(item, views, 0)

    def call_like(function: Callable[[], Any]) -> None:
        result = function()
        wrap_like(result, None)

    call_like(lambda: numpy.empty(2))
    call_like(lambda: (numpy.empty(2),))
    call_like(lambda: numpy.empty(2)[:1])
    return counts[0], counts[1], counts[3]


_DIRECT_REFERENCES, _ITEM_REFERENCES, _BASE_REFERENCES = _calibrate()


def user_location() -> tuple[str, int]:
    """Return file and line of the innermost frame that is neither numelt's nor NumPy's."""
    frame = _core.users_frame()
    return (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("<unknown>", 0)


# by file and line of the program: code of the call ``function(*args, **kwargs)`` with that position
_lines: dict[tuple[str, int], types.CodeType] = {}
_MOST_LINES = 4096
_call_code = compile("(lambda function, args, kwargs: function(*args, **kwargs))", "", "eval").co_consts[0]


# Exceptions that mean that a function cannot handle its arguments. All others reach the program: the handler
# of a signal may raise them anywhere (`KeyboardInterrupt`, `TimeoutError`).
REFUSALS = (
    ArithmeticError, AttributeError, LookupError, MemoryError, NameError, RuntimeError, TypeError, ValueError,
)  # fmt: skip


def at_user_line(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call ``function(*args, **kwargs)`` so that its warnings are attributed to the user's line.

    C code that warns takes globals, file and line from the calling frame. The call is therefore made from a
    frame that has those of the innermost frame of the program, as filters and `warnings` then see them.
    """
    frame = _core.users_frame()
    if frame is None:
        return function(*args, **kwargs)
    place = frame.f_code.co_filename, frame.f_lineno
    code = _lines.get(place)
    if code is None:
        if len(_lines) >= _MOST_LINES:
            _lines.clear()
        code = _call_code.replace(co_filename=place[0], co_firstlineno=place[1], co_name=frame.f_code.co_name)
        _lines[place] = code
    try:
        return types.FunctionType(code, frame.f_globals)(function, args, kwargs)
    except Exception as error:
        error.__traceback__ = _below(error)
        raise


def _below(error: Exception) -> types.TracebackType | None:
    """Return the traceback of an exception without the frame that `at_user_line` made.

    The caller must not keep the traceback in a variable: the cycle would keep the arrays of its frames alive.
    """
    trace = error.__traceback__
    made = trace and trace.tb_next
    return made and made.tb_next


def note(name: str, reason: str) -> None:
    """Count a fallback and apply the policy.

    Raises
    ------
    FallbackError
        When the policy is ``error``.
    """
    filename, lineno = user_location()
    counters.record(name, filename, lineno, reason)
    if _policy == "silent":
        return
    if _policy == "error":
        raise FallbackError(name, reason, filename, lineno)
    warnings.warn_explicit(
        f"{name} runs in NumPy ({reason})", FallbackWarning, filename, lineno, registry=_warned
    )


_warned: dict[Any, Any] = {}


def call(
    name: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    reason: str = "not native",
) -> Any:
    """Run ``function(*args, **kwargs)`` in NumPy, counted as a fallback named `name`."""
    note(name, reason)
    return uncounted(function, args, kwargs)


def uncounted(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run ``function(*args, **kwargs)`` in NumPy without counting it: reads, printing, files."""
    asked = overrides.asked(args, kwargs)
    if asked and overrides.overriding(asked):
        result = _overridden(function, args, kwargs)
        if result is not NotImplemented:
            return result
        function = getattr(function, "_implementation", function)
    elif asked and type(function) is not numpy.ufunc:
        args, kwargs = overrides.as_called(function, args, kwargs)
    if overrides.calls_ufunc(function):
        args, kwargs = overrides.stand_ins(args), overrides.stand_ins(kwargs)
    views: Views = {}
    if args:
        args = unwrap(args, views)
    if kwargs:
        kwargs = unwrap(kwargs, views)
        _remember_targets(kwargs.get("out"), views)
    try:
        result = at_user_line(function, args, kwargs)
    except ValueError as error:
        if _NOT_AN_ARRAY not in str(error):
            raise
        args, kwargs = converted(args), converted(kwargs)
        result = at_user_line(function, args, kwargs)
    return wrap(result, views)


def _overridden(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call ``__array_function__`` of the arguments for a public function of NumPy."""
    pair = OURS.get(id(function))
    like = kwargs.get("like")
    if pair is None or not (hasattr(function, "_implementation") or like is not None):
        return NotImplemented
    relevant = None
    if like is not None:
        relevant = [like]
        kwargs = {key: value for key, value in kwargs.items() if key != "like"}
    return overrides.dispatch(pair[1], function, args, kwargs, relevant)


# NumPy's message if a class's ``__array__`` returns one of our arrays, as it does in programs that use numelt
_NOT_AN_ARRAY = "__array__ method not producing an array"


def converted(value: Any) -> Any:
    """Return `value` with NumPy arrays in place of objects that have ``__array__``."""
    kind = type(value)
    if kind is list or kind is tuple:
        return kind([converted(item) for item in value])
    if kind is dict:
        return {key: converted(item) for key, item in value.items()}
    convert = getattr(kind, "__array__", None)
    if convert is None or isinstance(value, (numpy.ndarray, numpy.generic, type)):
        return value
    if hasattr(kind, "__array_wrap__"):
        return _Converting(value)
    made = unwrap(convert(value))
    if not isinstance(made, numpy.ndarray):
        raise ValueError(f"object {_NOT_AN_ARRAY}")
    return made


class _Converting:
    """Replaces an object with ``__array__`` and ``__array_wrap__``, which expect our arrays."""

    def __init__(self, value: Any) -> None:
        self._value = value

    @property
    def __array_priority__(self) -> Any:
        return getattr(self._value, "__array_priority__", 0.0)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return unwrap(self._value.__array__(*args, **kwargs))

    def __array_wrap__(self, array: Any, *args: Any) -> Any:
        return self._value.__array_wrap__(wrap(array), *args)


def _remember_targets(out: Any, views: Views) -> None:
    """Note NumPy arrays that were passed as ``out``: the call returns the same objects."""
    for target in out if type(out) is tuple else (out,):
        if type(target) is numpy.ndarray:
            views.setdefault(id(target), (target, target))


def raising(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a call whose arguments native code has found wrong, so that NumPy raises the exception.

    The call is counted as a fallback only if NumPy accepts it.
    """
    result = uncounted(function, args, kwargs)
    note(name, "arguments that only NumPy accepts")
    return result
