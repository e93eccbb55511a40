"""What the runtime does (`explain`, `inspect`, `show_config`), and its settings (`config`, `use`).

In: the runtime's counters and reports. Out: text and plain data; nothing here changes a result.
"""

from __future__ import annotations

import platform
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy

from numelt import _core
from numelt._dispatch import fallback

__all__ = [
    "Config",
    "Inspection",
    "config",
    "engine",
    "explain",
    "flush",
    "inspect",
    "show_config",
    "use",
]


flush = _core.flush
flush.__module__ = "numelt"


def explain(x: Any = None, graphviz: bool = False, *, kernels: bool = False, bytecode: bool = False) -> str:
    """Show what would run to compute a pending array alone, or all pending work.

    Parameters
    ----------
    x : array, list of arrays, or function, optional
        Arrays to be computed. Only the pending work that they need together is shown; without this argument,
        all pending work is, as it would run together. For a function with compiled loops (`numelt.jit`,
        ``--jit-loops``), shows by line for which types its loops were compiled, where CPython continues, and
        why.
    graphviz : bool, optional
        Return the partition as a graph in the DOT language instead.
    kernels : bool, optional
        Show also the partition, with the bytes that it saves, and each kernel.
    bytecode : bool, optional
        Show also the bytecode before and after the passes, or the code of compiled loops.

    Returns
    -------
    str
        A summary by lines of the program: the operations that each line has recorded, their kernels, the
        bytes that each kernel moves, and, if there are devices, the engine that would run it. Calls on these
        lines that ran in NumPy are named. The requested parts follow. Nothing runs.

    Examples
    --------
    >>> import numelt as np
    >>> x = np.arange(4.0)
    >>> "add" in np.explain(x * 2 + 1)
    True
    >>> y = np.exp(x)
    >>> z = np.sqrt(x)
    >>> "exp of" in np.explain(z), "exp of" in np.explain()
    (False, True)
    >>> text = np.explain([y, z], kernels=True, bytecode=True)
    >>> "exp.f64" in text, "sqrt.f64" in text
    (True, True)
    """
    function = getattr(x, "__func__", x)
    if isinstance(function, types.FunctionType):
        from numelt._jit import reporting

        return reporting.explanation(function, bytecode)
    if graphviz:
        return str(_core.explain(x, True))
    from numelt.tools import explaining  # few programs need it

    return explaining.explanation(x, kernels, bytecode)


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


class Config:
    """The settings, as attributes: ``numelt.config.threads``; assign to change one.

    The same keys are read from the environment (``NUMELT_THREADS``, ...) and from numelt.toml.
    """

    def __getattr__(self, key: str) -> Any:
        if key == "fallback":
            return fallback.policy()
        settings = _core.config_get()
        if key not in settings:
            raise AttributeError(f"numelt has no setting {key!r}; settings are {', '.join(dir(self))}")
        return settings[key]

    def __setattr__(self, key: str, value: Any) -> None:
        if key == "fallback":
            fallback.set_policy(value)
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
    """Run all work from now on on another engine; the same as ``numelt.config.engine = name``.

    Recorded work first runs on the former engine. Arrays keep their values: those in a device's memory are
    copied back.

    Parameters
    ----------
    name : str
        ``cpu``, ``auto`` (each piece of work runs where it takes least time), or another one that
        ``show_config`` lists. The choice is that of the whole process, not of a thread.

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
    """Run the work of a ``with`` block on another engine, and later work on the former engine.

    Work that the block has recorded and that nobody has read runs at its end. Blocks may be nested. As with
    `use`, the choice is that of the whole process: work of other threads runs there meanwhile, too.

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
        return cast(Any, numpy.show_config)(mode=mode)  # NumPy raises the error
    print(f"numelt {ours['version']} on Python {ours['python']}")
    print(f"engines: {', '.join(_core.engines())}")
    print(f"fast paths: {', '.join(_core.fast_paths()) or 'none'}")
    for key in dir(config):
        print(f"  {key}: {getattr(config, key)}")
    print(f"NumPy {numpy.__version__}")
    return numpy.show_config()
