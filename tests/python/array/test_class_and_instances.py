"""The class of arrays: methods that are taken from it, and which objects count as its instances."""

import numpy
import pytest

import numelt

from ..support.compare import assert_same


def test_methods_of_the_class_and_of_instances():
    array = numelt.array([3, 1, 2])
    method = array.argsort
    assert_same(method(), numpy.array([1, 2, 0]))
    assert_same(method(kind="stable"), numpy.array([1, 2, 0]))
    assert_same(numelt.ndarray.argsort(array), numpy.array([1, 2, 0]))
    assert method.__self__ is array
    with pytest.raises(TypeError, match="unexpected keyword"):
        array.argsort(foo=3)

    class Holder:
        unique = numelt.unique
        dot = numelt.dot

    with pytest.raises(TypeError, match="'out' must be an array"):  # like NumPy's, it becomes a method
        Holder().dot([1, 2], [3, 4])
    with pytest.raises(TypeError):
        Holder().unique(1, 2, 3, 4, 5, 6, 7, 8)


@pytest.mark.parametrize(
    "value", [1, 2.5, "a", None, [1], numpy.arange(3), numpy.ma.array([1]), numpy.float64(1)]
)
def test_instances(value):
    assert isinstance(value, numelt.ndarray) is isinstance(value, numpy.ndarray)

    class Proxy:
        __class__ = type(value)

    class Odd:
        @property
        def __class__(self):
            raise ValueError("no class")

    assert isinstance(Proxy(), numelt.ndarray) is isinstance(value, numpy.ndarray)
    with pytest.raises(ValueError, match="no class"):
        isinstance(Odd(), numelt.ndarray)
    assert isinstance(numelt.arange(3), (int, numelt.ndarray))
    assert not isinstance(3, (str, numelt.ndarray))
