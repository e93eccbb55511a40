"""Few elements read and written by several arrays of positions, beside slices and integers."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numelt

DTYPES = ["f8", "f4", "i8", "u1", "c16", "?"]


@st.composite
def positions(draw, extent, rank, sizes, orders):
    """Positions along an axis, of some shape that goes together with the others, in some order of memory."""
    shape = tuple(draw(st.sampled_from([1, n])) for n in sizes[len(sizes) - rank :])
    far = draw(st.integers(0, 30)) == 0  # now and then, one is out of bounds
    each = st.integers(-extent - far, extent - 1 + far)
    flat = draw(st.lists(each, min_size=int(numpy.prod(shape)), max_size=int(numpy.prod(shape))))
    index = numpy.array(flat, draw(st.sampled_from(["i8", "i4", "i8"]))).reshape(shape)
    if draw(st.sampled_from(orders)) == "F":
        index = numpy.asfortranarray(index)
    return numpy.repeat(index, 2, axis=-1)[..., ::2] if draw(st.booleans()) else index


@st.composite
def cases(draw, orders="C"):
    """An array of NumPy's, a key with some arrays, whose memory has one of these orders, and a value."""
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=2, max_size=4)))
    sizes = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    dtype = numpy.dtype(draw(st.sampled_from(DTYPES)))
    array = (numpy.arange(numpy.prod(shape)) % 101).reshape(shape).astype(dtype)
    layout = draw(st.sampled_from(["C", "F", "backwards"]))
    array = (
        numpy.asfortranarray(array) if layout == "F" else array[..., ::-1] if layout == "backwards" else array
    )
    key = []
    for extent in shape:
        kind = draw(st.sampled_from(["array", "array", "array", "slice", "int"]))
        if kind == "array":
            key.append(draw(positions(extent, draw(st.integers(0, len(sizes))) or len(sizes), sizes, orders)))
        elif kind == "slice":
            key.append(slice(None, None, draw(st.sampled_from([1, -1, 2]))))
        else:
            key.append(draw(st.integers(-extent, extent - 1)))
    key = tuple(key)
    try:
        selected = array[key].shape
    except IndexError:
        selected = ()
    kind = draw(st.sampled_from(["number", "array", "row", "leading one", "other dtype", "wrong"]))
    count = int(numpy.prod(selected, dtype=int))
    value = (numpy.arange(count) % 97 + 1).reshape(selected).astype(dtype)
    if kind == "number":
        value = 7
    elif kind == "row" and selected:
        value = value[..., :1] if draw(st.booleans()) else value.reshape(-1)[: selected[-1]]
    elif kind == "leading one":
        value = value[None]
    elif kind == "other dtype":
        value = value.real.astype("i2")
    elif kind == "wrong":
        value = numpy.ones(count + 3, dtype)
    return array, key, value


def outcome(np, array, key, value, change):
    """Return what a program sees of a read, or of the array after a change, or the error."""
    real = np.array(array, order="K") if array.strides[-1] > 0 else np.array(array[..., ::-1])[..., ::-1]
    key = tuple(np.asarray(part) if isinstance(part, numpy.ndarray) else part for part in key)
    value = np.asarray(value) if isinstance(value, numpy.ndarray) else value
    try:
        if change == "read":
            result = real[key]
            # the step along an axis of one element is that of no element
            strides = [
                step for n, step in zip(result.shape, result.strides, strict=True) if n != 1 and result.size
            ]
            return numpy.asarray(result).tolist(), str(result.dtype), result.shape, strides
        if change == "set":
            real[key] = value
        else:
            real[key] += value
    except (IndexError, ValueError, TypeError) as error:
        return type(error), str(error)
    return numpy.asarray(real).tolist()


@pytest.mark.core
@given(case=cases(orders="CF"))
def test_reading(case):
    assert outcome(numelt, *case, "read") == outcome(numpy, *case, "read")


# positions in C order: docs/differences.md has what happens with equal positions in another one
@pytest.mark.core
@pytest.mark.parametrize("change", ["set", "add"])
@given(case=cases())
def test_changing(change, case):
    assert outcome(numelt, *case, change) == outcome(numpy, *case, change)


@pytest.mark.core
def test_matrices_that_are_assembled(recorded_and_at_once):
    def stiffness(np):
        K = np.zeros((12, 12))
        for first in range(0, 9, 2):
            t = np.array([first, first + 3, first + 1])
            K[np.ix_(t, t)] += np.arange(9.0).reshape(3, 3)
            K[t[:, None], t] -= 0.5
            K[t, t] = K[t[::-1], t]
        return K

    assert numpy.array_equal(numpy.asarray(stiffness(numelt)), stiffness(numpy))


def test_values_and_positions_of_the_array_itself():
    for np in (numpy, numelt):
        a = np.arange(16).reshape(4, 4) % 4
        a[np.ix_(a[0, :2], a[1])] = a[2:, :]
        b = np.arange(16).reshape(4, 4) % 4
        b[b[0][:, None], b[:, 1]] = b.T
        found = a.tolist(), b.tolist()
        if np is numpy:
            theirs = found
    assert found == theirs
