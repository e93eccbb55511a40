"""Every call of the tables, over dtypes, memory layouts and sizes around each limit, against NumPy.

Each row of a table is tried with every dtype and in every layout that it lists, and with every size; of their
combinations a row sees a part, and another row another part. `NUMELT_EXPLORE=1` tries all of them.
`NUMELT_PARITY_STEP` says every how many combinations of a dtype and a layout a row is tried: the runs under
hostile settings, of which there are many, see a smaller part each, and each setting another part.
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
# calls with operands, which have dtypes, layouts and sizes; the others are run once, many in one test
MADE = [row for row in ROWS if program(row.code)[2] & LETTERS]
PLAIN = [row for row in ROWS if not program(row.code)[2] & LETTERS]
GROUPS = [PLAIN[at : at + 100] for at in range(0, len(PLAIN), 100)]
EXPLORE = os.environ.get("NUMELT_EXPLORE") == "1"
# every how many combinations of a dtype and a layout a row is tried; no divisor of the number of layouts
STEP = 1 if EXPLORE else int(os.environ.get("NUMELT_PARITY_STEP", "5"))
# settings of numelt that this run is under, of which each sees other combinations
SETTINGS = "".join(
    f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("NUMELT_")
)
# a row is tried at all small sizes, and at a part of those that take long: both sides of one limit
SMALLER = [n for n in SIZES if n < 10_000]
LARGER = [n for n in SIZES if n >= 10_000]


def sizes(row):
    """Return the sizes at which a row is tried."""
    at = 2 * first(row, max(len(LARGER) // 2, 1))
    return [n for n in SMALLER + (LARGER if EXPLORE else LARGER[at : at + 2]) if n <= row.most]


def habits():
    """Have operations recorded, then have small ones run when they are called."""
    before = numelt.config.at_once
    try:
        numelt.config.at_once = 0
        yield "recorded"
        numelt.config.at_once = before
        for _ in range(8):  # results that are read soon have small operations run at once
            float((numelt.arange(3.0) + 1)[0])
        yield "at once"
    finally:
        numelt.config.at_once = before


def ids(row):
    return row.code


def first(row, step):
    """Return which combination a row begins with: another one for each row, and under each setting."""
    return zlib.crc32((row.code + SETTINGS).encode()) % step


def failures(row, cases, ways=None):
    """Return what is wrong, with a line for each case."""
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
        # both sides of a limit run alike, the next limit otherwise
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
    """The rows that the bench of single calls times, too: their calls are functions."""
    limits = Compared(record.ulp, record.norm, record.rtol)
    for _ in habits():
        for dtype in record.dtypes:
            check_record(record, dtype, limits)


def check_record(record, dtype, limits):
    """Compare a record's call in every layout."""
    for layout in (record.layouts or SHAPES) if record.arity else ("none",):
        pairs = [pair(numelt, dtype, layout, seed, record.domain) for seed in range(record.arity)]
        with numpy.errstate(all="ignore"):
            compare_calls(record.call, pairs, limits, f"{record.name} [{dtype}, {layout}]: ")
