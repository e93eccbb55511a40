"""Calls on plain arrays that the core answers without NumPy: NumPy's results all the same."""

import numpy
import pytest

import numelt

from ..support.compare import as_numpy
from ..support.layouts import COMPLEX, FLOATS, NATIVE

SHAPES = [(0,), (1,), (5,), (40,), (3, 4), (2, 0, 3), (2, 3, 4)]


def values(dtype, shape):
    """Return an array with zeros of both signs and other special values in it."""
    rng = numpy.random.default_rng(3)
    a = rng.integers(0, 3, shape).astype(dtype)
    if a.dtype.kind in "fc":
        flat = a.reshape(-1)
        special = [0.0, -0.0, numpy.nan, numpy.inf, 1e-310, -1.0]
        flat[: len(special)] = special[: flat.size]
        flat[::3] *= -1
        if a.dtype.kind == "c":
            flat[1::4] = complex(-0.0, -0.0)
            flat[2::4] = complex(0.0, 1.0)
    return a


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [*NATIVE, *FLOATS, *COMPLEX, "float16"])
@pytest.mark.filterwarnings("ignore")
def test_places_that_are_not_zero(dtype, shape):
    theirs = values(dtype, shape)
    ours = numelt.array(theirs)
    ours.shape, ours.sum()
    for step in (lambda np, a: np.nonzero(a), lambda np, a: a.nonzero(), lambda np, a: a.T.nonzero()):
        got, expected = step(numelt, ours), step(numpy, theirs)
        assert type(got) is tuple
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            assert one.dtype == other.dtype
            assert as_numpy(one).tolist() == other.tolist()


@pytest.mark.parametrize("dtype", ["float64", "int8", "complex64", "bool"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_copies_and_views(dtype, shape):
    theirs = values(dtype, shape)
    ours = numelt.array(theirs)
    for cut in (lambda a: a, lambda a: a.T, lambda a: a[..., ::2], lambda a: a[::-1], lambda a: a[:1]):
        a, b = cut(ours), cut(theirs)
        for name in ("copy", "ascontiguousarray", "flip"):
            made, wanted = getattr(numelt, name)(a), getattr(numpy, name)(b)
            assert made.strides == wanted.strides or 0 in shape or made.size == 1, name
            assert (made.dtype, made.shape) == (wanted.dtype, wanted.shape)
            assert as_numpy(made).tobytes() == wanted.tobytes()
            assert (made is a) == (wanted is b)
            assert numpy.shares_memory(as_numpy(made), as_numpy(a)) == numpy.shares_memory(wanted, b)


def test_flip_is_a_view():
    a = numelt.arange(6.0).reshape(2, 3)
    turned = numelt.flip(a)
    turned[0, 0] = 10.0
    assert a.tolist() == [[0, 1, 2], [3, 4, 10]]
    assert turned.base is not None
    a.flags.writeable = False
    assert not numelt.flip(a).flags.writeable
    assert numelt.flip([1, 2, 3]).tolist() == [3, 2, 1]
    assert numelt.flip(a, 0).tolist() == [[3, 4, 10], [0, 1, 2]]
    assert float(numelt.flip(numelt.array(2.0))) == 2.0


@pytest.mark.parametrize("dtype", ["int64", "uint8", "int16", "bool"])
def test_take(dtype):
    theirs = numpy.arange(10.0) * 1.5
    ours = numelt.array(theirs)
    index = numpy.array([0, 1, 1, 0, 1]).astype(dtype)
    for positions in (index, index[::-1], index[:0], index.reshape(1, -1), index[0]):
        own = numelt.asarray(positions) if isinstance(positions, numpy.ndarray) else positions
        expected = theirs.take(positions)
        for got in (ours.take(own), numelt.take(ours, own)):
            assert as_numpy(got).tolist() == expected.tolist()
            assert numpy.shape(got) == numpy.shape(expected)
    for wrong in ([10], [-11], [0, 99]):
        with pytest.raises(IndexError) as theirs_said:
            theirs.take(numpy.array(wrong))
        with pytest.raises(IndexError) as ours_said:
            ours.take(numelt.array(wrong))
        assert str(ours_said.value) == str(theirs_said.value)
    matrix = numelt.arange(6.0).reshape(2, 3)
    assert matrix.take(numelt.array([5, 0])).tolist() == [5, 0]
    assert ours.take(numelt.array([-1, -10])).tolist() == [13.5, 0.0]
