"""Every call of the tables, over dtypes, memory layouts and sizes around each limit, against NumPy.

A row of a table has many combinations of dtypes, layouts and sizes, as it lists them. Only a part of these is
tried for each row, and other parts for other rows; `NUMELT_EXPLORE=1` tries all. With `NUMELT_PARITY_STEP=n`,
one in `n` combinations of a dtype and a layout is tried. The runs under hostile settings, of which there are
many, try smaller parts, and each setting a different one.
"""

import os
import zlib

import numpy
import pytest

import numelt

from ..support.layouts import LAYOUTS as SHAPES
from ..support.layouts import pair
from . import (
    calls_arrays,
    calls_creation,
    calls_elementwise,
    calls_functions,
    calls_indexing,
    calls_reductions,
)
from .driver import SMALL, Compared, check, compare_calls, program
from .known import is_known
from .limits import SIZES
from .operands import LETTERS, NATIVE
from .records import TABLE as RECORDS

MODULES = (
    calls_elementwise, calls_reductions, calls_arrays, calls_indexing, calls_creation, calls_functions,
)  # fmt: skip
ROWS = [row for module in MODULES for row in module.TABLE]
# calls with operands, which have dtypes, layouts and sizes; the others run once, many of them in one test
MADE = [row for row in ROWS if program(row.code)[2] & LETTERS]
PLAIN = [row for row in ROWS if not program(row.code)[2] & LETTERS]
GROUPS = [PLAIN[at : at + 100] for at in range(0, len(PLAIN), 100)]
EXPLORE = os.environ.get("NUMELT_EXPLORE") == "1"
# one in this many combinations of a dtype and a layout is tried; it must not divide the number of layouts
STEP = 1 if EXPLORE else int(os.environ.get("NUMELT_PARITY_STEP", "11"))
# of the records, which are few, a larger part is tried: all of them, but for hostile settings
PART = max(1, STEP // 11)
# the settings of numelt in this run; each setting tries different combinations
SETTINGS = "".join(
    f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("NUMELT_")
)
# a row is tried at half of the small sizes and at a few large ones, which take long: on both sides of a limit
SMALLER = [n for n in SIZES if n < 10_000]
LARGER = [n for n in SIZES if n >= 10_000]


def sizes(row):
    """Return the sizes at which a row is tried."""
    if EXPLORE:
        return [n for n in SIZES if n <= row.most]
    half, at = first(row, 2), 2 * first(row, max(len(LARGER) // 2, 1))
    small = [n for place, n in enumerate(SMALLER) if (place // 2 + half) % 2]
    return [n for n in small + LARGER[at : at + 2] if n <= row.most]


def habits():
    """Record operations, and then run small ones when they are called."""
    before = numelt.config.at_once
    try:
        numelt.config.at_once = 0
        yield "recorded"
        numelt.config.at_once = before
        for _ in range(8):  # after results that are read soon, small operations run at once
            float((numelt.arange(3.0) + 1)[0])
        yield "at once"
    finally:
        numelt.config.at_once = before


def ids(row):
    return row.code


def first(row, step):
    """Return the first combination of a row, which differs between rows and between settings."""
    return zlib.crc32((row.code + SETTINGS).encode()) % step


def failures(row, cases, ways=None):
    """Return the differences, one line for each case."""
    wrong = []
    for habit in ways or habits():
        for dtype, n, layout in cases:
            try:
                check(row, dtype, n, layout)
            except AssertionError as error:
                failure = f"{row.code} [{dtype}, {n} elements, {layout}, {habit}]: {error}"
                if not is_known(failure):
                    wrong.append(failure)
    return wrong


@pytest.mark.core
@pytest.mark.quick
@pytest.mark.parametrize("row", MADE, ids=ids)
def test_dtypes_and_layouts(row):
    cases = [(dtype, SMALL, layout) for dtype in row.dtypes for layout in row.layouts]
    wrong = failures(row, cases[first(row, STEP) :: STEP])
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("row", MADE, ids=ids)
def test_sizes_around_limits(row):
    native = [dtype for dtype in row.dtypes if dtype in NATIVE] or list(row.dtypes)
    begin = first(row, 1000)
    cases = [
        (native[(begin + at) % len(native)], n, row.layouts[(begin + 3 * at) % len(row.layouts)])
        for at, n in enumerate(sizes(row))
    ]
    wrong = []
    for turn, habit in enumerate(habits()):
        # the sizes on both sides of one limit are tried recorded, those around the next limit at once
        chosen = cases if EXPLORE else [case for at, case in enumerate(cases) if (at // 2 + begin + turn) % 2]
        wrong += failures(row, chosen, [habit])
    assert not wrong, "\n".join(wrong)


@pytest.mark.core
@pytest.mark.quick
@pytest.mark.parametrize("group", range(len(GROUPS)), ids=lambda at: GROUPS[at][0].code)
def test_calls_without_operands(group):
    wrong = [failure for row in GROUPS[group] for failure in failures(row, [("f8", SMALL, "dense")])]
    assert not wrong, "\n".join(wrong)


@pytest.mark.core
@pytest.mark.quick
@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_functions_with_the_method_of_their_name(record):
    """The rows that the bench of single calls measures, too: their calls are functions."""
    layouts = (record.layouts or SHAPES) if record.arity else ("none",)
    cases = [(dtype, layout) for dtype in record.dtypes for layout in layouts]
    for _ in habits():
        for dtype, layout in cases[zlib.crc32((record.name + SETTINGS).encode()) % PART :: PART]:
            check_record(record, dtype, layout)


def check_record(record, dtype, layout):
    """Compare a record's call in one layout."""
    limits = Compared(record.ulp, record.norm, record.rtol)
    pairs = [pair(numelt, dtype, layout, seed, record.domain) for seed in range(record.arity)]
    with numpy.errstate(all="ignore"):
        compare_calls(record.call, pairs, limits, f"{record.name} [{dtype}, {layout}]: ")
