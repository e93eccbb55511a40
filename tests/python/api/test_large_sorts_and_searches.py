"""Sorting and searching of arrays that are so large that threads share the work: always NumPy's bits."""

import numpy
import pytest

import numelt

from ..support.compare import as_numpy, outcome

N = (1 << 18) + 77
DTYPES = ["int32", "uint32", "int64", "uint64", "float32", "float64", "int16", "bool", "complex128"]


@pytest.fixture(autouse=True)
def _several_threads(monkeypatch):
    monkeypatch.setattr(numelt._core, "threads_for", lambda n: 5 if n >= 1 << 16 else 1)


def values(dtype, kind):
    rng = numpy.random.default_rng(3)
    if kind == "few":
        return rng.integers(0, 50, N).astype(dtype)
    x = rng.permutation(N) if kind == "distinct" else rng.integers(-(2**31), 2**31, N)
    x = (x - N // 3 if numpy.dtype(dtype).kind in "fc" else x).astype(dtype)
    if kind == "special" and numpy.dtype(dtype).kind in "fc":
        x[::97], x[1::131], x[5::101] = numpy.nan, numpy.inf, -0.0
        x[7::89] = 0.0
    return x


def same_bits(ours, theirs):
    ours = as_numpy(ours)
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same_bits(a, b)
        return
    assert (ours.dtype, ours.shape, ours.strides) == (theirs.dtype, theirs.shape, theirs.strides)
    assert ours.tobytes() == theirs.tobytes()


def sorted_in_place(np, x, **kwargs):
    x.sort(**kwargs)
    return x


CALLS = {
    "sort": lambda np, x: np.sort(x),
    "sort in place": lambda np, x: sorted_in_place(np, x),
    "sort strided": lambda np, x: sorted_in_place(np, x[::2]),
    "sort reversed": lambda np, x: np.sort(x[::-1]),
    "sort stable": lambda np, x: np.sort(x, kind="stable"),
    "sort rows": lambda np, x: np.sort(x[:70_000].reshape(2, -1)),
    "argsort": lambda np, x: np.argsort(x),
    "argsort method": lambda np, x: x.argsort(),
    "argsort stable": lambda np, x: np.argsort(x, kind="stable"),
    "argsort stable short": lambda np, x: np.argsort(x[:5000], stable=True),
    "argsort strided": lambda np, x: np.argsort(x[::3], kind="mergesort"),
}


@pytest.mark.parametrize("kind", ["distinct", "few", "special"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("call", CALLS)
def test_orders(call, dtype, kind):
    x = values(dtype, kind)
    same_bits(CALLS[call](numelt, numelt.array(x)), CALLS[call](numpy, x.copy()))


QUERIES = {
    "searchsorted": lambda np, x: np.searchsorted(np.sort(x[:1000]), x),
    "searchsorted right": lambda np, x: np.sort(x[:1000]).searchsorted(x, "right"),
    "searchsorted mixed": lambda np, x: np.searchsorted(np.arange(0.0, 90.0), x.reshape(1, -1)),
    "searchsorted list": lambda np, x: np.searchsorted([1, 5, 30], x),
    "digitize": lambda np, x: np.digitize(x, [0, 3, 9, 30]),
    "digitize right": lambda np, x: np.digitize(x, np.array([30.0, 9, 3]), right=True),
    "digitize unsorted": lambda np, x: np.digitize(x, [3, 1, 2]),
    "interp": lambda np, x: np.interp(x, [0.0, 3.0, 40.0], [1.0, 9.0, -4.0]),
    "interp ends": lambda np, x: np.interp(x, np.arange(45), np.arange(45) ** 2, left=-1, right=7.5),
    "interp period": lambda np, x: np.interp(x, np.arange(9), np.arange(9) ** 2, period=7),
    "interp complex": lambda np, x: np.interp(x, np.arange(9), np.arange(9) * 1j),
    "interp wrong": lambda np, x: np.interp(x, [1, 2], [1, 2, 3]),
    "bincount": lambda np, x: np.bincount(x),
    "bincount long": lambda np, x: np.bincount(x, minlength=99),
    "bincount weights": lambda np, x: np.bincount(x, weights=x),
    "bincount negative": lambda np, x: np.bincount(x - 2),
    "bincount wrong": lambda np, x: np.bincount(x, minlength=-1),
    "histogram": lambda np, x: np.histogram(x),
    "histogram range": lambda np, x: np.histogram(x, 37, (3, 41.5)),
    "histogram density": lambda np, x: np.histogram(x, bins=20, density=True),
    "histogram weights": lambda np, x: np.histogram(x, 13, weights=x * 0.5),
    "histogram edges": lambda np, x: np.histogram(x, [0, 4, 9, 44]),
    "histogram rows": lambda np, x: np.histogram(x[:60_000].reshape(3, -1)[:, ::2], 7),
    "histogram auto": lambda np, x: np.histogram(x[:40_000], "auto"),
    "histogram wrong": lambda np, x: np.histogram(x, 5, (4, 1)),
    "histogram none": lambda np, x: np.histogram(x, 0),
    "histogram2d": lambda np, x: np.histogram2d(x, x[::-1]),
    "histogram2d range": lambda np, x: np.histogram2d(x, x[::-1], 7, [(0, 30), (2, 9)], density=True),
    "histogram2d weights": lambda np, x: np.histogram2d(x, x[::-1], 5, [(0, 9), (0, 9)], weights=x * 0.5),
    "histogram2d edges": lambda np, x: np.histogram2d(x, x, [[0, 5, 9], 4], [(0, 9), (0, 30)]),
    "histogram2d pair": lambda np, x: np.histogram2d(x, x, (3, 4), [(0, 9), (0, 30)]),
    "histogram2d wrong": lambda np, x: np.histogram2d(x, x[1:]),
    "histogram2d none": lambda np, x: np.histogram2d(x, x, 0),
    "histogramdd": lambda np, x: list(np.histogramdd(x[: N // 3 * 3].reshape(-1, 3), 4, [(0, 50)] * 3)),
    "histogramdd edges": lambda np, x: list(np.histogramdd(x[:, None], [[0, 3, 40]], weights=x)),
    "histogramdd wrong": lambda np, x: np.histogramdd(x[:, None], (3, 4)),
}


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "float32", "float64"])
@pytest.mark.parametrize("call", QUERIES)
def test_queries(call, dtype):
    for kind in ("few", "special"):
        x = values(dtype, kind) if dtype != "uint8" else values("int64", kind).astype("u1")
        if call.startswith("bincount") and kind == "special":
            continue
        (kind, expected) = outcome(QUERIES[call], numpy, x.copy())
        (got_kind, got) = outcome(QUERIES[call], numelt, numelt.array(x))
        if kind == "error":
            assert (got_kind, type(got), str(got)) == (kind, type(expected), str(expected))
        elif got_kind == "error":
            raise got
        else:
            same_bits(got, expected)
