"""Our memory is recognized as the same memory if it returns through an object that does not name its
owner."""

import ctypes

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numelt


class _Interface:
    """An object that states where the memory is, and keeps its owner alive."""

    def __init__(self, interface, owner):
        self.__array_interface__ = interface
        self.owner = owner


class _Struct:
    def __init__(self, owner):
        self.__array_struct__ = owner.__array_struct__
        self.owner = owner


def _pointer(np, a):
    interface = {"shape": a.shape, "typestr": a.dtype.str, "data": (a.ctypes.data, False), "version": 3}
    return np.asarray(_Interface(interface, None))


def _c_type(a):
    return numpy.ctypeslib.as_ctypes_type(a.dtype)


def _strided(np, a):
    return np.lib.stride_tricks.as_strided(a, a.shape, a.strides)


WAYS = {
    "interface": lambda np, a: np.asarray(_Interface(dict(a.__array_interface__), a)),
    "interface in numpy": lambda np, a: np.asarray(numpy.asarray(_Interface(dict(a.__array_interface__), a))),
    "struct": lambda np, a: np.asarray(_Struct(a)),
    "address": _pointer,
    "pointer": lambda np, a: np.ctypeslib.as_array(
        a.ctypes.data_as(ctypes.POINTER(_c_type(a))), shape=a.shape
    ),
    "ctypes": lambda np, a: np.frombuffer((_c_type(a) * a.size).from_buffer(a), dtype=a.dtype),
    "as_strided": _strided,
    "as_strided twice": lambda np, a: _strided(np, _strided(np, a)),
    "frombuffer": lambda np, a: np.frombuffer(a, dtype=a.dtype),
    "constructor": lambda np, a: np.ndarray(a.shape, a.dtype, buffer=a),
    "memoryview": lambda np, a: np.asarray(memoryview(a)),
    "bytes": lambda np, a: np.frombuffer(memoryview(a).cast("B"), dtype=a.dtype),
    "dlpack": lambda np, a: np.from_dlpack(a),
    "numpy": lambda np, a: np.asarray(numpy.asarray(a)),
}

OWNERS = {
    "own": lambda np, values: np.array(values),
    "part": lambda np, values: np.concatenate([values[:3], values, values[:2]])[3:-2],
    "adopted": lambda np, values: np.asarray(values.copy()),
    "pending": lambda np, values: np.asarray(values.copy()) + np.zeros(1, values.dtype),
}


def _both_names(np, a, alias):
    a += 1
    alias[2:5] = 7
    a[3] = 9
    first = alias * 2
    alias -= 3
    return first, a - alias, a[1:] * 2, np.sum(a), np.sum(alias)


def _out(np, a, alias):
    np.add(a[:-1], 1, out=alias[1:])
    first = a.copy()
    np.negative(alias[::-1], out=a)
    np.multiply(alias[::2], a[: len(alias[::2])], out=a[: len(alias[::2])])
    return first, alias.copy()


def _in_place(np, a, alias):
    a[1:] += alias[:-1]
    alias *= a[::-1]
    a[:-2] -= alias[2:]
    alias[:] = a[::-1]
    a[1:] = alias[:-1]
    return (alias.copy(),)


def _where(np, a, alias):
    size = a.itemsize
    mask = alias.view(np.uint8)[::size].view(np.bool_)
    a[...] = np.arange(len(a)) % 2
    np.add(a[::-1], 1, out=a, where=mask)
    first = alias.copy()
    a[...] = np.arange(len(a)) % 3 == 0
    np.subtract(alias, 1, out=a[::-1], where=mask[::-1])
    return first, alias.copy()


def _mask(np, a, alias):
    alias[a > 3] = 1
    a[alias[::-1] > 2] = 0
    a[1:] = np.where(alias[:-1] > 1, alias[:-1], a[1:])
    return (alias.copy(),)


def _sums(np, a, alias):
    np.cumsum(a, out=alias)
    first = a.copy()
    np.sum(a[:4].reshape(2, 2), axis=0, out=alias[1:3])
    return first, alias.copy()


@pytest.mark.parametrize("use", [_both_names, _out, _in_place, _where, _mask, _sums])
@pytest.mark.parametrize("way", WAYS)
def test_two_names_of_one_memory(way, use):
    for owner in OWNERS.values():
        for dtype in ("i4", "i8") if use is _where else ("u1", "i8", "f4", "f8"):
            for count in (7, 1500):
                values = (numpy.arange(count) % 5 + 1).astype(dtype)
                results = []
                for np in (numpy, numelt):
                    a = owner(np, values)
                    alias = WAYS[way](np, a)
                    assert np.shares_memory(a, alias)
                    results.append((*use(np, a, alias), a))
                for expected, found in zip(*results, strict=True):
                    assert numpy.array_equal(expected, numpy.asarray(found))


@pytest.mark.parametrize("way", ["interface", "struct", "as_strided", "dlpack"])
def test_reversed_and_strided(way):
    for key in (slice(None, None, -1), slice(1, None, 3), slice(-2, 2, -2)):
        results = []
        for np in (numpy, numelt):
            whole = np.arange(2000.0)
            alias = WAYS[way](np, whole[key])
            np.add(whole[: len(alias)], alias, out=alias)
            whole[5:] += whole[:-5] * 0.5
            np.negative(alias, out=whole[: len(alias)])
            results.append((whole, alias.copy()))
        for expected, found in zip(*results, strict=True):
            assert numpy.array_equal(expected, numpy.asarray(found))


def test_another_window():
    results = []
    for np in (numpy, numelt):
        a = np.arange(1000.0)
        windows = np.lib.stride_tricks.as_strided(a, (998, 3), (8, 8))
        a[1:-1] = np.sum(windows, axis=1)
        total = windows.sum(axis=1)
        windows[:, 1] += 1
        results.append((a, total))
    for expected, found in zip(*results, strict=True):
        assert numpy.array_equal(expected, numpy.asarray(found))


def test_the_owner_lives():
    owner = numelt.arange(10.0)
    alias = numelt.asarray(_Interface(dict(owner.__array_interface__), owner))
    assert isinstance(alias.base, _Interface)
    owner += 1
    del owner
    alias *= 2
    plain = numpy.asarray(alias)
    alias += 1
    assert plain.tolist() == [2.0 * i + 3 for i in range(10)]


def test_memory_of_the_dead_is_not_found():
    for i in range(200):
        owner = numelt.arange(100.0) + i
        alias = numelt.asarray(_Interface(dict(owner.__array_interface__), owner))
        alias += 1
        del owner
        assert alias[1] == i + 2


def test_two_arrays_on_one_buffer():
    results = []
    for np in (numpy, numelt):
        buffer = bytearray(numpy.arange(1000.0).tobytes())
        a, b = np.frombuffer(buffer), np.frombuffer(buffer)
        np.add(a[:-1], 1, out=b[1:])
        results.append(b)
    assert numpy.array_equal(results[0], numpy.asarray(results[1]))


def _window(np, address, dtype, start, count):
    """An array of the elements from ``start`` on, at a bare address."""
    size = numpy.dtype(dtype).itemsize
    interface = {"shape": (count,), "typestr": dtype, "data": (address + start * size, False), "version": 3}
    return np.asarray(_Interface(interface, None))


# A window on memory of another library, whose extent is unknown, and operations with two such windows.
_steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "copy", "negative", "where", "cumsum", "sum", "pick", "put", "mask"]),
        st.integers(0, 3),
        st.integers(0, 3),
        st.sampled_from([1, -1]),
    ),
    min_size=1,
    max_size=6,
)


def _apply(np, name, a, b):
    n = min(len(a), len(b))
    a, b = a[:n], b[:n]
    match name:
        case "add":
            np.add(a, b, out=a)
        case "copy":
            a[...] = b
        case "negative":
            np.negative(b, out=a)
        case "where":
            np.multiply(a, 3, out=a, where=b > 2)
        case "cumsum":
            np.cumsum(b, out=a)
        case "sum":
            np.sum(b[: n // 2 * 2].reshape(2, -1), axis=0, out=a[: n // 2])
        case "pick":
            a[...] = b[np.arange(n)[::-1]]
        case "put":
            a[np.arange(n)[::-1]] = b
        case "mask":
            a[b > 1] = b[b > 1]
    return a.sum()


@given(
    _steps,
    st.lists(st.tuples(st.integers(0, 12), st.integers(1, 12)), min_size=4, max_size=4),
    st.sampled_from(["<i4", "<f8", "<c16"]),
)
def test_windows_of_an_address(steps, windows, dtype):
    results = []
    for np in (numpy, numelt):
        memory = ctypes.create_string_buffer(24 * 16)
        real = numpy.frombuffer(memory, dtype)
        real[:24] = numpy.arange(24) % 5 + 1
        address = ctypes.addressof(memory)
        arrays = [_window(np, address, dtype, start, count) for start, count in windows]
        sums = [_apply(np, name, arrays[i][::step], arrays[j]) for name, i, j, step in steps]
        results.append((real[:24].copy(), *sums))
    for expected, found in zip(*results, strict=True):
        assert numpy.array_equal(expected, numpy.asarray(found))
