"""Extremes, their places and masks' places: one element anywhere in runs of any length decides."""

import numpy
import pytest

import numelt as np

LENGTHS = [1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 71, 72, 130, 1000, 1024, 1031, 2049, 9001]
CALLS = ["max", "min", "argmax", "argmin"]


def bits(value):
    value = numpy.asarray(value)
    return value.dtype, value.shape, value.tobytes()


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "u2", "i4", "u8"])
@pytest.mark.parametrize("n", LENGTHS)
def test_one_element_decides(dtype, n):
    """The extreme, a NaN, an infinity or several of them, at the ends of lanes, registers and blocks."""
    rng = numpy.random.default_rng(n)
    places = sorted(
        {0, 1, n // 2, n - 2, n - 1, n - n % 8, n - n % 64, *rng.integers(0, n, 6)} & set(range(n))
    )
    specials = [100, -100] if dtype[0] != "u" else [100, 0]
    if dtype[0] == "f":
        specials += [numpy.nan, numpy.inf, -numpy.inf]
    for at in places:
        for special in specials:
            a = rng.integers(1, 50, n).astype(dtype)
            a[at] = special
            for also in (None, int(rng.integers(0, n))):
                if also is not None:
                    a[also] = special
                ours = np.array(a)
                for call in CALLS:
                    assert bits(getattr(ours, call)()) == bits(getattr(a, call)()), (call, at, also, special)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_rows(dtype):
    """Sums and extremes of rows from one element to more than a block, also apart, any number of them."""
    rng = numpy.random.default_rng(1)
    for n in (1, 2, 7, 8, 9, 12, 15, 16, 30, 31, 64, 100, 127, 128, 129, 200):
        for rows in (1, 3, 4, 5, 8, 11, 130):
            shape = (rows, n + 3)
            wide = (rng.standard_normal(shape) * rng.choice([1e-5, 1.0, 1e8], shape)).astype(dtype)
            wide[rng.random(shape) < 0.01] = numpy.nan
            ours = np.array(wide)
            for cut in ((), (slice(None), slice(2, n + 2)), slice(None, None, 2)):
                for call in ("sum", "mean", *CALLS):
                    got, expected = getattr(ours[cut], call)(axis=1), getattr(wide[cut], call)(axis=1)
                    assert bits(got) == bits(expected), (call, rows, n, cut)
            assert bits(((ours - 1) ** 2).sum(axis=1)) == bits(((wide - 1) ** 2).sum(axis=1))


@pytest.mark.parametrize("density", [0.0, 0.01, 0.3, 0.5, 0.97, 1.0])
def test_places_in_masks(density):
    """`nonzero` of masks of any length and layout, and of truth values that are bytes of any value."""
    rng = numpy.random.default_rng(int(100 * density))
    for n in (0, 1, 7, 8, 63, 64, 65, 127, 511, 512, 513, 4000, 32768, 32769, 70_001):
        a = rng.random(n) < density
        for mask in (a, a[1:], a[::3], a[::-1]):
            ours = np.array(a)[slice(1, None)] if mask.base is None and mask is not a else np.array(mask)
            assert bits(ours.nonzero()[0]) == bits(mask.nonzero()[0]), n
            assert bits(np.flatnonzero(ours)) == bits(numpy.flatnonzero(mask)), n
        odd = (a * rng.integers(1, 256, n)).astype("u1").view(bool)
        assert bits(np.array(odd).nonzero()[0]) == bits(odd.nonzero()[0]), n
        wide = numpy.resize(a, (3, n))
        got, expected = np.array(wide).nonzero(), wide.nonzero()
        assert [bits(g) for g in got] == [bits(e) for e in expected], n


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "u8", "f4", "f8", "c16"])
def test_running_sums_in_and_out_of_place(dtype):
    """Of neighbours, whose sums go straight from array to array, and of operands that lie over each other."""
    cuts = ((slice(None), slice(None)), (slice(-1), slice(1, None)), (slice(1, None), slice(-1)))

    def results(xp, a):
        found = []
        with xp.errstate(all="ignore"):
            for call in (xp.cumsum, xp.cumprod):
                found.append(call(xp.array(a), dtype=dtype))
                for source, target in cuts:
                    own = xp.array(a)
                    call(own[source], dtype=dtype, out=own[target])
                    found.append(own)
        return found

    for n in (1, 2, 1023, 1024, 1025, 5000):
        a = (numpy.random.default_rng(n).random(n) * 50).astype(dtype)
        for got, expected in zip(results(np, a), results(numpy, a), strict=True):
            assert bits(got) == bits(expected), n
