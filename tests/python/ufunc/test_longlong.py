"""`longlong` next to `long`: of equal size, but a different type, which results distinguish as NumPy's do."""

import operator

import numpy
import pytest

import numelt

INTEGERS = "bBhHiIlLqQ"
BINARY = [
    operator.add, operator.mul, operator.floordiv, operator.and_, operator.truediv, operator.lt,
    numpy.maximum.__name__, numpy.left_shift.__name__, "concatenate", "where", "dot",
]  # fmt: skip


def call(np, what, a, b):
    if what == "concatenate":
        return np.concatenate([a, b])
    if what == "where":
        return np.where(a > b, a, b)
    return getattr(np, what)(a, b) if isinstance(what, str) else what(a, b)


ACTS = [
    lambda x: x.sum(), lambda x: x[1:3], lambda x: x.copy(), lambda x: x.astype("l"), lambda x: -x,
    lambda x: x * 2, lambda x: x + 1.5, lambda x: x.cumsum(), lambda x: x[x > 2], lambda x: x.mean(),
    lambda x: x.reshape(5, 1), lambda x: x.max(), lambda x: x.astype("q", copy=False) is x,
    lambda x: x.view("l"),
]  # fmt: skip


def seen(np, what, a, b):
    try:
        value = call(np, what, a, b)
    except TypeError as error:
        return str(error)
    array = numpy.asarray(value)
    return array.dtype.char, array.dtype.num, type(value.ravel()[0]), type(value.sum()), repr(value)


@pytest.mark.parametrize("d", INTEGERS)
@pytest.mark.parametrize("c", "lLqQ")
def test_types_of_results(c, d):
    for what in BINARY:
        results = [seen(np, what, np.arange(1, 4, dtype=c), np.ones(3, d)) for np in (numelt, numpy)]
        assert results[0] == results[1], what


@pytest.mark.parametrize("c", "lLqQ")
def test_identity_and_methods(c):
    a, b = numelt.arange(5, dtype=c), numpy.arange(5, dtype=c)
    assert a.dtype is b.dtype
    for act in ACTS:
        ours, theirs = act(a), act(b)
        assert isinstance(ours, (type(theirs), numelt.ndarray))
        assert repr(ours) == repr(theirs)
        if isinstance(theirs, numpy.ndarray | numpy.generic):
            assert (ours.dtype, ours.dtype.char) == (theirs.dtype, theirs.dtype.char)


def test_out_and_scalars():
    for np in (numelt, numpy):
        a = np.arange(5, dtype="q")
        assert np.add(a, 1, out=np.empty(5, "q")).dtype.char == "q"
        assert np.add(a, 1, out=np.empty(5, "l")).dtype.char == "l"
        assert np.add(np.arange(5), 1, out=a).tolist() == [1, 2, 3, 4, 5]
        assert (numpy.longlong(3) + np.arange(3)).dtype.char == (
            numpy.longlong(3) + numpy.arange(3)
        ).dtype.char
        a[1:3] = [7, 8]
        a += 1
        assert (a.dtype.char, a.tolist()) == ("q", [2, 8, 9, 5, 6])
        assert (numpy.array([5], "m8[s]") // numpy.array([2], "m8[s]")).dtype.char == "q"
