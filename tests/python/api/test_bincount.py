"""`bincount` of few labels, which compiled code counts, gives NumPy's results, bits and errors."""

import itertools
import warnings

import numpy
import pytest

import numelt

RNG = numpy.random.default_rng(3)
LABELS = [RNG.integers(0, 9, n).astype(t) for n in (1, 50, 3000) for t in "bhilBHILQ?"]
LABELS += [RNG.integers(0, 9, 20_000), RNG.integers(0, 9, 100)[::2], RNG.integers(0, 9, 60)[7:57]]
LABELS += [numpy.array(x) for x in ([0, -1], [65535], [65536], [[1]], [1.5], 3)]
LABELS += [numpy.zeros(0, int), numpy.array([1, 2], ">i4"), numpy.array([1, 2], object)]
OTHERS = [[1, 2, 2], 3, None, "a", numpy.ma.array([1, 2, 3], mask=[0, 1, 0])]
WEIGHTS = [RNG.random(n) for n in (1, 50, 3000, 33)]
WEIGHTS += [RNG.random(100)[::2], RNG.random(50).astype("f4"), numpy.arange(50), RNG.random(50) * 1j]
WEIGHTS += [numpy.full(50, numpy.nan), numpy.full(50, numpy.inf), RNG.normal(size=50) * 1e300]
MORE = [[1, 2, 3], 2.0]
LEAST = [(), (0,), (20,), (None,), (-1,), (2.0,), (70_000,), (numpy.int64(7),), (True,)]


def _outcome(module, *args, **kwargs):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            made = module.bincount(*args, **kwargs)
        except Exception as error:
            return type(error), str(error)
    told = [(w.category, str(w.message)) for w in caught]
    flags = made.flags.owndata, made.flags.writeable
    return made.dtype, made.shape, made.strides, flags, numpy.asarray(made).tobytes(), told


@pytest.mark.core
@pytest.mark.parametrize("place", range(len(LABELS) + len(OTHERS)))
def test_as_numpy(place):
    ours = [numelt.array(x, copy=True) for x in LABELS] + OTHERS
    weights = [None, *map(numelt.array, WEIGHTS), *MORE]
    for (theirs, mine), least in itertools.product(zip([None, *WEIGHTS, *MORE], weights, strict=True), LEAST):
        args = (LABELS + OTHERS)[place], theirs, *least
        assert _outcome(numelt, ours[place], mine, *least) == _outcome(numpy, *args), args


def test_arguments_by_name():
    x, w = numelt.array([1, 2, 2]), numelt.array([0.5, 1.0, 2.0])
    assert numelt.bincount(x, weights=w, minlength=4).tolist() == [0.0, 0.5, 3.0, 0.0]
    assert numelt.bincount(x, minlength=4).tolist() == [0, 1, 2, 0]
    for wrong in ({"x": x}, {"bins": 3}, {"minlength": 1, "least": 2}):
        assert _outcome(numelt, x, **wrong) == _outcome(numpy, numpy.array([1, 2, 2]), **wrong)


@pytest.mark.core
def test_pending_operands():
    x, w = numelt.arange(3000) % 7, numelt.arange(3000) * 0.1
    x += 1
    w[x > 6] = 1.0
    labels = numpy.arange(3000) % 7 + 1
    weights = numpy.where(labels > 6, 1.0, numpy.arange(3000) * 0.1)
    assert numelt.bincount(x, w).tolist() == numpy.bincount(labels, weights).tolist()
    # labels and weights in the same memory
    both = numelt.arange(8)
    assert numelt.bincount(both, both.view("f8")).tolist() == (numpy.arange(8).view("f8") + 0).tolist()
