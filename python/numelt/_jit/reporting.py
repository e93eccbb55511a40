"""Reports on the loops of a program, for `numelt.explain` and `numelt.coverage`.

In: the units of twins (`_core.JitUnit`), which count their runs and exits. Out: texts and records. Making a
report runs no code of the program.
"""

from __future__ import annotations

import linecache
import types
import warnings
import weakref
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from numelt._dispatch import fallback
from numelt._jit.units import ALL, IDLE, UNITS

__all__ = ["Gap", "add_driver", "add_units", "explanation", "forget", "gaps", "note", "units"]

# by the code of a function: the drivers (see `drivers`) that call it
_drivers: dict[types.CodeType, weakref.WeakSet[types.FunctionType]] = {}
# by the code of a function: the units of its loops, if it was passed to one of NumPy's functions
_of_called: dict[types.CodeType, weakref.WeakSet[Any]] = {}
_warned: dict[Any, Any] = {}


class Gap(NamedTuple):
    """A statement of a loop that CPython ran because it has no compiled form.

    Attributes
    ----------
    function : str
        The qualified name of the function with the loop.
    filename, lineno : str, int
        The position of the statement.
    calls : int
        How many times compiled code stopped there, or the loop ran in CPython because of it. It is 0 for a
        loop that is not compiled because its code would stop there in each iteration; these are not counted.
    reason : str
        The construct or the types that cannot be compiled.
    types : str
        The types of the loop's variables in one of these cases.
    """

    function: str
    filename: str
    lineno: int
    calls: int
    reason: str
    types: str


def add_driver(code: types.CodeType, twin: types.FunctionType) -> None:
    """Register a driver that calls functions with this code."""
    _drivers.setdefault(code, weakref.WeakSet()).add(twin)


def add_units(code: types.CodeType, units: Iterable[Any]) -> None:
    """Register the units of loops in functions with this code."""
    _of_called.setdefault(code, weakref.WeakSet()).update(units)


def note(function: str, filename: str, lineno: int, reason: str, is_strict: bool) -> None:
    """Apply the policy on fallbacks to a statement that CPython has to run.

    Raises
    ------
    FallbackError
        When the policy is ``error``, or the function is compiled with ``strict=True``.
    """
    if is_strict or fallback.policy() == "error":
        raise fallback.FallbackError(function, reason, filename, lineno)
    if fallback.policy() == "warn":
        text = f"a loop of {function} is left to CPython here ({reason})"
        warnings.warn_explicit(text, fallback.FallbackWarning, filename, lineno, registry=_warned)


def gaps() -> list[Gap]:
    """Return the statements that CPython had to run, most frequent first."""
    found: dict[tuple[str, str, int, str], Gap] = {}
    for unit in list(ALL):
        for gap in _gaps(unit.report()):
            key = gap.function, gap.filename, gap.lineno, gap.reason
            before = found.get(key)
            found[key] = gap if before is None else before._replace(calls=before.calls + gap.calls)
    for filename, loops in IDLE.items():
        for function, line, reason in loops:
            key = function, filename, line, reason
            found.setdefault(key, Gap(function, filename, line, 0, reason, ""))
    return sorted(found.values(), key=lambda gap: (-gap.calls, gap.filename, gap.lineno))


def _gaps(report: dict[str, Any]) -> Iterator[Gap]:
    name, filename = report["name"], report["filename"]
    for kinds, line, reason, runs in report["refused"]:
        if runs:
            yield Gap(name, filename, line, runs, reason, kinds)
    for variant in report["variants"]:
        for line, reason, is_gap, taken in variant["exits"]:
            if is_gap and taken:
                yield Gap(name, filename, line, taken, reason, variant["types"])


def forget() -> None:
    """Reset the counts of all loops."""
    for unit in list(ALL):
        unit.forget_counts()


def units(function: types.FunctionType) -> list[Any]:
    """Return the units of the loops in a function, and those of the drivers that call it."""
    own = getattr(function, "__wrapped__", function)
    found = [unit for twin in _drivers.get(own.__code__, ()) for unit in _of_twin(twin)]
    found += _of_called.get(own.__code__, ())
    if UNITS in function.__code__.co_freevars:
        return _of_twin(function) + found
    name = function.__qualname__
    of_module = function.__globals__.get(UNITS, ())
    return [unit for unit in of_module if unit.report()["name"] == name] + found


def _of_twin(function: types.FunctionType) -> list[Any]:
    """Return the units in the closure of a twin."""
    names = function.__code__.co_freevars
    return list((function.__closure__ or ())[names.index(UNITS)].cell_contents)


def explanation(function: types.FunctionType, code: bool = False) -> str:
    """Describe the loops of a function: types, exits by line and, on request, the intermediate code."""
    reports = [unit.report() for unit in units(function)]
    filename = function.__code__.co_filename
    idle = [found for found in IDLE.get(filename, ()) if found[0] == function.__qualname__]
    if not reports and not idle:
        return f"{function.__qualname__} has no compiled loops (numelt.jit and --jit-loops compile loops)\n"
    lines = [f"{function.__qualname__}, {reports[0]['filename'] if reports else filename}"]
    for report in reports:
        lines += _loop(report, code)
    for _, line, reason in idle:
        lines.append(
            f"  a loop is run by CPython because its code would stop here in each iteration: {reason}"
        )
        lines.append(f"    {_source({'filename': filename}, line)}")
    return "\n".join(lines) + "\n"


def _loop(report: dict[str, Any], code: bool) -> list[str]:
    kind = " that resume the loop" if report["is_resumed"] else ""
    lines = [f"  {_source(report, report['line'])}", f"    runs{kind}: {report['runs']}"]
    for variant in report["variants"]:
        lines.append(f"    compiled for {variant['types'] or 'no variables'}")
        lines.append(f"      runs: {variant['runs']}, of which {variant['early']} stopped almost at once")
        by_line: dict[int, list[str]] = {}
        for line, why_not, is_free in variant["ahead"]:
            where = "on several threads" if is_free else "on one thread, in order"
            how = f"one by one: {why_not}" if why_not else f"ahead, {where}"
            by_line.setdefault(line, []).append(f"iterations are done {how}")
        for line, reason, is_gap, taken in variant["exits"]:
            kind = "left to CPython" if is_gap else "goes on in CPython at"
            times = f", {taken} times" if taken else ""
            by_line.setdefault(line, []).append(f"{kind}: {reason}{times}")
        for line, reasons in sorted(by_line.items()):
            lines.append(f"      {_source(report, line)}")
            lines += [f"        {reason}" for reason in dict.fromkeys(reasons)]
        if code:
            lines += [f"      {row}" for row in variant["code"].splitlines()]
    for kinds, line, reason, runs in report["refused"]:
        lines.append(f"    run by CPython for {kinds or 'no variables'}, {runs} times")
        lines.append(f"      {_source(report, line)}")
        lines.append(f"        {reason}")
    return lines


def _source(report: dict[str, Any], line: int) -> str:
    return f"{line}: {linecache.getline(report['filename'], line).strip()}"
