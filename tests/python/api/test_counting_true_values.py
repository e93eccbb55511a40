"""Counting true values: those in memory at once, those of comparisons without needless work."""

import warnings

import numpy
import pytest

import numelt as np


@pytest.fixture(params=[64, 0])
def at_once(request):
    """Count at once, and by recording."""
    before = np.config.at_once
    np.config.at_once = request.param
    yield
    np.config.at_once = before


def masks(xp):
    """Return bool arrays in all layouts, and bytes of any value that are viewed as bools."""
    rng = numpy.random.default_rng(5)
    base = xp.array(rng.random((6, 40, 7)) > 0.5)
    bytes_ = xp.array(rng.integers(0, 4, 100).astype("u1"))
    return [
        base,
        base.T,
        base[::2, ::-1],
        base[2],
        base[1, 3:9].copy(),
        base[:0],
        base[0, 0, 0:1],
        xp.zeros(9000, bool),
        xp.ones(9000, bool),
        xp.array(rng.random(200_000) > 0.999999),
        xp.array(5) > 3,
        bytes_.view(bool),
        bytes_ > 2,
        xp.asfortranarray(base),
    ]


def counts(xp, a):
    """Return every kind of count."""
    return [
        a.sum(),
        a.any(),
        a.all(),
        xp.any(a),
        xp.all(a),
        xp.count_nonzero(a),
        a.sum(axis=0) if a.ndim else 0,
        xp.count_nonzero(a, keepdims=True),
        a.sum(dtype="i4"),
    ]


@pytest.mark.parametrize("number", range(14))
def test_counts_are_numpys(at_once, number):
    got, want = counts(np, masks(np)[number]), counts(numpy, masks(numpy)[number])
    for g, w in zip(got, want, strict=True):
        assert numpy.asarray(g).dtype == numpy.asarray(w).dtype
        assert numpy.array_equal(numpy.asarray(g), numpy.asarray(w))
    assert isinstance(np.count_nonzero(masks(np)[number]), (int, numpy.integer))


def test_a_count_sees_what_was_written(at_once):
    a = np.zeros(1000, bool)
    assert not a.any()
    a[10] = True
    assert a.any()
    assert a.sum() == 1
    a[20:30] = True
    assert np.count_nonzero(a) == 11
    seen = numpy.asarray(a)
    seen[40:] = True
    assert a.sum() == 971
    np.logical_not(a, out=a)
    assert np.count_nonzero(a) == 29


@pytest.mark.parametrize("n", [8, 5000, 300_000])
def test_settled_results_skip_no_warning(n):
    a = np.linspace(-1.0, 1.0, n)
    b = a.copy()
    b[-1] = 0
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert bool(np.any(a / b > 0.5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bool(np.any(a > -2))
        assert bool((a > 0.999).any())
        assert not bool(np.all(a < 0))
        assert bool(np.all(a >= -1))
        assert not bool((a > 1).any())


@pytest.mark.parametrize("place", [0, 4096, 99_999, 199_999])
def test_any_and_all_find_one_element(place):
    a = np.zeros(200_000)
    a[place] = 1
    assert bool(np.any(a > 0.5))
    assert not bool(np.all(a < 0.5))
    assert bool(np.any(a == 1))
    assert int((a == 1).sum()) == 1
    both = np.any(a > 0.5), np.all(a < 2), (a > 3).any()
    assert [bool(x) for x in both] == [True, True, False]
    rows = a.reshape(100, 2000) > 0.5
    assert numpy.array_equal(rows.any(axis=1), numpy.asarray(rows).any(axis=1))
