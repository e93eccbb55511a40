"""Distinct values and sorting of integers by counting; NumPy does it if the values are too far apart."""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numelt
from numelt._dispatch import counting

from ..support.compare import as_numpy, outcome

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
WHICH = st.fixed_dictionaries(
    {name: st.booleans() for name in ("return_index", "return_inverse", "return_counts")}
)

KINDS = [*INTEGERS, "bool", ">i4", "float64", "complex64", "datetime64[s]", "S3", "object"]


def same(ours, theirs):
    if isinstance(theirs, tuple):
        assert type(ours) is type(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
        return
    ours = as_numpy(ours)
    assert (ours.dtype, ours.shape, ours.tobytes()) == (theirs.dtype, theirs.shape, theirs.tobytes())


@st.composite
def integers(draw):
    """An array of more than 4096 integers near a value that is often an extreme of its dtype."""
    dtype = numpy.dtype(draw(st.sampled_from(INTEGERS)))
    limits = numpy.iinfo(dtype)
    span = draw(st.sampled_from((1, 2, 100, 255, 256, 1500, 3000)))
    span = min(span, int(limits.max) - int(limits.min) + 1)
    low = draw(st.sampled_from((int(limits.min), int(limits.max) - span + 1, 0)))
    low = min(max(low, int(limits.min)), int(limits.max) - span + 1)
    shape = draw(st.sampled_from(((5001,), (90, 50), (2, 3, 800))))
    rng = numpy.random.default_rng(draw(st.integers(0, 99)))
    distances = rng.integers(0, span, shape)
    array = (distances.astype(object) + low).astype(dtype)
    step = draw(st.sampled_from((1, -1)))
    return array[..., ::step] if draw(st.booleans()) else array.T[::step]


@given(integers(), WHICH)
@settings(max_examples=150, deadline=None)
def test_unique(array, which):
    same(numelt.unique(numelt.asarray(array), **which), numpy.unique(array, **which))


@given(integers(), st.sampled_from((None, "stable", "quicksort", "heapsort")))
@settings(max_examples=100, deadline=None)
def test_sort(array, kind):
    vector = numpy.concatenate([array.ravel()] * 20)
    same(numelt.sort(numelt.asarray(vector), kind=kind), numpy.sort(vector, kind=kind))
    ours, theirs = numelt.array(vector)[::2], vector.copy()[::2]
    assert ours.sort() is None
    theirs.sort()
    same(ours, theirs)


@pytest.mark.parametrize("start", [0, 10_000])
@pytest.mark.parametrize("stop", [10_000, 20_000])
def test_truth_values(start, stop):
    truths = numpy.zeros(20_000, bool)
    truths[start:stop] = True
    same(numelt.unique(numelt.asarray(truths), True, True, True), numpy.unique(truths, True, True, True))
    same(numelt.sort(numelt.asarray(truths)), numpy.sort(truths))


@given(integers(), WHICH)
@settings(max_examples=60, deadline=None)
def test_pieces(array, which):
    """Integers are counted in pieces, as large arrays are."""
    whole, counting._PIECE = counting._PIECE, 700
    try:
        same(numelt.unique(numelt.asarray(array), **which), numpy.unique(array, **which))
    finally:
        counting._PIECE = whole


def test_counting_is_what_runs(monkeypatch):
    calls = []
    original = counting._distances
    monkeypatch.setattr(counting, "_distances", lambda *args: (calls.append(1), original(*args))[1])
    near = numelt.arange(80_000) % 1000
    numelt.unique(near)
    numelt.sort(near)
    near.sort()
    assert len(calls) == 3
    numelt.unique(numelt.arange(80_000) * 1000)
    numelt.sort(numelt.arange(80_000) * 1000)
    assert len(calls) == 3


@pytest.mark.parametrize("dtype", KINDS)
def test_functions_on_sets(dtype):
    rng = numpy.random.default_rng(5)
    x, y = (rng.integers(0, high, 5000).astype("i8").astype(dtype) for high in (90, 120))
    for name in ("unique_all", "unique_counts", "unique_inverse", "unique_values"):
        same(getattr(numelt, name)(numelt.asarray(x)), getattr(numpy, name)(x))
    for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d", "isin"):
        ours = outcome(lambda name=name: getattr(numelt, name)(numelt.asarray(x), numelt.asarray(y)))
        theirs = outcome(lambda name=name: getattr(numpy, name)(x, y))
        assert ours[0] == theirs[0]
        if ours[0] == "value":
            same(ours[1], theirs[1])


def test_errors():
    x = numpy.arange(30_000) % 7
    for call in (
        lambda np, x: np.unique(x, axis=1),
        lambda np, x: np.unique(x, nothing=1),
        lambda np, x: np.sort(x, axis=1),
        lambda np, x: np.sort(x, kind="none"),
        lambda np, x: np.sort(x, kind="stable", stable=True),
        lambda np, x: np.broadcast_to(x, (30_000,)).sort(),
    ):
        ours, theirs = (outcome(call, np, np.asarray(x)) for np in (numelt, numpy))
        assert (ours[0], type(ours[1]), str(ours[1])) == ("error", type(theirs[1]), str(theirs[1]))
