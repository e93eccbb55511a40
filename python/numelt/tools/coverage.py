"""`numelt.coverage`: the report on what ran natively and what fell back to NumPy.

In: the counters of fallbacks, library calls and native operations. Out: a `Coverage` report.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from numelt import _core
from numelt._dispatch import counters, library

if TYPE_CHECKING:
    from numelt._jit.reporting import Gap

__all__ = ["Coverage", "Fallback", "coverage", "shorten"]


class Fallback(NamedTuple):
    """One function that ran in NumPy, called from one line."""

    function: str
    filename: str
    lineno: int
    calls: int
    reason: str


class Coverage(NamedTuple):
    """What ran natively and what fell back. Printed, it is a table.

    Attributes
    ----------
    native : dict
        Recorded operations by name.
    fallbacks : list of Fallback
        Most frequent first.
    library : dict
        Calls of library functions (sorting, ...) by name: NumPy's compiled code by intention.
    on_host : dict
        How many kernels and calls ran on the host instead of a device, because the device did not support
        them or had no memory left, by their operations (``add+sqrt``).
    loops : list of Gap
        Statements of Python loops that compiled code could not run (`numelt.jit`, ``--jit-loops``), most
        frequent first.
    """

    native: dict[str, int]
    fallbacks: list[Fallback]
    library: dict[str, int]
    on_host: dict[str, int]
    loops: list[Gap]

    @property
    def fallback_calls(self) -> int:
        """Number of calls that ran in NumPy."""
        return sum(entry.calls for entry in self.fallbacks)

    @property
    def native_calls(self) -> int:
        """Number of operations recorded natively."""
        return sum(self.native.values())

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain data, for JSON."""
        return {
            "native": dict(self.native),
            "fallbacks": [entry._asdict() for entry in self.fallbacks],
            "library": dict(self.library),
            "on_host": dict(self.on_host),
            "loops": [gap._asdict() for gap in self.loops],
        }

    def __str__(self) -> str:
        lines = [f"native operations: {self.native_calls}"]
        for name, count in sorted(self.native.items(), key=lambda item: (-item[1], item[0])):
            lines.append(f"  {count:>9}  {name}")
        lines.append(f"library calls: {sum(self.library.values())}")
        for name, count in sorted(self.library.items(), key=lambda item: (-item[1], item[0])):
            lines.append(f"  {count:>9}  {name}")
        lines.append(f"calls that ran in NumPy: {self.fallback_calls}")
        for entry in self.fallbacks:
            where = f"{shorten(entry.filename)}:{entry.lineno}"
            lines.append(f"  {entry.calls:>9}  {entry.function:<28} {where}  ({entry.reason})")
        if self.on_host:
            lines.append(f"on the host instead of a device: {sum(self.on_host.values())}")
            for name, count in sorted(self.on_host.items(), key=lambda item: (-item[1], item[0])):
                lines.append(f"  {count:>9}  {name}")
        if self.loops:
            lines.append("statements of compiled loops that ran in CPython:")
            for gap in self.loops:
                where = f"{shorten(gap.filename)}:{gap.lineno}"
                lines.append(f"  {gap.calls:>9}  {gap.function:<28} {where}  ({gap.reason}; {gap.types})")
        return "\n".join(lines)


def shorten(filename: str) -> str:
    """Return the path relative to the working directory, if that is shorter."""
    try:
        relative = os.path.relpath(filename)
    except (ValueError, OSError):
        return filename
    return min(filename, relative, key=len)


def coverage(reset: bool = False) -> Coverage:
    """Report what ran natively and what fell back to NumPy.

    Parameters
    ----------
    reset : bool, optional
        Set the counters of fallbacks, of library calls and of work on the host to zero after this report.

    Returns
    -------
    Coverage
        Printed, it is a table by function and line.

    Examples
    --------
    >>> import numelt as np
    >>> report = np.coverage(reset=True)
    >>> _ = np.busday_count("2024-01", "2024-02")
    >>> np.coverage().fallbacks[0].function
    'busday_count'
    """
    _core.settle_counts()
    entries = [
        Fallback(name, filename, lineno, calls, reason)
        for (name, filename, lineno), (calls, reason) in list(counters.COUNTS.items())
    ]
    entries.sort(key=lambda entry: (-entry.calls, entry.function, entry.filename, entry.lineno))
    native = _core.stats().get("native", {})
    # programs without compiled loops do not load the package
    loops = sys.modules.get("numelt._jit.reporting")
    report = Coverage(
        dict(native), entries, library.calls(), _core.declined(reset), loops.gaps() if loops else []
    )
    if reset:
        counters.reset()
        library.reset()
        if loops:
            loops.forget()
    return report
