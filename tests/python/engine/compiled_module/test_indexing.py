"""Indexing with arrays and masks against NumPy: all kinds of keys, layouts and dtypes, reading and
writing."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from numelt import _core

from .helpers import DTYPES, ours, real, sample

SHAPES = [(), (1,), (5,), (0,), (3, 4), (4, 1), (2, 0), (2, 3, 4), (3, 2, 2, 3)]
LAYOUTS = ["C", "F", "reversed", "strided", "transposed"]


def laid_out(array, layout):
    """The same elements in another memory layout, as (base, view of it)."""
    if layout == "F":
        base = np.asfortranarray(array)
        return base, lambda x: x
    if layout == "reversed":
        base = array[(slice(None, None, -1),) * array.ndim].copy()
        return base, lambda x: x[(slice(None, None, -1),) * x.ndim]
    if layout == "strided":
        base = np.repeat(array, 2, axis=-1) if array.ndim else array.copy()
        return base, lambda x: x[..., ::2] if x.ndim else x
    if layout == "transposed":
        base = array.T.copy()
        return base, lambda x: x.T
    return array.copy(), lambda x: x


@st.composite
def index_arrays(draw, shape, n):
    """An array of integers for an axis of `n`, sometimes out of bounds."""
    low, high = (-n, n - 1) if n > 0 else (0, 0)
    if draw(st.integers(0, 40)) == 0:
        high = n + 1
    dtype = draw(st.sampled_from(["i8", "i8", "i4", "i1", "u1", "u8"]))
    if dtype[0] == "u":
        low, high = 0, max(high, 0)
    size = int(np.prod(shape, dtype=int))
    values = draw(st.lists(st.integers(low, high), min_size=size, max_size=size))
    array = np.array(values, dtype=dtype).reshape(shape)
    return laid_out(array, draw(st.sampled_from(LAYOUTS)))


@st.composite
def keys(draw, shape):
    """Items of a key: ("slice", ...), ("int", i), ("array", base, view), ..."""
    items = []
    picked = draw(st.sampled_from([(2,), (3,), (1,), (2, 3), (0,), ()]))
    axis = 0
    ellipsis = draw(st.booleans())
    while axis < len(shape) and draw(st.integers(0, 5)) > 0:
        n = shape[axis]
        kind = draw(
            st.sampled_from(["slice", "int", "array", "array", "mask", "none", "list", "truth", "dots"])
        )
        if kind == "slice":
            part = st.one_of(st.none(), st.integers(-n - 1, n + 1))
            step = draw(st.sampled_from([None, 1, 2, -1, -2]))
            items.append(slice(draw(part), draw(part), step))
            axis += 1
        elif kind == "int":
            items.append(draw(st.integers(-n, n - 1)) if n else 0)
            axis += 1
        elif kind == "array":
            own = draw(st.sampled_from([picked, picked, picked[-1:], (1,), (1,) * len(picked)]))
            items.append(("array", *draw(index_arrays(own, n))))
            axis += 1
        elif kind == "list":
            values = [draw(st.integers(-n, n - 1)) if n else 0 for _ in range(picked[-1] if picked else 1)]
            items.append(values)
            axis += 1
        elif kind == "mask":
            rank = draw(st.integers(1, len(shape) - axis))
            own = list(shape[axis : axis + rank])
            if draw(st.integers(0, 40)) == 0:
                own[0] += 1
            size = int(np.prod(own, dtype=int))
            bits = draw(st.lists(st.booleans(), min_size=size, max_size=size))
            items.append(
                ("array", *laid_out(np.array(bits, bool).reshape(own), draw(st.sampled_from(LAYOUTS))))
            )
            axis += rank
        elif kind == "none":
            items.append(None)
        elif kind == "truth":
            items.append(draw(st.booleans()))
        elif ellipsis:
            items.append(Ellipsis)
            ellipsis = False
    if len(items) == 1 and draw(st.booleans()):
        return items[0]
    return tuple(items)


def key_for(key, convert):
    """The key with its arrays converted by `convert`."""
    if isinstance(key, tuple) and len(key) == 3 and isinstance(key[0], str):
        return key[2](convert(key[1]))
    if isinstance(key, tuple):
        return tuple(key_for(item, convert) for item in key)
    return key


def outcome(function):
    try:
        return function(), None
    except Exception as error:
        return None, error


def assert_same_error(got, want):
    assert type(got) is type(want), f"{got!r} for {want!r}"
    assert str(got) == str(want)


def same_layout(got, want):
    """Assert the same strides, except for axes of one element and empty arrays."""
    if want.size == 0:
        return True
    return (
        all(a == b for a, b, n in zip(got.strides, want.strides, want.shape, strict=True) if n > 1)
        and got.flags.c_contiguous == want.flags.c_contiguous
    )


def equal(got, want):
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    assert got.tobytes() == want.tobytes(), f"{got}\nNumPy:\n{want}"


quick = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@pytest.mark.core
@quick
@given(st.data())
def test_reading(data):
    shape = data.draw(st.sampled_from(SHAPES))
    dtype = data.draw(st.sampled_from(DTYPES))
    base, view = laid_out(np.array(sample(dtype, shape)), data.draw(st.sampled_from(LAYOUTS)))
    key = data.draw(keys(shape))
    pending = data.draw(st.booleans())
    source = ours(base)
    if pending:
        source += np.array(0, dtype)
    want, error = outcome(lambda: view(base)[key_for(key, np.array)])
    got, failure = outcome(lambda: view(source)[key_for(key, ours)])
    if error is not None or failure is not None:
        assert_same_error(failure, error)
        return
    assert isinstance(want, np.ndarray) == isinstance(got, _core.ndarray)
    if isinstance(want, np.ndarray):
        assert same_layout(got, want), (got.strides, want.strides)
    equal(np.asarray(real(got)), np.asarray(want))


@st.composite
def values(draw, shape, dtype):
    """A value to assign to a selection of a shape."""
    kind = draw(st.sampled_from(["number", "whole", "whole", "broadcast", "other", "wrong"]))
    if kind == "number":
        return 3
    if kind == "wrong":
        return sample(dtype, (7,), 9)
    if kind == "broadcast":
        shape = tuple(1 if draw(st.booleans()) else n for n in shape[draw(st.integers(0, len(shape))) :])
    if kind == "other":
        dtype = draw(st.sampled_from([d for d in DTYPES if np.dtype(d).kind != "c"]))
    return sample(dtype, shape, 9)


@pytest.mark.core
@quick
@given(st.data())
def test_writing(data):
    shape = data.draw(st.sampled_from(SHAPES))
    dtype = data.draw(st.sampled_from(DTYPES))
    base, view = laid_out(np.array(sample(dtype, shape)), data.draw(st.sampled_from(LAYOUTS)))
    key = data.draw(keys(shape))
    selected, _ = outcome(lambda: view(base)[key_for(key, np.array)])
    value = data.draw(values(np.shape(selected), dtype))
    target = ours(base)
    if data.draw(st.booleans()):
        target += np.array(0, dtype)

    def write(array, convert):
        array[key_for(key, convert)] = convert(value) if isinstance(value, np.ndarray) else value

    _, failure = outcome(lambda: write(view(target), ours))
    _, error = outcome(lambda: write(view(base), np.array))
    if error is not None or failure is not None:
        assert_same_error(failure, error)
    equal(np.asarray(real(target)), base)


@pytest.mark.core
@quick
@given(st.data())
def test_updating_in_place(data):
    shape = data.draw(st.sampled_from(SHAPES[1:]))
    dtype = data.draw(st.sampled_from([d for d in DTYPES if d not in ("bool",)]))
    base, view = laid_out(np.array(sample(dtype, shape)), data.draw(st.sampled_from(LAYOUTS)))
    key = data.draw(keys(shape))
    target = ours(base)

    def update(array, convert):
        array[key_for(key, convert)] += 1

    _, failure = outcome(lambda: update(view(target), ours))
    _, error = outcome(lambda: update(view(base), np.array))
    if error is not None or failure is not None:
        assert_same_error(failure, error)
    equal(np.asarray(real(target)), base)


@pytest.mark.core
def test_overlapping_assignments_read_first():
    for dtype in ("f8", "i2"):
        plain = np.arange(12, dtype=dtype)
        index = np.array([3, 2, 2, 7])
        for statement in (
            "x[i] = x[:4]",
            "x[1:5][i % 4] = x[i]",
            "x[i] = x[i][::-1]",
            "x[::-1][i] = x[i]",
            "x.reshape(3, 4)[[2, 0]] = x.reshape(3, 4)[[0, 1]]",
        ):
            want, got = plain.copy(), ours(plain)
            exec(statement, {"x": want, "i": index})
            exec(statement, {"x": got, "i": ours(index)})
            equal(real(got), want)


@pytest.mark.core
def test_large_indices():
    rng = np.random.default_rng(1)
    table, index = rng.random(1000), rng.integers(-1000, 1000, 20000)
    a, i = ours(table), ours(index)
    equal(real(a[i] * 2 + 1), table[index] * 2 + 1)
    equal(real(a[i // 2]), table[index // 2])
    rows = rng.random((500, 7))
    equal(real(ours(rows)[i % 500].sum(axis=0)), rows[index % 500].sum(axis=0))
    mask = rng.random(20000) < 0.3
    equal(real(i[ours(mask)]), index[mask])
    with pytest.raises(IndexError, match="index 1000 is out of bounds for axis 0 with size 1000"):
        a[i + 500 * (i == i.max()) + (1000 - index.max() - 500) * (i == i.max())]
    wide = rng.random((300, 40))
    keep = rng.random(300) < 0.5
    target, w = wide.copy(), ours(wide)
    target[keep] = np.arange(40.0)
    w[ours(keep)] = ours(np.arange(40.0))
    equal(real(w), target)
    big, got = np.zeros(50000), ours(np.zeros(50000))
    where = rng.integers(0, 50000, 30000)
    big[where] = np.arange(30000.0)
    got[ours(where)] = ours(np.arange(30000.0))
    equal(real(got), big)


@pytest.mark.core
def test_an_index_may_change_after_it_was_used():
    a, i = ours(np.arange(10.0)), ours(np.array([1, 2, 3]))
    picked = a[i]
    i += 4
    a *= 10
    equal(real(picked), np.array([1.0, 2.0, 3.0]))
    equal(real(a[i]), np.array([50.0, 60.0, 70.0]))


@pytest.mark.core
def test_read_only_arrays_are_refused():
    a = ours(np.zeros(3))
    a.flags.writeable = False
    for key in (ours(np.array([0])), ours(np.array([True, False, True]))):
        with pytest.raises(ValueError, match="assignment destination is read-only"):
            a[key] = 1
