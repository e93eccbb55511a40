"""`numelt.profile`: which lines of a program caused work in the runtime.

In: the core's report of each flush, and of each library call and fallback. Out: a `Profile`, whose text,
table and trace are made by `numelt.tools.report` and `numelt.tools.perfetto` when they are asked for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple

from numelt import _core
from numelt._dispatch import counters, fallback
from numelt.tools.coverage import coverage

__all__ = ["Event", "Profile", "profile"]

# most events that are kept for a trace, so that a long program does not fill memory
_MOST_EVENTS = 100_000


class Event(NamedTuple):
    """An event that took time: a flush, a kernel, a copy between memories, a library call or a fallback."""

    kind: str
    name: str
    start: float
    seconds: float
    thread: int
    filename: str
    lineno: int
    details: dict[str, Any]


class Profile:
    """Which lines of a program caused work in the runtime, as a context manager and as a report.

    As a context manager, it collects the work of the ``with`` block. If it is printed without having been
    one, it reports the totals of the process since numelt was imported or the totals were reset.

    Attributes
    ----------
    lines : dict
        ``(filename, lineno, reason)`` to ``[flushes, kernels, bytes, seconds]``.
    library : dict
        ``(filename, lineno, function)`` to ``[calls, seconds]``: library calls, such as sorting.
    fallbacks : dict
        ``(filename, lineno, function)`` to calls: calls that ran in NumPy.
    engines : dict
        ``(filename, lineno, reason)``, as in `lines`, to ``{engine: steps that ran on it}``; empty if there
        are no devices.
    events : list of Event
        The events that `to_trace` writes, in the order in which they ended; the first 100,000.
    bytes_there, bytes_back : int
        Bytes copied in the block to devices, and back, including results that were read.
    seconds : float
        Duration of the profiled block.
    totals : dict
        The counters of the process when the profile was made.
    """

    def __init__(self, totals: dict[str, Any] | None = None) -> None:
        self.lines: dict[tuple[str, int, str], list[float]] = {}
        self.library: dict[tuple[str, int, str], list[float]] = {}
        self.fallbacks: dict[tuple[str, int, str], int] = {}
        self.engines: dict[tuple[str, int, str], dict[str, int]] = {}
        self.events: list[Event] = []
        self.bytes_there = self.bytes_back = 0
        self.seconds = 0.0
        self.totals = totals or {}
        self.entered = False
        self._before: dict[str, Any] = {}
        self._start = 0.0

    def __enter__(self) -> Profile:
        self.entered = True
        self._before = _core.stats()
        self._start = time.perf_counter()
        _core.set_hooks(on_flush=self.note, on_library=self.note_library)
        self._listen(self.note_fallback)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None
    ) -> None:
        self._listen(None)
        _core.set_hooks(on_flush=None, on_library=None)
        self.seconds += time.perf_counter() - self._start
        after = _core.stats()
        self.bytes_there += after["bytes_there"] - self._before["bytes_there"]
        self.bytes_back += after["bytes_back"] - self._before["bytes_back"]

    def _listen(self, listener: Callable[[str, str, int, str], None] | None) -> None:
        """Start or stop being called for each fallback."""
        counters.listen(listener)
        fallback.set_policy(fallback.policy())

    def note(self, report: dict[str, Any]) -> None:
        """Count one flush under the user's line."""
        end = time.perf_counter()
        reason = str(report.get("reason", ""))
        filename, lineno = fallback.user_location()
        line = (filename, lineno, reason)
        entry = self.lines.setdefault(line, [0, 0, 0, 0.0])
        seconds = float(report.get("seconds", 0.0))
        entry[0] += 1
        entry[1] += int(report.get("kernel_count", 0))
        entry[2] += int(report.get("bytes_moved", 0))
        entry[3] += seconds
        for name in report.get("engines", ()):
            steps = self.engines.setdefault(line, {})
            steps[name] = steps.get(name, 0) + 1
        details = {"reason": reason, "instructions": report.get("instructions", 0)}
        details["plan"] = "cached" if report.get("cache_hit") else "made"
        self._keep("flush", f"flush ({reason})", end - seconds, seconds, (filename, lineno), details)
        self._keep_steps(report, end, (filename, lineno))

    def _keep_steps(self, report: dict[str, Any], end: float, line: tuple[str, int]) -> None:
        """Add the steps of a flush to the events; the time before the first one was planning."""
        times = report.get("step_seconds", ())
        start = end - sum(times)
        engines = report.get("engines", ())
        for at, (name, moved, seconds) in enumerate(
            zip(report["steps"], report["step_bytes"], times, strict=False)
        ):
            details = {"bytes": moved} | ({"engine": engines[at]} if at < len(engines) else {})
            self._keep("kernel", name, start, seconds, line, details)
            start += seconds
        for way in ("bytes_there", "bytes_back"):
            if moved := report.get(way, 0):
                name = "copies to devices" if way == "bytes_there" else "copies from devices"
                self._keep("transfer", name, end, 0.0, line, {"bytes": moved})

    def note_library(self, name: str, seconds: float) -> None:
        """Count one library call under the user's line."""
        end = time.perf_counter()
        filename, lineno = fallback.user_location()
        entry = self.library.setdefault((filename, lineno, name), [0, 0.0])
        entry[0] += 1
        entry[1] += seconds
        self._keep("library call", name, end - seconds, seconds, (filename, lineno), {})

    def note_fallback(self, name: str, filename: str, lineno: int, reason: str) -> None:
        """Count one call that runs in NumPy."""
        key = (filename, lineno, name)
        self.fallbacks[key] = self.fallbacks.get(key, 0) + 1
        self._keep("fallback", name, time.perf_counter(), 0.0, (filename, lineno), {"reason": reason})

    def _keep(
        self,
        kind: str,
        name: str,
        start: float,
        seconds: float,
        line: tuple[str, int],
        details: dict[str, Any],
    ) -> None:
        if len(self.events) < _MOST_EVENTS:
            self.events.append(
                Event(kind, name, start - self._start, seconds, threading.get_ident(), *line, details)
            )

    @property
    def flushes(self) -> int:
        """Number of times that recorded work was run."""
        return int(sum(entry[0] for entry in self.lines.values()))

    @property
    def kernels(self) -> int:
        """Number of kernels launched."""
        return int(sum(entry[1] for entry in self.lines.values()))

    @property
    def bytes_moved(self) -> int:
        """Bytes read and written by kernels."""
        return int(sum(entry[2] for entry in self.lines.values()))

    def to_trace(self) -> dict[str, Any]:
        """Return the events of the block in the trace format of Chrome and Perfetto, as plain data."""
        from numelt.tools import perfetto

        return perfetto.trace(self)

    def perfetto(self, path: Any) -> None:
        """Write `to_trace` to a JSON file, which https://ui.perfetto.dev and ``chrome://tracing`` open.

        Examples
        --------
        >>> import numelt as np, tempfile, os
        >>> with np.profile() as p:
        ...     total = float(np.sum(np.arange(4.0) * 2))
        >>> path = os.path.join(tempfile.mkdtemp(), "trace.json")
        >>> p.perfetto(path)
        >>> os.path.getsize(path) > 100
        True
        """
        from numelt.tools import perfetto

        perfetto.write(self, path)

    def __str__(self) -> str:
        from numelt.tools import report

        return report.text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from numelt.tools import report

        return report.html(self)


def profile(reset: bool = False) -> Profile:
    """Measure kernels, bytes, time and synchronizations by source line, and which engines ran the kernels.

    Parameters
    ----------
    reset : bool, optional
        Set the totals of the process, including those of `coverage`, to zero after this report.

    Returns
    -------
    Profile
        Use it in a ``with`` statement, or print it for the totals of the process so far. Notebooks show it
        as a table.

    Examples
    --------
    >>> import numelt as np
    >>> with np.profile() as report:
    ...     total = float(np.sum(np.arange(4.0) * 2))
    >>> report.kernels
    1
    >>> print(np.profile())  # doctest: +ELLIPSIS
    since numelt was imported or the totals were reset: ...
    """
    counters = _core.stats()
    report = coverage(reset=reset)
    if reset:
        _core.reset_stats()
    return Profile({**counters, "fallbacks": report.fallbacks, "library": report.library})
