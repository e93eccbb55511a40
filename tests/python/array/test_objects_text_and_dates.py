"""Expressions with arrays of objects, text and dates."""

import datetime
import decimal
import fractions

import numpy
import pytest

import numelt

from ..support.outcomes import outcome

OBJECTS = [
    "o + D", "D + o", "o * D", "o - F", "F / o", "o == D", "o < D", "t - delta", "t == day", "t > day",
    "day < t", "np.cumsum(o)", "np.cumprod(o)", "o.cumsum()", "o.dot(o)", "np.dot(o, o)",
    "np.add.accumulate(o)", "o.sum()", "o.max()", "-o", "abs(o)", "np.where(o > 0, o, D)",
    "np.concatenate([d, d])", "np.where(b, d, d[::-1])", "np.stack([s, s])", "np.vstack([d, d])", "d.max()",
    "d.min()", "d.astype(int)", "d.astype('M8[M]')", "d.astype(int, copy=False)",
    "d.astype('M8[D]', copy=False) is d", "d.view('i8')", "d.astype('f8', casting='safe')", "d.astype('no')",
    "d > np.datetime64('2024-01-02')", "np.datetime64('2024-01-02') > d", "d - np.timedelta64(1, 'D')",
    "np.timedelta64(1, 'D') + d", "d.argsort()", "np.sort(d)", "np.argsort(d)", "np.unique(s)",
    "np.searchsorted(d, d)", "d.reshape(2, 2)", "d.ravel()", "d.T", "d[1:]", "d[np.int64(1)]", "s[::-1]",
    "s == 'b'", "s.astype('U1')", "[x for x in d]", "[x for x in s.reshape(2, 2)]", "[x for x in o]",
    "list(d[:0])", "np.array([D, F], dtype=object)", "i4.astype('>i4')", "i4.astype('>i4').view(np.uint8)",
    "i4.astype('S2')", "np.isclose(o.astype(float), 1)", "np.ptp(o)", "np.append(s, 'x')", "np.split(d, 2)",
    "np.pad(o, 1)", "np.triu(o.reshape(2, 2))", "np.linspace(o[0], 4, 3)", "np.append(d, d)", "np.diff(d)",
    "np.flatnonzero(s == 'b')", "np.repeat(s, 2)", "np.repeat(s, [1, 2, 0, 1])",
    "np.roll(s, (1,), axis=(0,))", "np.lib.stride_tricks.sliding_window_view(s, 2)", "d + s", "s - s",
    "o + 'x'", "d.sum()", "s.max()",
]  # fmt: skip


@pytest.mark.parametrize("text", OBJECTS)
def test_objects_text_and_dates(text):
    def run(np):
        number = fractions.Fraction if "F" in text else decimal.Decimal
        space = {
            "np": np, "D": decimal.Decimal("0.1"), "F": fractions.Fraction(1, 3),
            "day": datetime.date(2024, 1, 2), "delta": datetime.timedelta(1),
            "b": np.array([True, False, True, False]),
            "o": np.array([number(n) for n in (3, -1, 4, 2)], object),
            "t": np.array([datetime.date(2024, 1, n) for n in (1, 2, 3, 9)], object),
            "d": np.array(["2024-01-03", "2024-01-01", "NaT", "2023-05-05"], "M8[D]"),
            "s": np.array(["b", "", "äb", "b"]), "i4": np.array([1, -2, 3], "i4"),
        }  # fmt: skip
        made = eval(text, space)
        return made if isinstance(made, (numpy.ndarray, numelt.ndarray, list, bool)) else repr(made)

    (ours, _), (theirs, _) = outcome(run, numelt), outcome(run, numpy)
    if isinstance(theirs, list):
        theirs, ours = numpy.array(theirs, object), numpy.array(ours, object)
    if isinstance(theirs, numpy.ndarray) and theirs.dtype != object:
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        assert ours.tobytes() == theirs.tobytes()
    elif isinstance(theirs, numpy.ndarray):
        assert repr(ours.tolist()) == repr(theirs.tolist())
    else:
        assert ours == theirs


def test_decimals_stay_the_very_objects():
    thing = decimal.Decimal("1.5")
    o = numelt.array([thing, thing])
    assert o[0] is thing
    made = numelt.array([thing] * 3000, dtype=object)
    assert made[2999] is thing
    assert numelt.where(numelt.array([True]), thing, o[:1])[0] is thing


def test_the_interface_of_text_without_letters():
    for dtype in ("S", "U"):
        theirs = numpy.ndarray((0,), dtype, numpy.empty(3, numpy.uint8)[:-1])
        ours = numelt.ndarray((0,), dtype, numelt.empty(3, numelt.uint8)[:-1])
        assert ours.dtype == theirs.dtype == numpy.dtype(dtype)
        assert ours.__array_interface__["typestr"] == theirs.__array_interface__["typestr"]
