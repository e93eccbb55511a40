"""Views in which several indices share an element: a read before a write returns the old value."""

import numpy
import pytest

import numelt

from ..support.compare import as_numpy
from ..support.layouts import OVERLAPPING, overlapping

pytestmark = pytest.mark.quick


# `v` is an array, `s` a view of it that overlaps itself, and `x` another array
WRITES = {
    "mask": lambda np, v, s, x: np.copyto(s, 0, where=s > 3),
    "own mask": lambda np, v, s, x: s.__setitem__(s > 3, 0),
    "strange mask": lambda np, v, s, x: s.__setitem__(np.arange(s.size).reshape(s.shape) % 3 == 1, 7),
    "mask of rows": lambda np, v, s, x: s.__setitem__(np.arange(len(s)) % 2 == 1, 7),
    "copyto": lambda np, v, s, x: np.copyto(s, s + 100, where=np.arange(s.size).reshape(s.shape) % 3 == 1),
    "out where": lambda np, v, s, x: np.add(s, 100, out=s, where=np.arange(s.size).reshape(s.shape) % 3 == 1),
    "out": lambda np, v, s, x: np.add(s, np.arange(float(s.size)).reshape(s.shape), out=s),
    "dtype": lambda np, v, s, x: np.multiply(s, 2, out=s, dtype="f8"),
    "in place": lambda np, v, s, x: s.__iadd__(1),
    "assignment": lambda np, v, s, x: s.__setitem__(..., np.arange(float(s.size)).reshape(s.shape)),
    "number": lambda np, v, s, x: s.__setitem__(slice(1, None), 5),
    "positions": lambda np, v, s, x: s.__setitem__([0, -1, 0], 3),
    "add at": lambda np, v, s, x: np.add.at(s, [0, 0, 1], 1),
    "put": lambda np, v, s, x: np.put(s, [0, 1, 2], [4, 5, 6]),
    "place": lambda np, v, s, x: np.place(s, s > 3, [1, 2]),
    "putmask": lambda np, v, s, x: np.putmask(s, s > 3, [1, 2]),
    "fold": lambda np, v, s, x: np.maximum.reduce(s, axis=1, out=s[:, 0]),
    "scan": lambda np, v, s, x: np.cumsum(s, axis=0, out=s),
    "clip": lambda np, v, s, x: np.clip(s, 2, 4, out=s),
    "base": lambda np, v, s, x: v.__setitem__(v > 3, 0),
    "shifted": lambda np, v, s, x: v.__setitem__(slice(1, None), v[:-1]),
    "sums": lambda np, v, s, x: v.__setitem__(slice(0, len(s)), s.sum(axis=1)[: len(v)]),
}

READS = {
    "sum": lambda np, s: s.sum(axis=1),
    "mean": lambda np, s: s.mean(axis=0),
    "max": lambda np, s: s.max(axis=1),
    "values": lambda np, s: s * 2 + 1,
    "whole": lambda np, s: np.stack([s.sum(), s.min()]),
}


@pytest.fixture(params=["as it comes", "recorded", "planned"])
def way(request):
    """Run small operations when they are called, record all of them, or also plan all batches."""
    before = numelt.config.at_once, numelt.config.piecemeal
    if request.param != "as it comes":
        numelt.config.at_once = 0
    if request.param == "planned":
        numelt.config.piecemeal = 0
    yield
    numelt.config.at_once, numelt.config.piecemeal = before


def outcome(np, kind, write, n):
    """Return the values that are read before and after a write, and the memory itself."""
    found = []
    for read in READS.values():
        v = np.array(numpy.arange(1.0, n + 1))
        s = overlapping(np, v, kind)
        before = read(np, s)
        write(np, v, s, before)
        found += [before, read(np, s), v]
    return [as_numpy(x) for x in found]


@pytest.mark.core
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("kind", OVERLAPPING)
def test_what_is_read_before_a_write_is_what_was_there(way, kind, write):
    for n in (21, 700):
        if kind == "wide windows" and n > 21:
            n = 60
        with numpy.errstate(all="ignore"):
            ours, theirs = (outcome(np, kind, WRITES[write], n) for np in (numelt, numpy))
        for position, (x, y) in enumerate(zip(ours, theirs, strict=True)):
            numpy.testing.assert_array_equal(x, y, err_msg=f"{n}: {position}")


def test_long_windows():
    """From 100,000 rows on, several threads share the rows."""
    for np in (numelt, numpy):
        v = np.arange(1.0, 200_002.0)
        s = np.lib.stride_tricks.as_strided(v, (200_000, 2), (8, 8))
        total, mean = s.sum(axis=1), s.mean(axis=1)
        s[s > 3] = 0
        assert numpy.array_equal(numpy.asarray(total), numpy.arange(3.0, 400_002, 2))
        assert numpy.array_equal(numpy.asarray(mean), numpy.arange(3.0, 400_002, 2) / 2)
        assert v[:5].tolist() == [1.0, 2.0, 3.0, 0.0, 0.0]
        assert not v[3:].any()
