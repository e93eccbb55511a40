"""Python functions of libraries that turn arrays of ours among their arguments into NumPy's where they begin.

A function that wraps another adds frames, which warnings count, and references to arguments, which pandas
counts to tell chained assignments. So the conversion stands in the function's own code, right after its first
instruction: ``argument = NUMPYS @ argument`` for each that could be an array. Its lines and signature stay.

In: a function. Out: `convert`.
"""

from __future__ import annotations

import functools
import opcode
import types
from collections.abc import Iterator
from typing import Any

from numelt import _core, _fallback

__all__ = ["convert"]

# what is most frequent, never ours, and not looked into; classes of libraries are added when met
_PLAIN: set[type] = {bool, float, int, slice, str, types.NoneType}
_LIBRARIES = frozenset({"numpy", "pandas", "xarray"})
_MOST_CONSTANTS = 256


def _numpys(value: Any) -> Any:
    """Return NumPy's array for one of ours, and what holds some of ours with NumPy's in their place."""
    found = _fallback.unwrap(value)
    kind = type(value)
    if (
        found is value
        and kind.__module__.partition(".")[0] in _LIBRARIES
        and not isinstance(value, list | tuple | dict)
        and not callable(value)
    ):
        _PLAIN.add(kind)
    return found


_NUMPYS = _core.Handed(_numpys, _PLAIN)


def convert(function: types.FunctionType) -> bool:
    """Let a function convert its arguments itself; return whether its code could be changed.

    Arguments that have a truth value for a default, and the instance, are left alone.
    """
    code = function.__code__
    given = code.co_argcount + code.co_kwonlyargcount
    starred = sum(bool(code.co_flags & flag) for flag in (0x04, 0x08))
    names = code.co_varnames[: given + starred]
    chosen = tuple(at for at, name in enumerate(names) if _may_be_array(function, at, name))
    place = _after_resume(code.co_code)
    if not chosen or place is None or len(code.co_consts) >= _MOST_CONSTANTS:
        return not chosen
    captured = tuple(at for at, name in enumerate(names) if name in code.co_cellvars)
    inserted = _loading(len(names), chosen, captured, len(code.co_consts))
    lines = _lines_with(code.co_linetable, place // 2, len(inserted) // 2)
    if lines is None:
        return False
    function.__code__ = code.replace(
        co_code=code.co_code[:place] + inserted + code.co_code[place:],
        co_consts=(*code.co_consts, _NUMPYS),
        co_stacksize=max(code.co_stacksize, 2),
        co_linetable=lines,
        co_exceptiontable=_moved(code.co_exceptiontable, len(inserted) // 2)
        if code.co_exceptiontable
        else b"",
    )
    return True


def _may_be_array(function: types.FunctionType, at: int, name: str) -> bool:
    if at == 0 and name in {"self", "cls"}:
        return False
    defaults = function.__defaults__ or ()
    position = at - (function.__code__.co_argcount - len(defaults))
    keyword = (function.__kwdefaults__ or {}).get(name)
    return not isinstance(defaults[position] if 0 <= position < len(defaults) else keyword, bool)


def _after_resume(instructions: bytes) -> int | None:
    """Return where a function's own code begins."""
    resume = opcode.opmap["RESUME"]
    return next((at + 2 for at in range(0, len(instructions), 2) if instructions[at] == resume), None)


@functools.cache
def _conversion(count: int, chosen: tuple[int, ...], captured: tuple[int, ...]) -> bytes:
    """Return the instructions that convert arguments, taken from a function with as many.

    Parameters
    ----------
    chosen, captured : tuple of int
        The arguments that are converted, and those that inner functions use, which are held otherwise.
    """
    source = f"def f({','.join(f'a{at}' for at in range(count))}):\n"
    source += f" lambda: ({''.join(f'a{at},' for at in captured)})\n"
    source += "".join(f" a{at} = '' @ a{at}\n" for at in chosen)
    space: dict[str, Any] = {}
    exec(source, space)
    code: types.CodeType = space["f"].__code__
    # the third line is the first conversion
    first = next(start for start, _, line in code.co_lines() if line == 3)
    instructions = code.co_code[first:]
    stores = {opcode.opmap["STORE_FAST"], opcode.opmap["STORE_DEREF"]}
    # what follows the last assignment returns None
    return instructions[: max(at for at in range(0, len(instructions), 2) if instructions[at] in stores) + 2]


@functools.cache
def _loading(count: int, chosen: tuple[int, ...], captured: tuple[int, ...], constant: int) -> bytes:
    """Return the instructions of `_conversion` for another number of the constant that they load."""
    instructions = _conversion(count, chosen, captured)
    load = opcode.opmap["LOAD_CONST"]
    changed = bytearray(instructions)
    for at in range(0, len(changed), 2):
        if changed[at] == load:
            changed[at + 1] = constant
    return bytes(changed)


def _lines_with(table: bytes, place: int, count: int) -> bytes | None:
    """Return a table of lines with `count` more units of code from unit `place` on, on the line before."""
    at = units = 0
    while at < len(table) and units < place:
        units += (table[at] & 7) + 1
        at = next((i for i in range(at + 1, len(table)) if table[i] & 0x80), len(table))
    if units != place:
        return None
    return table[:at] + _stretches(count) + table[at:]


@functools.cache
def _stretches(count: int) -> bytes:
    """Return a table of lines for `count` units of code: stretches of up to eight, without columns."""
    lengths = [8] * (count // 8) + [count % 8] * (count % 8 > 0)
    return b"".join(bytes([0x80 | 13 << 3 | length - 1, 0]) for length in lengths)


def _moved(table: bytes, by: int) -> bytes:
    """Return a table of exceptions for code that begins `by` units later."""
    if not table:
        return table
    numbers = list(_numbers(table))
    moved = bytearray()
    for at, number in enumerate(numbers):
        # start, length, target, depth
        written = _written(number + by if at % 4 in (0, 2) else number)
        written[0] |= 0x80 if at % 4 == 0 else 0
        moved += written
    return bytes(moved)


def _numbers(table: bytes) -> Iterator[int]:
    number = 0
    for byte in table:
        number = number << 6 | byte & 0x3F
        if not byte & 0x40:
            yield number
            number = 0


def _written(number: int) -> bytearray:
    digits = [number & 0x3F]
    while number := number >> 6:
        digits.insert(0, number & 0x3F | 0x40)
    return bytearray(digits)
