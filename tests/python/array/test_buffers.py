"""Buffers of arrays: `memoryview`, ctypes, struct, and readers and writers see the same as with NumPy."""

import ctypes
import gc
import io
import struct
import sys
import threading
import weakref

import numpy
import pytest

import numelt

pytestmark = pytest.mark.quick


LAYOUTS = {
    "c": lambda np: np.arange(12.0).reshape(3, 4),
    "f": lambda np: np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "strided": lambda np: np.arange(24.0).reshape(4, 6)[::2, ::3],
    "negative": lambda np: np.arange(12.0).reshape(3, 4)[::-1, ::-2],
    "transposed": lambda np: np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1),
    "0-d": lambda np: np.array(2.5),
    "empty": lambda np: np.zeros((0, 3)),
    "bool": lambda np: np.array([True, False]),
    "complex": lambda np: np.array([1 + 2j, 3j]),
    "half": lambda np: np.array([1, 2], "e"),
    "bytes": lambda np: np.arange(5, dtype="u1"),
    "broadcast": lambda np: np.broadcast_to(np.arange(3), (2, 3)),
    "read-only": lambda np: frozen(np.arange(3)),
    **{d: lambda np, d=d: np.array([[1, 0, 2], [0, 1, 3]], d) for d in "bBhHiIlLefdFD?"},
    "one row": lambda np: np.arange(3)[None],
    "one column": lambda np: np.arange(6).reshape(3, 2)[:, 1:],
    "computed": lambda np: np.arange(4) * 2.5,
    "offset": lambda np: np.arange(10, dtype="i2")[3:8:2],
    "text": lambda np: np.array(["ab", "c"]),
    "record": lambda np: np.zeros(3, [("a", "i4"), ("b", "f8")]),
    "one record": lambda np: np.zeros((), [("a", "i1"), ("b", "i4"), ("c", "f8")]),
    "aligned record": lambda np: np.zeros(2, np.dtype([("a", "i1"), ("b", "i8")], align=True)),
    "big-endian": lambda np: np.arange(3, dtype=">i4"),
}


def frozen(array):
    array.flags.writeable = False
    return array


def described(view):
    return (
        view.format,
        view.itemsize,
        view.ndim,
        view.shape,
        view.strides,
        view.readonly,
        view.nbytes,
        view.c_contiguous,
        view.f_contiguous,
        view.contiguous,
        view.tobytes(),
    )


@pytest.mark.core
@pytest.mark.parametrize("layout", LAYOUTS)
def test_memoryview(layout):
    ours, theirs = LAYOUTS[layout](numelt), LAYOUTS[layout](numpy)
    view = memoryview(ours)
    assert view.obj is ours
    assert described(view) == described(memoryview(theirs))
    assert bytes(ours) == bytes(theirs)
    assert memoryview(view).obj is ours
    if view.c_contiguous and view.ndim and layout != "text" and ours.dtype.names is None and ours.size:
        assert view.cast("B").obj is ours
    if view.ndim == 1 and len(view) > 1:
        assert view[1:].obj is ours


@pytest.mark.core
@pytest.mark.parametrize("layout", LAYOUTS)
def test_requests_that_fail(layout):
    """If the flags of a request exclude a property of the array, NumPy's error is raised, and nothing is
    exported."""
    ours, theirs = LAYOUTS[layout](numelt), LAYOUTS[layout](numpy)
    for ask in (
        lambda a: (ctypes.c_char * a.nbytes).from_buffer(a),
        lambda a: struct.unpack_from("B", a),
        lambda a: io.BytesIO(bytes(64)).readinto(a),
    ):
        outcomes = []
        for array in (ours, theirs):
            try:
                made = ask(array)
                outcomes.append(bytes(made) if isinstance(made, ctypes.Array) else made)
            except (BufferError, TypeError, ValueError, struct.error) as error:
                outcomes.append((type(error), str(error)))
        assert outcomes[0] == outcomes[1], layout


class Buffer(ctypes.Structure):
    """`Py_buffer` of CPython's headers."""

    _fields_ = (
        *(("buf", ctypes.c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t)),
        *(("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int)),
        *(("format", ctypes.c_char_p), ("shape", ctypes.POINTER(ctypes.c_ssize_t))),
        *(("strides", ctypes.POINTER(ctypes.c_ssize_t)), ("suboffsets", ctypes.c_void_p)),
        ("internal", ctypes.c_void_p),
    )


@pytest.mark.core
@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_request(layout):
    """All combinations of the flags: writable 1, format 4, ND 8, strides 16, C 32, F 64, any order 128."""

    def answer(array, flags):
        view = Buffer()
        try:
            ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(array), ctypes.byref(view), flags)
        except (BufferError, ValueError) as error:
            return type(error), str(error)
        dims = [of[: view.ndim] if of else None for of in (view.shape, view.strides)]
        found = view.ndim, view.itemsize, view.len, view.readonly, view.format, *dims
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))
        return found

    for order in (0, 8, 24, 24 | 32, 24 | 64, 24 | 128):
        for more in (0, 1, 4, 5):
            ours, theirs = (answer(LAYOUTS[layout](np), order | more) for np in (numelt, numpy))
            assert ours == theirs, (order, more)


def test_both_sides_see_what_is_written():
    a = numelt.arange(6.0)
    view = memoryview(a)
    view[0] = 5.0
    a[1] = 7
    a += 1
    assert view.tolist() == [6, 8, 3, 4, 5, 6]
    struct.pack_into("d", a, 8, 9.0)
    numbers = (ctypes.c_double * 6).from_buffer(a)
    numbers[2] = -1
    assert a.tolist() == [6, 9, -1, 4, 5, 6]
    assert numbers[1] == 9
    assert io.BytesIO(struct.pack("6d", *range(6))).readinto(a) == 48
    assert a.tolist() == [0, 1, 2, 3, 4, 5]
    view.release()
    a *= 2
    assert numbers[5] == 10


def test_buffer_lets_go():
    a = numelt.arange(1000.0)
    memory = weakref.ref(a)
    references = sys.getrefcount(a)
    view = memoryview(a)
    assert sys.getrefcount(a) > references
    view.release()
    assert sys.getrefcount(a) == references
    again = memoryview(a)
    del a
    gc.collect()
    assert memory() is again.obj
    assert again[999] == 999
    again.release()
    gc.collect()
    assert memory() is None


def test_array_of_buffer_is_the_same_memory():
    a = numelt.arange(6.0)
    for back in (
        numelt.frombuffer(a),
        numelt.frombuffer(memoryview(a)),
        numelt.asarray(memoryview(a)),
        numpy.frombuffer(a),
        numpy.asarray(memoryview(a)),
    ):
        back[0] += 1
    assert float(a[0]) == 5
    assert numpy.asarray(memoryview(memoryview(a[::2]))).tolist() == [5, 2, 4]


@pytest.mark.parametrize("np", [numpy, numelt])
def test_resize_while_exported(np):
    a = np.arange(4.0)
    view = memoryview(a)
    with pytest.raises(ValueError, match="cannot resize an array that"):
        a.resize(8)
    view.release()
    a.resize(8)
    assert a.tolist() == [0, 1, 2, 3, 0, 0, 0, 0]


def test_foreign_arrays_keep_their_memory():
    a = numelt.array(["abc", "de"])
    view = memoryview(a)
    del a
    gc.collect()
    assert view.obj.tolist() == ["abc", "de"]
    objects = numelt.array([None, "x"], dtype=object)
    assert memoryview(objects).obj is objects


def test_bytes_without_a_dtype_keep_theirs():
    a = numelt.zeros(3, "V4")
    assert numpy.asarray(a).dtype == "V4"
    assert (a[0] == a).tolist() == [True] * 3
    one = numelt.zeros((), "V4")
    assert one[()] == one


def test_buffers_in_threads():
    a = numelt.arange(64.0)

    def work():
        for _ in range(200):
            with memoryview(a) as view:
                assert view.obj is a
                assert view[63] == 63

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    a += 1
    assert float(a[0]) == 1


def test_pillow_and_h5py(tmp_path):
    image = pytest.importorskip("PIL.Image")
    pixels = numelt.arange(12, dtype="u1").reshape(3, 4)
    assert image.frombuffer("L", (4, 3), pixels, "raw", "L", 0, 1).tobytes() == pixels.tobytes()
    assert numpy.asarray(image.fromarray(pixels)).tolist() == pixels.tolist()
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        data = file.create_dataset("x", data=numelt.arange(6.0))
        read = numelt.zeros(6)
        data.read_direct(numpy.asarray(read))
        assert read.tolist() == [0, 1, 2, 3, 4, 5]
