"""The text of `numelt.explain`: a summary by lines of the program, then the report of the optimizer.

In: the core's report of the pending program. Out: text. Nothing runs.
"""

from __future__ import annotations

import linecache
from typing import Any, NamedTuple

from numelt import _core
from numelt.tools.coverage import coverage as report
from numelt.tools.coverage import shorten

__all__ = ["explanation"]

_UNKNOWN = ("", 0)
# the line of the optimizer's report that separates the part on bytecode from the part on kernels
_PARTITION = "partition ("


class _Line(NamedTuple):
    """The operations that one line of the program has recorded."""

    operations: dict[str, int]
    kernels: set[int]


def explanation(x: Any, kernels: bool, bytecode: bool) -> str:
    """Return the summary of the work that `x` needs, or of all pending work, and the requested parts."""
    told = _core.explain_lines(x)
    text: str = _core.explain(x)
    if told is None:
        return text if x is not None else "nothing is pending\n"
    parts = [_summary(told)]
    before, mark, after = text.partition(_PARTITION)
    if bytecode:
        parts.append(before)
    if kernels:
        parts.append(mark + after)
    return "\n".join(parts)


def _place(place: Any) -> tuple[str, int]:
    """Return file and line of a code object and the offset in it."""
    if place is None:
        return _UNKNOWN
    code, offset, _ = place
    for start, end, line in code.co_lines():
        if start <= offset < end:
            return code.co_filename, line or 0
    return code.co_filename, code.co_firstlineno


def _by_line(told: dict[str, Any]) -> dict[tuple[str, int], _Line]:
    """Return the operations of each line, in the order of recording."""
    lines: dict[tuple[str, int], _Line] = {}
    steps = [set(sources) for _, sources, *_ in told["steps"]]
    for number, (name, elements, dtype, place) in enumerate(told["recorded"]):
        line = lines.setdefault(_place(place), _Line({}, set()))
        operation = f"{name} of {elements:,} {dtype}"
        line.operations[operation] = line.operations.get(operation, 0) + 1
        line.kernels.update(at for at, sources in enumerate(steps) if number in sources)
    return lines


def _summary(told: dict[str, Any]) -> str:
    lines = _by_line(told)
    steps = told["steps"]
    out = [
        f"{len(told['recorded'])} operations recorded on {len(lines)} lines, to run as {len(steps)} steps; "
        f"{told['bytes']:,} bytes move, {told['bytes_without_fusion']:,} without fusion",
        "",
    ]
    fallbacks = {(f.filename, f.lineno): f for f in reversed(report().fallbacks)}
    for place, line in lines.items():
        out.extend(_lines_of(place, line, steps, fallbacks.get(place)))
    out.append("")
    out.extend(_step(at, step) for at, step in enumerate(steps))
    return "\n".join(out) + "\n"


def _lines_of(place: tuple[str, int], line: _Line, steps: list[Any], fallback: Any) -> list[str]:
    filename, lineno = place
    source = linecache.getline(filename, lineno).strip()
    where = f"{shorten(filename)}:{lineno}" if filename else "(line not known)"
    times = [f"{count} x {name}" if count > 1 else name for name, count in line.operations.items()]
    ends = ", ".join(f"{_kind(steps[at])} {at}" for at in sorted(line.kernels))
    out = [f"{where}  {source}".rstrip(), f"    records {', '.join(times)}"]
    out.append(
        f"    runs in {ends}" if ends else "    runs in no step of its own: the optimizer has removed it"
    )
    if fallback is not None:
        out.append(f"    ran in NumPy: {fallback.function}, {fallback.calls} times ({fallback.reason})")
    return out


def _kind(step: Any) -> str:
    return "call" if step[0] else "kernel"


def _step(at: int, step: Any) -> str:
    _, sources, read, written, engine = step
    text = f"{_kind(step)} {at}: {len(sources)} operations, {read:,} bytes read, {written:,} written"
    return text + (f"\n  runs on: {engine}" if engine else "")
