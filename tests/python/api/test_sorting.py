"""Sorting, searching, sets and histograms: NumPy's bits, order of equal values and errors, over all
dtypes."""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numelt

from ..support.compare import as_numpy, outcome
from ..support.layouts import COMPLEX, FLOATS, LAYOUTS, NATIVE, pair

ALL = [*NATIVE, *FLOATS, *COMPLEX]
SPECIAL = [0.0, -0.0, numpy.nan, -numpy.nan, numpy.inf, -numpy.inf, 1.0, 1.0, -1.0, 5e-324]


@pytest.fixture(autouse=True)
def nothing_falls_back():
    numelt.config.fallback = "error"
    yield
    numelt.config.fallback = "silent"


def assert_same_bits(ours, theirs, context=""):
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs), context
        if hasattr(theirs, "_fields"):
            assert ours._fields == theirs._fields
        for a, b in zip(ours, theirs, strict=True):
            assert_same_bits(a, b, context)
        return
    if isinstance(theirs, numpy.ndarray):
        assert type(ours) is numelt.ndarray, context
    ours, theirs = numpy.asarray(as_numpy(ours)), numpy.asarray(theirs)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), context
    assert ours.tobytes() == theirs.tobytes(), f"{context}\n{ours}\nNumPy:\n{theirs}"


def compare(call, *pairs, context=""):
    """Call the function in numelt and in NumPy; values and errors must agree."""
    kind, theirs = outcome(call, numpy, *[p[0] for p in pairs])
    if kind == "error":
        with pytest.raises(type(theirs)) as caught:
            call(numelt, *[p[1] for p in pairs])
        assert str(caught.value) == str(theirs), context
        return
    assert_same_bits(call(numelt, *[p[1] for p in pairs]), theirs, context)


def edges(np):
    return np.linspace(-60, 60, 7)


CALLS = {
    "sort": lambda np, x: (np.sort(x), np.sort(x, axis=None), np.sort(x, kind="stable")),
    "sort0": lambda np, x: np.sort(x, axis=0),
    "argsort": lambda np, x: (np.argsort(x), np.argsort(x, axis=None), np.argsort(x, kind="stable")),
    "method argsort": lambda np, x: x.argsort(0),
    "partition": lambda np, x: (np.partition(x, 1), np.argpartition(x, [0, 2], axis=None)),
    "method argpartition": lambda np, x: x.argpartition(1),
    "sort_complex": lambda np, x: np.sort_complex(x),
    "unique": lambda np, x: np.unique(x),
    "unique all": lambda np, x: np.unique(x, return_index=True, return_inverse=True, return_counts=True),
    "unique axis": lambda np, x: np.unique(x, axis=0, return_counts=True),
    "unique unsorted": lambda np, x: np.sort(np.unique(x, sorted=False)),
    "unique nan": lambda np, x: np.unique(x, equal_nan=False),
    "unique family": lambda np, x: (np.unique_all(x), np.unique_counts(x), np.unique_inverse(x)),
    "unique_values": lambda np, x: np.sort(np.unique_values(x)),
    "histogram": lambda np, x: np.histogram(x, 5),
    "histogram range": lambda np, x: np.histogram(x, 4, (-10, 10), density=True),
    "histogram weights": lambda np, x: np.histogram(x, edges(np), weights=x),
    "histogram auto": lambda np, x: np.histogram_bin_edges(x, "fd"),
    "digitize": lambda np, x: (np.digitize(x, edges(np)), np.digitize(x, edges(np)[::-1], right=True)),
    "bincount": lambda np, x: np.bincount(x),
    "interp": lambda np, x: np.interp(x, edges(np), edges(np) ** 2, left=-1.0, right=1.0),
    "convolve": lambda np, x: [np.convolve(x, x[:5], mode) for mode in ("full", "same", "valid")],
    "correlate": lambda np, x: [np.correlate(x, x[:5], mode) for mode in ("full", "same", "valid")],
    "isin": lambda np, x: (np.isin(x, [0, 1, 2]), np.isin(x, x.ravel()[::2], invert=True)),
    "searchsorted": lambda np, x: np.searchsorted(edges(np), x, side="right"),
    "method searchsorted": lambda np, x: np.sort(x.ravel()).searchsorted(x, sorter=None),
    "lexsort": lambda np, x: np.lexsort((x, x[::-1])),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ALL)
def test_every_layout(name, dtype):
    for layout in LAYOUTS:
        theirs, ours = pair(numelt, dtype, layout, 3, "small")
        with numpy.errstate(all="ignore"):
            compare(CALLS[name], (theirs, ours), context=f"{name} {dtype} {layout}")


TWO = {
    "intersect1d": lambda np, x, y: np.intersect1d(x, y, return_indices=True),
    "union1d": lambda np, x, y: np.union1d(x, y),
    "setdiff1d": lambda np, x, y: np.setdiff1d(x, y),
    "setxor1d": lambda np, x, y: np.setxor1d(x, y),
    "isin": lambda np, x, y: np.isin(x, y, kind="sort"),
    "searchsorted": lambda np, x, y: np.searchsorted(x, y, sorter=np.argsort(x)),
    "lexsort": lambda np, x, y: np.lexsort((x, y)) if x.shape == y.shape else 0,
    "histogram2d": lambda np, x, y: np.histogram2d(x, y, bins=3),
    "histogramdd": lambda np, x, y: np.histogramdd((x, y), bins=(2, 3)),
    "convolve": lambda np, x, y: np.convolve(x, y),
    "correlate": lambda np, x, y: np.correlate(x, y, "same"),
    "interp": lambda np, x, y: np.interp(x, np.sort(y), y, period=7),
    "bincount": lambda np, x, y: np.bincount(x, weights=y, minlength=9),
    "digitize": lambda np, x, y: np.digitize(x, np.sort(y)),
}


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize(
    "dtypes", [("float64", "float64"), ("int64", "float32"), ("uint8", "int16"), ("bool", "int8")]
)
def test_two_arrays(name, dtypes):
    for first in ("vector", "empty", "long", "matrix", "strided"):
        for second in ("vector", "empty", "long"):
            x, y = (
                pair(numelt, d, la, s, "small")
                for d, la, s in zip(dtypes, (first, second), (1, 2), strict=True)
            )
            if dtypes[0] == "int64":
                x = abs(x[0]), abs(x[1])
            with numpy.errstate(all="ignore"):
                compare(TWO[name], x, y, context=f"{name} {dtypes} {first} {second}")


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(SPECIAL), max_size=40), st.sampled_from(["float32", "float64"]))
def test_special_values_and_ties(values, dtype):
    theirs = numpy.array(values, dtype)
    ours = numelt.array(theirs)
    for name in ("sort", "argsort", "unique", "unique all", "unique nan", "searchsorted", "isin"):
        compare(CALLS[name], (theirs, ours), context=name)


@pytest.mark.core
def test_sorting_methods_in_place():
    for dtype in ALL:
        for layout in ("vector", "long", "matrix", "strided", "reversed", "transposed"):
            for change in (
                lambda x: x.sort(),
                lambda x: x.sort(axis=0, kind="stable"),
                lambda x: x.partition(2),
            ):
                theirs, ours = pair(numelt, dtype, layout, 5)
                ours += ours
                theirs += theirs
                base = ours.base if ours.base is not None else ours
                assert change(ours) is change(theirs) is None
                assert_same_bits(ours, theirs, f"{dtype} {layout}")
                assert_same_bits(ours * 1, theirs * 1)
                assert numpy.shares_memory(numpy.asarray(base), numpy.asarray(ours))
    fixed = numelt.arange(3)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        fixed.sort()


def test_bincount():
    for x, kwargs in (
        ([0, 1, 1, 5], {}),
        ([], {"minlength": 3}),
        ([2, 2], {"weights": [0.1, 0.2], "minlength": 1}),
        ([-1], {}),
        ([0.5], {}),
        ([1, 2], {"weights": [1.0]}),
        ([3], {"minlength": -1}),
    ):
        theirs = numpy.array(x, dtype=None if x else "int64")
        compare(lambda np, x, kwargs=kwargs: np.bincount(x, **kwargs), (theirs, numelt.array(theirs)))


@pytest.mark.parametrize("n", [100_000, 1_000_003])
def test_large(n):
    rng = numpy.random.default_rng(n)
    for theirs in (rng.standard_normal(n), rng.integers(-1000, 1000, n), rng.standard_normal(n).astype("f4")):
        ours = numelt.array(theirs) + 0
        for call in (
            lambda np, x: np.sort(x),
            lambda np, x: np.argsort(x, kind="stable"),
            lambda np, x: np.histogram(x, 100),
            lambda np, x: np.searchsorted(np.sort(x[:1000]), x),
            lambda np, x: np.bincount(np.abs(x).astype("i8"), weights=x),
            lambda np, x: np.unique(x, return_counts=True),
        ):
            compare(call, (theirs + 0, ours))


def test_what_only_numpy_sorts():
    for values in (["b", "a"], [b"x", b"a"], numpy.array(["2020-01-02", "2019-01-01"], "M8[D]")):
        theirs = numpy.array(values)
        ours = numelt.array(theirs)
        assert as_numpy(numelt.sort(ours)).tolist() == numpy.sort(theirs).tolist()
        assert as_numpy(numelt.unique(ours)).tolist() == numpy.unique(theirs).tolist()
