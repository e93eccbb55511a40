"""Comparisons that are stored, counted or tested: every length around the size of a register."""

import numpy
import pytest

import numelt

from ..support.compare import assert_same

LENGTHS = [
    *range(0, 20),
    31,
    32,
    33,
    63,
    64,
    65,
    127,
    128,
    129,
    200,
    1023,
    1024,
    1025,
    2047,
    2049,
    5000,
    40_000,
]
DTYPES = ["f8", "f4", "i8", "i4", "u2", "i1", "?", "c16", "f2"]

USES = {
    "mask": lambda np, a, b: a > b,
    "both": lambda np, a, b: (a >= b) & (b != 1),
    "not": lambda np, a, b: ~(a < 1) | (a == b),
    "nan": lambda np, a, b: np.isnan(a) ^ (b <= 2),
    "truth": lambda np, a, b: np.logical_not(a),
    "any": lambda np, a, b: (a > b).any(),
    "all": lambda np, a, b: np.all(a == a),
    "any of them": lambda np, a, b: np.any(a),
    "all of them": lambda np, a, b: np.all(b),
    "count": lambda np, a, b: np.count_nonzero(a > 1),
    "count of them": lambda np, a, b: np.count_nonzero(b),
    "sum": lambda np, a, b: (a != b).sum(),
    "sum of bools": lambda np, a, b: np.sum(a > b, dtype=bool),
    "sum of small": lambda np, a, b: np.sum(a > b, dtype="i4"),
    "mean": lambda np, a, b: (a > b).mean() if a.size else 0.0,
    "sums of rows": lambda np, a, b: (np.broadcast_to(a > b, (3, a.size))).sum(axis=1),
    "sums of columns": lambda np, a, b: (np.broadcast_to(a > b, (3, a.size))).sum(axis=0),
    "into": lambda np, a, b: np.sum(a > b, out=np.zeros((), "f8"), dtype="i8"),
    "both kinds": lambda np, a, b: [(a > b), (a > b).sum(), a.sum()],
}


def operands(dtype, n):
    random = numpy.random.default_rng(n)
    a, b = (random.integers(0, 4, n).astype(dtype) for _ in range(2))
    if n and numpy.dtype(dtype).kind in "fc":
        a[random.integers(0, n, n // 7)] = numpy.nan
    return a, b


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("use", USES)
def test_masks_of_every_length(use, dtype):
    for n in LENGTHS:
        a, b = operands(dtype, n)
        ours = [numelt.array(x) for x in (a, b)]
        with numpy.errstate(all="ignore"), numelt.errstate(all="ignore"):
            found, wanted = USES[use](numelt, *ours), USES[use](numpy, a, b)
        for mine, theirs in (
            zip(found, wanted, strict=True) if isinstance(wanted, list) else [(found, wanted)]
        ):
            assert_same(mine, theirs, context=f"{n} elements")


@pytest.mark.parametrize("at", [0, 1, 63, 64, 1023, 1024, 2048, 9_999, 30_000, None])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "?", "c16"])
def test_one_element_decides(dtype, at):
    a = numpy.zeros(30_001, dtype)
    if at is not None:
        a[at] = 1
    x = numelt.array(a)
    assert bool(x.any()) == bool(a.any()) == (at is not None)
    assert bool((x == 0).all()) == (at is None)
    assert bool(numelt.all(x)) is False
    assert int(numelt.count_nonzero(x)) == (at is not None)
    assert bool(x[::2].any()) == bool(a[::2].any())
    assert bool(x[::-1].any()) == bool(a[::-1].any())


def test_bytes_that_are_no_truth_values_count_once():
    raw = numpy.arange(70_000).astype("u1")
    wanted = int((raw != 0).sum())
    mask = numelt.array(raw).view("?")
    assert int(numelt.count_nonzero(mask)) == wanted
    assert int(mask.sum()) == wanted


@pytest.mark.parametrize("n", [1, 7, 8, 9, 255, 256, 4095, 4097, 20_000, 32_768, 32_769])
@pytest.mark.parametrize("dtype", "?bhfdD")
def test_dense_masks_of_many_lengths(n, dtype):
    rng = numpy.random.default_rng(n)
    real = (rng.random(n) * 100).astype(dtype)
    for share in (0.0, 0.01, 0.5, 0.99, 1.0):
        mask = rng.random(n) < share
        for cut in (slice(None), slice(None, None, -1), slice(1, None, 3)):
            x, m = numelt.array(real), numelt.array(mask)
            got = x[cut][m[cut]]
            assert got.dtype == real.dtype
            assert numpy.array_equal(got, real[cut][mask[cut]])
            changed = real.copy()
            changed[cut][mask[cut]] = 1
            x[cut][m[cut]] = 1
            assert numpy.array_equal(x, changed)
            x[cut][m[cut]] = numelt.array(real[cut][mask[cut]])
            assert numpy.array_equal(x, real)


def test_truth_values_may_be_any_bytes():
    mask = numpy.array([0, 1, 2, 255, 128, 0, 127, 64, 0, 3] * 5, numpy.uint8).view(bool)
    real = numpy.arange(50.0)
    x, m = numelt.array(real), numelt.array(mask.view(numpy.uint8)).view(bool)
    want = real[mask.view(numpy.uint8) != 0]
    assert numpy.array_equal(x[m], want)
    x[m] = -want
    assert (numpy.asarray(x) < 0).sum() == (mask.view(numpy.uint8) != 0).sum()


@pytest.mark.parametrize(
    "shape", [(), (0,), (3, 0, 2), (1,), (5, 7), (2, 3, 70), (300, 200), (40, 1), (2, 2, 2, 130)]
)
def test_positions_in_several_axes(shape):
    rng = numpy.random.default_rng(3)
    for share in (0.0, 0.03, 0.5, 1.0):
        mask = rng.random(shape) < share
        for real in (
            mask,
            mask.T,
            numpy.where(mask, 2.5, 0.0),
            numpy.asfortranarray(mask)[::-1] if shape else mask,
        ):
            if real.ndim == 0:
                continue
            got, want = numelt.nonzero(numelt.array(real)), numpy.nonzero(real)
            assert len(got) == len(want)
            assert all(numpy.array_equal(g, w) for g, w in zip(got, want, strict=True))
            assert numpy.array_equal(numelt.argwhere(numelt.array(real)), numpy.argwhere(real))
    wide = numpy.broadcast_to(numpy.arange(shape[0])[:, None], (shape[0], 9)) if shape else None
    if wide is not None:
        mask = rng.random(wide.shape) < 0.5
        ours = numelt.broadcast_to(numelt.arange(shape[0])[:, None], wide.shape)
        assert numpy.array_equal(ours[numelt.array(mask)], wide[mask])
