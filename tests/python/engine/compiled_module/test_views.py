"""Views, basic indexing, assignment, memory order, overlap."""

import itertools

import numpy as np
import pytest

from numelt import _core

from .helpers import DTYPES, ours, real, same, sample

KEYS = [
    0, -1, 2, (0, 1), (1, 2, 3), (-1, -1, -1), slice(None), slice(1, None), slice(None, None, -1),
    slice(None, None, 2), slice(5, 1, -2), slice(10, 20), (slice(None), 1), (Ellipsis, 0), (0, Ellipsis),
    Ellipsis, None, (None, 0, None), (slice(1, 2), None, slice(None, None, -1), 1), (Ellipsis, None),
    (slice(0, 0),), (1, slice(None), slice(None, None, -2)), np.int64(1), (np.uint8(1), slice(None)), (0,
    1, 2, Ellipsis), (),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_basic_indexing(key):
    a = np.arange(60.0).reshape(3, 4, 5)
    for source in (a, a.T.copy().T, a[::-1, :, ::-1]):
        x = ours(source)
        got = x[key]
        want = source[key]
        same(real(got), want)
        if isinstance(want, np.ndarray):
            assert got.strides == want.strides or source is not a


@pytest.mark.parametrize(
    "key", [3, -4, (0, 4), (0, 0, 5), (0, 0, 0, 0), (Ellipsis, Ellipsis), "x", 1.5, (0, 1.5)]
)
def test_bad_indices(key):
    a = np.zeros((3, 4, 5))
    with pytest.raises((IndexError, TypeError)) as want:
        a[key]
    with pytest.raises(type(want.value)) as got:
        ours(a)[key]
    assert str(got.value) == str(want.value)


@pytest.mark.parametrize("key", KEYS[:-1], ids=repr)
@pytest.mark.parametrize("dtype", ["i4", "f8"])
def test_assignment(key, dtype):
    a = sample(dtype, (3, 4, 5))
    for value in (7, 2.5, np.float32(3), True):
        want, x = a.copy(), ours(a)
        want[key] = value
        x[key] = value
        same(real(x), want)
    want, x = a.copy(), ours(a)
    piece = np.asarray(want[key]) + 1
    want[key] = piece
    x[key] = ours(piece)
    same(real(x), want)


def test_assignment_errors():
    a = np.zeros((3, 4), int)
    for key, value in [
        (slice(2), np.ones(3)),
        (0, np.ones((2, 4))),
        (0, float("nan")),
        ((0, 0), 2**70),
        (0, 1j),
        (0, "x"),
    ]:
        with pytest.raises((ValueError, TypeError, OverflowError)) as want:
            a[key] = value
        x = ours(a)
        with pytest.raises(type(want.value)) as got:
            x[key] = ours(value) if isinstance(value, np.ndarray) else value
        assert str(got.value) == str(want.value)
    frozen = ours(a)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        frozen[0] = 1
    with pytest.raises(ValueError, match="output array is read-only"):
        frozen += 1


@pytest.mark.parametrize("shift", [-2, -1, 1, 2])
def test_overlapping_assignment(shift):
    a = np.arange(20.0)
    x = ours(a)
    lo, hi = max(shift, 0), min(shift, 0)
    a[lo : 20 + hi] = a[-hi or 0 : 20 - lo]
    x[lo : 20 + hi] = x[-hi or 0 : 20 - lo]
    same(real(x), a)
    a[::-1] += a
    x[::-1] += x
    same(real(x), a)
    a[1:] += a[:-1] * 2
    x[1:] += x[:-1] * 2
    same(real(x), a)


def test_masked_assignment():
    for dtype in DTYPES:
        a = sample(dtype, (4, 5))
        x = ours(a)
        a[a > 2] = 1
        x[x > 2] = 1
        same(real(x), a)


def layouts(a):
    yield a
    yield np.asfortranarray(a)
    yield a[::-1]
    yield a[:, ::2]
    yield a.T
    yield np.broadcast_to(a[0], a.shape)
    yield a[:1]


def test_memory_order_of_results():
    cube = np.arange(24.0).reshape(2, 3, 4)
    for order in itertools.permutations(range(3)):
        source = cube.transpose(order)
        x = ours(cube).transpose(*order)
        assert (-x).strides == (-source).strides
        assert (x + x).strides == (source + source).strides
        assert (x > 1).strides == (source > 1).strides
        assert x.copy("K").strides == source.copy("K").strides
        assert x.astype("f4").strides == source.astype("f4").strides
        assert x.sum(axis=1).strides == source.sum(axis=1).strides
        same(real(x.sum(axis=1)), source.sum(axis=1), 2)
    a = np.arange(24.0).reshape(4, 6)
    for u, v in itertools.product(layouts(a), repeat=2):
        try:
            want = u + v
        except ValueError:
            continue
        got = ours_view(u) + ours_view(v)
        same(real(got), want)
        assert got.strides == want.strides, (u.strides, v.strides)


def ours_view(array):
    """Our array with exactly the strides of `array` (broadcast ones too)."""
    return _core.from_numpy(array, False)


@pytest.mark.parametrize("shape", [(12,), (3, 4), (2, 6), (1, 12, 1), (-1,), (-1, 2), (2, 3, 2), (12, 1)])
@pytest.mark.parametrize("order", ["C", "F", "A"])
def test_reshape(shape, order):
    a = np.arange(12.0).reshape(3, 4)
    for source in (a, np.asfortranarray(a)):
        x = ours(source)
        got, want = x.reshape(shape, order=order), source.reshape(shape, order=order)
        same(real(got), want)
        assert (got.base is x) == np.shares_memory(source, want)
    same(real(ours(a)[::2].reshape(-1)), a[::2].reshape(-1))
    same(real(ours(a)[:, ::-1].reshape(-1, 2)), a[:, ::-1].reshape(-1, 2))
    same(real(ours(a)[:, :2].reshape(3, 2, 1)), a[:, :2].reshape(3, 2, 1))


def test_shape_methods():
    a = np.arange(24.0).reshape(2, 3, 4)
    x = ours(a)
    same(real(x.T), a.T)
    same(real(x.transpose(1, 0, 2)), a.transpose(1, 0, 2))
    same(real(x.transpose((2, 0, 1))), a.transpose((2, 0, 1)))
    same(real(x.swapaxes(0, -1)), a.swapaxes(0, -1))
    same(real(x[:1].squeeze()), a[:1].squeeze())
    same(real(x.ravel("F")), a.ravel("F"))
    same(real(x.flatten()), a.flatten())
    x.shape = (6, 4)
    assert x.shape == (6, 4)
    assert len(x) == 6
    with pytest.raises(ValueError, match=r"cannot reshape array of size 24 into shape \(5,4\)"):
        x.reshape(5, 4)
    with pytest.raises(ValueError, match="can only specify one unknown dimension"):
        x.reshape(-1, -1)


def test_views_share_memory():
    a = np.arange(10)
    x = ours(a)
    y = x[2:8][::-1]
    y[0] = 100
    a[2:8][::-1][0] = 100
    same(real(x), a)
    x += 1
    same(real(y), (a + 1)[2:8][::-1])
    assert y.base is x
    assert x.base is None


def test_complex_parts():
    a = sample("c16", (3, 4))
    x = ours(a)
    x.real[0] = 5
    x.imag += 1
    a.real[0] = 5
    a.imag += 1
    same(real(x), a)
    assert x.real.dtype == np.float64
    assert x.imag.base is x


def test_scalars_from_indexing():
    x = ours(np.arange(6.0).reshape(2, 3))
    assert type(x[1, 2]) is np.float64
    assert x[1, 2] == 5
    assert list(x[0]) == [0, 1, 2]
    assert [row.shape for row in x] == [(3,), (3,)]
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert 4 in x
    assert 7 not in x


def test_deferred_scalars_are_stored_as_numpy_stores_them():
    x = ours(np.zeros(3, int))
    x[0] = ours(np.array([1.5, 1.2])).sum()
    assert x.tolist() == [2, 0, 0]
    with pytest.raises(ValueError, match="cannot convert float NaN to integer"):
        x[1] = ours(np.array([np.nan])).sum()
    y = ours(np.zeros(3, "f4"))
    y[:] = ours(np.ones(4)).sum()
    assert y.tolist() == [4, 4, 4]


def test_other_dtypes_of_the_same_memory():
    a = np.arange(4.0)
    x = ours(a)
    same(real(x.view("i8")), a.view("i8"))
    same(real(x.view(np.complex128)), a.view(np.complex128))
    same(real(x.view("u1")), a.view("u1"))
    x.view("i8")[0] = 1
    assert x[0] == 5e-324
