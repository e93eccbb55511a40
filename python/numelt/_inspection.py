"""What the runtime does (`explain`, `profile`, `inspect`, `show_config`), and its settings (`config`, `use`).

In: the runtime's counters and reports. Out: text and plain data; nothing here changes a result.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy

from numelt import _core, _fallback

__all__ = [
    "Config",
    "Inspection",
    "Profile",
    "config",
    "engine",
    "explain",
    "flush",
    "inspect",
    "profile",
    "show_config",
    "use",
]


flush = _core.flush
flush.__module__ = "numelt"


def explain(x: Any = None, graphviz: bool = False) -> Any:
    """Show what would run to compute a pending array alone, or all that is pending.

    Parameters
    ----------
    x : ndarray, or a list or tuple of arrays, optional
        What is to be computed: of the pending work, only what it needs is shown, of several arrays what they
        need together. Without it, everything pending is, as it would run together.
    graphviz : bool, optional
        Return the partition as a graph in the DOT language.

    Returns
    -------
    str
        The bytecode before and after the passes, the partition with the bytes it saves, and each
        kernel; where there are devices, also the engine that each step would run on. Nothing runs.

    Examples
    --------
    >>> import numelt as np
    >>> x = np.arange(4.0)
    >>> "add" in str(np.explain(x * 2 + 1))
    True
    >>> y, z = np.exp(x), np.sqrt(x)
    >>> "exp" in np.explain(z), "exp" in np.explain()
    (False, True)
    >>> text = np.explain([y, z])
    >>> "exp" in text, "sqrt" in text
    (True, True)
    """
    return _core.explain(x, graphviz)


class Inspection:
    """What ran inside an `inspect` block.

    Attributes
    ----------
    flushes : list of dict
        One report per flush: reason, kernels (text), kernel_count, calls, allocated_buffers,
        contracted, bytes_moved, cache_hit, elements (operation: how many it was applied to). Where there are
        devices: engines (the name of the one that ran each step, kernels and calls in their order),
        bytes_there and bytes_back (copied to devices and back during the flush).
    """

    def __init__(self) -> None:
        self.flushes: list[dict[str, Any]] = []

    @property
    def kernels(self) -> int:
        """Number of kernels launched."""
        return sum(int(flush["kernel_count"]) for flush in self.flushes)

    @property
    def bytes_moved(self) -> int:
        """Bytes read and written by kernels."""
        return sum(int(flush["bytes_moved"]) for flush in self.flushes)

    @property
    def allocated(self) -> list[int]:
        """Sizes in bytes of the buffers that were allocated."""
        return [size for flush in self.flushes for size in _sizes(flush["allocated_buffers"])]


def _sizes(value: Any) -> list[int]:
    return [int(size) for size in value] if isinstance(value, (list, tuple)) else [0] * int(value)


@contextmanager
def inspect() -> Iterator[Inspection]:
    """Collect a report of every flush inside a ``with`` block.

    Examples
    --------
    >>> import numelt as np
    >>> with np.inspect() as seen:
    ...     total = float(np.sum(np.arange(4.0) * 2))
    >>> seen.kernels
    1
    """
    report = Inspection()
    _core.inspect_start()
    try:
        yield report
    finally:
        report.flushes.extend(_core.inspect_stop())


class Profile:
    """Where a program made the runtime work.

    Attributes
    ----------
    lines : dict
        ``(filename, lineno, reason)`` to ``[flushes, kernels, bytes, seconds]``.
    library : dict
        ``(filename, lineno, function)`` to ``[calls, seconds]``: library calls, such as sorting.
    engines : dict
        ``(filename, lineno, reason)``, as in `lines`, to ``{engine: steps that ran on it}``; empty where
        there are no devices.
    bytes_there, bytes_back : int
        Bytes copied to devices in the block, and back, results that were read among them.
    seconds : float
        Duration of the profiled block.
    """

    def __init__(self) -> None:
        self.lines: dict[tuple[str, int, str], list[float]] = {}
        self.library: dict[tuple[str, int, str], list[float]] = {}
        self.engines: dict[tuple[str, int, str], dict[str, int]] = {}
        self.bytes_there = self.bytes_back = 0
        self.seconds = 0.0

    def note(self, report: dict[str, Any]) -> None:
        """Count one flush under the user's line."""
        line = (*_fallback.user_location(), str(report.get("reason", "")))
        entry = self.lines.setdefault(line, [0, 0, 0, 0.0])
        entry[0] += 1
        entry[1] += int(report.get("kernel_count", 0))
        entry[2] += int(report.get("bytes_moved", 0))
        entry[3] += float(report.get("seconds", 0.0))
        for name in report.get("engines", ()):
            steps = self.engines.setdefault(line, {})
            steps[name] = steps.get(name, 0) + 1

    def note_library(self, name: str, seconds: float) -> None:
        """Count one library call under the user's line."""
        filename, lineno = _fallback.user_location()
        entry = self.library.setdefault((filename, lineno, name), [0, 0.0])
        entry[0] += 1
        entry[1] += seconds

    @property
    def flushes(self) -> int:
        """Number of times that recorded work was run."""
        return int(sum(entry[0] for entry in self.lines.values()))

    @property
    def kernels(self) -> int:
        """Number of kernels launched."""
        return int(sum(entry[1] for entry in self.lines.values()))

    def __str__(self) -> str:
        lines = [
            f"{self.seconds * 1e3:.2f} ms, {self.flushes} flushes, {self.kernels} kernels",
            f"{'flushes':>8} {'kernels':>8} {'MB moved':>10} {'ms':>9}  line (why)",
        ]
        if self.engines:
            there, back = self.bytes_there / 1e6, self.bytes_back / 1e6
            lines.insert(1, f"{there:.2f} MB copied to devices, {back:.2f} MB back")
        for (filename, lineno, reason), entry in sorted(self.lines.items(), key=lambda item: -item[1][3]):
            flushes, kernels, moved, seconds = entry
            lines.append(
                f"{flushes:>8.0f} {kernels:>8.0f} {moved / 1e6:>10.2f} {seconds * 1e3:>9.2f}"
                f"  {filename}:{lineno} ({reason})"
            )
            if steps := self.engines.get((filename, lineno, reason)):
                ran = ", ".join(f"{count} on {name}" for name, count in sorted(steps.items()))
                lines.append(f"{'':>40}steps: {ran}")
        for (filename, lineno, name), (calls, seconds) in sorted(
            self.library.items(), key=lambda item: -item[1][1]
        ):
            lines.append(f"{calls:>8.0f} library calls {seconds * 1e3:>14.2f}  {filename}:{lineno} ({name})")
        return "\n".join(lines)


@contextmanager
def profile() -> Iterator[Profile]:
    """Measure kernels, bytes, time and synchronizations by source line, and which engines ran the kernels.

    Examples
    --------
    >>> import numelt as np
    >>> with np.profile() as report:
    ...     total = float(np.sum(np.arange(4.0) * 2))
    >>> report.kernels
    1
    """
    report = Profile()
    before = _core.stats()
    start = time.perf_counter()
    _core.set_hooks(on_flush=report.note, on_library=report.note_library)
    try:
        yield report
    finally:
        _core.set_hooks(on_flush=None, on_library=None)
        report.seconds = time.perf_counter() - start
        after = _core.stats()
        report.bytes_there = after["bytes_there"] - before["bytes_there"]
        report.bytes_back = after["bytes_back"] - before["bytes_back"]


class Config:
    """The settings, as attributes: ``numelt.config.threads``; assign to change one.

    The same keys are read from the environment (``NUMELT_THREADS``, ...) and from numelt.toml.
    """

    def __getattr__(self, key: str) -> Any:
        if key == "fallback":
            return _fallback.policy()
        settings = _core.config_get()
        if key not in settings:
            raise AttributeError(f"numelt has no setting {key!r}; settings are {', '.join(dir(self))}")
        return settings[key]

    def __setattr__(self, key: str, value: Any) -> None:
        if key == "fallback":
            _fallback.set_policy(value)
            return
        if key not in _core.config_get():
            raise AttributeError(f"numelt has no setting {key!r}; settings are {', '.join(dir(self))}")
        _core.config_set(key, value)

    def __dir__(self) -> list[str]:
        return sorted({*_core.config_get(), "fallback"})

    def __repr__(self) -> str:
        return "\n".join(f"{key} = {getattr(self, key)!r}" for key in dir(self))


config = Config()


def use(name: str) -> None:
    """Run all work from now on by another engine; the same as ``numelt.config.engine = name``.

    Recorded work runs first, where it was to run. Arrays keep their values: those in a device's memory
    are copied back.

    Parameters
    ----------
    name : str
        ``cpu``, ``auto`` (each piece of work runs where it takes least time), or another that
        ``show_config`` lists. The choice is the whole process's, not a thread's.

    Raises
    ------
    ValueError
        When there is no engine of that name.

    Examples
    --------
    >>> import numelt as np
    >>> former, x = np.config.engine, np.arange(4.0) * 2
    >>> np.use("auto")
    >>> float((x + 1).sum())
    16.0
    >>> np.use(former)
    """
    config.engine = name


@contextmanager
def engine(name: str) -> Iterator[None]:
    """Run the work of a ``with`` block by another engine, and what is recorded after it by the engine before.

    What the block has recorded and nobody has read runs at its end. Blocks may be nested. As with `use`,
    the choice is the whole process's: work of other threads runs there meanwhile.

    Parameters
    ----------
    name : str
        As for `use`.

    Examples
    --------
    >>> import numelt as np
    >>> former = np.config.engine
    >>> with np.engine("auto"):
    ...     x = np.arange(4.0) * 2
    >>> np.config.engine == former, float(x.sum())
    (True, 12.0)
    """
    before = config.engine
    config.engine = name
    try:
        yield
    finally:
        config.engine = before


def show_config(mode: str = "stdout") -> Any:
    """Print numelt's version, engines, fast paths and settings, then NumPy's build configuration.

    The fast paths are short ways from Python into numelt's own types; ``NUMELT_FAST_PATHS`` says which are
    in force.

    Parameters
    ----------
    mode : {"stdout", "dicts"}, optional
        ``dicts`` returns the information instead of printing it.

    Examples
    --------
    >>> import numelt as np
    >>> sorted(np.show_config("dicts")["numelt"])[:2]
    ['engines', 'fast_paths']
    """
    from numelt import __numelt_version__

    ours = {
        "version": __numelt_version__,
        "python": platform.python_version(),
        "engines": _core.engines(),
        "fast_paths": _core.fast_paths(),
        "settings": {key: getattr(config, key) for key in dir(config)},
    }
    if mode == "dicts":
        return {**numpy.show_config(mode="dicts"), "numelt": ours}
    if mode != "stdout":
        return cast(Any, numpy.show_config)(mode=mode)  # NumPy words the error
    print(f"numelt {ours['version']} on Python {ours['python']}")
    print(f"engines: {', '.join(_core.engines())}")
    print(f"fast paths: {', '.join(_core.fast_paths()) or 'none'}")
    for key in dir(config):
        print(f"  {key}: {getattr(config, key)}")
    print(f"NumPy {numpy.__version__}")
    return numpy.show_config()
