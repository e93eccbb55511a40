"""`for item in array`, in all forms: what the items are, and where an iterator stands."""

import copy
import operator
import pickle

import numpy
import pytest

import numelt

from ..support.layouts import COMPLEX, FLOATS, LAYOUTS, NATIVE, pair

pytestmark = [pytest.mark.core, pytest.mark.quick]

DTYPES = [*NATIVE, *FLOATS, *COMPLEX, "float16"]


def described(items):
    """Return the class, the shape and the bytes of each item."""
    return [(type(item).__name__, numpy.shape(item), numpy.asarray(item).tobytes()) for item in items]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", [name for name, (shape, _) in LAYOUTS.items() if shape])
def test_items(layout, dtype):
    theirs, ours = pair(numelt, dtype, layout, 5)
    assert described(ours) == described(theirs)
    assert described(reversed(ours)) == described(reversed(theirs))
    for kind in (list, tuple):
        assert described(kind(ours)) == described(kind(theirs))


@pytest.mark.parametrize("shape", [(7,), (4, 3), (3, 2, 2), (0,), (0, 3), (3, 0)])
def test_positions_of_iterators(shape):
    theirs = numpy.arange(float(numpy.prod(shape))).reshape(shape)
    iterators = [iter(array) for array in (theirs, numelt.array(theirs))]
    for _ in range(2):
        taken = [described([next(iterator, None)]) for iterator in iterators]
        assert taken[0] == taken[1]
    assert operator.length_hint(iterators[1]) == operator.length_hint(iterators[0])
    for again in (copy.copy, copy.deepcopy, lambda iterator: pickle.loads(pickle.dumps(iterator))):
        rests = [described(again(iterator)) for iterator in iterators]
        assert rests[0] == rests[1]
    assert described(iterators[1]) == described(iterators[0])
    assert [next(iterator, "end") for iterator in iterators] == ["end", "end"]


def test_rows_are_views_and_elements_are_not():
    m = numelt.zeros((3, 2))
    for number, row in enumerate(m):
        row += number
        assert row.base is m
    assert m.tolist() == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    x = numelt.zeros(3)
    for element in x:
        element += 1
    assert x.tolist() == [0.0, 0.0, 0.0]


def test_what_is_written_meanwhile_is_seen():
    x = numelt.arange(6.0)
    seen = []
    for element in x:
        seen.append(element)
        x[3:] = x[3:] * 2 + 1
    assert seen == [0.0, 1.0, 2.0, 31.0, 79.0, 191.0]


def test_values_that_are_not_computed_yet():
    x = numelt.arange(20_000.0)
    assert list(x * 2 + 1)[-2:] == [39997.0, 39999.0]
    assert [row[1] for row in (x * 2).reshape(-1, 2)][-1] == 39998.0
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert next(iter(1 / x)) == numpy.inf


def test_arrays_without_axes_are_refused():
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        iter(numelt.array(1.0))
