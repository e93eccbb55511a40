"""Extremes, their positions and positions in masks: one element decides, anywhere in rows of any length."""

import numpy
import pytest

import numelt as np

LENGTHS = [1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 71, 72, 130, 1000, 1024, 1031, 2049, 9001]
CALLS = ["max", "min", "argmax", "argmin"]


def bits(value):
    value = numpy.asarray(value)
    return value.dtype, value.shape, value.tobytes()


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "u2", "i4", "i8", "u8"])
@pytest.mark.parametrize("n", LENGTHS)
def test_one_element_decides(dtype, n):
    """The extreme, a NaN, an infinity or several of them, at the ends of vector lanes, registers and
    blocks."""
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
    """Sums and extremes of rows of one element to more than a block, also strided, any number of them."""
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


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "i8", "f2", "f4", "f8", "c16"])
def test_places_in_columns_and_rows(dtype):
    """Extremes that come early, late, repeatedly or never change; NaN; columns beside registers."""
    rng = numpy.random.default_rng(2)
    for shape in (
        (1, 40),
        (2, 15),
        (3, 16),
        (40, 17),
        (100, 33),
        (300, 5),
        (5, 3, 50),
        (1000, 64),
        (2, 5000),
    ):
        for high in (2, 5, 100):
            a = rng.integers(0, high, shape).astype(dtype)
            if dtype[0] in "fc" and high == 5:
                a[rng.random(shape) < 0.01] = numpy.nan
            cuts = (..., slice(None, None, -1), (..., slice(None, None, -1)), (..., slice(1, None, 2)))
            layouts = [(np.array(a)[cut], a[cut]) for cut in cuts] + [(np.array(a).T, a.T)]
            layouts += [(np.array(b), b) for b in (numpy.full_like(a, 1), numpy.sort(a, axis=0))]
            for ours, b in layouts:
                for call in CALLS:
                    for axis in range(a.ndim):
                        got, want = getattr(ours, call)(axis=axis), getattr(b, call)(axis=axis)
                        assert bits(got) == bits(want), (call, shape, axis, high)
                    assert bits(getattr(ours, call)()) == bits(getattr(b, call)()), (call, shape, high)


@pytest.mark.parametrize("np_call", ["max", "min"])
def test_extremes_of_truth_values(np_call):
    rng = numpy.random.default_rng(4)
    for a in (
        rng.random((30, 70)) < 0.02,
        rng.random((30, 70)) < 0.98,
        numpy.ones((4, 9), bool),
        numpy.zeros(80, bool),
    ):
        for axis in (None, 0, -1, ()):
            for cut in ((), (slice(None, None, -1),), (slice(None, None, 2),)):
                for keep in (False, True):
                    got = getattr(np.array(a)[cut], np_call)(axis=axis, keepdims=keep)
                    assert bits(got) == bits(getattr(a[cut], np_call)(axis=axis, keepdims=keep))
        out, expected = np.zeros(a.shape[-1], "i4"), numpy.zeros(a.shape[-1], "i4")
        if a.ndim == 2:
            getattr(np.array(a), np_call)(axis=0, out=out)
            getattr(a, np_call)(axis=0, out=expected)
            assert bits(out) == bits(expected)
    for empty in (numpy.zeros((0, 3), bool), numpy.zeros(0, bool)):
        with pytest.raises(ValueError, match="zero-size array"):
            getattr(np.array(empty), np_call)(axis=0)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_extremes_that_leave_out_nan(dtype):
    """Numbers, infinities and NaN in rows around the size of a register; if zeros, of either sign."""
    rng = numpy.random.default_rng(5)
    for n in (1, 63, 64, 65, 130, 1000, 5001):
        for fill in (None, numpy.nan, numpy.inf, -numpy.inf, 0.0):
            for share in (0.0, 0.1, 0.95, 1.0):
                a = rng.standard_normal(n).astype(dtype)
                if fill is not None:
                    a[rng.random(n) < share] = fill
                ours = np.array(a)
                for call in ("fmax", "fmin"):
                    assert bits(getattr(np, call).reduce(ours)) == bits(getattr(numpy, call).reduce(a)), (
                        n,
                        fill,
                    )
                    folded, want = (
                        getattr(np, call).reduce(ours.reshape(1, n), axis=1),
                        getattr(numpy, call).reduce(a),
                    )
                    assert bits(folded[0]) == bits(want)


@pytest.mark.parametrize("shape", [(5000,), (70_001,), (100, 100), (3, 50, 40)])
@pytest.mark.parametrize("fill", [True, False])
def test_a_mask_of_one_value(shape, fill):
    """All positions or none: read, written, counted, and used as indices of other axes."""
    values, mask = numpy.arange(numpy.prod(shape)).reshape(shape).astype("f4"), numpy.full(shape, fill)

    def results(xp):
        a, m = xp.array(values), xp.array(mask)
        found = [a[m], a[m].sum(), *m.nonzero(), xp.flatnonzero(m), xp.argwhere(m)]
        a[m] = a[m] * 2 + 1
        found += [a.copy(), a.ravel()[xp.flatnonzero(m)[::-1]]]
        a[m] = 7
        rows = xp.array(values.reshape(shape[0], -1))
        keep = xp.array(numpy.full(shape[0], fill))
        return [*found, a, rows[keep], rows[keep, 0], rows[::-1][keep]]

    for got, want in zip(results(np), results(numpy), strict=True):
        assert bits(got) == bits(want)


@pytest.mark.parametrize("shape", [(6, 4), (60, 80), (300, 400), (4, 6, 8), (16, 12, 50)])
def test_as_many_positions_as_elements(shape):
    """Masks in which one element in as many as there are axes is true: as many indices as elements."""
    values = numpy.arange(numpy.prod(shape)).reshape(shape).astype("i4")

    def results(xp):
        a = xp.array(values)
        mask = a % len(shape) == 0
        found = [*mask.nonzero(), xp.argwhere(mask), a[mask], a.T[mask.T], xp.argwhere(mask.T)]
        b = a.T
        b[mask.T] = b[mask.T] * 3
        return [*found, b, a]

    for got, want in zip(results(np), results(numpy), strict=True):
        assert bits(got) == bits(want)


@pytest.mark.parametrize("density", [0.0, 0.01, 0.3, 0.5, 0.97, 1.0])
def test_places_in_masks(density):
    """`nonzero` of masks of any length and layout, and of bools whose bytes have any value."""
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
    """Running sums and products, into new arrays and over the same or overlapping elements."""
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
