"""Where calls run: every recorded call under NumPy and numelt, with numelt's counters read around it.

In: `surface_records`. Out: the status of each public function, and the table in docs/coverage.md.
"""

import importlib
import types
import warnings

import numpy

import numelt
from numelt._dispatch import library, mirror

from .compare import outcome
from .surface_records import RECORDS, calls, operands

# from the best to the worst
STATUSES = ("native", "metadata", "library", "fallback")


def home(module, np):
    """Return the object that holds a module's public names, in NumPy or in numelt."""
    path = module.partition(".")[2]
    value = np
    for part in path.split(".") if path else ():
        value = getattr(value, part)
    return value


def public_names(module):
    """Return the names that need a record: functions of modules, and methods and attributes of classes."""
    space = home(module, numpy)
    names = [name for name in dir(space) if not name.startswith("_")]
    if isinstance(space, types.ModuleType):
        return [
            name
            for name in names
            if callable(getattr(space, name))
            and not isinstance(getattr(space, name), (type, types.ModuleType))
        ]
    return names


def run(np, call):
    """Return the outcome of a recorded call."""
    space = operands(np)
    if np is numelt:
        numelt.flush()
    return evaluate(call, space)


def evaluate(call, space):
    """Return the outcome of a call on these operands."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return outcome(lambda: eval(call, space))


def call_status(name, call):
    """Return how numelt runs a call: the worst status of its parts, with small calls recorded like large
    ones."""
    before, numelt.config.at_once = numelt.config.at_once, 0
    try:
        return recorded_status(name, call)
    finally:
        numelt.config.at_once = before


def recorded_status(name, call):
    """Return how numelt runs a call."""
    space = operands(numelt)
    evaluate(call, space)  # after this, everything that is set up once has been set up
    space = operands(numelt)
    numelt.flush()
    fallbacks, before = numelt.coverage().fallback_calls, sum(library.calls().values())
    evaluate(call, space)
    if numelt.coverage().fallback_calls > fallbacks:
        return "fallback"
    if sum(library.calls().values()) > before:
        return "library"
    return "metadata" if name in mirror.READS else "native"


def status(module, name):
    """Return the status of a function, from all its recorded calls, which may differ."""
    found = {call_status(name, call) for call in calls(module)[name]}
    return " or ".join(word for word in STATUSES if word in found)


def table():
    """Return docs/coverage.md."""
    sections = [_HEAD]
    for module in RECORDS:
        rows = {name: status(module, name) for name in sorted(calls(module)) if name in public_names(module)}
        groups = {}
        for name, word in rows.items():
            groups.setdefault(word, []).append(name)
        count = ", ".join(f"{len(names)} {word}" for word, names in sorted(groups.items(), key=_rank))
        sections.append(f"## {module}\n\n{count}.\n")
        for word, names in sorted(groups.items(), key=_rank):
            sections.append(f"**{word}**: {', '.join(f'`{name}`' for name in names)}\n")
    return "\n".join(sections)


def _rank(item):
    return [STATUSES.index(word) for word in item[0].split(" or ")]


_HEAD = """# What runs where

Made by `python scripts/coverage_table.py` from the records in tests/python/support/surface_records.py, by
running each recorded call and asking numelt's own counters. A test fails when this page is not what runs, and
when the installed NumPy has a public function without a record.

- **native**: recorded, fused and compiled; or a view, which costs nothing.
- **library**: NumPy's compiled code on our memory without a copy, as NumPy itself would run it.
- **metadata**: looks at dtypes, prints, reads or writes files; no arithmetic on elements.
- **fallback**: runs in NumPy on our memory without a copy; counted and located by `numelt.coverage()`.

A function with two words is one or the other, depending on its arguments.
"""


def refresh():
    """Load everything that is loaded at first use, so that it does not count."""
    for module in ("linalg", "fft", "random", "ma", "lib"):
        importlib.import_module(f"numelt.{module}")
