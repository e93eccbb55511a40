"""Attributes and methods of the class: their results, what they store, and the memory that others see."""

import gc
import inspect
import itertools
import math
import pickle
import sys
import types

import numpy
import pytest

import numelt

from ..support.compare import assert_same
from ..support.worded_outcomes import outcome

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("recorded_and_at_once")]


def layouts(np, shape, dtype):
    """Return arrays of one shape in several layouts."""
    size = math.prod(shape)
    dense = (np.arange(size) % 5).astype(dtype).reshape(shape)
    yield dense
    yield dense.T
    if shape:
        yield np.concatenate([dense, dense], axis=-1)[..., ::2]
        yield dense[::-1]
        yield np.broadcast_to(dense, (2, *shape))
    frozen = dense.copy()
    frozen.flags.writeable = False
    yield frozen


def pairs(shape, dtype):
    return zip(layouts(numelt, shape, dtype), layouts(numpy, shape, dtype), strict=True)


def test_attributes_that_are_set():
    results = []
    for np in (numelt, numpy):
        x, found = np.arange(6.0), []
        x.shape = (2, 3)
        found.append(x.copy())
        z = np.arange(3) + 0j
        z.real = 7
        found.append(z)
        for name in ("ndim", "size", "itemsize", "nbytes", "T"):
            found.append(outcome(setattr, x, name, 3)[1][0])
        for name in ("shape", "dtype", "ndim"):
            found.append(outcome(delattr, x, name)[1][0])
        found.append(outcome(setattr, x, "shape", (4, 4))[1])
        results.append(found)
    for ours, theirs in zip(*results, strict=True):
        if isinstance(theirs, numpy.ndarray):
            assert_same(ours, theirs)
        else:
            assert ours == theirs


def test_arrays_are_copied_or_given_back():
    x = numelt.arange(5.0)
    assert all(y is x for y in (numelt.asarray(x), numelt.asarray(x, float), numelt.asarray(x, dtype="f8")))
    copy = numelt.array(x)
    copy[0] = 9
    assert copy is not x
    assert float(x[0]) == 0
    assert numelt.asarray(x, "f4").dtype == "f4"
    plain = numpy.arange(4.0)
    shared = numelt.asarray(plain)
    shared[1] = 7
    assert plain[1] == 7
    z = numelt.zeros(3)
    z += 1
    assert numelt.zeros(3).tolist() == [0, 0, 0]  # its memory may be that of an array that has ended


@pytest.mark.parametrize("np", [numelt, numpy], ids=["numelt", "numpy"])
def test_keys_and_values(np):
    x = np.zeros((3, 4))
    x[:, 1] = np.arange(3.0)
    x[..., 2] = 2
    x[None, 0] = [[1.0, 2.0, 3.0, 4.0]]
    x[1:, 1:] = -1.5
    x[...] += 1
    x[::-1, 0] = np.arange(3)
    x[2] = x[1]
    x[1:] = x[:-1]
    assert x.tolist() == [[2.0, 3.0, 4.0, 5.0], [2.0, 3.0, 4.0, 5.0], [1.0, -0.5, -0.5, -0.5]]
    for key, value in [
        ((0, 9), 1.0),
        (9, 1.0),
        (slice(None), np.arange(5.0)),
        ((slice(None), 7), 0.0),
        ("a", 1),
    ]:
        with pytest.raises((IndexError, ValueError)):
            x[key] = value
    x.flags.writeable = False
    for key in (0, (0, 0), slice(1), (slice(None), 1), ..., None):
        with pytest.raises(ValueError, match="read-only"):
            x[key] = 1.0
    with pytest.raises(ValueError, match="cannot delete"):
        del x[0]


def test_members_tell_what_they_are():
    for name in ("reshape", "ravel", "transpose", "squeeze", "view", "item", "tolist", "astype", "fill"):
        method = vars(numelt.ndarray)[name]
        assert type(method) is numelt._core.method
        assert method.__name__ == name
        assert method.__doc__ == getattr(numpy.ndarray, name).__doc__
        with pytest.raises(TypeError):
            method()
        with pytest.raises(TypeError):
            method(3)
    assert type(vars(numelt.ndarray)["shape"]) is types.GetSetDescriptorType
    for name in ("zeros", "ones", "empty", "array", "asarray"):
        function = getattr(numelt, name)
        assert function.__name__ == name
        assert ">>>" in function.__doc__
        assert next(iter(inspect.signature(function).parameters)) in ("shape", "object", "a")
        assert pickle.loads(pickle.dumps(function)) is function
    for name in ("sqrt", "add"):
        assert pickle.loads(pickle.dumps(getattr(numelt, name))) is getattr(numelt, name)


def test_nothing_is_kept():
    x = numelt.arange(12.0)
    kinds = [
        lambda: x.shape, lambda: x.reshape(3, 4), lambda: x.T, lambda: numelt.asarray(x), lambda: x.flags,
        lambda: iter(x), lambda: numelt.zeros(3), lambda: x.reshape(5, 5), lambda: x.item(99),
        lambda: x.tolist(),
        lambda: numelt.sqrt(x), lambda: numelt.sqrt(2.0), lambda: numelt.sqrt(x, dtype="f4"),
        lambda: x.fill(2),
        lambda: x.view(), lambda: x.squeeze(), lambda: x.astype("f4", copy=False), lambda: numelt.nonsense,
        lambda: x.__setitem__((0, 0), 1.0), lambda: x.__setitem__(slice(3), 1.0),
        lambda: numelt.array([1.0, 2.0]),
    ]  # fmt: skip
    for at, kind in enumerate(kinds):
        for _ in range(5):
            outcome(kind)
        gc.collect()
        before = sys.getrefcount(x), len(gc.get_objects())
        for _ in range(200):
            outcome(kind)
        gc.collect()
        assert sys.getrefcount(x) == before[0], at
        assert len(gc.get_objects()) - before[1] < 100, at


def test_iterators():
    for shape in ((3,), (2, 3), (0,), (0, 3)):
        for ours, theirs in pairs(shape, numpy.dtype("f8")):
            assert_same(list(ours), list(theirs))
            pieces = iter(ours)
            first = list(itertools.islice(pieces, 1))
            assert_same(first + list(pieces), list(theirs))
    with pytest.raises(TypeError, match="0-d"):
        iter(numelt.array(1.0))


def test_memory_that_others_see():
    x, y = numelt.arange(6.0), numelt.arange(10.0, 16.0)
    seen, other = numpy.asarray(x), numpy.arange(6.0)
    adopted = numelt.asarray(other)
    x[1:3] = y[::-1][:2]
    assert seen.tolist() == [0, 15, 14, 3, 4, 5]
    x[:2] = 7
    assert seen[:2].tolist() == [7, 7]
    adopted[1:] = x[1:]
    assert other.tolist() == [0, 7, 14, 3, 4, 5]
    adopted[0] = 9
    adopted[4:] = 8
    assert other.tolist() == [9, 7, 14, 3, 8, 8]
    window = numelt.asarray(other[2:])
    window[:] = adopted[:4]
    assert other.tolist() == [9, 7, 9, 7, 14, 3]


@pytest.mark.parametrize("axis", [None, 0, 1, -1, 5, (0,), (0, 2), (), True, 1.0, numpy.int64(0), "x"])
@pytest.mark.parametrize("shape", [(), (1,), (0,), (3,), (1, 1), (3, 1), (2, 3), (1, 0, 1), (2, 1, 3, 1)])
def test_squeeze(shape, axis):
    def squeezed(np, call):
        x = (
            np.arange(float(numpy.prod(shape, dtype=int))).reshape(shape)[..., ::-1]
            if shape
            else np.array(2.0)
        )
        try:
            result = call(np, x)
        except (TypeError, ValueError, IndexError) as error:
            return type(error), str(error)
        own = numpy.asarray(result)
        is_view = numpy.shares_memory(own, numpy.asarray(x))
        return result is x, type(result) is np.ndarray, result.strides, is_view, own.tolist()

    calls = [
        lambda np, x: np.squeeze(x, axis),
        lambda np, x: x.squeeze(axis),
        lambda np, x: np.squeeze(x, axis=axis),
    ]
    if axis is None:
        calls += [lambda np, x: np.squeeze(x), lambda np, x: x.squeeze()]
    for call in calls:
        assert squeezed(numelt, call) == squeezed(numpy, call)
