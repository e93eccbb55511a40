"""Reductions, scans and matrix products against NumPy."""

import numpy as np
import pytest

from numelt import _core

from .helpers import DTYPES, ours, real, same, sample

AXES = [None, 0, 1, -1, (0,), (0, 2), (0, 1, 2), ()]


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "any", "all"])
@pytest.mark.parametrize("axis", AXES, ids=str)
def test_reductions(name, axis):
    for dtype in DTYPES:
        a = sample(dtype, (2, 3, 4))
        for source in (a, a.transpose(2, 0, 1), a[:, ::-1, ::2]):
            for keepdims in (False, True):
                got = getattr(_core.from_numpy(source, False), name)(axis=axis, keepdims=keepdims)
                want = getattr(source, name)(axis=axis, keepdims=keepdims)
                same(real(got), want, 64 if name in ("sum", "prod") else 0)


@pytest.mark.parametrize("name", ["argmin", "argmax"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_positions(name, axis):
    for dtype in DTYPES:
        a = sample(dtype, (3, 4, 5))
        for source in (a, a.T, a[::-1]):
            got = getattr(_core.from_numpy(source, False), name)(axis=axis)
            same(real(got), getattr(source, name)(axis=axis))
    a = np.array([1.0, np.nan, 3, np.nan])
    assert ours(a).argmax() == 1
    same(real(ours(np.eye(3)).argmax(axis=1, keepdims=True)), np.eye(3).argmax(axis=1, keepdims=True))


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_scans(name, axis):
    for dtype in DTYPES:
        a = sample(dtype, (3, 4))
        for source in (a, a.T, a[:, ::-1]):
            got = getattr(_core.from_numpy(source, False), name)(axis=axis)
            same(real(got), getattr(source, name)(axis=axis), 16)


def test_empty_and_scalar_arrays():
    for shape in [(0,), (0, 3), (3, 0)]:
        a = np.zeros(shape)
        x = ours(a)
        for name in ("sum", "prod", "any", "all"):
            for axis in (None, 0):
                same(real(getattr(x, name)(axis=axis)), getattr(a, name)(axis=axis))
        same(real(x + 1), a + 1)
        same(real(x.cumsum()), a.cumsum())
    with pytest.raises(
        ValueError, match="zero-size array to reduction operation maximum which has no identity"
    ):
        ours(np.zeros((0, 3))).max()
    with pytest.raises(ValueError, match="attempt to get argmin of an empty sequence"):
        ours(np.zeros(0)).argmin()
    same(real(ours(np.zeros((0, 3))).max(axis=1)), np.zeros((0, 3)).max(axis=1))
    zero_d = ours(np.array(5.0))
    assert real(zero_d.sum()) == 5
    assert real(zero_d + 1) == 6
    assert type(real(zero_d + 1)) is np.float64
    assert zero_d.argmax() == 0
    with pytest.raises(TypeError, match="len\\(\\) of unsized object"):
        len(zero_d)


def test_out_and_dtype():
    a = sample("i2", (3, 4))
    x, out = ours(a), ours(np.zeros(4))
    assert x.sum(axis=0, out=out) is out
    same(real(out), a.sum(axis=0).astype(float))
    same(real(x.sum(dtype="f4")), a.sum(dtype="f4"))
    same(real(x.sum(axis=1, dtype="i2")), a.sum(axis=1, dtype="i2"))
    with pytest.raises(np.exceptions.AxisError, match="axis 2 is out of bounds for array of dimension 2"):
        x.sum(axis=2)
    with pytest.raises(ValueError, match="duplicate value in 'axis'"):
        x.sum(axis=(0, 0))


SHAPES = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((2, 3), (5, 3, 4)), ((1, 2, 3), (5, 3, 4)), ((0, 3), (3, 4)), ((2, 0), (0, 4)), ((3,), (5, 3, 4)),
    ((5, 2, 3), (3,)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_matmul(shapes):
    for dtype in ("i4", "f4", "f8", "c16", "bool"):
        a, b = sample(dtype, shapes[0], 1), sample(dtype, shapes[1], 2)
        same(real(ours(a) @ ours(b)), a @ b, 64)
    a, b = sample("f8", shapes[0], 1), sample("f4", shapes[1], 2)
    same(real(ours(a) @ ours(b)), a @ b, 64)


def test_matmul_layouts_and_errors():
    a, b = sample("f8", (6, 8)), sample("f8", (8, 6))
    for u in (a, np.asfortranarray(a), a[:, ::-1], b.T):
        for v in (b, np.asfortranarray(b), b[::-1], a.T):
            same(real(_core.from_numpy(u, False) @ _core.from_numpy(v, False)), u @ v, 64)
    for u, v in [(a, a), (a, np.float64(3)), (np.ones(3), np.ones(4))]:
        with pytest.raises((ValueError, TypeError)) as want:
            u @ v
        with pytest.raises(type(want.value)) as got:
            ours(u) @ (ours(v) if isinstance(v, np.ndarray) else v)
        assert str(got.value) == str(want.value)
