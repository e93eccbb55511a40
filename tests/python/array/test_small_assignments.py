"""Assignments between small views, one after the other, in every dtype."""

import math

import numpy
import pytest

import numelt

from ..support.compare import assert_same
from ..support.worded_outcomes import outcome

pytestmark = pytest.mark.usefixtures("recorded_and_at_once")

DTYPES = [numpy.dtype(c) for c in "?bBhHiIlLefdFD"]


def test_special_values_that_are_stored():
    for dtype in ("?", "i1", "u8", "f2", "f4", "f8", "c16"):
        for value in (0, -0.0, math.nan, math.inf, 300, -1, 2**40, 1e300, 2.7, True, 1j):
            results = []
            for np in (numelt, numpy):
                x = np.ones((3, 4), dtype)
                results.append(
                    [outcome(x.__setitem__, key, value) for key in ((0, 0), (slice(None), 1), ..., 2)]
                )
                results[-1].append((x, None, []))
            for ours, theirs in zip(*results, strict=True):
                assert ours[2] == theirs[2], (dtype, value)
                assert isinstance(theirs[1], tuple) == isinstance(ours[1], tuple), (dtype, value)
            assert_same(results[0][-1][0], results[1][-1][0], context=f"{dtype} {value}")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_small_assignments(dtype):
    values = [0, 1, 1.0, 2.7, -1, math.nan, math.inf, 300, 1j]
    both = []
    for np in (numelt, numpy):
        x, found = (np.arange(40) % 7).astype(dtype), []
        pieces = [x[2:9], x[::-3], x[5:5], x[1::2], x.reshape(5, 8)[:, 3], x.reshape(5, 8)[2], x[:1]]
        y = np.arange(40, 80).astype(dtype)
        sources = [
            y[3:10],
            y[::-3],
            y[7:7],
            y[::-2],
            y.reshape(8, 5)[3, ::-1],
            y[8:16],
            y[9:10],
            x[3:10],
            x[::3],
        ]
        for piece in pieces:
            for source in sources:
                found.append(outcome(piece.__setitem__, slice(None), source))
                found.append((x.copy(), None, []))
            for value in values:
                found.append(outcome(piece.__setitem__, ..., value))
                found.append((x.copy(), None, []))
        # operations that were recorded before the assignment see the old values
        later = x + 1
        x[:3] = y[:3]
        x[10:12] = 1
        found.append((later, None, []))
        frozen = x[:4]
        frozen.flags.writeable = False
        found.append(outcome(frozen.__setitem__, slice(None), y[:4]))
        both.append(found)
    for at, (ours, theirs) in enumerate(zip(*both, strict=True)):
        assert ours[2] == theirs[2], at
        if isinstance(theirs[0], numpy.ndarray):
            assert_same(ours[0], theirs[0], context=str(at))
        else:
            assert isinstance(ours[1], tuple) == isinstance(theirs[1], tuple), at


# numbers at the limits of what a dtype holds exactly
EDGES = [
    *(
        sign * (2**bits + step)
        for bits in (7, 8, 15, 16, 24, 31, 32, 53, 63, 64)
        for step in (-1, 0, 1)
        for sign in (1, -1)
    ),
    *(0, 1, -1, True, False, 0.0, -0.0, 0.1, -0.9, 2.5, 255.9, -1.0, 1e39, -1e39, 65519.0, 65520.0),
    *(3.4028235677973362e38, 3.4028235677973366e38, 5e-324, 2.0**53, math.nan, math.inf, -math.inf, 1 + 2j),
    *(2**24 + 1, 2**25 + 1, 2**54 + 3, 2**60 + 2**6 + 1),
]


def _fits(value: int, dtype: numpy.dtype) -> bool:
    return dtype.kind not in "iu" or value <= numpy.iinfo(dtype).max


@pytest.mark.core
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_numbers_of_every_kind_in_one_element(dtype):
    numbers = list(EDGES)
    for scalar in map(numpy.dtype, "?bBhHiIlLefdFD"):
        with numpy.errstate(all="ignore"):
            numbers += list(numpy.array([float(v.real) for v in EDGES]).astype(scalar))
            numbers += [
                scalar.type(v) for v in (2**7, 2**15, 2**24 + 1, 2**31, 2**63 - 1) if _fits(v, scalar)
            ]
    for number in numbers:
        both = []
        for np in (numelt, numpy):
            x = np.zeros((2, 3), dtype)
            told = [outcome(x.__setitem__, (1, 2), number), outcome(x[0].__setitem__, -1, number)]
            both.append((told, x.tobytes()))
        assert both[0] == both[1], (number, type(number))
