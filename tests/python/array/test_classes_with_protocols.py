"""Subclasses, classes with NumPy's protocols, and arrays whose elements share bytes."""

import functools
import operator

import numpy
import pytest

import numelt

from ..support.compare import assert_same


class Named(numelt.ndarray):
    def sum(self, *args, **kwargs):
        return ("named", float(numelt.ndarray.sum(self, *args, **kwargs)))


class Logged(numelt.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [value.view(numelt.ndarray) if isinstance(value, Logged) else value for value in inputs]
        return super().__array_ufunc__(ufunc, method, *plain, **kwargs).view(Logged)


class Duck:
    """A class that implements some functions itself, and records the operands that a ufunc passes to it."""

    def __array_function__(self, func, types, args, kwargs):
        return "summed" if func is numelt.sum else NotImplemented

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ufunc.__name__, method, len(inputs)


class Wrapping:
    def __array__(self, dtype=None, copy=None):
        return numelt.ones(2)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return "wrapped", type(array) is numelt.ndarray, array.tolist()


def test_methods_of_the_class_take_subclasses():
    x = numelt.arange(4.0).view(Named)
    assert x.sum() == ("named", 6.0)
    assert numelt.ndarray.sum(numelt.arange(4)) == 6
    assert type(x.view(numelt.ndarray)) is numelt.ndarray
    assert type(numelt.ma.array([1, 2]).view(numelt.ndarray)) is numelt.ndarray
    assert type(numelt.ndarray.__getitem__(x, slice(1, 2))) is Named


def test_subclass_with_ufunc_protocol():
    x = numelt.arange(3.0).view(Logged)
    for result in (x + 1, x + numelt.ones(3), numelt.ones(3) + x, numelt.add(x, x)):
        assert type(result) is Logged
    assert (x + numelt.ones(3)).tolist() == [1.0, 2.0, 3.0]


def test_classes_see_our_functions():
    assert numelt.sum(Duck()) == "summed"
    assert numelt.add(numelt.ones(2), Duck()) == ("add", "__call__", 2)
    assert numelt.ones(2) + Duck() == ("add", "__call__", 2)
    assert numpy.add(numelt.ones(2), Duck()) == ("add", "__call__", 2)
    with pytest.raises(TypeError, match=r"no implementation found for 'numpy.mean' on types that implement"):
        numelt.mean(Duck())
    assert numelt.add(Wrapping(), 1) == ("wrapped", True, [2.0, 2.0])


def test_resize():
    x = numelt.arange(3)
    x.resize(2, 3)
    assert x.tolist() == [[0, 1, 2], [0, 0, 0]]
    view = x[0]
    # with Python 3.14, NumPy has other words than with older versions
    words = "cannot resize an array that (references or is referenced|may be referenced)"
    with pytest.raises(ValueError, match=words):
        x.resize(2)
    x.resize(2, refcheck=False)
    assert x.tolist() == [0, 1]
    assert view.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="does not own its data"):
        view.resize(9)


def test_writes_to_elements_that_share_bytes():
    for np in (numpy, numelt):
        x = np.lib.stride_tricks.as_strided(np.arange(6.0), (3, 2), (8, 0))
        x[...] = np.arange(6.0).reshape(3, 2)
        x += 1
        np.multiply(x, 2, out=x)
        if np is numpy:
            expected = x.copy()
    assert_same(x, expected)


def test_memory_of_others():
    buffer = b"abcd"
    x = numelt.frombuffer(buffer, "u1")
    assert x.base is buffer
    assert not x.flags.owndata
    with pytest.raises(ValueError, match="cannot set WRITEABLE flag to True of this array"):
        x.flags.writeable = True
    with pytest.raises(MemoryError, match=r"Unable to allocate .* for an array with shape"):
        numelt.empty(2**50)


def test_records_convert_without_loss():
    for dtype in ("i8,U3", "i4,O", "T", "M8[s],f4"):
        x = numelt.zeros(2, dtype)
        assert numpy.asarray(x).dtype == numpy.dtype(dtype)


@pytest.mark.parametrize("options", [{}, {"keepdims": True}, {"axis": 0}, {"axis": 1, "keepdims": True}])
def test_means_of_half_precision_are_of_our_class(recorded, options):
    values = numpy.arange(12, dtype="f2").reshape(3, 4)
    result, expected = numelt.array(values).mean(**options), values.mean(**options)
    assert_same(result, expected)
    assert type(result) is (numelt.ndarray if expected.ndim else numpy.float16)


def test_classes_of_libraries_arrays_are_equal():
    """A library's result is a NumPy array; programs compare its class, and libraries that of our arrays."""
    x, theirs = numelt.arange(3.0), numpy.arange(3.0)
    for kind in (type(x), type(theirs)):
        assert kind == numelt.ndarray
        assert kind == numpy.ndarray
        assert operator.ne(kind, numelt.ndarray) is False
        assert kind in (int, numelt.ndarray)
        assert kind in [numpy.ndarray]
        assert {numelt.ndarray: "array"}[kind] == "array"
        assert {numpy.ndarray: "array"}[kind] == "array"
        assert kind not in {list, Named}
    for other in (list, Named, numpy.ma.MaskedArray, 3):
        assert operator.eq(numelt.ndarray, other) is operator.eq(other, numelt.ndarray) is False
    assert numelt.ndarray in Named.__mro__


def test_functions_that_choose_by_class():
    @functools.singledispatch
    def kind(value):
        return "anything"

    @kind.register(numelt.ndarray)
    def _(value):
        return "array"

    @functools.singledispatch
    def theirs(value):
        return "anything"

    @theirs.register(numpy.ndarray)
    def _(value):
        return "array"

    for choose in (kind, theirs):
        for value in (numelt.ones(2), numpy.ones(2), numelt.ones(2).view(Named)):
            assert choose(value) == "array"
        assert choose(3) == "anything"
